//! Pack, then unpack: the tree is the source again, in every attribute, whatever the workers, the memory and the codec.

use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::mount::Mounted;
use packline_testkit::packer::Packer;
use packline_testkit::snapshot::{self, Except, Snapshot, assert_same};
use packline_testkit::{generate, plant, tar, tools};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");
const BLOCK: usize = 16_384;

fn unpack(image: &Path, destination: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(PACKLINE);
    tools::run(command.arg("unpack").args(["-q", "-j", "2"]).args(options).arg(image).arg(destination)).unwrap()
}

/// Packs a generated tree; the image and what is in it.
fn image_of(directory: &Path, nodes: &[Node], options: &[&str]) -> (PathBuf, Snapshot) {
    let (archive, image) = (directory.join("source.tar"), directory.join("image.sqfs"));
    std::fs::write(&archive, tar::to_bytes(nodes)).unwrap();
    Packer::new(PACKLINE).pack(&archive, &image, &[&["-f"], options].concat());
    (image, snapshot::of_model(nodes, false))
}

fn check(what: &str, source: &Snapshot, found: &Path, except: Except) {
    assert_same(what, source, &snapshot::of_directory(found).unwrap(), except);
}

#[test]
fn a_directory_comes_back_in_every_attribute() {
    if !tools::need(&["mkfs.ext4"]) || !tools::root() {
        return;
    }
    let scratch = Mounted::scratch(1 << 28).unwrap();
    let source = scratch.path().join("source");
    std::fs::create_dir(&source).unwrap();
    plant::plant(&generate::small_tree(21, BLOCK), &source).unwrap();
    let expected = snapshot::of_directory(&source).unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    for (at, options) in
        [&["-b", "16K"][..], &["-b", "4K", "-c", "lz4"], &["--fragments=never", "-b", "1M"]].iter().enumerate()
    {
        let image = scratch.path().join("image.sqfs");
        Packer::new(PACKLINE).pack(&source, &image, &[&["-f"], *options].concat());
        for (file_system, place) in [("ext4", scratch.path()), ("tmpfs", memory.path())] {
            let into = place.join(format!("unpacked-{at}"));
            let said = unpack(&image, &into, &[]).stderr;
            assert!(said.is_empty(), "{}", String::from_utf8_lossy(&said));
            check(&format!("{options:?} on {file_system}"), &expected, &into, Except::default());
        }
    }
}

#[test]
fn neither_workers_nor_memory_nor_the_place_change_anything() {
    if !tools::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (image, expected) = image_of(directory.path(), &generate::small_tree(22, BLOCK), &["-b", "16K"]);
    let machines: [&[&str]; 6] = [
        &["-j", "0"],
        &["-j", "1"],
        &["-j", "7"],
        &["-j", "3", "--mem", "20M"],
        &["-j", "0", "--mem", "16M"],
        &["--sync"],
    ];
    for (at, options) in machines.into_iter().enumerate() {
        let into = directory.path().join(format!("new-{at}"));
        let options: Vec<&str> = options.iter().copied().filter(|_| true).collect();
        let mut command = Command::new(PACKLINE);
        tools::run(command.args(["unpack", "-q"]).args(&options).arg(&image).arg(&into)).unwrap();
        check(&format!("{options:?}"), &expected, &into, Except::default());
        // Into a directory that is there: each file by way of the staging directory.
        let into = directory.path().join(format!("there-{at}"));
        std::fs::create_dir(&into).unwrap();
        let mut command = Command::new(PACKLINE);
        tools::run(command.args(["unpack", "-q"]).args(&options).arg(&image).arg(&into)).unwrap();
        check(&format!("{options:?}, existing"), &expected, &into, Except::default());
    }
}

#[test]
fn every_codec() {
    if !tools::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for codec in ["none", "gzip", "xz:x86", "lzma", "lzo", "lz4", "zstd"] {
        let (image, expected) =
            image_of(directory.path(), &generate::small_tree(23, BLOCK), &["-c", codec, "-b", "16K"]);
        let into = directory.path().join(codec.replace(':', "-"));
        unpack(&image, &into, &[]);
        check(codec, &expected, &into, Except::default());
    }
}

