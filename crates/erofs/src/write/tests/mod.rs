//! Images that are written are read again: by the reader of this crate, and by the kernel.

mod bases;
mod cache;
mod devices;
mod ends;
mod listings;
mod maps;
mod mounts;
mod store;
mod trees;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use packline_blocks::{BlockSize, Fragments, Written};
use packline_codec::Spec;
use packline_testkit::model::{Node, NodeKind};
use packline_tree::{Device, Entry, Kind, Meta, Namespace, Time, Tree, Xattr};
use packline_volume::{Files, Node as Found, NodeId, RandomSettings, Volume, Walk};

use super::metadata::{ImageEnd, Source, write_metadata};
use crate::format::superblock::{compat, incompat};
use crate::options::{BLOCK, Form, Options, Uuid};
use crate::read::Image;
use crate::{Kernel, XattrTable};
use store::Store;

/// A written image.
struct Made {
    image: Vec<u8>,
    end: ImageEnd,
}

/// Stores a tree.
fn make(nodes: &[Node], options: &Options, seed: u64) -> Made {
    options.validate().unwrap();
    let mut store = Store::new(options, seed);
    let mut xattrs = XattrTable::default();
    let tree = tree_of(nodes, &mut store, &mut xattrs);
    store.finish();
    let mut sink = std::mem::take(&mut store.image);
    let data_end = sink.len() as u64;
    let zeros = store.zeros;
    let source = Source {
        tree: &tree,
        contents: &store,
        xattrs: &xattrs,
        options,
        zeros,
        data_end,
        data_sum: 5,
        record: None,
        device: None,
    };
    let metadata = write_metadata(&mut sink, Written::new(true), &source, None).unwrap();
    assert_eq!(sink.len() as u64, metadata.end.padded);
    let parts = metadata.written.into_parts().unwrap();
    assert!(parts.windows(2).all(|pair| pair[0].end() == pair[1].start));
    assert_eq!((parts[0].start, parts[parts.len() - 1].end()), (data_end, metadata.end.padded));
    sink[..BLOCK as usize].copy_from_slice(&metadata.superblock);
    Made { image: sink, end: metadata.end }
}

fn tree_of(nodes: &[Node], store: &mut Store, xattrs: &mut XattrTable) -> Tree {
    let mut namespace = Namespace::new(Meta { mode: 0o755, uid: 0, gid: 0, mtime: Time::default() });
    let mut last = None;
    for (number, node) in nodes.iter().enumerate() {
        let entry = entry(node);
        let payload = match &node.kind {
            NodeKind::File(content) => {
                let mut bytes = Vec::new();
                content.each(&mut |part| bytes.extend_from_slice(part));
                // Some files share everything with the one before.
                let same = last.take().filter(|(known, _)| *known == bytes && number % 2 == 0);
                let payload = match same {
                    Some((_, payload)) => store.add_same(payload),
                    None => store.add(&bytes),
                };
                last = Some((bytes, payload));
                payload
            }
            _ => 0,
        };
        let set = xattrs.add(&entry.xattrs, &entry.path).unwrap();
        namespace.add(&entry, payload, set).unwrap();
    }
    namespace.finish().unwrap()
}

fn entry(node: &Node) -> Entry {
    let kind = match &node.kind {
        NodeKind::File(content) => Kind::File { size: content.size },
        NodeKind::Dir => Kind::Dir,
        NodeKind::Symlink(target) => Kind::Symlink(target.clone()),
        NodeKind::HardLink(target) => Kind::HardLink(target.clone()),
        NodeKind::BlockDevice(major, minor) => Kind::BlockDevice(Device { major: *major, minor: *minor }),
        NodeKind::CharDevice(major, minor) => Kind::CharDevice(Device { major: *major, minor: *minor }),
        NodeKind::Fifo => Kind::Fifo,
        NodeKind::Socket => Kind::Socket,
    };
    let meta = Meta { mode: node.mode, uid: node.uid, gid: node.gid, mtime: Time::from_seconds(node.mtime) };
    let xattr = |(name, value): &(Vec<u8>, Vec<u8>)| Xattr { name: name.clone(), value: value.clone() };
    Entry { path: node.path.clone(), kind, meta, xattrs: node.xattrs.iter().map(xattr).collect() }
}

fn open(image: Vec<u8>) -> Image {
    Image::open(Arc::new(image), &[], 0, 1 << 20).unwrap()
}

