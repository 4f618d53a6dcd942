//! Pack, then unpack: the tree equals the source in every attribute, for any number of workers, memory limit and codec.

use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{self, Except, Snapshot, assert_same};
use packline_testkit::{Ran, Sandbox, generate, tools};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;

use crate::{PACKLINE, sandbox};

const BLOCK: usize = 16_384;

/// On a file system in memory.
fn in_memory() -> Sandbox {
    Sandbox::in_memory(PACKLINE)
}

/// Unpacks `image.sqfs`.
fn unpack(sandbox: &Sandbox, into: &str, options: &[&str]) -> Ran {
    sandbox.good(&[&["unpack", "-q", "-j", "2", "image.sqfs", into], options].concat())
}

/// Packs a generated tree to `image.sqfs`. Returns the packed tree.
fn pack(sandbox: &Sandbox, nodes: &[Node], options: &[&str]) -> Snapshot {
    sandbox.write_tar("source.tar", nodes);
    sandbox.good(&[&["pack", "source.tar", "image.sqfs", "-f"], options].concat());
    snapshot::of_model(nodes, false)
}

fn check(what: &str, source: &Snapshot, sandbox: &Sandbox, found: &str) {
    assert_same(what, source, &sandbox.snapshot(found), Except::default());
}

#[test]
fn a_directory_comes_back_in_every_attribute() {
    if !mount::scratch_available() {
        return;
    }
    let scratch = Mounted::scratch(1 << 28).unwrap();
    let sandbox = Sandbox::within(PACKLINE, scratch.path());
    let memory = in_memory();
    sandbox.plant("source", &generate::small_tree(21, BLOCK));
    let expected = sandbox.snapshot("source");
    for (at, options) in
        [&["-b", "16K"][..], &["-b", "4K", "-c", "lz4"], &["--fragments=never", "-b", "1M"]].iter().enumerate()
    {
        sandbox.good(&[&["pack", "source", "image.sqfs", "-f"], *options].concat());
        for into in [sandbox.arg(&format!("unpacked-{at}")), memory.arg(&format!("unpacked-{at}"))] {
            assert_eq!(unpack(&sandbox, &into, &[]).stderr, "");
            check(&format!("{options:?} to {into}"), &expected, &sandbox, &into);
        }
    }
}

#[test]
fn neither_workers_nor_memory_nor_the_destination_change_anything() {
    if !tools::root() {
        return;
    }
    let sandbox = sandbox();
    let expected = pack(&sandbox, &generate::small_tree(22, BLOCK), &["-b", "16K"]);
    let machines: [&[&str]; 6] = [
        &["-j", "0"],
        &["-j", "1"],
        &["-j", "7"],
        &["-j", "3", "--mem", "20M"],
        &["-j", "0", "--mem", "16M"],
        &["--sync"],
    ];
    for (at, options) in machines.into_iter().enumerate() {
        let [new, existing] = ["new", "existing"].map(|name| format!("{name}-{at}"));
        sandbox.good(&[&["unpack", "-q", "image.sqfs", &new], options].concat());
        check(&format!("{options:?}"), &expected, &sandbox, &new);
        // In an existing directory each file goes through the staging directory.
        sandbox.create_dir(&existing);
        sandbox.good(&[&["unpack", "-q", "image.sqfs", &existing], options].concat());
        check(&format!("{options:?}, existing"), &expected, &sandbox, &existing);
    }
}

#[test]
fn every_codec() {
    if !tools::root() {
        return;
    }
    let sandbox = sandbox();
    for codec in ["none", "gzip", "xz:x86", "lzma", "lzo", "lz4", "zstd"] {
        let expected = pack(&sandbox, &generate::small_tree(23, BLOCK), &["-c", codec, "-b", "16K"]);
        let into = codec.replace(':', "-");
        unpack(&sandbox, &into, &[]);
        check(codec, &expected, &sandbox, &into);
    }
}

/// `packline unpack -q` as another user.
fn as_user(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let user = ["--reuid=12345", "--regid=12345", "--clear-groups", PACKLINE, "unpack", "-q"];
    sandbox.program("setpriv", &[&user[..], arguments].concat())
}

#[test]
fn as_a_user_owners_are_left_out_and_nothing_else() {
    if !tools::need(&["setpriv", "chmod"]) || !tools::root() {
        return;
    }
    let sandbox = in_memory();
    sandbox.peer("chmod", &["777", "."]);
    let mut nodes = generate::without_privileges(generate::small_tree(24, BLOCK), 12_345, 12_345);
    // Without write permission for the owner: the user must still be able to fill it.
    nodes.extend([
        Node::dir("closed").mode(0o500).owner(12_345, 12_345),
        Node::file("closed/f", "x").mode(0).owner(12_345, 12_345),
    ]);
    let mut expected = pack(&sandbox, &nodes, &["-b", "16K"]);
    // The owners of the image have no effect.
    Ran::good(&mut as_user(&sandbox, &["image.sqfs", "new"]));
    for attributes in expected.values_mut() {
        attributes.uid = 12_345;
        attributes.gid = 12_345;
    }
    check("as a user", &expected, &sandbox, "new");
}

