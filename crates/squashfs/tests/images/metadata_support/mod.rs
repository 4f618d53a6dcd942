//! Shared by the tests of the metadata: compressors without workers, images of trees whose files hold no data, and checks.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Command;

use packline_codec::{Encoder, Outcome, Spec};
use packline_squashfs::{
    DataLayout, Error, FileLayout, ImageEnd, MetadataCompressor, Options, Sink, XattrTable, data_start, write_metadata,
};
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::mount::Mounted;
use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::{reader, tools};
use packline_tree::{Device, Entry, Kind, Meta, Namespace, Tree, Xattr};

/// When a compressor compresses a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When the block is submitted.
    Early,
    /// When the block is asked for.
    Late,
}

/// Compresses on the calling thread with the real codec, and counts the blocks.
pub struct InlineCompressor {
    encoder: Box<dyn Encoder>,
    when: When,
    waiting: VecDeque<(Vec<u8>, bool)>,
    done: VecDeque<Vec<u8>>,
    /// Blocks submitted.
    pub blocks: usize,
    /// Raw bytes submitted.
    pub raw_bytes: usize,
    /// Maximum number of blocks in flight.
    pub most_pending: usize,
}

impl InlineCompressor {
    pub fn new(codec: &Spec, when: When) -> InlineCompressor {
        let encoder = codec.metadata_encoder().unwrap();
        let waiting = VecDeque::new();
        let done = VecDeque::new();
        InlineCompressor { encoder, when, waiting, done, blocks: 0, raw_bytes: 0, most_pending: 0 }
    }

    fn work(&mut self) -> Result<(), Error> {
        let Some((raw, stored)) = self.waiting.pop_front() else { return Ok(()) };
        let mut buffer = vec![0; raw.len()];
        let outcome = if stored { Outcome::NotSmaller } else { self.encoder.compress(&raw, &mut buffer)? };
        let (header, payload) = match outcome {
            Outcome::Smaller(length) => (length as u16, &buffer[..length]),
            Outcome::NotSmaller => (raw.len() as u16 | 1 << 15, &raw[..]),
        };
        self.done.push_back([&header.to_le_bytes(), payload].concat());
        Ok(())
    }
}

impl MetadataCompressor for InlineCompressor {
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error> {
        assert!((1..=8192).contains(&raw.len()), "{} bytes", raw.len());
        self.blocks += 1;
        self.raw_bytes += raw.len();
        self.waiting.push_back((raw, stored));
        self.most_pending = self.most_pending.max(self.pending());
        if self.when == When::Early { self.work() } else { Ok(()) }
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.done.is_empty() {
            self.work()?;
        }
        Ok(self.done.pop_front())
    }

    fn pending(&self) -> usize {
        self.waiting.len() + self.done.len()
    }
}

/// Options with a codec, by its name.
pub fn options(codec: &str) -> Options {
    Options::new(codec.parse().unwrap())
}

/// A tree, a data area without a byte for its files, and the tree's extended attributes.
pub struct Source {
    pub tree: Tree,
    pub data: DataLayout,
    pub xattrs: XattrTable,
}

/// Returns the input of an image from a model; all files must be empty.
pub fn source(nodes: &[Node], options: &Options) -> Source {
    let mut namespace = Namespace::new(Meta::new(0o755, 0, 0, 0));
    let mut data = DataLayout { end: data_start(options).unwrap(), ..DataLayout::default() };
    let mut xattrs = XattrTable::new();
    for node in nodes {
        let entry = entry(node);
        let set = xattrs.add(&entry.xattrs, &entry.path).unwrap();
        namespace.add(&entry, data.files.len() as u32, set).unwrap();
        if let Kind::File { size } = entry.kind {
            assert_eq!(size, 0);
            let nothing = FileLayout { size, sparse: 0, start: 0, first_block: 0, blocks: 0, tail: None };
            data.files.push(nothing);
        }
    }
    Source { tree: namespace.finish().unwrap(), data, xattrs }
}

