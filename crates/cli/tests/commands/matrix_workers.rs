//! The image has the same bytes for any number of workers, any memory limit and any timing.

use packline_testkit::{Sandbox, generate};

use crate::sandbox;

const WORKERS: [&str; 7] = ["0", "1", "2", "3", "7", "16", "64"];
/// Four times smaller than the default.
const BLOCK: &str = "32K";

const SQUASHFS: &str = "image.sqfs";
const EROFS: &str = "image.erofs";

/// The smallest power of two of MiB that suffices for one worker, as an option.
fn smallest_budget(sandbox: &Sandbox, image: &str, codec: &str, block: &str) -> String {
    let first = ["pack", "bulk.tar", image, "-c", codec, "-b", block, "-j", "1", "--force", "--quiet", "--mem"];
    let works = |budget: &String| sandbox.run(&[&first[..], &[budget]].concat()).status == 0;
    (0..11).map(|power| format!("{}M", 1 << power)).find(works).unwrap()
}

/// Packs `source` to `image`; its bytes.
fn pack(sandbox: &Sandbox, [source, image]: [&str; 2], codec: &str, options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["pack", source, image, "-c", codec, "--force", "--quiet"], options].concat());
    sandbox.read(image)
}

/// A sandbox with `bulk.tar`.
fn with_bulk(megabytes: u64) -> Sandbox {
    let sandbox = sandbox();
    generate::write_tar(&sandbox.at("bulk.tar"), |sink| generate::mixed_bulk(sink, megabytes)).unwrap();
    sandbox
}

/// Packs more blocks than any run has workers, so that all workers wait and are woken.
fn one_image(image: &str, codec: &str, megabytes: u64) {
    let sandbox = with_bulk(megabytes);
    let pack = |options: &[&str]| pack(&sandbox, ["bulk.tar", image], codec, &[&["-b", BLOCK], options].concat());
    let reference = pack(&["--serial"]);
    let smallest = smallest_budget(&sandbox, image, codec, BLOCK);
    for workers in WORKERS {
        for memory in [&["--mem", &smallest][..], &[], &["--mem", "2G"]] {
            let options = [&["-j", workers], memory].concat();
            assert!(pack(&options) == reference, "{image} {codec} {options:?}: other bytes than --serial");
        }
    }
}

// The blocks are small, and the levels light where the codec is heavy: what is tested is the order of work, with 22 packs of each.

#[test]
fn none() {
    one_image(SQUASHFS, "none", 5);
}

#[test]
fn lz4() {
    one_image(SQUASHFS, "lz4", 5);
}

#[test]
fn gzip() {
    one_image(SQUASHFS, "gzip:level=4", 5);
}

#[test]
fn zstd() {
    one_image(SQUASHFS, "zstd:level=3", 5);
}

#[test]
fn lzo() {
    one_image(SQUASHFS, "lzo", 3);
}

#[test]
fn xz() {
    one_image(SQUASHFS, "xz:level=1", 3);
}

#[test]
fn lzma() {
    one_image(SQUASHFS, "lzma:level=1", 3);
}

#[test]
fn erofs_none() {
    one_image(EROFS, "none", 5);
}

#[test]
fn erofs_lz4() {
    one_image(EROFS, "lz4", 5);
}

#[test]
fn erofs_gzip() {
    one_image(EROFS, "gzip:level=4", 5);
}

#[test]
fn erofs_zstd() {
    one_image(EROFS, "zstd:level=3", 5);
}

#[test]
fn erofs_lzma() {
    one_image(EROFS, "lzma:level=1", 3);
}

/// At the default levels encoders keep most data between blocks. Compares --serial with runs of any number of workers and with little memory.
#[test]
fn default_levels() {
    let sandbox = with_bulk(1);
    let of_squashfs = ["gzip", "zstd", "xz", "xz:x86", "lzma", "lz4:hc"].map(|codec| (SQUASHFS, codec));
    let of_erofs = ["gzip", "zstd", "lzma", "lz4:hc"].map(|codec| (EROFS, codec));
    for (image, codec) in of_squashfs.into_iter().chain(of_erofs) {
        let pack = |options: &[&str]| pack(&sandbox, ["bulk.tar", image], codec, options);
        let reference = pack(&["--serial"]);
        let smallest = smallest_budget(&sandbox, image, codec, "128K");
        for options in [&["-j", "0"][..], &["-j", "1"], &["-j", "7"], &["-j", "7", "--mem", &smallest]] {
            assert!(pack(options) == reference, "{image} {codec} {options:?}: other bytes than --serial");
        }
    }
}

/// From a directory there are reader threads as well.
#[test]
fn readers_of_a_directory() {
    let sandbox = sandbox();
    let owner = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    let nodes = generate::without_privileges(generate::small_tree(11, 131_072), owner, group);
    sandbox.plant("source", &nodes);
    for image in [SQUASHFS, EROFS] {
        let pack = |options: &[&str]| pack(&sandbox, ["source", image], "lz4", options);
        let reference = pack(&["--serial"]);
        for workers in WORKERS {
            for readers in ["0", "1", "5"] {
                let options = ["-j", workers, "--readers", readers];
                assert!(pack(&options) == reference, "{image} {options:?}: other bytes than --serial");
            }
        }
    }
}
