//! Images by many programs, read and compared with their source trees.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::metadata_support::{image, options, zoo};
use crate::others;
use packline_squashfs::read::{FileInput, Image, InodeRef, Input, NodeType, Opening, Origin};
use packline_testkit::model::Node;
use packline_testkit::reader;
use packline_testkit::snapshot::{self, Attributes, Except, Kind, Snapshot};
use packline_volume::{Inode, Node as Found, Volume, Walk};

fn open(input: impl Input + 'static, metadata_cache: usize) -> Image {
    Image::open(Arc::new(input), Opening { origin: Origin::Find, metadata_cache }).unwrap()
}

fn open_file(path: &Path) -> Image {
    open(FileInput::new(std::fs::File::open(path).unwrap()).unwrap(), 1 << 20)
}

/// Returns what a walk shows. Contents are not read: they are copied from `expected` if the sizes agree.
fn walked(image: &Image, expected: &Snapshot) -> Snapshot {
    let mut firsts: BTreeMap<InodeRef, Vec<u8>> = BTreeMap::new();
    let mut found = Snapshot::new();
    for visit in Walk::new(image, image.root(), Vec::new()) {
        let visit = visit.unwrap();
        let first_name = firsts.entry(visit.inode.at).or_insert_with(|| visit.path.clone()).clone();
        let attributes = attributes(image, &visit.inode, first_name, expected.get(&visit.path));
        found.insert(visit.path, attributes);
    }
    found
}

fn attributes(image: &Image, inode: &Inode, first_name: Vec<u8>, expected: Option<&Attributes>) -> Attributes {
    let hash = match expected.map(|expected| &expected.kind) {
        Some(Kind::File(_, hash)) => *hash,
        _ => [0; 32],
    };
    let kind = match &inode.node {
        Found::Directory(_) => Kind::Dir,
        Found::File(file) => Kind::File(file.size, hash),
        Found::Symlink(target) => Kind::Symlink(target.clone()),
        Found::BlockDevice(device) => Kind::BlockDevice(device.major, device.minor),
        Found::CharDevice(device) => Kind::CharDevice(device.major, device.minor),
        Found::Fifo => Kind::Fifo,
        Found::Socket => Kind::Socket,
    };
    let links = if kind == Kind::Dir { 1 } else { inode.links };
    let xattrs = Volume::xattrs(image, inode).unwrap().into_iter().map(|xattr| (xattr.name, xattr.value)).collect();
    let meta = inode.meta;
    Attributes {
        kind,
        mode: meta.mode,
        uid: meta.uid,
        gid: meta.gid,
        mtime: meta.mtime.seconds(),
        first_name,
        links,
        xattrs,
    }
}

fn same(expected: &Snapshot, image: &Image, except: Except) {
    let different = snapshot::differences(expected, &walked(image, expected), except);
    assert!(different.is_empty(), "{} differences: {:#?}", different.len(), &different[..different.len().min(20)]);
}

fn flat(count: usize) -> Vec<Node> {
    let files = (0..count).map(|n| Node::file(format!("d/{n:x}{}", "-name".repeat(n % 13)), ""));
    [Node::dir(""), Node::dir("d")].into_iter().chain(files).collect()
}

#[test]
fn every_kind_of_inode_with_every_codec() {
    let expected = snapshot::of_model(&zoo(), true);
    for codec in ["none", "gzip", "xz:x86", "lzma", "zstd:level=3", "lz4:hc", "lzo"] {
        let mut options = options(codec);
        options.exportable = true;
        // A cache of one block is enough.
        for cache in [0, 1 << 20] {
            let image = open(image(&zoo(), &options).bytes, cache);
            same(&expected, &image, Except::default());
            assert_eq!(image.codec().to_string(), if codec == "none" { "gzip" } else { codec });
        }
    }
}

#[test]
fn finds_an_image_after_other_data() {
    let expected = snapshot::of_model(&zoo(), true);
    let image = image(&zoo(), &options("zstd")).bytes;
    let moved = open([&b"hsqs, a program that comes first"[..], &image, b"and more"].concat(), 0);
    assert_eq!(moved.origin(), 32);
    same(&expected, &moved, Except::default());
}

