//! One hash whatever the number of workers, the memory and the timing: the first law of the house.

use packline_testkit::generate;
use packline_testkit::packer::Packer;
use std::path::{Path, PathBuf};

const WORKERS: [&str; 7] = ["0", "1", "2", "3", "7", "16", "64"];

fn archive(directory: &Path, megabytes: u64) -> PathBuf {
    let path = directory.join("bulk.tar");
    generate::write_tar(&path, |sink| generate::mixed_bulk(sink, megabytes)).unwrap();
    path
}

/// The smallest power of two of MiB that suffices for one worker, as an option.
fn smallest_budget(packer: &Packer, source: &Path, image: &Path, codec: &str) -> String {
    let works = |budget: &String| {
        let options = ["-c", codec, "-j", "1", "--mem", budget, "--force", "--quiet"];
        packer.command(source, image, &options).output().unwrap().status.success()
    };
    (0..11).map(|power| format!("{}M", 1 << power)).find(works).unwrap()
}

fn one_image(codec: &str, megabytes: u64, workers: &[&str]) {
    let packer = Packer::new(env!("CARGO_BIN_EXE_packline"));
    let directory = tempfile::tempdir().unwrap();
    let source = archive(directory.path(), megabytes);
    let image = directory.path().join("image.sqfs");
    let pack = |options: &[&str]| {
        packer.pack(&source, &image, &[&["-c", codec, "--force", "--quiet"], options].concat());
        std::fs::read(&image).unwrap()
    };
    let reference = pack(&["--serial"]);
    let smallest = smallest_budget(&packer, &source, &image, codec);
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
        one_image(codec, 2, &["0", "1", "7"]);
    }
}

/// From a directory there are reader threads as well.
#[test]
fn readers_of_a_directory() {
    let packer = Packer::new(env!("CARGO_BIN_EXE_packline"));
    let directory = tempfile::tempdir().unwrap();
    let (source, image) = (directory.path().join("source"), directory.path().join("image.sqfs"));
    std::fs::create_dir(&source).unwrap();
    let owner = rustix::process::getuid().as_raw();
    let group = rustix::process::getgid().as_raw();
    let nodes = generate::without_privileges(generate::small_tree(11, 131_072), owner, group);
    packline_testkit::plant::plant(&nodes, &source).unwrap();
    let pack = |options: &[&str]| {
        packer.pack(&source, &image, &[&["-c", "lz4", "--force", "--quiet"], options].concat());
        std::fs::read(&image).unwrap()
    };
    let reference = pack(&["--serial"]);
    for workers in WORKERS {
        for readers in ["0", "1", "5"] {
            let options = ["-j", workers, "--readers", readers];
            assert!(pack(&options) == reference, "{options:?}: other bytes than --serial");
        }
    }
}
