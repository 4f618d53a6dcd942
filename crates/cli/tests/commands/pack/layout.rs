//! With `--layout stable` the tree is the same, and images of nearly equal trees have most bytes in common.

use std::collections::BTreeSet;

use packline_testkit::model::Node;
use packline_testkit::{Random, Sandbox, chunker, generate, snapshot, views};

use crate::sandbox;

/// The bytes of an image of `source`.
fn pack(sandbox: &Sandbox, source: &str, options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["pack", "-q", "-f", source, "image.sqfs"], options].concat());
    sandbox.read("image.sqfs")
}

/// Small files in directories, files of several blocks between them, and the result of `changed` for each.
fn plant(sandbox: &Sandbox, name: &str, changed: impl Fn(usize, Vec<u8>) -> Vec<u8>) {
    let mut random = Random::new(41);
    let mut nodes = vec![Node::dir("")];
    for directory in 0..20 {
        nodes.push(Node::dir(format!("{directory:02}")));
        for file in 0..20 {
            let length = if file % 10 == 3 { 150_000 + random.below(300_000) } else { random.below(20_000) };
            let content = changed(directory * 20 + file, random.prose(length as usize));
            nodes.push(Node::file(format!("{directory:02}/{file:02}"), content));
        }
    }
    sandbox.plant(name, &nodes);
}

/// Two trees, `old` and `new`, that differ in the size of one file.
fn nearly_equal() -> Sandbox {
    let sandbox = sandbox();
    plant(&sandbox, "old", |_, content| content);
    let longer =
        |file, content: Vec<u8>| if file == 45 { [&b"one more line\n"[..], &content].concat() } else { content };
    plant(&sandbox, "new", longer);
    sandbox
}

/// Bytes of `new` in parts that `old` has none like.
fn missing<'b>(old: impl Iterator<Item = &'b [u8]>, new: impl Iterator<Item = &'b [u8]>) -> usize {
    let known: BTreeSet<&[u8]> = old.collect();
    new.filter(|part| !known.contains(part)).map(<[u8]>::len).sum()
}

#[test]
fn all_programs_see_the_tree() {
    if !views::available() {
        return;
    }
    let sandbox = sandbox();
    let nodes = generate::small_tree(12, 1 << 15);
    sandbox.plant("source", &nodes);
    let expected = snapshot::of_model(&nodes, true);
    for line in [
        "--layout=stable -b 32K",
        "--layout=stable -b 4K -c gzip --exportable",
        "--layout=stable -b 1M -c xz:level=0 --fragments=small --no-dedup",
        "--layout=stable:align=64K -b 32K --no-fragments --no-sparse",
        "--layout=stable:align=512 -b 32K -c none",
        "--layout=stable -b 32K -c lz4 --no-compress all",
    ] {
        let options: Vec<&str> = line.split(' ').collect();
        pack(&sandbox, "source", &options);
        sandbox.good(&["verify", "image.sqfs"]);
        views::assert_all_agree(line, &sandbox.at("image.sqfs"), &expected, sandbox.path());
    }
}

#[test]
fn keeps_most_bytes_when_one_file_changes() {
    let sandbox = nearly_equal();
    for codec in ["zstd:level=3", "gzip:level=4"] {
        let both = |options: &[&str]| {
            let options = [&["-c", codec], options].concat();
            ["old", "new"].map(|tree| pack(&sandbox, tree, &options))
        };
        let ([compact_old, compact_new], [old, new]) = (both(&[]), both(&["--layout", "stable"]));
        let blocks = missing(old.chunks(4096), new.chunks(4096));
        let chunks = missing(chunker::chunks(&old), chunker::chunks(&new));
        let compact_blocks = missing(compact_old.chunks(4096), compact_new.chunks(4096));
        let facts = format!("{codec}: {} {} {blocks} {chunks} {compact_blocks}", compact_new.len(), new.len());
        assert!(blocks < new.len() / 5 && blocks < compact_blocks / 2, "{facts}");
        assert!(chunks < new.len() / 5, "{facts}");
        assert!(new.len() < compact_new.len() + compact_new.len() / 33, "{facts}");
    }
}

#[test]
fn bytes_depend_only_on_tree() {
    let sandbox = nearly_equal();
    let pack = |source: &str, options: &[&str]| pack(&sandbox, source, &[&["-c", "gzip:level=4"], options].concat());
    let reference = pack("new", &["--layout=stable", "--serial"]);
    let compact = pack("new", &["--serial"]);
    for (tree, image, layout) in
        [("old", "old.sqfs", "stable"), ("old", "compact.sqfs", "compact"), ("new", "same.sqfs", "stable")]
    {
        sandbox.good(&["pack", "-q", tree, image, "-c", "gzip:level=4", "--layout", layout]);
    }
    for options in [
        &["-j", "1"][..],
        &["-j", "2", "--verify"],
        &["-j", "7", "--mem", "64M"],
        &["--cache", "cache"],
        &["--cache", "cache", "-j", "3"],
        &["--base", "old.sqfs"],
        &["--base", "compact.sqfs", "--verify"],
        &["--base", "same.sqfs"],
    ] {
        let found = pack("new", &[&["--layout=stable"], options].concat());
        assert!(found == reference, "{options:?}: other bytes");
    }
    assert!(pack("new", &["--layout=stable:align=4096"]) == reference, "4 KiB are the default");
    assert!(pack("same.sqfs", &["--layout=stable"]) == reference, "a stable image of a stable image");
    assert!(pack("same.sqfs", &["--layout=compact"]) == compact, "a compact image of a stable one");
    assert!(pack("new", &["--base", "same.sqfs"]) == compact, "a compact image with a stable base");
}

/// mksquashfs appends to any image; what it writes is compact.
#[test]
fn an_image_that_grows_is_that_of_a_compact_one() {
    let sandbox = nearly_equal();
    sandbox.write("extra", "content");
    let grown = ["stable", "compact"].map(|layout| {
        pack(&sandbox, "old", &["--layout", layout]);
        sandbox.good(&[
            "mksquashfs",
            "extra",
            "image.sqfs",
            "-quiet",
            "-no-progress",
            "-mkfs-time",
            "0",
            "-root-time",
            "0",
        ]);
        sandbox.good(&["verify", "image.sqfs"]);
        sandbox.read("image.sqfs")
    });
    assert!(grown[0] == grown[1]);
}

#[test]
fn rejects_layout_for_other_containers() {
    let sandbox = sandbox();
    sandbox.write("file", "content");
    let refused = |words: &[&str]| {
        let message = sandbox.bad(2, words);
        assert!(message.contains("--layout"), "{message}");
    };
    refused(&["pack", "file", "x.lrz", "--layout", "stable"]);
    refused(&["pack", "file", "x", "--format", "lrz", "--layout", "compact"]);
    refused(&["compress", "file", "--layout", "stable"]);
    assert_eq!(sandbox.names(), ["file"]);
}
