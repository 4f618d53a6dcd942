//! Extracts our tars with GNU tar and bsdtar.

use std::path::Path;

use crate::tar_support::fed;
use packline_archives::tar::{MapSegment, MapShape, TarWriter, end_of_archive, padding};
use packline_testkit::generate::small_tree;
use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::snapshot::{self, Except, Snapshot, assert_same};
use packline_testkit::tools;
use packline_tree::{Device, Entry, Kind, Meta, Xattr};

fn entry_of(node: &Node) -> Entry {
    let device = |major: &u32, minor: &u32| Device { major: *major, minor: *minor };
    let kind = match &node.kind {
        NodeKind::File(content) => Kind::File { size: content.size },
        NodeKind::Dir => Kind::Dir,
        NodeKind::Symlink(target) => Kind::Symlink(target.clone()),
        NodeKind::HardLink(target) => Kind::HardLink(target.clone()),
        NodeKind::BlockDevice(major, minor) => Kind::BlockDevice(device(major, minor)),
        NodeKind::CharDevice(major, minor) => Kind::CharDevice(device(major, minor)),
        NodeKind::Fifo => Kind::Fifo,
        NodeKind::Socket => Kind::Socket,
    };
    let xattrs = node.xattrs.iter().map(|(name, value)| Xattr { name: name.clone(), value: value.clone() });
    let meta = Meta::new(node.mode, node.uid, node.gid, node.mtime);
    Entry { path: node.path.clone(), kind, meta, xattrs: xattrs.collect() }
}

fn put_plain(out: &mut Vec<u8>, writer: &mut TarWriter, entry: &Entry, content: &Content) {
    writer.entry(out, entry).unwrap();
    content.each(&mut |bytes| out.extend_from_slice(bytes));
    out.resize(out.len() + padding(content.size), 0);
}

/// The pieces of a content as segments of complete blocks, and their bytes.
fn segments(content: &Content) -> Vec<(MapSegment, Vec<u8>)> {
    let mut found: Vec<(MapSegment, Vec<u8>)> = Vec::new();
    for (offset, bytes) in &content.pieces {
        let start = (offset / 512 * 512).max(found.last().map_or(0, |last| last.0.end()));
        let end = (offset + bytes.len() as u64).next_multiple_of(512).min(content.size);
        let mut filled = vec![0; (end - start) as usize];
        filled[(offset - start) as usize..][..bytes.len()].copy_from_slice(bytes);
        found.push((MapSegment { offset: start, length: end - start }, filled));
    }
    found
}

fn put_sparse(out: &mut Vec<u8>, writer: &mut TarWriter, entry: &Entry, content: &Content) {
    let segments = segments(content);
    let mut shape = MapShape::default();
    segments.iter().for_each(|(segment, _)| shape.add(*segment));
    shape.close(content.size);
    writer.sparse_file(out, entry, content.size, &shape).unwrap();
    shape.head(out);
    segments.iter().for_each(|(segment, _)| shape.line(out, *segment));
    shape.tail(out);
    segments.iter().for_each(|(_, bytes)| out.extend_from_slice(bytes));
    out.resize(out.len() + padding(shape.stored_bytes()), 0);
}

fn archive(prefix: &str, nodes: &[Node], sparse: bool) -> Vec<u8> {
    let mut writer = TarWriter::new(prefix);
    let mut out = Vec::new();
    for node in nodes {
        let entry = entry_of(node);
        match &node.kind {
            NodeKind::File(content) if sparse && content.has_holes() => {
                put_sparse(&mut out, &mut writer, &entry, content);
            }
            NodeKind::File(content) => put_plain(&mut out, &mut writer, &entry, content),
            _ => writer.entry(&mut out, &entry).unwrap(),
        }
    }
    out.resize(out.len() + end_of_archive(out.len() as u64), 0);
    out
}

