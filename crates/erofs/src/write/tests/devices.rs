//! Images whose contents are on a device: written with the image, or in a tar.

use std::collections::VecDeque;
use std::fmt;

use packline_blocks::Sink;
use packline_engine::Config;
use packline_runtime::Input;
use packline_testkit::Random;
use packline_tree::{Extent, SharedContent, Source as EntrySource, UnreadPart};

use super::*;
use crate::{DeviceWriter, FileHints, Place, Start, Summary};

/// The parts of a content, each with its bytes and its offset on the device; holes have no offset.
struct Parts(VecDeque<(u64, Option<u64>)>);

struct Unread;

impl fmt::Debug for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unread")
    }
}

impl SharedContent for Unread {
    fn read_at(&self, _offset: u64, _buffer: &mut [u8]) -> Result<usize, packline_tree::Error> {
        panic!("content is read")
    }
}

impl EntrySource for Parts {
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        Ok(None)
    }

    fn read(&mut self, _buffer: &mut [u8]) -> Result<Extent, packline_tree::Error> {
        match self.0.pop_front() {
            None => Ok(Extent::End),
            Some((length, None)) => Ok(Extent::Hole(length)),
            Some(part) => panic!("{part:?} is read"),
        }
    }

    fn read_later(&mut self, _most: usize) -> Result<Option<UnreadPart>, packline_tree::Error> {
        let Some((length, Some(offset))) = self.0.front().copied() else { return Ok(None) };
        self.0.pop_front();
        Ok(Some(UnreadPart { content: Arc::new(Unread), offset, bytes: length as usize }))
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }
}

fn start() -> Start {
    let meta = Meta { mode: 0o755, uid: 0, gid: 0, mtime: Time::default() };
    let (input, lookup) = ("test".into(), Default::default());
    Start { root: meta, defaults: meta, input, memory: usize::MAX, verify: false, lookup, scratch: None }
}

fn options(place: Place) -> Options {
    Options { place, kernel: Kernel::new(5, 16), ..Options::new(Spec::None) }
}

fn bytes_of(node: &Node) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let NodeKind::File(content) = &node.kind {
        content.each(&mut |part| bytes.extend_from_slice(part));
    }
    bytes
}

/// Stores a content in blocks of 512 bytes of a tar, and blocks of zeros as holes.
fn store(bytes: &[u8], tar: &mut Vec<u8>, random: &mut Random) -> Parts {
    let mut parts = VecDeque::new();
    for block in bytes.chunks(512) {
        if block.iter().all(|byte| *byte == 0) {
            parts.push_back((block.len() as u64, None));
            continue;
        }
        // Mostly where the block before ends.
        let gap = if random.below(50) == 0 { random.below(3) as usize } else { 0 };
        tar.resize(tar.len().next_multiple_of(512) + gap * 512, 0);
        parts.push_back((block.len() as u64, Some(tar.len() as u64)));
        tar.extend_from_slice(block);
    }
    Parts(parts)
}

/// Returns the image and the tar.
fn index(nodes: &[Node], seed: u64) -> (Vec<u8>, Vec<u8>, Summary) {
    let (mut image, mut tar, mut random) = (Vec::new(), vec![0; 512], Random::new(seed));
    let mut writer = DeviceWriter::tar(&mut image, options(Place::Tar), start()).unwrap();
    for node in nodes {
        let mut parts = store(&bytes_of(node), &mut tar, &mut random);
        writer.add(&entry(node), FileHints::default(), &mut parts).unwrap();
    }
    let summary = writer.finish().unwrap();
    tar.resize(tar.len().next_multiple_of(512), 0);
    (image, tar, summary)
}

/// Returns the image and its device.
fn blob(nodes: &[Node], chunk: u64, workers: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut image, mut device) = (Vec::new(), Vec::new());
    let options = Options { block_size: BlockSize::new(chunk).unwrap(), ..options(Place::Blob) };
    let config = Config::new(workers, 4 << 20);
    let mut writer = DeviceWriter::blob(&mut image, &mut device, options, config, start()).unwrap();
    for node in nodes {
        writer.add(&entry(node), FileHints::default(), &mut super::writer::Reader(bytes_of(node), 0)).unwrap();
    }
    writer.settle().unwrap();
    writer.finish().unwrap();
    (image, device)
}

