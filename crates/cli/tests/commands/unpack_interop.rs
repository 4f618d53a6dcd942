//! Images of other programs unpack to the tree that unsquashfs, and the kernel, make of them.

use packline_testkit::mount::{Mounted, kernel_reads};
use packline_testkit::snapshot::{self, Except, assert_same};
use packline_testkit::{extract, generate, plant, tar, tools};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

/// A tree on a file system that keeps everything, in a directory and in a tar.
struct Sources {
    scratch: Mounted,
    directory: PathBuf,
    archive: PathBuf,
}

impl Sources {
    fn new(seed: u64, block: usize) -> Sources {
        let scratch = Mounted::scratch(1 << 28).unwrap();
        let (directory, archive) = (scratch.path().join("source"), scratch.path().join("source.tar"));
        let mut nodes = generate::small_tree(seed, block);
        // tar2sqfs takes a hard link of a pipe for one of a file.
        nodes.retain(|node| node.path != b"links/fifo-again");
        std::fs::create_dir(&directory).unwrap();
        plant::plant(&nodes, &directory).unwrap();
        std::fs::write(&archive, tar::to_bytes(&nodes)).unwrap();
        Sources { scratch, directory, archive }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// What we make of an image is what unsquashfs makes of it, and what the kernel shows.
    fn check(&self, what: &str, image: &Path, codec: &str) {
        let (ours, theirs) = (self.at("ours"), self.at("theirs"));
        tools::run(Command::new(PACKLINE).args(["unpack", "-q", "-j", "2"]).arg(image).arg(&ours)).unwrap();
        extract::with_unsquashfs(image, &theirs).unwrap();
        let found = snapshot::of_directory(&ours).unwrap();
        assert!(found.len() > 700, "{what}: {} entries", found.len());
        assert_same(
            &format!("{what}: unsquashfs"),
            &snapshot::of_directory(&theirs).unwrap(),
            &found,
            Except::default(),
        );
        if kernel_reads(codec) {
            let mounted = Mounted::kernel(image).unwrap();
            let seen = snapshot::of_directory(mounted.path()).unwrap();
            assert_same(&format!("{what}: the kernel"), &seen, &found, Except::default());
        }
        std::fs::remove_dir_all(ours).unwrap();
        std::fs::remove_dir_all(theirs).unwrap();
        std::fs::remove_file(image).unwrap();
    }
}

fn available(program: &str) -> bool {
    tools::need(&[program, "unsquashfs", "mkfs.ext4"]) && tools::root()
}

#[test]
fn images_of_mksquashfs() {
    if !available("mksquashfs") {
        return;
    }
    let sources = Sources::new(41, 4096);
    let cases: [(&str, &[&str]); 6] = [
        ("gzip", &["-b", "4K", "-noI", "-noD", "-noF", "-noX"]),
        ("xz", &["-b", "16K", "-Xbcj", "x86,arm"]),
        ("lz4", &["-b", "16K", "-Xhc", "-no-duplicates"]),
        ("lzo", &["-b", "16K", "-exports"]),
        ("lzma", &["-b", "16K"]),
        ("zstd", &["-b", "128K", "-tailends"]),
    ];
    for (codec, options) in cases {
        let image = sources.at("image");
        let mut command = Command::new("mksquashfs");
        command.arg(&sources.directory).arg(&image).args(["-noappend", "-no-progress", "-comp", codec]).args(options);
        tools::run(&mut command).unwrap();
        sources.check(&format!("mksquashfs {codec} {options:?}"), &image, codec);
    }
}

#[test]
fn images_of_tar2sqfs_and_gensquashfs() {
    if !available("tar2sqfs") || !available("gensquashfs") {
        return;
    }
    let sources = Sources::new(42, 4096);
    // Their lz4 images have an id table that unsquashfs refuses.
    for codec in ["gzip", "xz", "zstd"] {
        let image = sources.at("image");
        let mut command = Command::new("tar2sqfs");
        command.args(["-q", "-f", "-b", "16K", "-c", codec]).arg(&image).stdin(File::open(&sources.archive).unwrap());
        tools::run(&mut command).unwrap();
        sources.check(&format!("tar2sqfs {codec}"), &image, codec);
    }
    for codec in ["lzo", "lzma"] {
        let image = sources.at("image");
        let mut command = Command::new("gensquashfs");
        command.args(["-q", "-f", "-b", "64K", "-c", codec, "--keep-time", "--keep-xattr", "-D"]);
        tools::run(command.arg(&sources.directory).arg(&image)).unwrap();
        sources.check(&format!("gensquashfs {codec}"), &image, codec);
    }
}