/// Compares an image with its tree: everything of each entry, names of one inode, and look-ups.
fn compare(nodes: &[Node], image: &Image) {
    let files = Files::new(image, RandomSettings { workers: 0, cache: 1 << 20, ahead: 0 }).unwrap();
    let mut expected: BTreeMap<&[u8], &Node> = nodes.iter().map(|node| (node.path.as_slice(), node)).collect();
    let mut inodes: BTreeMap<Vec<u8>, NodeId> = BTreeMap::new();
    let of = |path: &[u8]| nodes.iter().find(|node| node.path == path).unwrap();
    for visit in Walk::new(image, image.root(), Vec::new()) {
        let visit = visit.unwrap();
        let mut node = expected.remove(visit.path.as_slice()).unwrap();
        inodes.insert(visit.path.clone(), visit.inode.at);
        while let NodeKind::HardLink(target) = &node.kind {
            node = of(target);
        }
        let what = visit.path.escape_ascii().to_string();
        let meta = visit.inode.meta;
        assert_eq!(
            (meta.mode, meta.uid, meta.gid, meta.mtime.seconds()),
            (node.mode, node.uid, node.gid, node.mtime),
            "{what}"
        );
        let mut xattrs = Volume::xattrs(image, &visit.inode).unwrap();
        xattrs.sort();
        let mut wanted = entry(node).xattrs;
        wanted.sort();
        assert_eq!(xattrs, wanted, "{what}");
        match (&node.kind, &visit.inode.node) {
            (NodeKind::File(content), Found::File(file)) => {
                assert_eq!(file.size, content.size, "{what}");
                let mut bytes = Vec::new();
                content.each(&mut |part| bytes.extend_from_slice(part));
                let opened = files.open(file);
                let mut found = Vec::new();
                files.read(&opened, 0, bytes.len(), &mut found).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(found == bytes, "{what} of {} bytes", bytes.len());
                let middle = bytes.len() / 2;
                files.read(&opened, middle as u64, 100, &mut found).unwrap();
                assert!(found == bytes[middle..bytes.len().min(middle + 100)], "{what}");
            }
            (NodeKind::Dir, Found::Directory(_)) => {
                let children = nodes.iter().filter(|child| parent(&child.path) == Some(node.path.as_slice()));
                let directories = children.filter(|child| matches!(child.kind, NodeKind::Dir)).count();
                assert_eq!(visit.inode.links as usize, 2 + directories, "{what}");
            }
            (NodeKind::Symlink(target), Found::Symlink(found)) => assert!(target == found, "{what}"),
            (NodeKind::BlockDevice(major, minor), Found::BlockDevice(found))
            | (NodeKind::CharDevice(major, minor), Found::CharDevice(found)) => {
                assert_eq!((*major, *minor), (found.major, found.minor), "{what}");
            }
            (NodeKind::Fifo, Found::Fifo) | (NodeKind::Socket, Found::Socket) => {}
            (wanted, found) => panic!("{what}: {found:?} for {wanted:?}"),
        }
        look_up(image, &visit.path, visit.inode.at);
    }
    assert!(expected.is_empty(), "{:?}", expected.keys());
    for node in nodes {
        if let NodeKind::HardLink(target) = &node.kind {
            assert_eq!(inodes[&node.path], inodes[target]);
        }
    }
}

/// Compares a look-up by name with the inode that a walk found.
fn look_up(image: &Image, path: &[u8], inode: NodeId) {
    if let Some((directory, name)) = split(path) {
        let directory = image.resolve(directory).unwrap().unwrap();
        assert_eq!(image.lookup(&directory, name).unwrap().unwrap().inode, inode, "{}", path.escape_ascii());
    }
}

fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = path.iter().rposition(|byte| *byte == b'/');
    match at {
        Some(at) => Some((&path[..at], &path[at + 1..])),
        None => (!path.is_empty()).then_some((&path[..0], path)),
    }
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    split(path).map(|(parent, _)| parent)
}

/// Options of each form.
fn forms() -> [Options; 6] {
    let options = |codec, minor| Options {
        kernel: Kernel::new(6, minor),
        block_size: BlockSize::default(),
        ..Options::new(Spec::parse(codec).unwrap())
    };
    [
        options("none", 10),
        options("lz4", 1),
        options("zstd", 10),
        options("none", 15),
        options("lz4", 15),
        options("zstd", 15),
    ]
}

#[test]
fn random_trees_are_read_as_they_were_written() {
    for seed in 0..4 {
        let nodes = trees::random(seed, 150);
        for options in forms() {
            let made = make(&nodes, &options, seed);
            let image = open(made.image);
            compare(&nodes, &image);
            assert_eq!(image.superblock().inodes, made.end.inodes);
            assert!(image.superblock().least_kernel() <= options.kernel);
        }
    }
}

