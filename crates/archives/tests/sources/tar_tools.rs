//! Reads archives written by GNU tar and bsdtar.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::tar_support::*;
use packline_archives::tar::{TarOptions, TarSource};
use packline_testkit::generate::{small_tree, without_privileges};
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::plant::plant;
use packline_testkit::snapshot::{self, Except, Snapshot, assert_same};
use packline_testkit::tools;
use packline_tree::{Extent, Kind, Source};
use tempfile::TempDir;

/// A tree with all features, and its snapshot.
fn tree(keep: impl Fn(&Node) -> bool) -> (TempDir, Snapshot) {
    let directory = tempfile::tempdir().unwrap();
    let ids = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut nodes = small_tree(3, 4096);
    if ids.0 != 0 {
        nodes = without_privileges(nodes, ids.0, ids.1);
    }
    nodes.retain(keep);
    let names: BTreeSet<Vec<u8>> = nodes.iter().map(|node| node.path.clone()).collect();
    nodes.retain(|node| !matches!(&node.kind, NodeKind::HardLink(target) if !names.contains(target)));
    plant(&nodes, directory.path()).unwrap();
    let mut found = snapshot::of_directory(directory.path()).unwrap();
    found.retain(|_, attributes| attributes.kind != snapshot::Kind::Socket);
    (directory, found)
}

const NO_LINKS: Except = Except { links: true, groups: true, xattrs: false, root: false, capability: false };
const NO_XATTRS: Except = Except { xattrs: true, ..NO_LINKS };

fn pack(program: &str, options: &[&str], directory: &Path) -> Vec<u8> {
    let out = tempfile::tempdir().unwrap();
    let archive = out.path().join("archive.tar");
    let mut arguments = vec!["-c", "-f", archive.to_str().unwrap()];
    arguments.extend_from_slice(options);
    arguments.push(".");
    // tar reports "socket ignored" and continues; after any other message it would not have exited with 0.
    run(program, &arguments, directory);
    fs::read(archive).unwrap()
}

fn assert_packed(what: &str, archive: &[u8], expected: &Snapshot, except: Except) {
    let all = read_bytes(archive).unwrap();
    assert_same(what, expected, &crate::tar_support::snapshot(&all), except);
}

#[test]
fn gnu_tar_in_every_format() {
    if !tools::need(&["tar"]) {
        return;
    }
    let (directory, everything) = tree(|_| true);
    for options in [
        &["--format=gnu"][..],
        &["--format=oldgnu"],
        &["--format=posix"],
        &["--format=gnu", "--sparse"],
        &["--format=oldgnu", "--sparse"],
        &["--format=posix", "--sparse", "--sparse-version=0.0"],
        &["--format=posix", "--sparse", "--sparse-version=0.1"],
        &["--format=posix", "--sparse", "--sparse-version=1.0"],
        &["--format=posix", "--sparse", "--hole-detection=raw"],
        &["--format=posix", "--hard-dereference"],
    ] {
        let archive = pack("tar", options, directory.path());
        assert_packed(&format!("{options:?}"), &archive, &everything, NO_XATTRS);
    }
    let archive = pack("tar", &["--format=posix", "--xattrs", "--xattrs-include=*"], directory.path());
    assert_packed("attributes", &archive, &everything, NO_LINKS);
}

#[test]
fn gnu_tar_in_the_small_formats() {
    if !tools::need(&["tar"]) {
        return;
    }
    let fits = |node: &Node, most: usize| {
        let link = match &node.kind {
            NodeKind::Symlink(target) => target.len(),
            NodeKind::HardLink(target) => target.len() + 2,
            _ => 0,
        };
        let numbers = node.uid < 1 << 21 && node.gid < 1 << 21 && (0..1 << 33).contains(&node.mtime);
        node.path.len() < most && link < 98 && numbers
    };
    let is_plain =
        |node: &Node| !matches!(node.kind, NodeKind::BlockDevice(..) | NodeKind::CharDevice(..) | NodeKind::Fifo);
    let (directory, found) = tree(|node| fits(node, 90) && is_plain(node));
    assert!(found.len() > 50);
    assert_packed("v7", &pack("tar", &["--format=v7"], directory.path()), &found, NO_XATTRS);
    let (directory, found) = tree(|node| fits(node, 100));
    assert_packed("ustar", &pack("tar", &["--format=ustar"], directory.path()), &found, NO_XATTRS);
}