#[test]
fn every_name_is_found_and_no_other() {
    let nodes = flat(5000);
    let image = open(image(&nodes, &options("gzip")).bytes, 1 << 20);
    let directory = image.resolve(b"d").unwrap().unwrap();
    let packline_squashfs::read::Node::Directory(data) = &directory.node else { panic!("no directory") };
    assert!(data.indices > 10, "{} index entries", data.indices);
    for node in nodes.iter().skip(2) {
        let name = &node.path[2..];
        let entry = image.lookup(&directory, name).unwrap().unwrap();
        assert_eq!((&entry.name[..], entry.kind), (name, NodeType::File));
        for other in [&[name, b"\x01"].concat()[..], &[name, b"~"].concat(), &name[1..]] {
            let there = nodes.iter().any(|node| node.path.strip_prefix(b"d/") == Some(other));
            assert!(there || image.lookup(&directory, other).unwrap().is_none());
        }
    }
    assert!(image.resolve(b"d/0/x").unwrap().is_none() && image.resolve(b"e").unwrap().is_none());
    assert_eq!(image.resolve(b"").unwrap().unwrap().at, image.root());
}

#[test]
fn entries_come_sorted_and_the_export_table_names_them() {
    let mut options = options("lz4");
    options.exportable = true;
    let image = open(image(&flat(3000), &options).bytes, 0);
    let directory = image.resolve(b"d").unwrap().unwrap();
    let entries: Vec<_> = image.entries(&directory).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(entries.len(), 3000);
    assert!(entries.is_sorted_by(|a, b| a.name < b.name));
    for entry in &entries {
        assert_eq!(image.export(u32::try_from(entry.number).unwrap()).unwrap(), Some(entry.inode));
        assert_eq!(u64::from(image.entry_inode(entry).unwrap().number), entry.number);
    }
    assert!(image.export(0).is_err() && image.export(3003).is_err());
    assert!(image.entries(&image.entry_inode(&entries[0]).unwrap()).is_err());
}

#[test]
fn a_pruned_directory_is_not_entered() {
    let nodes = ["", "a", "a/x", "a/x/y", "b", "b/z"].map(Node::dir);
    let image = open(image(&nodes, &options("gzip")).bytes, 0);
    let mut walk = Walk::new(&image, image.root(), Vec::new());
    let mut paths = Vec::new();
    while let Some(visit) = walk.next() {
        let visit = visit.unwrap();
        if visit.path == b"a" {
            walk.prune();
        }
        paths.push(String::from_utf8(visit.path).unwrap());
    }
    assert_eq!(paths, ["", "a", "b", "b/z"]);
    let part = image.resolve(b"a/x").unwrap().unwrap().at;
    let below = Walk::new(&image, part, b"a/x".to_vec()).map(|visit| visit.unwrap().path);
    assert_eq!(below.collect::<Vec<_>>(), [&b"a/x"[..], b"a/x/y"]);
}

#[test]
fn a_deep_chain_is_walked() {
    let levels = 3000;
    let path = |level: usize| "d/".repeat(level) + "d";
    let nodes = (0..levels).flat_map(|level| [Node::dir(path(level)), Node::file(path(level) + "/z", "")]);
    let nodes: Vec<Node> = [Node::dir("")].into_iter().chain(nodes).collect();
    let image = open(image(&nodes, &options("lz4")).bytes, 0);
    let paths: Vec<_> = Walk::new(&image, image.root(), Vec::new()).map(|visit| visit.unwrap().path).collect();
    assert_eq!(paths.len(), 1 + 2 * levels);
    assert_eq!(paths.last().unwrap(), b"d/z");
}

#[test]
fn many_threads_read_one_image() {
    let expected = snapshot::of_model(&flat(3000), true);
    let image = open(image(&flat(3000), &options("gzip")).bytes, 0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| same(&expected, &image, Except::default()));
        }
    });
}

/// Compares images that `make` writes with each codec with the result of the independent reader.
fn by_others(program: &str, codecs: &[&str], make: impl Fn(&str, &Path, &Path) -> Command) {
    others::each(program, codecs, (11, |_: &Path| {}), make, |codec, path| {
        let report = reader::inspect(path).unwrap();
        let image = open_file(path);
        same(&report.tree, &image, Except::default());
        assert_eq!(image.codec().name(), codec);
    });
}

#[test]
fn images_by_mksquashfs() {
    by_others("mksquashfs", &others::MKSQUASHFS, |codec, source, image| {
        let mut command = others::mksquashfs(codec, source, image);
        if codec == "xz" {
            command.args(["-Xbcj", "x86,arm", "-Xdict-size", "50%"]);
        }
        command
    });
}

#[test]
fn images_by_gensquashfs() {
    by_others("gensquashfs", &others::GENSQUASHFS, others::gensquashfs);
}

#[test]
fn images_by_tar2sqfs() {
    by_others("tar2sqfs", &others::TAR2SQFS, others::tar2sqfs);
}