/// Options of images with long prefixes of attribute names.
fn prefixed() -> [Options; 2] {
    let [none, .., wide] = forms();
    let starts = [&b"user.nnn"[..], b"trusted.v", b"user.", b"security.seli", b"unknown."];
    let with =
        |options: Options, kernel| Options { kernel, xattr_prefixes: starts.map(<[u8]>::to_vec).to_vec(), ..options };
    [with(none, Kernel::new(6, 4)), with(wide, Kernel::new(6, 17))]
}

#[test]
fn names_have_long_prefixes() {
    let nodes = trees::random(13, 150);
    for options in prefixed() {
        let image = open(make(&nodes, &options, 13).image);
        compare(&nodes, &image);
        let bases = image.xattr_prefixes().iter().map(|prefix| prefix.base);
        assert_eq!(bases.collect::<Vec<_>>(), [1, 4, 1, 6, 0]);
        assert_eq!(image.superblock().least_kernel(), options.kernel);
    }
    let long = [Node::dir(""), Node::dir("a").xattr("trusted.overlay.a", "1").xattr("trusted.overlay.b", "2")];
    let [none, ..] = forms();
    let length = |prefixes: &[&str]| {
        let xattr_prefixes = prefixes.iter().map(|prefix| prefix.as_bytes().to_vec()).collect();
        let image = open(make(&long, &Options { xattr_prefixes, ..none.clone() }, 1).image);
        compare(&long, &image);
        let node = image.resolve(b"a").unwrap().unwrap().at;
        image.inodes().fields(node).unwrap().raw.xattr_bytes
    };
    assert_eq!((length(&[]), length(&["trusted.overlay."])), (12 + 2 * 16, 12 + 2 * 8));
}

#[test]
fn directories_and_links_of_all_sizes() {
    let nodes = trees::edges();
    for options in forms() {
        let image = open(make(&nodes, &options, 1).image);
        compare(&nodes, &image);
        let exact = image.resolve(b"exact").unwrap().unwrap();
        let Found::Directory(exact) = exact.node else { panic!("no directory") };
        assert_eq!(exact.size, 8192);
    }
}

#[test]
fn an_image_has_the_features_that_it_needs() {
    let [none, lz4, _, plain, _, wide] = forms();
    let features = |nodes: &[Node], options: &Options| open(make(nodes, options, 1).image).superblock().incompat;
    assert_eq!(features(&[Node::dir(""), Node::file("a", [7; 3000])], &none), 0);
    let mut holes = vec![7; 4096];
    holes.resize(200_000, 0);
    assert_eq!(features(&[Node::dir(""), Node::file("a", holes)], &none), incompat::CHUNKS);
    let alone = Options { deduplicate: false, fragments: Fragments::Never, ..lz4 };
    let coded = incompat::ZERO_PADDING | incompat::COMPRESSION_RECORDS;
    assert_eq!(features(&[Node::dir("")], &alone), coded);
    assert_eq!(features(&[Node::dir("")], &wide), coded | incompat::FRAGMENTS | incompat::WIDE);
    assert_eq!(features(&[Node::dir("")], &plain), incompat::FRAGMENTS | incompat::WIDE);
    let superblock = open(make(&[Node::dir("")], &none, 1).image).superblock().clone();
    assert_eq!(superblock.compat, compat::CHECKSUM | compat::MTIME | compat::XATTR_FILTER);
}

#[test]
fn compact_inodes_have_their_own_times_with_48_bits_and_one_time_without() {
    let nodes: Vec<Node> =
        [("", 9), ("a", 5), ("b", 5), ("c", 5), ("d", 6)].map(|(name, time)| Node::dir(name).time(time)).to_vec();
    let [none, .., wide] = forms();
    let extended = |options: &Options| {
        let image = open(make(&nodes, options, 1).image);
        let is = |name: &str| image.resolve(name.as_bytes()).unwrap().unwrap().extended;
        (image.superblock().epoch, ["", "a", "b", "c", "d"].map(is))
    };
    assert_eq!(extended(&none), (5, [true, false, false, false, true]));
    assert_eq!(extended(&wide), (0, [false; 5]));
}

#[test]
fn the_superblock_has_label_time_and_uuid() {
    let nodes = trees::random(9, 30);
    let [.., wide] = forms();
    let options = Options { label: b"label".to_vec(), created: 77, pad: 1 << 20, ..wide };
    let made = make(&nodes, &options, 1);
    assert_eq!(made.end.padded % (1 << 20), 0);
    let superblock = |options: &Options, seed| open(make(&nodes, options, seed).image).superblock().clone();
    let first = superblock(&options, 1);
    assert_eq!((first.label(), first.epoch, first.build_time), (&b"label"[..], 0, 77));
    assert_eq!((first.uuid[6] >> 4, first.uuid[8] >> 6), (8, 2));
    assert_eq!(superblock(&options, 1), first);
    // Other positions, another label: another UUID.
    assert_ne!(superblock(&options, 2).uuid, first.uuid);
    assert_ne!(superblock(&Options { label: Vec::new(), ..options.clone() }, 1).uuid, first.uuid);
    assert_eq!(superblock(&Options { uuid: Uuid::Given([3; 16]), ..options }, 1).uuid, [3; 16]);
}

