//! Targets that read a SquashFS image completely, within bounds, and check the guarantees of the reader.

use std::sync::Arc;

use packline_cache::{ContentDigest, KnownBlocks};
use packline_codec::Outcome;
use packline_engine::{CancelToken, Config};
use packline_squashfs::read::{BlockDecoder, FileData as BlockList, Image, Opening, Origin, ReadError, ReadSettings};
use packline_squashfs::verify::{Examiner, Finding, VerifySettings, verify};
use packline_squashfs::{Base, BaseError, BaseSettings, MAGICS, Options};
use packline_testkit::Random;
use packline_testkit::hostile::{Part, planted};
use packline_volume::{Event, FileData, Inode, Node, Reading, Request, SharedUses, Visit, Volume, Walk};

use crate::no_bug;

/// Limits of names, of blocks of a file, and of bytes of contents.
const VISITS: usize = 500;
const BLOCKS: usize = 200;
const BYTES: u64 = 4 << 20;
/// Memory for the index of a base: some 70 blocks.
const INDEX: u64 = 8 << 10;

/// Any bytes as an image.
pub fn image(bytes: &[u8]) {
    everything(bytes.to_vec());
}

/// Any bytes as the superblock of an otherwise sound image.
pub fn superblock(bytes: &[u8]) {
    everything(planted(Part::Superblock, bytes));
}

/// Any bytes as the metadata blocks of the inode table, with any compressor.
pub fn metadata(bytes: &[u8]) {
    everything(planted(Part::Metadata, bytes));
}

/// Any bytes as the inodes of an otherwise sound image.
pub fn inode(bytes: &[u8]) {
    everything(planted(Part::Inodes, bytes));
}

/// Any bytes as the listing of the root of an otherwise sound image.
pub fn directory(bytes: &[u8]) {
    everything(planted(Part::Listing, bytes));
}

/// Any bytes as an image of any version, byte order and magic. An unknown magic is corrected. The image is read and verified, as it is and as a
/// vendor's program may have written it.
pub fn squashfs_old(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if let Some(magic) = bytes.first_chunk_mut::<4>().filter(|magic| !MAGICS.contains(magic)) {
        *magic = MAGICS[usize::from(magic[0]) % MAGICS.len()];
    }
    for image in [vendors(&bytes), bytes] {
        verified(image.clone());
        everything(image);
    }
}

