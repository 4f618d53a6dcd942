//! Images of other programs unpack to the tree that unsquashfs extracts and the kernel shows.

use packline_testkit::mount::{Mounted, kernel_mounts, scratch_available};
use packline_testkit::snapshot::{self, Except, assert_same};
use packline_testkit::{Ran, Sandbox, extract, generate, tools};

use crate::PACKLINE;

/// A tree as `source` and `source.tar`, on a file system that keeps every attribute.
struct Sources {
    sandbox: Sandbox,
    _mount: Mounted,
}

impl Sources {
    fn new(seed: u64, block: usize) -> Sources {
        let mount = Mounted::scratch(1 << 28).unwrap();
        let sandbox = Sandbox::within(PACKLINE, mount.path());
        let mut nodes = generate::small_tree(seed, block);
        // tar2sqfs takes a hard link of a pipe for one of a file.
        nodes.retain(|node| node.path != b"links/fifo-again");
        sandbox.plant("source", &nodes);
        sandbox.write_tar("source.tar", &nodes);
        Sources { sandbox, _mount: mount }
    }

    /// `image` unpacks to the tree that unsquashfs extracts and the kernel shows.
    fn check(&self, what: &str, codec: &str) {
        let (sandbox, image) = (&self.sandbox, self.sandbox.at("image"));
        sandbox.good(&["unpack", "-q", "-j", "2", "image", "ours"]);
        extract::with_unsquashfs(&image, &sandbox.at("theirs")).unwrap();
        let [found, theirs] = ["ours", "theirs"].map(|name| sandbox.snapshot(name));
        assert!(found.len() > 700, "{what}: {} entries", found.len());
        assert_same(&format!("{what}: unsquashfs"), &theirs, &found, Except::default());
        if kernel_mounts(codec) {
            let mounted = Mounted::kernel(&image).unwrap();
            let seen = snapshot::of_directory(mounted.path()).unwrap();
            assert_same(&format!("{what}: the kernel"), &seen, &found, Except::default());
        }
        ["ours", "theirs", "image"].iter().for_each(|name| sandbox.remove(name));
    }
}

fn available(program: &str) -> bool {
    tools::need(&[program, "unsquashfs"]) && scratch_available()
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
        let words = ["source", "image", "-noappend", "-no-progress", "-comp", codec];
        sources.sandbox.peer("mksquashfs", &[&words, options].concat());
        sources.check(&format!("mksquashfs {codec} {options:?}"), codec);
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
        let mut command = sources.sandbox.program("tar2sqfs", &["-q", "-f", "-b", "16K", "-c", codec, "image"]);
        Ran::good(command.stdin(sources.sandbox.open("source.tar")));
        sources.check(&format!("tar2sqfs {codec}"), codec);
    }
    for codec in ["lzo", "lzma"] {
        let options = ["-q", "-f", "-b", "64K", "-c", codec, "--keep-time", "--keep-xattr", "-D", "source", "image"];
        sources.sandbox.peer("gensquashfs", &options);
        sources.check(&format!("gensquashfs {codec}"), codec);
    }
}