#[test]
fn attributes_that_many_inodes_have_are_stored_once() {
    let value = "a value that is long enough to be shared";
    let mut nodes = vec![Node::dir("")];
    nodes.extend((0..2000).map(|number| Node::dir(number.to_string()).xattr("user.common", value)));
    nodes.push(Node::dir("single").xattr("user.single", value));
    let [none, ..] = forms();
    let made = make(&nodes, &none, 1);
    assert_eq!(made.end.shared_xattrs, (4 + 6 + value.len() as u64).next_multiple_of(4));
    compare(&nodes, &open(made.image));
    let without = make(&nodes, &Options { xattrs: false, ..none }, 1);
    let image = open(without.image);
    let inode = image.resolve(b"single").unwrap().unwrap();
    assert!(Volume::xattrs(&image, &inode).unwrap().is_empty());
}

#[test]
fn an_inode_may_have_more_attributes_than_it_may_share() {
    let with = |name: &str| {
        (0..300).fold(Node::dir(name), |node, number| node.xattr(&format!("user.attribute{number}"), "common value"))
    };
    let mut nodes = vec![Node::dir(""), with("a"), with("b"), with("c")];
    let [none, ..] = forms();
    let shared = |nodes: &[Node]| {
        let made = make(nodes, &none, 1);
        let image = open(made.image);
        compare(nodes, &image);
        assert_eq!(writer::findings(&image), []);
        made.end.shared_xattrs
    };
    // Attributes that no inode shares are not stored among the shared ones.
    let before = shared(&nodes);
    nodes.push(Node::dir("d").xattr("user.attribute9", "common value"));
    let more = shared(&nodes) - before;
    assert_eq!((before, more), (255 * 28, 28));
}

#[test]
fn directories_with_whiteouts_are_marked_on_request() {
    let whiteout = || NodeKind::CharDevice(0, 0);
    let nodes = [
        Node::dir(""),
        Node::dir("a").xattr("user.a", "1"),
        Node::new("a/gone", whiteout()),
        Node::dir("b").xattr("trusted.overlay.origin", "kept"),
        Node::new("b/gone", whiteout()),
        Node::dir("c").xattr("user.a", "1"),
        Node::new("c/device", NodeKind::CharDevice(0, 1)),
        Node::new("gone", whiteout()),
    ];
    let [none, _, zstd, ..] = forms();
    let origins = |options: &Options| {
        let (image, _) = writer::pack(&nodes, options, 0, true);
        let image = open(image);
        assert_eq!(writer::findings(&image), []);
        ["", "a", "b", "c"].map(|path| {
            let inode = image.resolve(path.as_bytes()).unwrap().unwrap();
            let xattrs = Volume::xattrs(&image, &inode).unwrap();
            let origin = xattrs.iter().find(|xattr| xattr.name == b"trusted.overlay.origin");
            (xattrs.len(), origin.map(|xattr| xattr.value.escape_ascii().to_string()))
        })
    };
    let origin = |value: &str| Some(value.to_string());
    for options in [none, zstd] {
        assert_eq!(origins(&options), [(0, None), (1, None), (1, origin("kept")), (1, None)]);
        let marked = Options { marks_whiteouts: true, ..options };
        assert_eq!(origins(&marked), [(1, origin("")), (2, origin("")), (1, origin("kept")), (1, None)]);
        let alone = Options { xattrs: false, ..marked };
        assert_eq!(origins(&alone), [(1, origin("")), (1, origin("")), (1, origin("")), (0, None)]);
    }
}

#[test]
fn devices_that_the_format_has_no_space_for_are_named() {
    let nodes = [Node::dir(""), Node::new("d", NodeKind::CharDevice(4096, 0))];
    let [none, ..] = forms();
    let mut store = Store::new(&none, 1);
    let mut xattrs = XattrTable::default();
    let tree = tree_of(&nodes, &mut store, &mut xattrs);
    let mut sink = vec![0; BLOCK as usize];
    let source = Source {
        tree: &tree,
        contents: &store,
        xattrs: &xattrs,
        options: &none,
        zeros: None,
        data_end: BLOCK,
        data_sum: 0,
        record: None,
        device: None,
    };
    let error = write_metadata(&mut sink, Written::new(false), &source, None).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "d: device 4096:0 (expected at most 4095:1048575)");
}