fn open_on(image: Vec<u8>, device: Vec<u8>) -> Image {
    let devices: [Arc<dyn Input>; 1] = [Arc::new(device)];
    Image::open(Arc::new(image), &devices, 0, 1 << 20).unwrap()
}

#[test]
fn an_index_refers_to_any_block_of_a_tar() {
    for seed in 0..4 {
        let mut nodes = trees::random(seed, 150);
        nodes.push(Node::file("with holes", [&[7; 5120][..], &[0; 100_000], &[8; 700]].concat()));
        nodes.push(Node::file("zeros", [0; 70_000]));
        let (image, tar, summary) = index(&nodes, seed);
        assert_eq!((summary.end.block, image.len() as u64), (512, summary.end.padded));
        let opened = open_on(image.clone(), tar.clone());
        compare(&nodes, &opened);
        assert!(opened.superblock().has(incompat::DEVICES) && opened.superblock().least_kernel() == Kernel::new(5, 16));
        assert_eq!(summary.end.device_blocks * 512, tar.len() as u64);
        // The tar may follow its index.
        compare(&nodes, &open([image, tar].concat()));
    }
}

#[test]
fn an_index_has_directories_and_links_of_all_sizes() {
    let (image, tar, _) = index(&trees::edges(), 1);
    compare(&trees::edges(), &open_on(image, tar));
}

#[test]
fn contents_are_chunks_of_a_device() {
    for (seed, chunk) in [(0, 4096), (1, 65_536), (2, 1 << 20)] {
        let mut nodes = trees::random(seed, 100);
        let common = Random::new(seed).noise(300_000);
        nodes.push(Node::file("common", common.clone()));
        nodes.push(Node::file("common too", [&common[..], b"more"].concat()));
        nodes.push(Node::file("with holes", [&[7; 4096][..], &[0; 1_000_000], &[8; 700]].concat()));
        let (image, device) = blob(&nodes, chunk, 0);
        assert!(device.len().is_multiple_of(4096));
        compare(&nodes, &open_on(image.clone(), device.clone()));
        for workers in [1, 2, 7] {
            assert!(blob(&nodes, chunk, workers) == (image.clone(), device.clone()), "{workers} workers");
        }
    }
}

#[test]
fn a_source_without_positions_is_an_error() {
    let mut image = Vec::new();
    let mut writer = DeviceWriter::tar(&mut image, options(Place::Tar), start()).unwrap();
    let node = Node::file("a", "content");
    let added = writer.add(&entry(&node), FileHints::default(), &mut super::writer::Reader(bytes_of(&node), 0));
    assert!(added.unwrap_err().to_string().contains("a source without positions"));
    let sink: &mut dyn Sink = &mut Vec::new();
    assert!(DeviceWriter::tar(sink, options(Place::Blob), start()).is_err());
}

#[test]
fn parts_that_are_not_blocks_are_errors() {
    let file = |parts: &[(u64, Option<u64>)]| {
        let mut image = Vec::new();
        let mut writer = DeviceWriter::tar(&mut image, options(Place::Tar), start()).unwrap();
        let size = parts.iter().map(|part| part.0).sum();
        let entry = Entry { kind: Kind::File { size }, ..entry(&Node::file("a", "")) };
        writer.add(&entry, FileHints::default(), &mut Parts(parts.to_vec().into())).unwrap();
        writer.finish().map_or_else(|error| error.to_string(), |_| "valid".into())
    };
    assert_eq!(file(&[(512, Some(512)), (100, None)]), "valid");
    assert!(file(&[(512, Some(100))]).starts_with("a: contents on a device (expected a start at a multiple of 512"));
    assert!(file(&[(100, Some(512)), (900, None)]).starts_with("a: parts of a sparse file (expected a start at"));
    assert!(file(&[(512, Some(1 << 50))]).starts_with("a: content at byte 1125899906842624 of a device"));
    assert!(file(&[(512, Some(512)), (1 << 50, None)]).starts_with("a: a sparse file of 219902325"));
}
