//! Compares `packline pack --manifest` of mtree(5) with bsdtar, which writes and reads mtree too.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Sandbox, generate, tools};

use crate::sandbox;

fn with_source() -> Sandbox {
    let sandbox = sandbox();
    let mut nodes = generate::small_tree(7, 16_384);
    nodes.extend([Node::file("name =#\\\u{e9}\n", "odd"), Node::new("l k", NodeKind::Symlink(b"to a=#\\".to_vec()))]);
    // bsdtar does not write sockets, and the tar that it reads has no extended attributes.
    nodes.retain(|node| !matches!(node.kind, NodeKind::Socket));
    nodes.iter_mut().for_each(|node| node.xattrs.clear());
    sandbox.plant("source", &nodes);
    sandbox
}

/// The image of a manifest has the content of the tar that bsdtar builds from the same manifest.
#[test]
fn manifests_of_bsdtar_are_packed_as_bsdtar_reads_them() {
    if !tools::need(&["bsdtar"]) || !tools::root() {
        return;
    }
    let sandbox = with_source();
    for options in [
        &["--format=mtree"][..],
        &["--format=mtree", "--options=mtree:use-set"],
        &["--format=mtree", "--options=mtree:all"],
        &["--format=mtree", "--options=mtree:all,use-set,indent"],
        &["--format=mtree-classic"],
    ] {
        sandbox.peer("bsdtar", &[options, &["-cf", "list.mtree", "source"]].concat());
        sandbox.peer("bsdtar", &["--format=pax", "-cf", "bsd.tar", "@list.mtree"]);
        sandbox.good(&["pack", "-fq", "bsd.tar", "tar.sqfs", "--time=2000000000"]);
        let pack = ["pack", "-fq", "--time=2000000000", "--manifest"];
        sandbox.good(&[&pack[..], &["list.mtree", "mtree.sqfs"]].concat());
        let differences = sandbox.run(&["diff", "tar.sqfs", "mtree.sqfs"]);
        assert_eq!((differences.status, differences.text()), (0, String::new()), "{options:?}");
        sandbox.good(&["verify", "-q", "mtree.sqfs"]);
        let image = sandbox.read("mtree.sqfs");
        sandbox.good_on(&[&pack[..], &["-", "again.sqfs", "-j3"]].concat(), "list.mtree");
        assert!(sandbox.read("again.sqfs") == image, "{options:?}: from standard input");
        sandbox.good(&[&pack[..], &["list.mtree", "again.sqfs", "--serial"]].concat());
        assert!(sandbox.read("again.sqfs") == image, "{options:?}: without threads");
    }
}

#[test]
fn contents_are_packed_from_where_they_are() {
    let sandbox = sandbox();
    sandbox.create_dir("build");
    sandbox.write("build/program", "content");
    sandbox.write("list", "#mtree\n/set type=file uid=0 gid=0 mode=0755 time=5\n./usr type=dir\n./usr/bin type=dir\n\
        ./usr/bin/a contents=build/program\n./usr/bin/b mode=0600 contents=./build/program\n./empty size=0\n./dev type=char device=native,1,3\n");
    sandbox.good(&["pack", "-q", "--manifest", "list", "i.sqfs", "-x", "empty"]);
    let listed = sandbox.good(&["list", "-l", "--numeric-owner", "i.sqfs"]).text();
    let words = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let words: Vec<_> = words.map(|words| format!("{} {} {}", words[0], words[1], words[words.len() - 1])).collect();
    let expected = [
        "drwxr-xr-x 0/0 .",
        "crwxr-xr-x 0/0 dev",
        "drwxr-xr-x 0/0 usr",
        "drwxr-xr-x 0/0 usr/bin",
        "-rwxr-xr-x 0/0 usr/bin/a",
        "-rw------- 0/0 usr/bin/b",
    ];
    assert_eq!(words, expected);
    assert_eq!(sandbox.good(&["cat", "i.sqfs", "usr/bin/b"]).text(), "content");
}

#[test]
fn a_malformed_manifest_leaves_nothing() {
    let sandbox = sandbox();
    sandbox.create_dir("tree");
    for (text, expected) in [
        (
            "#mtree\na type=door\n",
            "packline: list: line 2: 'type=door' (expected type=block, char, dir, fifo, file, link or socket)",
        ),
        (
            "#mtree\n\na type=file size=3\n",
            "packline: list: line 3: 'a' does not exist (expected contents= and the path of a file, or size=0)",
        ),
        (
            "#mtree\na type=file contents=list size=3\n",
            "packline: list: line 2: 'list' has 40 bytes, but size=3 is given (expected a content of this size)",
        ),
    ] {
        sandbox.write("list", text);
        let line = sandbox.bad(1, &["pack", "--manifest", "list", "i.sqfs"]);
        assert_eq!(line.trim_end(), expected);
        assert_eq!(sandbox.names(), ["list", "tree"]);
    }
    let line = sandbox.bad(2, &["pack", "--manifest", "list", "tree", "i.sqfs"]);
    assert!(
        line.contains("an mtree manifest describes a complete tree; leave out SOURCE, or use the format"),
        "{line}"
    );
}