/// Runs a program with an archive on its standard input. It must succeed without messages. Returns its output.
fn feed(program: &str, arguments: &[&str], archive: &[u8]) -> String {
    let output = fed(program, arguments, archive);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{program} {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Both programs set the time of a directory before a later entry changes the directory (links that lead upwards, at the very
/// end; names of a later entry), so this time is not compared.
fn forget_directory_times(found: &mut Snapshot) {
    let directories = found.values_mut().filter(|attributes| attributes.kind == snapshot::Kind::Dir);
    directories.for_each(|directory| directory.mtime = 0);
}

fn expected(nodes: &[Node]) -> Snapshot {
    let mut expected = snapshot::of_model(nodes, false);
    forget_directory_times(&mut expected);
    expected
}

fn extracted(program: &str, archive: &[u8], below: &str) -> Snapshot {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let options: &[&str] = match program {
        "tar" => &[
            "-xp",
            "--warning=no-timestamp",
            "--xattrs",
            "--xattrs-include=*",
            "--numeric-owner",
            "-f",
            "-",
            "-C",
            place,
        ],
        _ => &["-xp", "--xattrs", "--numeric-owner", "-f", "-", "-C", place],
    };
    feed(program, options, archive);
    let mut found = snapshot::of_directory(&directory.path().join(Path::new(below))).unwrap();
    forget_directory_times(&mut found);
    found
}

fn everything() -> Vec<Node> {
    let mut nodes = small_tree(21, 4096);
    nodes.retain(|node| !matches!(node.kind, NodeKind::Socket));
    let long = "long/".repeat(60) + &"n".repeat(200);
    let mut above = String::new();
    for _ in 0..60 {
        above += "long";
        nodes.push(Node::dir(above.clone()));
        above += "/";
    }
    nodes.push(Node::file(long.clone(), *b"deep"));
    nodes.push(Node::new(long.clone() + "-link", NodeKind::HardLink(long.into_bytes())));
    nodes.push(Node::file([&vec![0xff; 200][..]].concat(), *b"no UTF-8"));
    nodes
}

#[test]
fn gnu_tar_and_bsdtar_find_everything() {
    if !tools::need(&["tar", "bsdtar"]) || !tools::root() {
        return;
    }
    let nodes = everything();
    let expected = expected(&nodes);
    for sparse in [false, true] {
        let bytes = archive("", &nodes, sparse);
        for program in ["tar", "bsdtar"] {
            let found = extracted(program, &bytes, ".");
            assert_same(&format!("{program}, sparse: {sparse}"), &expected, &found, Except::default());
        }
    }
}

#[test]
fn a_prefix_is_where_everything_goes() {
    if !tools::need(&["tar", "bsdtar"]) || !tools::root() {
        return;
    }
    let nodes = everything();
    let bytes = archive("pre/fix/", &nodes, true);
    for program in ["tar", "bsdtar"] {
        let found = extracted(program, &bytes, "pre/fix");
        assert_same(program, &expected(&nodes), &found, Except::default());
    }
}

#[test]
fn holes_are_holes_after_extraction() {
    use std::os::unix::fs::MetadataExt;
    if !tools::need(&["tar", "bsdtar"]) {
        return;
    }
    let ends = Content::sparse(20 << 30, vec![(4096, b"begin".to_vec()), ((20 << 30) - 3, b"end".to_vec())]);
    let nodes = [
        Node::new("ends", NodeKind::File(ends)),
        Node::new("nothing", NodeKind::File(Content::sparse(1 << 33, Vec::new()))),
        Node::new("before", NodeKind::File(Content::sparse(1 << 33, vec![(0, b"x".to_vec())]))),
    ];
    let bytes = archive("", &nodes, true);
    for program in ["tar", "bsdtar"] {
        let directory = tempfile::tempdir().unwrap();
        feed(program, &["-xf", "-", "-C", directory.path().to_str().unwrap()], &bytes);
        for (name, size) in [("ends", 20 << 30), ("nothing", 1 << 33), ("before", 1 << 33)] {
            let found = directory.path().join(name).metadata().unwrap();
            assert_eq!(found.len(), size, "{program} {name}");
            assert!(found.blocks() < 10_000, "{program} {name}: {} blocks", found.blocks());
        }
    }
}

#[test]
fn numbers_beyond_ustar_are_listed_correctly() {
    if !tools::need(&["tar", "bsdtar"]) {
        return;
    }
    let node = Node::new("f", NodeKind::Fifo).owner(3_000_000_000, 2_097_152).time(-86_400);
    let devices = [Node::new("d", NodeKind::CharDevice(4095, 1_048_575)), node];
    let bytes = archive("", &devices, false);
    for program in ["tar", "bsdtar"] {
        let listed = feed(program, &["--numeric-owner", "-tvf", "-"], &bytes);
        for part in ["3000000000", "2097152", "1969", "4095,1048575"] {
            assert!(listed.replace(' ', "").contains(part), "{program}: no {part} in {listed}");
        }
    }
    // The header alone, without the content.
    let mut large = Vec::new();
    let size = (1 << 40) + 1;
    let node = Node::new("large", NodeKind::File(Content::sparse(size, Vec::new())));
    TarWriter::new("").entry(&mut large, &entry_of(&node)).unwrap();
    let listed = String::from_utf8(fed("tar", &["-tvf", "-"], &large).stdout).unwrap();
    assert!(listed.contains(&size.to_string()), "{listed}");
}
