//! mkfs.erofs: images whose contents are in a tar or in another file.

use std::fs;
use std::path::Path;

use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::tar::TarWriter;
use packline_testkit::{Sandbox, tools};

use super::tree;
use crate::sandbox;

/// The time of an image, so that runs write the same bytes.
const TIME: &[&str] = &["-T", "0", "--mkfs-time"];

/// A sandbox with a tar of the tree of all kinds of entries, in which holes are zeros, and with a SquashFS image of the tree.
fn with_tar() -> Sandbox {
    let sandbox = sandbox();
    let mut writer = TarWriter::without_sparse(Vec::new());
    writer.nodes(&tree::nodes()).unwrap();
    sandbox.write("tree.tar", writer.finish().unwrap());
    sandbox.good(&["pack", "-q", "tree.tar", "tree.sqfs"]);
    sandbox
}

fn made(sandbox: &Sandbox, arguments: &[&str]) {
    let ran = sandbox.good(&[&["mkfs.erofs", "--quiet"], arguments, TIME].concat());
    assert_eq!((ran.text(), ran.stderr), (String::new(), String::new()), "{arguments:?}");
}

/// Checks an image with its device by our commands.
fn assert_reads(sandbox: &Sandbox, image: &str, device: &str, other: &str) {
    let differences = sandbox.good(&["diff", "--old-device", device, image, other]).text();
    assert_eq!(differences, "", "{image} on {device}");
    sandbox.good(&["verify", "-q", "--device", device, image]);
    let ran = sandbox.good(&["fsck.erofs", "--extract", &format!("--device={device}"), image]);
    assert_eq!((ran.text(), ran.stderr), (String::new(), String::new()), "{image} on {device}");
}

fn assert_mounts(sandbox: &Sandbox, image: &str, device: &str, expected: &Snapshot) {
    let mounted = Mounted::erofs_on(&sandbox.at(image), &sandbox.at(device)).unwrap();
    let found = snapshot::of_directory(mounted.path()).unwrap();
    snapshot::assert_same(&format!("{image} on {device}"), expected, &found, Except::default());
}

fn appended(sandbox: &Sandbox, image: &str, device: &str, both: &str) {
    sandbox.write(both, [sandbox.read(image), sandbox.read(device)].concat());
}