#[test]
fn as_a_user_owners_are_left_out_and_nothing_else() {
    if !tools::need(&["setpriv", "chmod"]) || !tools::root() {
        return;
    }
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    tools::run(Command::new("chmod").arg("777").arg(directory.path())).unwrap();
    let mut nodes = generate::without_privileges(generate::small_tree(24, BLOCK), 12_345, 12_345);
    // What only others may change: the user must get in all the same while it is unpacked.
    nodes.extend([
        Node::dir("closed").mode(0o500).owner(12_345, 12_345),
        Node::file("closed/f", "x").mode(0).owner(12_345, 12_345),
    ]);
    let (image, mut expected) = image_of(directory.path(), &nodes, &["-b", "16K"]);
    // Whoever owns the destination, owners of the image are another matter.
    let into = directory.path().join("new");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=12345", "--regid=12345", "--clear-groups", PACKLINE, "unpack", "-q"]).arg(&image).arg(&into);
    tools::run(&mut command).unwrap();
    for attributes in expected.values_mut() {
        (attributes.uid, attributes.gid) = (12_345, 12_345);
    }
    check("as a user", &expected, &into, Except::default());
}

#[test]
fn what_a_user_may_not_set_is_warned_of_once_a_kind() {
    if !tools::need(&["setpriv", "chmod"]) || !tools::root() {
        return;
    }
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    tools::run(Command::new("chmod").arg("777").arg(directory.path())).unwrap();
    let file = |name: &str| {
        let file = Node::file(name, name.as_bytes().to_vec());
        file.xattr("trusted.one", *b"1").xattr("trusted.two", *b"2").xattr("user.three", *b"3")
    };
    let nodes = [Node::dir(""), file("a"), file("b"), file("c"), Node::new("null", NodeKind::CharDevice(1, 3))];
    let (image, _) = image_of(directory.path(), &nodes, &[]);
    let as_user = |options: &[&str], into: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=12345", "--regid=12345", "--clear-groups", PACKLINE, "unpack", "-q"]);
        command.args(options).arg(&image).arg(directory.path().join(into)).output().unwrap()
    };
    let refused = as_user(&[], "refused");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && said.contains("null") && said.contains("--no-devices"), "{said}");
    assert!(!directory.path().join("refused").exists());
    let done = as_user(&["--no-devices"], "done");
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said}");
    let about = |word: &str| said.lines().filter(|line| line.contains(word)).count();
    assert_eq!((about("trusted."), about("devices are left out"), about("user.")), (1, 1, 0), "{said}");
    let found = snapshot::of_directory(&directory.path().join("done")).unwrap();
    assert_eq!(found[&b"b"[..]].xattrs.len(), 1);
    assert!(!found.contains_key(&b"null"[..]));
}

#[test]
fn owners_modes_times_and_attributes_can_be_left_out() {
    if !tools::root() {
        return;
    }
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let file = Node::file("f", "x").mode(0o6755).owner(7, 8).time(1_000).xattr("user.k", *b"v");
    let (image, _) = image_of(directory.path(), &[Node::dir("").mode(0o755), file], &[]);
    let found = |options: &[&str]| {
        let into = directory.path().join("out");
        unpack(&image, &into, options);
        let found = snapshot::of_directory(&into).unwrap().remove(&b"f"[..]).unwrap();
        std::fs::remove_dir_all(into).unwrap();
        found
    };
    let all = found(&[]);
    assert_eq!((all.uid, all.gid, all.mode, all.mtime, all.xattrs.len()), (7, 8, 0o6755, 1_000, 1));
    let bare = found(&["--no-owner", "--no-times", "--no-xattrs"]);
    // Set-user-id of another owner than meant would give away what is root's.
    assert_eq!((bare.uid, bare.gid, bare.mode, bare.xattrs.len()), (0, 0, 0o755, 0));
    assert!(bare.mtime > 1_000_000_000);
    let kept = found(&["--owner"]);
    assert_eq!((kept.uid, kept.mode), (7, 0o6755));
}