#[test]
fn attributes_that_a_user_may_not_set_are_one_warning_a_kind() {
    if !tools::need(&["setpriv", "chmod"]) || !tools::root() {
        return;
    }
    let sandbox = in_memory();
    sandbox.peer("chmod", &["777", "."]);
    let file = |name: &str| {
        let file = Node::file(name, name.as_bytes().to_vec());
        file.xattr("trusted.one", *b"1").xattr("trusted.two", *b"2").xattr("user.three", *b"3")
    };
    let nodes = [Node::dir(""), file("a"), file("b"), file("c"), Node::new("null", NodeKind::CharDevice(1, 3))];
    pack(&sandbox, &nodes, &[]);
    let refused = Ran::of(&mut as_user(&sandbox, &["image.sqfs", "refused"]));
    let message = refused.stderr;
    assert!(refused.status == 1 && message.contains("null") && message.contains("--no-devices"), "{message}");
    assert!(!sandbox.at("refused").exists());
    let stderr = Ran::good(&mut as_user(&sandbox, &["image.sqfs", "done", "--no-devices"])).stderr;
    let about = |word: &str| stderr.lines().filter(|line| line.contains(word)).count();
    assert_eq!((about("trusted."), about("devices are left out"), about("user.")), (1, 1, 0), "{stderr}");
    let found = sandbox.snapshot("done");
    assert_eq!(found[&b"b"[..]].xattrs.len(), 1);
    assert!(!found.contains_key(&b"null"[..]));
}

#[test]
fn owners_modes_times_and_attributes_can_be_left_out() {
    if !tools::root() {
        return;
    }
    let sandbox = in_memory();
    let file = Node::file("f", "x").mode(0o6755).owner(7, 8).time(1_000).xattr("user.k", *b"v");
    pack(&sandbox, &[Node::dir("").mode(0o755), file], &[]);
    let found = |options: &[&str]| {
        unpack(&sandbox, "out", options);
        let found = sandbox.snapshot("out").remove(&b"f"[..]).unwrap();
        sandbox.remove("out");
        found
    };
    let all = found(&[]);
    assert_eq!((all.uid, all.gid, all.mode, all.mtime, all.xattrs.len()), (7, 8, 0o6755, 1_000, 1));
    let bare = found(&["--no-owner", "--no-times", "--no-xattrs"]);
    // Set-user-id with another owner would give away root's rights.
    assert_eq!((bare.uid, bare.gid, bare.mode, bare.xattrs.len()), (0, 0, 0o755, 0));
    assert!(bare.mtime > 1_000_000_000);
    let kept = found(&["--owner"]);
    assert_eq!((kept.uid, kept.mode), (7, 0o6755));
}

#[test]
fn empty_images_and_parts_of_images() {
    let sandbox = sandbox();
    let names = |options: &[&str], patterns: &[&str], nodes: &[Node]| {
        pack(&sandbox, nodes, &[]);
        sandbox.good(&[&["unpack", "-q"], options, &["image.sqfs", "out"], patterns].concat());
        let found = sandbox.snapshot("out");
        sandbox.remove("out");
        found.into_keys().map(|name| String::from_utf8(name).unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&[], &[], &[Node::dir("")]), "");
    assert_eq!(names(&[], &[], &[Node::dir(""), Node::file("f", "x")]), " f");
    let tree = [
        Node::dir(""),
        Node::dir("a"),
        Node::dir("a/b"),
        Node::file("a/b/c", "x"),
        Node::file("a/d", "y"),
        Node::new("a/e", NodeKind::HardLink(b"a/d".to_vec())),
        Node::dir("z"),
        Node::file("z/d", ""),
    ];
    assert_eq!(names(&[], &["a/b"], &tree), " a a/b a/b/c");
    assert_eq!(names(&[], &["*/d"], &tree), " a a/d z z/d");
    assert_eq!(names(&["-x", "a/b"], &[], &tree), " a a/d a/e z z/d");
    assert_eq!(names(&["-x", "a/d"], &["a"], &tree), " a a/b a/b/c a/e");
    assert_eq!(names(&["--subdir", "/a"], &[], &tree), " b b/c d e");
    assert_eq!(names(&["--subdir", "a"], &["b"], &tree), " b b/c");
}

