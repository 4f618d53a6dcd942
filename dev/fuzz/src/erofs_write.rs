//! A target that writes trees to EROFS images, and compares what two readers find in them: our own, and erofs-rs.

use std::collections::BTreeMap;
use std::sync::Arc;

use packline_engine::Config;
use packline_erofs::read::Image;
use packline_erofs::verify::{Examiner, Finding, Severity, VerifySettings, verify};
use packline_erofs::{FileHints, Options, Start, Writer};
use packline_testkit::erofs_reader;
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::snapshot::{self, Attributes, Except, Kind, Snapshot};
use packline_tree::{Device, Entry, Error, Extent, Kind as EntryKind, Meta, Source, Time, Xattr};
use packline_volume::{Files, Node as Found, NodeId, RandomSettings, ReadSettings, Visit, Volume, Walk};

use crate::erofs_recipe::Recipe;

/// Zeros of this many bytes are passed to the writer as a hole.
const HOLE: usize = 8192;

/// Any bytes as options and a tree: our reader and erofs-rs find the tree in the image of our writer, and no fault.
pub fn erofs_writer(bytes: &[u8]) {
    let mut recipe = Recipe::new(bytes);
    if let Some(options) = recipe.options() {
        let nodes = recipe.nodes();
        let image = write(&nodes, &options, 0);
        // Starting threads takes as long as all the rest, so one input of four has them.
        if bytes.len().is_multiple_of(4) {
            assert!(write(&nodes, &options, 2) == image, "workers change the image");
        }
        round_trip(&nodes, &options, image);
    }
}

/// Reads the image of a tree.
fn round_trip(nodes: &[Node], options: &Options, image: Vec<u8>) {
    let mut expected = snapshot::of_model(nodes, true);
    if !options.xattrs {
        expected.values_mut().for_each(|attributes| attributes.xattrs.clear());
    }
    let found = erofs_reader::read(&image).expect("erofs-rs reads the image");
    snapshot::assert_same("erofs-rs", &expected, &found.tree, Except::default());
    let opened = Image::open(Arc::new(image), &[], 0, 1 << 20).expect("our reader opens the image");
    let (tree, times) = read(&opened);
    snapshot::assert_same("our reader", &expected, &tree, Except::default());
    for node in nodes.iter().filter(|node| !matches!(node.kind, NodeKind::HardLink(_))) {
        let time = time_of(node);
        let expected = (time.seconds(), time.nanoseconds());
        assert_eq!((times[&node.path], found.times[&node.path]), (expected, expected));
    }
    is_sound(&opened);
    assert!(opened.superblock().least_kernel() <= options.kernel);
}

/// Times of even seconds have no nanoseconds.
fn time_of(node: &Node) -> Time {
    let nanoseconds = if node.mtime % 2 == 0 { 0 } else { node.mtime.unsigned_abs() % 1_000_000_000 };
    Time::new(node.mtime, nanoseconds as u32)
}

/// The content of a file, and how far it was read.
struct Reader(Vec<u8>, usize);

impl Source for Reader {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        let rest = &self.0[self.1..];
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        if zeros >= HOLE {
            self.1 += zeros;
            return Ok(Extent::Hole(zeros as u64));
        }
        let count = buffer.len().min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.1 += count;
        Ok(if count == 0 { Extent::End } else { Extent::Data(count) })
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}

/// Options and trees are valid, so that each error is a bug.
fn write(nodes: &[Node], options: &Options, workers: usize) -> Vec<u8> {
    let meta = Meta { mode: 0o755, uid: 0, gid: 0, mtime: Time::default() };
    let start = Start {
        root: meta,
        defaults: meta,
        input: "test".into(),
        memory: usize::MAX,
        verify: true,
        lookup: Default::default(),
        scratch: None,
    };
    let mut image = Vec::new();
    let config = Config::new(workers, 4 << 20);
    let mut writer = Writer::new(&mut image, options.clone(), config, start).expect("valid options");
    for node in nodes {
        let mut content = Vec::new();
        if let NodeKind::File(file) = &node.kind {
            file.each(&mut |part| content.extend_from_slice(part));
        }
        writer.add(&entry(node, options), FileHints::default(), &mut Reader(content, 0)).expect("a valid entry");
    }
    writer.finish().expect("a valid tree");
    image
}

