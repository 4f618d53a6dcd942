//! The image has the same bytes for any number of workers, any memory limit and any timing.

use packline_testkit::{Sandbox, generate};

use crate::sandbox;

const WORKERS: [&str; 7] = ["0", "1", "2", "3", "7", "16", "64"];

/// The smallest power of two of MiB that suffices for one worker, as an option.
fn smallest_budget(sandbox: &Sandbox, codec: &str) -> String {
    let first = ["pack", "bulk.tar", "image.sqfs", "-c", codec, "-j", "1", "--force", "--quiet", "--mem"];
    let works = |budget: &String| sandbox.run(&[&first[..], &[budget]].concat()).status == 0;
    (0..11).map(|power| format!("{}M", 1 << power)).find(works).unwrap()
}

/// Packs `source` to `image.sqfs`; its bytes.
fn pack(sandbox: &Sandbox, source: &str, codec: &str, options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["pack", source, "image.sqfs", "-c", codec, "--force", "--quiet"], options].concat());
    sandbox.read("image.sqfs")
}

fn one_image(codec: &str, megabytes: u64, workers: &[&str]) {
    let sandbox = sandbox();
    generate::write_tar(&sandbox.at("bulk.tar"), |sink| generate::mixed_bulk(sink, megabytes)).unwrap();
    let pack = |options: &[&str]| pack(&sandbox, "bulk.tar", codec, options);
    let reference = pack(&["--serial"]);
    let smallest = smallest_budget(&sandbox, codec);
    for workers in workers {
        for memory in [&["--mem", &smallest][..], &[], &["--mem", "2G"]] {
            let options = [&["-j", workers], memory].concat();
            assert!(pack(&options) == reference, "{codec} {options:?}: other bytes than --serial");
        }
    }
}

// The levels are light where the codec is heavy: what is tested is the order of work, and 22 packs of each are enough.

#[test]
fn none() {
    one_image("none", 20, &WORKERS);
}

#[test]
fn lz4() {
    one_image("lz4", 20, &WORKERS);
}

#[test]
fn gzip() {
    one_image("gzip:level=4", 20, &WORKERS);
}

#[test]
fn zstd() {
    one_image("zstd:level=3", 20, &WORKERS);
}

#[test]
fn lzo() {
    one_image("lzo", 6, &WORKERS);
}

#[test]
fn xz() {
    one_image("xz:level=1", 8, &WORKERS);
}

#[test]
fn lzma() {
    one_image("lzma:level=1", 6, &WORKERS);
}

/// At the default levels, where encoders keep most between blocks.
#[test]
fn default_levels() {
    for codec in ["gzip", "zstd", "xz", "xz:x86", "lzma", "lz4:hc"] {
        one_image(codec, 1, &["0", "1", "7"]);
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
    let pack = |options: &[&str]| pack(&sandbox, "source", "lz4", options);
    let reference = pack(&["--serial"]);
    for workers in WORKERS {
        for readers in ["0", "1", "5"] {
            let options = ["-j", workers, "--readers", readers];
            assert!(pack(&options) == reference, "{options:?}: other bytes than --serial");
        }
    }
}