#[test]
fn a_terabyte_of_holes_takes_no_space() {
    let sandbox = in_memory();
    let file = std::fs::File::create(sandbox.create_dir("source").join("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    file.write_all_at(b"far out", 1 << 39).unwrap();
    file.write_all_at(b"far out", (1 << 40) - 7).unwrap();
    sandbox.good(&["pack", "source", "image.sqfs", "-b", "1M"]);
    unpack(&sandbox, "out", &["--mem", "64M"]);
    let huge = sandbox.at("out/huge");
    let found = std::fs::metadata(&huge).unwrap();
    assert!(found.len() == 1 << 40 && found.blocks() * 512 <= 4 << 20, "{} blocks", found.blocks());
    let mut bytes = [0; 9];
    let file = std::fs::File::open(huge).unwrap();
    file.read_exact_at(&mut bytes, (1 << 39) - 1).unwrap();
    assert_eq!(&bytes, b"\0far out\0");
    file.read_exact_at(&mut bytes[..7], (1 << 40) - 7).unwrap();
    assert_eq!(&bytes[..7], b"far out");
}

#[test]
fn no_sparse_writes_zeros() {
    let sandbox = in_memory();
    let nodes =
        [Node::dir(""), Node::new("f", NodeKind::File(Content::sparse(1 << 20, vec![(1 << 19, vec![1; 100])])))];
    let expected = pack(&sandbox, &nodes, &["-b", "16K"]);
    let blocks = |options: &[&str], name: &str| {
        unpack(&sandbox, name, options);
        assert_eq!(sandbox.snapshot(name)[&b"f"[..]].kind, expected[&b"f"[..]].kind);
        std::fs::metadata(sandbox.at(name).join("f")).unwrap().blocks() * 512
    };
    assert!(blocks(&[], "sparse") <= 64 << 10);
    assert!(blocks(&["--no-sparse"], "full") >= 1 << 20);
}

#[test]
fn equal_files_can_share() {
    if !tools::root() {
        return;
    }
    let sandbox = in_memory();
    let big: Vec<u8> = (0..100_000u32).flat_map(|number| (number / 3).to_le_bytes()).collect();
    let mut nodes = vec![Node::dir("")];
    for (name, bytes) in [("big", &big[..]), ("exact", &big[..BLOCK * 4]), ("small", &big[..500])] {
        for copy in 0..20 {
            nodes.push(Node::file(format!("{name}-{copy}"), bytes.to_vec()));
        }
        nodes.push(Node::file(format!("{name}-other"), bytes.to_vec()).mode(0o600));
    }
    let expected = pack(&sandbox, &nodes, &["-b", "16K"]);
    for how in ["copy", "reflink", "hardlink"] {
        let ran = unpack(&sandbox, how, &["--dedupe", how, "--json"]);
        let except = Except { links: how == "hardlink", ..Except::default() };
        let found = sandbox.snapshot(how);
        assert_same(how, &expected, &found, except);
        let links = if how == "hardlink" { 20 } else { 1 };
        for name in ["big-7", "exact-7", "small-7"] {
            assert_eq!(found[name.as_bytes()].links, links, "{how} {name}");
        }
        assert_eq!(found[&b"big-other"[..]].links, 1);
        // tmpfs cannot share blocks: one warning.
        assert_eq!(ran.stderr.lines().count(), usize::from(how == "reflink"), "{}", ran.stderr);
        assert!(ran.text().contains("\"files\":63"), "{ran:?}");
    }
}

/// chown(2) takes 4294967295 as "do not change". unsquashfs and tar leave such an owner out and say nothing.
#[test]
fn an_owner_that_no_file_can_have_is_left_out_with_a_warning() {
    if !tools::root() {
        return;
    }
    let sandbox = in_memory();
    let nodes = [
        Node::dir("").mode(0o755),
        Node::file("first", "x").mode(0o4755).owner(u32::MAX, 7),
        Node::file("second", "y").mode(0o2755).owner(7, u32::MAX),
        Node::file("third", "z").mode(0o4755).owner(7, 8),
    ];
    sandbox.write_tar("x.tar", &nodes);
    for image in ["x.sqfs", "x.erofs"] {
        sandbox.good(&["pack", "-q", "x.tar", image]);
        let verified = sandbox.good(&["verify", "--notes", image]).text();
        assert!(verified.contains("owner or group 4294967295"), "{image}: {verified}");
    }
    for (source, command) in [
        ("x.sqfs", "unpack -q x.sqfs out"),
        ("x.erofs", "unpack -q x.erofs out"),
        ("x.tar", "unpack -q x.tar out"),
        ("x.sqfs", "unsquashfs -q -n -d out x.sqfs"),
    ] {
        let ran = sandbox.shell(&format!("$P {command}"));
        let warning = "out/first: no file can have the owner or group 4294967295: ";
        assert!(ran.status == 0 && ran.stderr.contains(warning), "{command}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{source}: {}", ran.stderr);
        let found = sandbox.shell("cd out && stat -c '%a %u %g' first second third").text();
        assert_eq!(found, "755 0 0\n755 0 0\n4755 7 8\n", "{command}");
        sandbox.remove("out");
    }
}