#[test]
fn an_index_refers_to_the_contents_of_a_tar() {
    let sandbox = with_tar();
    made(&sandbox, &["--tar=i", "file.erofs", "tree.tar"]);
    let length = sandbox.read("file.erofs").len();
    assert!(length < 100_000 && length.is_multiple_of(512), "{length}");
    let time = TIME.join(" ");
    for (options, image) in [("", "stream.erofs"), ("--aufs", "merged.erofs"), ("--sort=path -b512", "sorted.erofs")] {
        let ran = sandbox.shell(&format!("cat tree.tar | $P mkfs.erofs --tar=i --quiet {options} {time} {image}"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{options}");
        assert!(sandbox.read(image) == sandbox.read("file.erofs"), "{options}");
    }
    assert_reads(&sandbox, "file.erofs", "tree.tar", "tree.sqfs");
    appended(&sandbox, "file.erofs", "tree.tar", "both.erofs");
    assert_eq!(sandbox.good(&["diff", "both.erofs", "tree.sqfs"]).text(), "");
    let extents = sandbox.good(&["dump.erofs", "-e", "--path=/a/noise", "--device=tree.tar", "file.erofs"]).text();
    assert!(extents.contains("# device 1") && extents.contains("/a/noise: 1 extents found"), "{extents}");
    let message = sandbox.bad(1, &["cat", "file.erofs", "a/noise"]);
    assert!(message.contains("an image without its device"), "{message}");
}

#[test]
fn the_kernel_reads_an_index_with_its_tar() {
    if !mount::kernel_mounts_erofs("none") {
        return;
    }
    let sandbox = with_tar();
    let expected = snapshot::of_model(&tree::nodes(), true);
    for options in [&["--tar=i"][..], &["--tar=i", "--aufs", "-zlz4", "-C65536"], &["--tar=0", "--fsalignblks=8"]] {
        made(&sandbox, &[options, &["index.erofs", "tree.tar"]].concat());
        assert_mounts(&sandbox, "index.erofs", "tree.tar", &expected);
        appended(&sandbox, "index.erofs", "tree.tar", "both.erofs");
        let mounted = Mounted::erofs(&sandbox.at("both.erofs")).unwrap();
        let found = snapshot::of_directory(mounted.path()).unwrap();
        snapshot::assert_same(&format!("{options:?}"), &expected, &found, Except::default());
    }
}

/// The index in the tests of the reader is one of erofs-utils 1.9.3.
#[test]
fn an_index_has_the_tree_of_the_index_that_erofs_utils_writes() {
    let sandbox = sandbox();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../erofs/tests/images");
    for name in ["tarindex.erofs", "small.tar"] {
        fs::copy(images.join(name), sandbox.at(name)).unwrap();
    }
    made(&sandbox, &["--tar=i", "ours.erofs", "small.tar"]);
    let devices = ["--old-device", "small.tar", "--new-device", "small.tar"];
    let ran = sandbox.run(&[&["diff"], &devices[..], &["ours.erofs", "tarindex.erofs"]].concat());
    // The tar has no root. The root of erofs-utils has the time of the image.
    let expected = "! .: permissions 0755 -> 0777\n! .: time 1970-01-01 00:00:00 -> 2017-07-14 02:40:00\n";
    assert_eq!(ran.text(), expected, "{ran:?}");
}

#[test]
fn an_index_of_sparse_files_has_their_holes() {
    let sandbox = sandbox();
    let sparse = |path, size, pieces| Node::new(path, NodeKind::File(Content::sparse(size, pieces)));
    let nodes = [
        Node::dir(""),
        sparse("end", 512_700, vec![(8192, vec![7; 1024]), (512_000, vec![8; 700])]),
        sparse("hole", 50_000_000, vec![(1 << 24, vec![9; 4096])]),
        sparse("nothing", 70_000, vec![]),
    ];
    sandbox.write_tar("sparse.tar", &nodes);
    made(&sandbox, &["--tar=i", "index.erofs", "sparse.tar"]);
    sandbox.good(&["pack", "-q", "sparse.tar", "sparse.sqfs"]);
    assert_reads(&sandbox, "index.erofs", "sparse.tar", "sparse.sqfs");
    if mount::kernel_mounts_erofs("none") {
        assert_mounts(&sandbox, "index.erofs", "sparse.tar", &snapshot::of_model(&nodes, true));
    }
    sandbox.write_tar("odd.tar", &[sparse("odd", 9000, vec![(1000, vec![7; 100])])]);
    let message = sandbox.bad(1, &["mkfs.erofs", "--quiet", "--tar=i", "odd.erofs", "odd.tar"]);
    assert!(message.contains("odd: parts of a sparse file (expected a start at a multiple of 512"), "{message}");
    sandbox.write_tar("many.tar", &[sparse("many", 1 << 50, vec![(512, vec![7; 512])])]);
    let message = sandbox.bad(1, &["mkfs.erofs", "--quiet", "--tar=i", "odd.erofs", "many.tar"]);
    assert!(message.contains("many: a sparse file of 2199023255552 chunks"), "{message}");
    assert!(!sandbox.at("odd.erofs").exists());
}

#[test]
fn the_last_of_several_entries_counts() {
    let sandbox = sandbox();
    let link = |path: &str, target: &str| Node::new(path, NodeKind::HardLink(target.into()));
    let nodes = [
        Node::file("a", "first"),
        Node::file("b", "second"),
        link("c", "b"),
        Node::file("a", "third"),
        Node::file("d/.wh.gone", ""),
        Node::dir("e"),
        Node::file("e/.wh..wh..opq", ""),
    ];
    sandbox.write_tar("layer.tar", &nodes);
    made(&sandbox, &["--tar=i", "--aufs", "index.erofs", "layer.tar"]);
    made(&sandbox, &["--tar=f", "--aufs", "whole.erofs", "layer.tar"]);
    assert_reads(&sandbox, "index.erofs", "layer.tar", "whole.erofs");
    assert_eq!(sandbox.good(&["cat", "--device", "layer.tar", "index.erofs", "a", "c"]).text(), "thirdsecond");
}

#[test]
fn a_compressed_tar_needs_a_plain_copy() {
    if !tools::need(&["gzip"]) {
        return;
    }
    let sandbox = with_tar();
    sandbox.peer("gzip", &["-k", "tree.tar"]);
    let message = sandbox.bad(1, &["mkfs.erofs", "--quiet", "--tar=i", "i.erofs", "tree.tar.gz"]);
    assert!(message.contains("tree.tar.gz: is compressed (expected a plain tar"), "{message}");
    made(&sandbox, &["--tar=i", "--ungzip=plain.tar", "i.erofs", "tree.tar.gz"]);
    assert!(sandbox.read("plain.tar") == sandbox.read("tree.tar"));
    assert_reads(&sandbox, "i.erofs", "plain.tar", "tree.sqfs");
    made(&sandbox, &["--tar=f", "--gzip=again.tar", "f.erofs", "tree.tar.gz"]);
    assert!(sandbox.read("again.tar") == sandbox.read("tree.tar"));
    assert_eq!(sandbox.good(&["diff", "f.erofs", "tree.sqfs"]).text(), "");

    let gzip = sandbox.read("tree.tar.gz");
    sandbox.write("cut.tar.gz", &gzip[..gzip.len() - 100]);
    sandbox.write("plain.tar", "kept");
    sandbox.bad(1, &["mkfs.erofs", "--quiet", "--tar=i", "--ungzip=plain.tar", "new.erofs", "cut.tar.gz"]);
    assert!(sandbox.read_text("plain.tar") == "kept" && !sandbox.at("new.erofs").exists());
    for (arguments, expected) in [
        (&["--ungzip=x", "i.erofs", "tree"][..], "--ungzip: FILE needs --tar"),
        (&["--tar=i", "--ungzip=x", "--unxz=y", "i.erofs", "tree.tar"], "one FILE is enough"),
        (&["--tar=i", "--ungzip=i.erofs", "i.erofs", "tree.tar"], "i.erofs: is also i.erofs"),
        (&["--tar=i", "--ungzip=tree.tar", "i.erofs", "tree.tar"], "tree.tar: is also tree.tar"),
        (&["--tar=i", "--chunksize=4096", "i.erofs", "tree.tar"], "--chunksize does not work with --tar=i"),
    ] {
        let message = sandbox.bad(1, &[&["mkfs.erofs", "--quiet"], arguments].concat());
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn cut_and_empty_tars_are_errors() {
    let sandbox = with_tar();
    let tar = sandbox.read("tree.tar");
    for length in [0, 8, 511, 600, 700, tar.len() - 1024 - 100, tar.len() / 2 + 100] {
        sandbox.write("cut.tar", &tar[..length]);
        for input in ["cut.tar", "<cut.tar"] {
            let ran = sandbox.shell(&format!("$P mkfs.erofs --tar=i --aufs --quiet cut.erofs {input}"));
            assert!(ran.status == 1 && ran.stderr.starts_with("packline: "), "{length}: {ran:?}");
            assert!(!sandbox.at("cut.erofs").exists());
        }
    }
    sandbox.write("zeros.tar", [0; 10_240]);
    made(&sandbox, &["--tar=i", "zeros.erofs", "zeros.tar"]);
    sandbox.good(&["verify", "-q", "zeros.erofs"]);
}

#[test]
fn contents_are_written_to_a_device() {
    let sandbox = with_tar();
    let both = |workers: &str| {
        let workers = format!("--workers={workers}");
        let options = ["--tar=f", &workers, "--blobdev=blob", "--chunksize=16384", "meta.erofs", "tree.tar"];
        made(&sandbox, &options);
        (sandbox.read("meta.erofs"), sandbox.read("blob"))
    };
    let serial = both("0");
    assert!(["1", "2", "7"].iter().all(|workers| both(workers) == serial));
    assert!(serial.0.len() < 200_000 && serial.1.len().is_multiple_of(4096));
    // Two files have the same content.
    let text = tree::text();
    let count = serial.1.windows(1000).filter(|window| *window == &text[..1000]).count();
    assert_eq!(count, 1);
    assert_reads(&sandbox, "meta.erofs", "blob", "tree.sqfs");
    for chunk in ["4096", "1048576", "16m"] {
        let chunk = format!("--chunksize={chunk}");
        made(&sandbox, &["--tar=f", "--blobdev=blob", &chunk, "--dsunit=4", "meta.erofs", "tree.tar"]);
        assert_reads(&sandbox, "meta.erofs", "blob", "tree.sqfs");
    }
    made(&sandbox, &["--tar=f", "--chunksize=4096", "one.erofs", "tree.tar"]);
    assert_eq!(sandbox.good(&["diff", "one.erofs", "tree.sqfs"]).text(), "");
}

#[test]
fn the_kernel_reads_contents_on_a_device() {
    if !mount::kernel_mounts_erofs("none") {
        return;
    }
    let sandbox = with_tar();
    let expected = snapshot::of_model(&tree::nodes(), true);
    for chunk in ["--chunksize=4096", "--chunksize=131072"] {
        made(&sandbox, &["--tar=f", "--blobdev=blob", chunk, "meta.erofs", "tree.tar"]);
        assert_mounts(&sandbox, "meta.erofs", "blob", &expected);
    }
}

#[test]
fn a_device_and_its_image_are_written_together() {
    let sandbox = with_tar();
    let tar = sandbox.read("tree.tar");
    sandbox.write("cut.tar", &tar[..tar.len() / 2 + 100]);
    sandbox.write("old.erofs", "image");
    sandbox.write("blob", "device");
    let device = ["--blobdev=blob", "--chunksize=4096"];
    let run = |arguments: &[&str]| sandbox.bad(1, &[&["mkfs.erofs", "--quiet"], arguments].concat());
    run(&[&["--tar=f"], &device[..], &["old.erofs", "cut.tar"]].concat());
    assert_eq!((sandbox.read_text("old.erofs"), sandbox.read_text("blob")), ("image".into(), "device".into()));
    assert_eq!(sandbox.names(), ["blob", "cut.tar", "old.erofs", "tree.sqfs", "tree.tar"]);
    for (arguments, expected) in [
        (&["--blobdev=x", "i.erofs", "tree"][..], "--blobdev must be used together with --chunksize"),
        (&["--blobdev=x", "--chunksize=5000", "i.erofs", "tree"], "invalid chunksize 5000"),
        (&["--blobdev=x", "--chunksize=4096", "-zlz4", "i.erofs", "tree"], "--chunksize does not work with -z"),
        (&["--blobdev=x", "--chunksize=4096", "--tar=f", "x", "tree.tar"], "x: is also x"),
        (&["-b512", "i.erofs", "tree"], "blocks of 512 bytes are not supported yet"),
    ] {
        let message = run(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn hints_decide_on_single_files() {
    let sandbox = with_tar();
    sandbox.write("hints", "# stored\n0 ^a/text$\n65536 0 .*\n");
    let with = |options: &[&str]| {
        made(&sandbox, &[&["--tar=f", "-zlz4", "-C16384"], options, &["i.erofs", "tree.tar"]].concat());
        assert_eq!(sandbox.good(&["diff", "i.erofs", "tree.sqfs"]).text(), "", "{options:?}");
        sandbox.good(&["verify", "-q", "i.erofs"]);
        if mount::kernel_mounts_erofs("lz4") {
            let mounted = Mounted::erofs(&sandbox.at("i.erofs")).unwrap();
            assert!(fs::read(mounted.path().join("a/text")).unwrap() == tree::text());
        }
        sandbox.read("i.erofs")
    };
    let found = |image: &[u8], content: &[u8]| image.windows(content.len()).position(|window| window == content);
    let text = tree::text();
    let start = &text[20_000..28_000];
    assert_eq!(found(&with(&[]), start), None);
    assert!(found(&with(&["--compress-hints=hints"]), start).is_some());
    let aligned = with(&["--compress-hints=hints", "--dsunit=16"]);
    let at = found(&aligned, &text[..8000]).unwrap();
    assert!(at.is_multiple_of(65_536), "{at}");
    let message =
        sandbox.bad(1, &["mkfs.erofs", "--compress-hints=tree.tar", "-zlz4", "i.erofs", "tree.tar", "--tar=f"]);
    assert!(message.contains("tree.tar: line 1: "), "{message}");
}