fn entry(node: &Node) -> Entry {
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

/// A node of every kind, plain and with attributes. Names and targets have all lengths; ids, times and modes have extreme values.
pub fn zoo() -> Vec<Node> {
    let mut nodes = vec![Node::dir("").mode(0o1777).owner(7, 8).time(12).xattr("user.root", "yes")];
    let kinds = [
        ("file", NodeKind::File(Default::default())),
        ("dir", NodeKind::Dir),
        ("link", NodeKind::Symlink(b"../target".to_vec())),
        ("block", NodeKind::BlockDevice(8, 17)),
        ("char", NodeKind::CharDevice(4095, (1 << 20) - 1)),
        ("fifo", NodeKind::Fifo),
        ("socket", NodeKind::Socket),
    ];
    for (name, kind) in &kinds {
        nodes.push(Node::new(*name, kind.clone()).mode(0o7777).time(1 << 31));
        let other = Node::new(format!("{name}-x"), kind.clone()).owner(u32::MAX - 1, 1).time(i64::from(u32::MAX));
        nodes.push(other.xattr("trusted.a", *name).xattr("security.b", "same value for all of them"));
    }
    for (name, _) in kinds.iter().filter(|(name, _)| *name != "dir") {
        nodes.push(Node::new(format!("dir/second {name}"), NodeKind::HardLink(name.as_bytes().to_vec())));
        nodes.push(Node::new(format!("{name}-x2"), NodeKind::HardLink(format!("{name}-x").into_bytes())));
    }
    nodes.push(Node::file("before 1970", "").time(-5));
    nodes.push(Node::file("after 2106", "").time(1 << 33));
    nodes.push(Node::file([&[0xff, 0xfe, b'\n', b' '][..], &[b'n'; 251]].concat(), "").mode(0));
    nodes.push(Node::new("long link", NodeKind::Symlink(vec![b't'; 4095])));
    nodes
}

/// An image in memory, and the result of writing it.
pub struct Image {
    pub bytes: Vec<u8>,
    pub end: ImageEnd,
    pub compressor: InlineCompressor,
}

pub fn try_image(source: &Source, options: &Options, when: When) -> Result<Image, Error> {
    let mut compressor = InlineCompressor::new(&options.codec, when);
    let mut bytes = Vec::new();
    let sink: &mut dyn Sink = &mut bytes;
    let end = write_metadata(&mut compressor, sink, &source.tree, &source.data, &source.xattrs, options)?;
    Ok(Image { bytes, end, compressor })
}

/// The image of a model.
pub fn image(nodes: &[Node], options: &Options) -> Image {
    try_image(&source(nodes, options), options, When::Early).unwrap()
}

/// Checks an image of a model with every available reader.
pub fn check(nodes: &[Node], image: &Image) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &image.bytes).unwrap();
    assert_eq!(image.bytes.len() as u64, image.end.padded);
    let expected = snapshot::of_model(nodes, true);
    by_the_format(&expected, file.path());
    by_unsquashfs(&expected, file.path());
    by_rdsquashfs(&expected, file.path());
    by_the_kernel(&expected, file.path());
}

fn by_the_format(expected: &Snapshot, image: &Path) {
    let report = reader::inspect(image).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    same(expected, &report.tree);
}

/// A line for each path, and the root's first.
fn by_unsquashfs(expected: &Snapshot, image: &Path) {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let listed = tools::run(Command::new("unsquashfs").arg("-lln").arg(image)).unwrap().stdout;
    let roots = b"squashfs-root";
    let lines = listed.split(|byte| *byte == b'\n').filter(|line| line.windows(roots.len()).any(|part| part == roots));
    assert_eq!(lines.count(), expected.len());
    let statistics = tools::run(Command::new("unsquashfs").arg("-s").arg(image)).unwrap();
    assert!(String::from_utf8_lossy(&statistics.stdout).contains("Found a valid SQUASHFS 4:0 superblock"));
}

/// Expects at least a line for each path except the root's.
fn by_rdsquashfs(expected: &Snapshot, image: &Path) {
    if tools::need(&["rdsquashfs"]) {
        let described = tools::run(Command::new("rdsquashfs").arg("-d").arg(image)).unwrap().stdout;
        let lines = described.iter().filter(|byte| **byte == b'\n').count();
        assert!(lines + 1 >= expected.len(), "{lines} lines");
    }
}

/// Mounts the image, if possible, and calls `look` with the mount point.
pub fn mounted(image: &Path, codec: &str, look: impl FnOnce(&Path)) {
    if packline_testkit::mount::kernel_mounts(codec) {
        let mounted = Mounted::kernel(image).unwrap();
        look(mounted.path());
    }
}

fn by_the_kernel(expected: &Snapshot, image: &Path) {
    let codec = codec_of(image);
    mounted(image, codec, |path| same(expected, &snapshot::of_directory(path).unwrap()));
}

fn codec_of(image: &Path) -> &'static str {
    let bytes = std::fs::read(image).unwrap();
    ["?", "gzip", "lzma", "lzo", "xz", "lz4", "zstd"][usize::from(bytes[20])]
}

fn same(expected: &Snapshot, found: &Snapshot) {
    let different = snapshot::differences(expected, found, Except::default());
    assert!(different.is_empty(), "{} differences: {:#?}", different.len(), &different[..different.len().min(20)]);
}