#[test]
fn none_one_and_parts() {
    let directory = tempfile::tempdir().unwrap();
    let into = directory.path().join("out");
    let names = |options: &[&str], patterns: &[&str], nodes: &[Node]| {
        let (image, _) = image_of(directory.path(), nodes, &[]);
        let mut command = Command::new(PACKLINE);
        tools::run(command.args(["unpack", "-q"]).args(options).arg(&image).arg(&into).args(patterns)).unwrap();
        let found = snapshot::of_directory(&into).unwrap();
        std::fs::remove_dir_all(&into).unwrap();
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
fn a_terabyte_of_holes_takes_no_room() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let words = b"far out".to_vec();
    let sparse = Content::sparse(1 << 40, vec![(1 << 39, words.clone()), ((1 << 40) - 7, words)]);
    let nodes = [Node::dir(""), Node::new("huge", NodeKind::File(sparse))];
    let (source, image) = (directory.path().join("source"), directory.path().join("image"));
    std::fs::create_dir(&source).unwrap();
    let file = std::fs::File::create(source.join("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"far out", 1 << 39).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"far out", (1 << 40) - 7).unwrap();
    drop(nodes);
    Packer::new(PACKLINE).pack(&source, &image, &["-b", "1M"]);
    let into = directory.path().join("out");
    unpack(&image, &into, &["--mem", "64M"]);
    let found = std::fs::metadata(into.join("huge")).unwrap();
    assert!(found.len() == 1 << 40 && found.blocks() * 512 <= 4 << 20, "{} blocks", found.blocks());
    let mut bytes = [0; 9];
    let file = std::fs::File::open(into.join("huge")).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, (1 << 39) - 1).unwrap();
    assert_eq!(&bytes, b"\0far out\0");
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes[..7], (1 << 40) - 7).unwrap();
    assert_eq!(&bytes[..7], b"far out");
}

#[test]
fn holes_are_zeros_if_that_is_wanted() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let nodes =
        [Node::dir(""), Node::new("f", NodeKind::File(Content::sparse(1 << 20, vec![(1 << 19, vec![1; 100])])))];
    let (image, expected) = image_of(directory.path(), &nodes, &["-b", "16K"]);
    let blocks = |options: &[&str], name: &str| {
        let into = directory.path().join(name);
        unpack(&image, &into, options);
        let found = snapshot::of_directory(&into).unwrap();
        assert_eq!(found[&b"f"[..]].kind, expected[&b"f"[..]].kind);
        std::fs::metadata(into.join("f")).unwrap().blocks() * 512
    };
    assert!(blocks(&[], "sparse") <= 64 << 10);
    assert!(blocks(&["--no-sparse"], "full") >= 1 << 20);
}

#[test]
fn equal_files_can_share() {
    if !tools::root() {
        return;
    }
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let big: Vec<u8> = (0..100_000u32).flat_map(|number| (number / 3).to_le_bytes()).collect();
    let mut nodes = vec![Node::dir("")];
    for (name, bytes) in [("big", &big[..]), ("exact", &big[..BLOCK * 4]), ("small", &big[..500])] {
        for copy in 0..20 {
            nodes.push(Node::file(format!("{name}-{copy}"), bytes.to_vec()));
        }
        nodes.push(Node::file(format!("{name}-other"), bytes.to_vec()).mode(0o600));
    }
    let (image, expected) = image_of(directory.path(), &nodes, &["-b", "16K"]);
    for how in ["copy", "reflink", "hardlink"] {
        let into = directory.path().join(how);
        let ran = unpack(&image, &into, &["--dedupe", how, "--json"]);
        let except = Except { links: how == "hardlink", ..Except::default() };
        check(how, &expected, &into, except);
        let found = snapshot::of_directory(&into).unwrap();
        let links = if how == "hardlink" { 20 } else { 1 };
        for name in ["big-7", "exact-7", "small-7"] {
            assert_eq!(found[name.as_bytes()].links, links, "{how} {name}");
        }
        assert_eq!(found[&b"big-other"[..]].links, 1);
        // tmpfs cannot share blocks: that is said once.
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(said.lines().count(), usize::from(how == "reflink"), "{said}");
        // Each block is decoded once, or once for sixteen files that are written from it.
        let printed = String::from_utf8(ran.stdout).unwrap();
        assert!(printed.contains("\"files\":63"), "{printed}");
    }
}