/// The image with another magic, and with some streams of zlib and of LZMA that begin as the other: vendors mix magics, and codecs in one image. The
/// bytes decide the magic and the streams.
fn vendors(bytes: &[u8]) -> Vec<u8> {
    const ZLIB: [u8; 2] = [0x78, 0x9c];
    const LZMA: [u8; 2] = [0x5d, 0];
    let key = bytes.iter().fold(0u64, |key, byte| key.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let mut random = Random::new(key);
    let mut bytes = bytes.to_vec();
    if let Some(magic) = bytes.first_chunk_mut::<4>() {
        *magic = MAGICS[random.below(MAGICS.len() as u64) as usize];
    }
    for at in 4..bytes.len().saturating_sub(1) {
        let other = match [bytes[at], bytes[at + 1]] {
            // Any level of compression.
            [0x78, flags] if (0x7800 + u16::from(flags)).is_multiple_of(31) => LZMA,
            LZMA => ZLIB,
            _ => continue,
        };
        if random.below(4) == 0 {
            bytes[at..at + 2].copy_from_slice(&other);
        }
    }
    bytes
}

/// Opens and reads. Errors are expected; a panic, a hang, an internal error or a violated guarantee is a bug.
fn everything(bytes: Vec<u8>) {
    let opening = Opening { origin: Origin::At(0), metadata_cache: 256 << 10 };
    let Some(image) = no_bug(Image::open(Arc::new(bytes), opening)) else { return };
    let mut files = Vec::new();
    let mut last = None;
    for visit in Walk::new(&image, image.root(), Vec::new()).take(VISITS) {
        match visit {
            Ok(visit) => {
                promises(&visit, last.as_deref());
                entry(&image, &visit, &mut files);
                last = Some(visit.path);
            }
            Err((_, error)) => drop(no_bug::<(), _>(Err(error))),
        }
    }
    blocks(&image, &files);
    in_order(&image, files);
}

/// Cancels verification after enough content.
struct Bounded(CancelToken);

impl Examiner for Bounded {
    fn found(&mut self, finding: Finding) {
        assert!(!finding.what.is_empty() && !finding.what.starts_with("internal error"), "{finding:?}");
    }

    fn advance(&mut self, content: u64, _: u64) {
        if content > BYTES {
            self.0.cancel();
        }
    }
}

/// Opens and verifies.
fn verified(bytes: Vec<u8>) {
    let opening = Opening { origin: Origin::At(0), metadata_cache: 256 << 10 };
    let Some(image) = no_bug(Image::open(Arc::new(bytes), opening)) else { return };
    let engine = Config::new(0, 1 << 20);
    let mut examiner = Bounded(engine.cancel.clone());
    let reading = ReadSettings { shared: 1 << 20, scratch: None, engine, listener: None };
    match verify(&image, &VerifySettings { reading, records: 1 << 16 }, &mut examiner) {
        Err(ReadError::Work(_)) if examiner.0.is_cancelled() => {}
        outcome => drop(no_bug(outcome)),
    }
}

fn promises(visit: &Visit, last: Option<&[u8]>) {
    let path = &visit.path;
    assert!(path.is_empty() || path.split(|&byte| byte == b'/').all(|name| !matches!(name, b"" | b"." | b"..")));
    assert!(!path.contains(&0) && path.split(|&byte| byte == b'/').all(|name| name.len() <= 255));
    assert!(last != Some(path), "one path twice");
    assert!(visit.inode.meta.mode <= 0o7777);
    if let Node::Symlink(target) = &visit.inode.node {
        assert!(!target.is_empty() && target.len() <= 65_535 && !target.contains(&0));
    }
}

fn entry(image: &Image, visit: &Visit, files: &mut Vec<FileData>) {
    let inode: &Inode = &visit.inode;
    no_bug(Volume::xattrs(image, inode));
    no_bug(image.numbered(inode.number));
    no_bug(image.resolve(&visit.path));
    match &inode.node {
        Node::File(file) => files.push(file.clone()),
        Node::Directory(_) => drop(no_bug(Volume::lookup(image, inode, b"file"))),
        _ => {}
    }
}

fn blocks(image: &Image, files: &[FileData]) {
    let Some(mut decoder) = no_bug(BlockDecoder::new(image)) else { return };
    let mut out = Vec::new();
    let mut left = BYTES;
    let base = base(image);
    for file in files {
        let file = BlockList::of(file);
        for block in image.blocks(&file).take(BLOCKS) {
            let Some(block) = no_bug(block) else { break };
            assert!(block.length <= u32::from(image.superblock().block_size));
            let Some(place) = block.place.filter(|_| left > 0) else { continue };
            if no_bug(decoder.data(place, block.length, &mut out)).is_some() {
                assert_eq!(out.len(), block.length as usize);
                left = left.saturating_sub(out.len() as u64);
                base.iter().for_each(|base| as_base(image, base, &out));
            }
        }
        let fragment = file.tail.and_then(|tail| no_bug(image.fragment(tail.fragment)));
        if let Some(place) = fragment {
            no_bug(decoder.fragment(place, &mut out));
        }
    }
}

/// Uses the image as the base of an image with the same codec.
fn base(image: &Image) -> Option<Base> {
    let mut options = Options::new(image.codec().clone());
    options.block_size = image.superblock().block_size;
    let settings = BaseSettings { any: true, memory: Some(INDEX), engine: Config::new(0, 1 << 20) };
    match Base::open(image, &options, &settings) {
        Err(BaseError::Read(error)) => no_bug(Err(error)),
        opened => opened.ok(),
    }
}

/// Checks that a block found for a content decodes to this content.
fn as_base(image: &Image, base: &Base, content: &[u8]) {
    let mut taken = vec![0; content.len()];
    let Some(Outcome::Smaller(size)) = base.find(&ContentDigest::of(content), &mut taken, &mut Vec::new()) else {
        return;
    };
    let mut decoded = vec![0; content.len()];
    let block_size = image.superblock().block_size.bytes();
    let mut decoder = image.codec().decoder(block_size, usize::MAX).expect("a decoder");
    assert_eq!(decoder.decompress(&taken[..size], &mut decoded).expect("a sound block"), content.len());
    assert_eq!(decoded, content);
}

/// Reads ahead without threads; the bytes of a file add up to its size.
fn in_order(image: &Image, files: Vec<FileData>) {
    let mut uses = SharedUses::new();
    files.iter().for_each(|file| uses.note(image, file));
    let requests = files.into_iter().map(|file| Ok(Request { tag: file.size, weight: 0, file: Some(file) }));
    let settings = ReadSettings { shared: 1 << 20, scratch: None, engine: Config::new(0, 1 << 20), listener: None };
    let Some(mut reading) = no_bug(Reading::new(image, Box::new(requests), uses, &settings)) else { return };
    let mut missing = 0u64;
    let mut left = BYTES;
    let mut events = 5000;
    while left > 0 && events > 0 {
        let Some(event) = no_bug(reading.next_event()).flatten() else {
            assert_eq!(missing, 0, "the last file is not complete");
            return;
        };
        let length = match event {
            Event::Begin(size) => {
                assert_eq!(missing, 0, "a file is not complete");
                missing = size;
                continue;
            }
            Event::Data(chunk) => chunk.len() as u64,
            Event::Hole(length) | Event::Failed { length, .. } => length,
        };
        missing = missing.checked_sub(length).expect("more than the file has");
        left = left.saturating_sub(length.min(1 << 16));
        events -= 1;
    }
}