#[test]
fn bsdtar_in_every_format() {
    if !tools::need(&["bsdtar"]) {
        return;
    }
    let (directory, everything) = tree(|_| true);
    for options in [&["--format=pax"][..], &["--format=pax", "--no-read-sparse"]] {
        let archive = pack("bsdtar", options, directory.path());
        assert_packed(&format!("bsdtar {options:?}"), &archive, &everything, NO_LINKS);
    }
    // libarchive's gnutar writer skips devices whose numbers do not fit octal fields.
    let (directory, found) = tree(|node| !node.path.ends_with(b"1048575"));
    let archive = pack("bsdtar", &["--format=gnutar", "--no-xattrs"], directory.path());
    assert_packed("bsdtar, gnutar", &archive, &found, NO_XATTRS);
}

#[test]
fn hard_links_stay_links() {
    if !tools::need(&["tar"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a"), "shared").unwrap();
    let name = "n".repeat(200);
    fs::hard_link(directory.path().join("a"), directory.path().join(&name)).unwrap();
    for format in ["gnu", "posix"] {
        let all = read_bytes(&pack("tar", &["--format", format, "--sort=name"], directory.path())).unwrap();
        assert_eq!(all[1].content, b"shared");
        assert_eq!(all[2].entry.path, name.as_bytes());
        assert_eq!(all[2].entry.kind, Kind::HardLink(b"a".to_vec()));
    }
    let long =
        read_bytes(&pack("tar", &["--sort=name", "--transform=s/^\\.\\/a$/z/", "--format=gnu"], directory.path()));
    assert!(long.unwrap().iter().any(|read| matches!(&read.entry.kind, Kind::HardLink(to) if to.len() == 1)));
}

#[test]
fn times_before_1970_and_large_owners() {
    if !tools::need(&["tar"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old");
    File::create(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH - Duration::new(1000, 500_000_000)).unwrap();
    for (format, uid) in [("gnu", "4294967294"), ("oldgnu", "3000000"), ("posix", "4294967294")] {
        let options = ["--format", format, "--owner", &format!("u:{uid}"), "--group=g:2097152"];
        let all = read_bytes(&pack("tar", &options, directory.path())).unwrap();
        let meta = all.iter().find(|read| read.entry.path == b"old").unwrap().entry.meta;
        assert_eq!(
            (meta.uid.to_string().as_str(), meta.gid, meta.mtime.seconds()),
            (uid, 2_097_152, -1001),
            "{format}"
        );
        assert_eq!(meta.mtime.nanoseconds(), if format == "posix" { 500_000_000 } else { 0 }, "{format}");
    }
}

#[test]
fn sparse_files_of_gigabytes() {
    if !tools::need(&["tar"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let size = 9 << 30;
    let file = File::create(directory.path().join("disk")).unwrap();
    // Many segments, so that the old form needs several extension blocks.
    let pieces: BTreeMap<u64, Vec<u8>> =
        (0..120).map(|index| (u64::from(index) * (70 << 20) + 4096, bytes(index, 5000))).collect();
    for (offset, bytes) in &pieces {
        file.write_all_at(bytes, *offset).unwrap();
    }
    file.set_len(size).unwrap();
    for options in [
        &["--format=gnu"][..],
        &["--format=posix", "--sparse-version=0.0"],
        &["--format=posix", "--sparse-version=0.1"],
        &["--format=posix", "--sparse-version=1.0"],
    ] {
        let archive = pack("tar", &[&["--sparse"], options].concat(), directory.path());
        assert!(archive.len() < 8 << 20, "{options:?}: the file system stores no holes");
        assert_sparse(&archive, size, &pieces);
    }
}

/// The map of a sparse file of format 1 is read with any minor number: GNU tar extracts 1.0 marked as 1.1 too.
#[test]
fn the_minor_number_of_sparse_files_does_not_count() {
    if !tools::need(&["tar"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let file = File::create(place.path().join("holey")).unwrap();
    file.write_all_at(b"data", 1 << 20).unwrap();
    file.set_len(3 << 20).unwrap();
    let mut archive = pack("tar", &["--format=posix", "--sparse", "--sparse-version=1.0"], place.path());
    let minor = b"GNU.sparse.minor=0";
    let at = archive.windows(minor.len()).position(|bytes| bytes == minor).unwrap();
    archive[at + minor.len() - 1] = b'1';
    let read = read_bytes(&archive).unwrap();
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("archive"), &archive).unwrap();
    run("tar", &["-xf", "archive"], out.path());
    assert!(read[1].content == fs::read(out.path().join("holey")).unwrap() && read[1].content.len() == 3 << 20);
}

/// Walks through the extents: holes must not overlap a piece, and data must equal the piece, or be zeros around it.
fn assert_sparse(archive: &[u8], size: u64, pieces: &BTreeMap<u64, Vec<u8>>) {
    let mut source = TarSource::new(archive, TarOptions::default());
    while source.next_entry().unwrap().unwrap().kind != (Kind::File { size }) {}
    let mut position = 0;
    let mut seen = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match source.read(&mut buffer).unwrap() {
            Extent::End => break,
            Extent::Hole(count) => {
                assert!(pieces.range(position.max(5000) - 4999..position + count).next().is_none());
                position += count;
            }
            Extent::Data(count) => {
                for (index, byte) in buffer[..count].iter().enumerate() {
                    let at = position + index as u64;
                    let piece = pieces.range(..=at).next_back();
                    let expected = piece.and_then(|(offset, bytes)| bytes.get((at - offset) as usize));
                    assert_eq!(byte, expected.unwrap_or(&0));
                    seen += u64::from(expected.is_some());
                }
                position += count as u64;
            }
        }
    }
    assert_eq!((position, seen), (size, pieces.len() as u64 * 5000));
}

#[test]
fn binary_attributes_of_both() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "x").unwrap();
    let value: Vec<u8> = (0..=255).collect();
    let flags = rustix::fs::XattrFlags::empty();
    let names = ["user.binary", "user.a=b%c d", "user.empty"];
    for (name, value) in names.iter().zip([&value[..], b"=\n", b""]) {
        if rustix::fs::setxattr(&path, *name, value, flags).is_err() {
            tools::skip("the file system stores no attributes");
            return;
        }
    }
    for (program, options) in [("tar", &["--format=posix", "--xattrs"][..]), ("bsdtar", &["--format=pax", "--xattrs"])]
    {
        if !tools::need(&[program]) {
            return;
        }
        let all = read_bytes(&pack(program, options, directory.path())).unwrap();
        let xattrs = &all.iter().find(|read| read.entry.path == b"file").unwrap().entry.xattrs;
        let found = |name: &str| &xattrs.iter().find(|xattr| xattr.name == name.as_bytes()).unwrap().value;
        assert_eq!(found("user.binary"), &value, "{program}");
        assert_eq!(found(names[1]), b"=\n", "{program}");
        assert_eq!(found("user.empty"), b"", "{program}");
    }
}

/// Archives that no current tool writes are read as GNU tar extracts them.
#[test]
fn odd_archives_are_read_as_gnu_tar_extracts_them() {
    // An archive without modes creates files that only root can read.
    if !tools::need(&["tar"]) || !tools::root() {
        return;
    }
    let star = Header::ustar("file", b'0', 2).with(345, b"star/prefix").with(476, b"00000000001 00000000002 ");
    let archives = [
        [Header::v7("d/", 0, 0).seal(), Header::v7("d/f", 0, 3).body(b"abc")].concat(),
        [Header::ustar("prefixed", b'0', 1).with(345, b"some/where").body(b"p"), star.body(b"st")].concat(),
        [Header::v7("f", b'7', 3).body(b"abc"), Header::v7("l", b'1', 0).link("f").seal()].concat(),
        [long(b'K', b"target/of/link"), long(b'L', &[b'n'; 180]), Header::gnu("x", b'2', 0).seal()].concat(),
        [long(b'L', b"first"), pax(b'x', &[("mtime", b"3.7")]), Header::gnu("x", b'0', 0).seal()].concat(),
        [pax(b'g', &[("mtime", b"99")]), file("a", b"1"), pax(b'x', &[("mtime", b"5")]), file("b", b"2")].concat(),
        [file("same", b"first"), file("same", b"second")].concat(),
        [Header::gnu("label", b'V', 0).seal(), Header::gnu("dump/", b'D', 5).body(b"Yf\0\0"), file("f", b"f")].concat(),
        [Header::v7("s\u{e9}", b'0', 1).with(0, b"latin\xe9").seal_signed(), padded(b"s")].concat(),
    ];
    for (index, archive) in archives.iter().enumerate() {
        let archive = [&archive[..], &end()].concat();
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::write(directory.path().join("archive"), &archive).unwrap();
        run("tar", &["-x", "-p", "--warning=none", "-f", "../archive"], &tree);
        let ours = crate::tar_support::snapshot(&read_bytes(&archive).unwrap());
        let mut theirs = snapshot::of_directory(&tree).unwrap();
        // tar creates implied parents and the root itself, and only root sets owners.
        theirs.retain(|path, _| ours.contains_key(path));
        for attributes in theirs.values_mut().filter(|_| rustix::process::getuid().as_raw() != 0) {
            attributes.uid = 1;
            attributes.gid = 2;
        }
        for (path, attributes) in &mut theirs {
            // Extracting a symbolic link cannot set its mode.
            if matches!(attributes.kind, snapshot::Kind::Symlink(_)) {
                attributes.mode = ours[path].mode;
            }
        }
        assert_same(&format!("archive {index}"), &theirs, &ours, NO_XATTRS);
    }
}