fn entry(node: &Node, options: &Options) -> Entry {
    let kind = match &node.kind {
        NodeKind::File(content) => EntryKind::File { size: content.size },
        NodeKind::Dir => EntryKind::Dir,
        NodeKind::Symlink(target) => EntryKind::Symlink(target.clone()),
        NodeKind::HardLink(target) => EntryKind::HardLink(target.clone()),
        NodeKind::BlockDevice(major, minor) => EntryKind::BlockDevice(Device { major: *major, minor: *minor }),
        NodeKind::CharDevice(major, minor) => EntryKind::CharDevice(Device { major: *major, minor: *minor }),
        NodeKind::Fifo => EntryKind::Fifo,
        NodeKind::Socket => EntryKind::Socket,
    };
    let meta = Meta { mode: node.mode, uid: node.uid, gid: node.gid, mtime: time_of(node) };
    let xattrs = node.xattrs.iter().filter(|_| options.xattrs);
    let xattrs = xattrs.map(|(name, value)| Xattr { name: name.clone(), value: value.clone() });
    Entry { path: node.path.clone(), kind, meta, xattrs: xattrs.collect() }
}

/// Returns the tree that our reader finds, and the time of each path.
fn read(image: &Image) -> (Snapshot, BTreeMap<Vec<u8>, (i64, u32)>) {
    let files = Files::new(image, RandomSettings { workers: 0, cache: 1 << 20, ahead: 0 }).expect("a decoder");
    let mut tree = Snapshot::new();
    let mut times = BTreeMap::new();
    let mut inodes: BTreeMap<Vec<u8>, NodeId> = BTreeMap::new();
    for visit in Walk::new(image, image.root(), Vec::new()) {
        let Visit { path, inode } = visit.expect("a sound entry");
        let kind = match &inode.node {
            Found::Directory(_) => Kind::Dir,
            Found::File(file) => {
                let mut content = Vec::new();
                files.read(&files.open(file), 0, file.size as usize, &mut content).expect("sound content");
                Kind::File(file.size, *blake3::hash(&content).as_bytes())
            }
            Found::Symlink(target) => Kind::Symlink(target.clone()),
            Found::BlockDevice(device) => Kind::BlockDevice(device.major, device.minor),
            Found::CharDevice(device) => Kind::CharDevice(device.major, device.minor),
            Found::Fifo => Kind::Fifo,
            Found::Socket => Kind::Socket,
        };
        let xattrs = Volume::xattrs(image, &inode).expect("sound attributes");
        let meta = inode.meta;
        let attributes = Attributes {
            links: if kind == Kind::Dir { 1 } else { inode.links },
            kind,
            mode: meta.mode,
            uid: meta.uid,
            gid: meta.gid,
            mtime: meta.mtime.seconds().clamp(0, u32::MAX.into()),
            first_name: path.clone(),
            xattrs: xattrs.into_iter().map(|xattr| (xattr.name, xattr.value)).collect(),
        };
        tree.insert(path.clone(), attributes);
        times.insert(path.clone(), (meta.mtime.seconds(), meta.mtime.nanoseconds()));
        inodes.insert(path, inode.at);
    }
    snapshot::group(&mut tree, |path, _| inodes[path]);
    (tree, times)
}

/// A fault in an image of ours is a bug.
struct Sound;

impl Examiner for Sound {
    fn found(&mut self, finding: Finding) {
        assert!(finding.severity == Severity::Note, "{finding:?}");
    }
}

fn is_sound(image: &Image) {
    let reading = ReadSettings { shared: 1 << 20, scratch: None, engine: Config::new(0, 1 << 20), listener: None };
    verify(image, &VerifySettings { reading, inodes: 1 << 16, space: 1 << 20 }, &mut Sound).expect("a sound image");
}
