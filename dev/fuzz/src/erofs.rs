//! Targets that read an EROFS image within bounds, and check the guarantees of the reader.

use std::collections::BTreeMap;
use std::sync::Arc;

use packline_engine::{CancelToken, Config};
use packline_erofs::read::{Image, MAGIC_BYTES, SUPERBLOCK_START};
use packline_erofs::verify::{Examiner, Finding, VerifySettings, verify};
use packline_testkit::hostile_erofs::{Part, planted};
use packline_volume::{
    Event, FileData, Files, Node, RandomSettings, ReadError, ReadSettings, Reading, Request, SharedUses, Visit, Volume,
    Walk,
};

use crate::no_bug;

/// Limits of names, and of bytes of content that are read or verified.
const VISITS: usize = 500;
const BYTES: u64 = 4 << 20;
/// Limit of events of a reading.
const EVENTS: usize = 5000;
/// Bytes at the start of a file that are kept to compare them with random access.
const KEPT: usize = 16 << 10;

/// Any bytes as an image. Its magic is corrected, and its checksum is ignored.
pub fn erofs(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let start = SUPERBLOCK_START as usize;
    if bytes.len() > start + 128 {
        bytes[start..start + 4].copy_from_slice(&MAGIC_BYTES);
        bytes[start + 8] &= !1;
    }
    everything(bytes);
}

/// Any bytes as the index of a compressed file in an otherwise sound image.
pub fn erofs_index(bytes: &[u8]) {
    everything(planted(Part::Index, bytes));
}

/// Any bytes as the extended attributes of a file in an otherwise sound image.
pub fn erofs_xattr(bytes: &[u8]) {
    everything(planted(Part::Xattrs, bytes));
}

/// Opens and reads. Errors are expected; a panic, a hang, an internal error or a violated guarantee is a bug.
fn everything(bytes: Vec<u8>) {
    let Some(image) = no_bug(Image::open(Arc::new(bytes), &[], 0, 256 << 10)) else { return };
    let mut files = Vec::new();
    for visit in Walk::new(&image, image.root(), Vec::new()).take(VISITS) {
        match visit {
            Ok(visit) => entry(&image, visit, &mut files),
            Err((_, error)) => drop(no_bug::<(), _>(Err(error))),
        }
    }
    let found = in_order(&image, &files);
    at_random(&image, &files, &found);
    verified(&image);
}

fn entry(image: &Image, visit: Visit, files: &mut Vec<FileData>) {
    let Visit { path, inode } = visit;
    assert!(path.is_empty() || path.split(|&byte| byte == b'/').all(|name| !matches!(name, b"" | b"." | b"..")));
    assert!(!path.contains(&0) && path.split(|&byte| byte == b'/').all(|name| name.len() <= 255));
    no_bug(Volume::xattrs(image, &inode));
    no_bug(image.numbered(inode.number));
    no_bug(image.resolve(&path));
    match inode.node {
        Node::Symlink(target) => assert!(!target.is_empty() && target.len() <= 65_535 && !target.contains(&0)),
        Node::File(file) => files.push(file),
        _ => {}
    }
}

/// Reads ahead without threads; the bytes of a file add up to its size. Returns the first bytes of each file, up to the first fault.
fn in_order(image: &Image, files: &[FileData]) -> BTreeMap<usize, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut uses = SharedUses::new();
    files.iter().for_each(|file| uses.note(image, file));
    let requests = files.iter().enumerate();
    let requests = requests.map(|(number, file)| Ok(Request { tag: number, weight: 0, file: Some(file.clone()) }));
    let settings = ReadSettings { shared: 1 << 20, scratch: None, engine: Config::new(0, 1 << 20), listener: None };
    let Some(mut reading) = no_bug(Reading::new(image, Box::new(requests), uses, &settings)) else { return found };
    let mut missing = 0u64;
    let mut left = BYTES;
    // The file whose bytes are kept.
    let mut kept = None;
    for _ in 0..EVENTS {
        let Some(event) = no_bug(reading.next_event()).flatten() else {
            assert_eq!(missing, 0, "the last file is not complete");
            return found;
        };
        let length = match event {
            Event::Begin(number) => {
                assert_eq!(missing, 0, "a file is not complete");
                missing = files[number].size;
                kept = Some(number);
                found.insert(number, Vec::new());
                continue;
            }
            Event::Data(chunk) => {
                keep(&mut found, kept, &chunk);
                chunk.len() as u64
            }
            Event::Hole(length) => {
                keep(&mut found, kept, &vec![0; length.min(KEPT as u64) as usize]);
                length
            }
            Event::Failed { length, .. } => {
                kept = None;
                length
            }
        };
        missing = missing.checked_sub(length).expect("more than the file has");
        left = left.saturating_sub(length);
        if left == 0 {
            break;
        }
    }
    found
}

fn keep(found: &mut BTreeMap<usize, Vec<u8>>, number: Option<usize>, bytes: &[u8]) {
    if let Some(kept) = number.and_then(|number| found.get_mut(&number)) {
        let space = KEPT - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(space)]);
    }
}

/// Random access returns the same bytes.
fn at_random(image: &Image, files: &[FileData], found: &BTreeMap<usize, Vec<u8>>) {
    let settings = RandomSettings { workers: 0, cache: 1 << 20, ahead: 0 };
    let Some(random) = no_bug(Files::new(image, settings)) else { return };
    let mut out = Vec::new();
    for (number, expected) in found.iter().take(50) {
        let file = random.open(&files[*number]);
        for at in [0, expected.len() / 2, expected.len().saturating_sub(1)] {
            if no_bug(random.read(&file, at as u64, 1000, &mut out)).is_some() {
                let end = expected.len().min(at + out.len());
                assert_eq!(out[..end - at], expected[at..end]);
            }
        }
        no_bug(random.read(&file, files[*number].size.saturating_sub(1), 1, &mut out));
    }
}

/// Cancels a verification that reads too much.
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

fn verified(image: &Image) {
    let engine = Config::new(0, 1 << 20);
    let mut examiner = Bounded(engine.cancel.clone());
    let reading = ReadSettings { shared: 1 << 20, scratch: None, engine, listener: None };
    match verify(image, &VerifySettings { reading, inodes: 1 << 16, space: 0 }, &mut examiner) {
        Err(ReadError::Work(_)) if examiner.0.is_cancelled() => {}
        outcome => drop(no_bug(outcome)),
    }
}
