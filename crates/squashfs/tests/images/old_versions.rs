//! Reads the images of `tests/old`, of versions before 4.0 and in big-endian order: each has the tree that was packed, and changed copies do no harm.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_engine::Config;
use packline_squashfs::read::{ByteOrder, Image, Opening, Origin, ReadError, ReadSettings, find_superblock};
use packline_squashfs::verify::{Examiner, Finding, VerifySettings, verify};
use packline_volume::{Event, Inode, Node, Reading, Request, SharedUses, Visit, Volume, Walk};

/// Maximum number of entries and of bytes of contents that are read of a changed image.
const ENTRIES: usize = 100;
const ENOUGH: u64 = 1 << 20;
/// The modification time of all entries of the trees.
const TIME: i64 = 1_234_567_890;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old")
}

/// The names of the images.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".sqfs"));
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    names
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(directory().join(name)).unwrap()
}

fn open(bytes: Vec<u8>) -> Result<Image, ReadError> {
    Image::open(Arc::new(bytes), Opening { origin: Origin::Find, metadata_cache: 1 << 20 })
}

fn settings() -> ReadSettings {
    ReadSettings { shared: 2 << 20, scratch: None, engine: Config::new(0, 4 << 20), listener: None }
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Examiner for Findings {
    fn found(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}

/// Verifies an image; returns the findings.
fn verified(image: &Image) -> Vec<Finding> {
    let mut findings = Findings::default();
    let settings = VerifySettings { reading: settings(), records: 1 << 20 };
    let totals = verify(image, &settings, &mut findings);
    assert!(!matches!(totals, Err(ReadError::Work(_))), "{totals:?}");
    findings.0
}

/// Returns the entries of an image, at most `most`, and the faults of the tree.
fn walked(image: &Image, most: usize) -> (Vec<Visit>, Vec<String>) {
    let mut visits = Vec::new();
    let mut faults = Vec::new();
    for visit in Walk::new(image, image.root(), Vec::new()).take(most) {
        match visit {
            Ok(visit) => visits.push(visit),
            Err((path, error)) => faults.push(format!("{}: {error}", path.escape_ascii())),
        }
    }
    (visits, faults)
}

/// Returns size and CRC-32 of each file in the order of the walk, `None` for a fault.
fn contents(image: &Image, visits: &[Visit]) -> Vec<Option<(u64, u32)>> {
    let files: Vec<_> = visits.iter().filter_map(|visit| file_of(&visit.inode)).collect();
    let mut uses = SharedUses::new();
    files.iter().for_each(|file| uses.note(image, file));
    let requests = files.iter().map(|file| Ok(Request { tag: (), file: Some((*file).clone()), weight: 0 }));
    let requests: Vec<_> = requests.collect();
    let mut reading = Reading::new(image, Box::new(requests.into_iter()), uses, &settings()).unwrap();
    let mut found = Vec::new();
    let mut left = ENOUGH;
    let mut hash = crc32fast::Hasher::new();
    while let Some(event) = reading.next_event().unwrap() {
        let length = match event {
            Event::Begin(()) => {
                hash = crc32fast::Hasher::new();
                found.push(Some((0, hash.clone().finalize())));
                continue;
            }
            Event::Data(chunk) => {
                hash.update(&chunk);
                chunk.len() as u64
            }
            Event::Hole(length) => {
                hash.update(&vec![0; length.min(ENOUGH) as usize]);
                length
            }
            Event::Failed { .. } => {
                *found.last_mut().unwrap() = None;
                continue;
            }
        };
        if let Some(Some((size, crc))) = found.last_mut() {
            *size += length;
            *crc = hash.clone().finalize();
        }
        left = left.saturating_sub(length);
        if left == 0 {
            break;
        }
    }
    found
}

fn file_of(inode: &Inode) -> Option<&packline_volume::FileData> {
    match &inode.node {
        Node::File(file) => Some(file),
        _ => None,
    }
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, &byte| {
        if (33..127).contains(&byte) && byte != b'\\' {
            text.push(char::from(byte));
        } else {
            write!(text, "\\x{byte:02x}").unwrap();
        }
        text
    })
}

/// A line for each entry but the root, as `manifest.py` prints it.
fn manifest(image: &Image) -> String {
    let (visits, faults) = walked(image, usize::MAX);
    assert!(faults.is_empty(), "{faults:?}");
    let mut contents = contents(image, &visits).into_iter();
    let mut lines = Vec::new();
    for Visit { path, inode } in &visits {
        let (kind, detail) = match &inode.node {
            Node::Directory(_) => ("directory", "-".to_string()),
            Node::File(_) => {
                let (size, crc) = contents.next().unwrap().unwrap();
                ("file", format!("{size}:{crc:08x}"))
            }
            Node::Symlink(target) => ("symlink", escaped(target)),
            Node::BlockDevice(device) => ("block", format!("{}:{}", device.major, device.minor)),
            Node::CharDevice(device) => ("char", format!("{}:{}", device.major, device.minor)),
            Node::Fifo => ("fifo", "-".to_string()),
            Node::Socket => ("socket", "-".to_string()),
        };
        let meta = inode.meta;
        if !path.is_empty() {
            lines.push(format!("{} {kind} {:04o} {}:{} {detail}", escaped(path), meta.mode, meta.uid, meta.gid));
        }
    }
    lines.sort();
    lines.join("\n") + "\n"
}

#[test]
fn each_image_has_the_tree_that_was_packed() {
    for name in names() {
        let image = open(bytes(&name)).unwrap();
        let tree = if name.starts_with("tiny") { "tiny.txt" } else { "tree.txt" };
        let expected = std::fs::read_to_string(directory().join(tree)).unwrap();
        assert_eq!(manifest(&image), expected, "{name}");
        assert_eq!(verified(&image), [], "{name}");
        let layout = image.layout();
        let version = name.trim_start_matches("tiny-").split_once('-').unwrap().0;
        assert_eq!(format!("{}.{}", layout.major, layout.minor), version, "{name}");
        assert_eq!(layout.order == ByteOrder::Big, name.contains("-be") || name.contains("markers"), "{name}");
        assert!(!layout.is_current());
    }
}

#[test]
fn entries_are_found_by_name_and_number() {
    for name in names() {
        let image = open(bytes(&name)).unwrap();
        let (visits, _) = walked(&image, usize::MAX);
        for Visit { path, inode } in &visits {
            let found = Volume::resolve(&image, path).unwrap().unwrap();
            assert_eq!(found.at, inode.at, "{name}: {}", path.escape_ascii());
            let is_stored = image.layout().major > 2 || file_of(inode).is_some();
            if is_stored && !path.is_empty() {
                assert_eq!(inode.meta.mtime.seconds(), TIME, "{name}: {}", path.escape_ascii());
            }
            if image.has_numbers() {
                assert_eq!(image.numbered(inode.number).unwrap(), Some(inode.at), "{name}");
            }
        }
        assert!(Volume::resolve(&image, b"none").unwrap().is_none());
        // Version 3 keeps hard links; before, each name had an inode of its own, or mksquashfs found equal inodes.
        let of = |path: &[u8]| visits.iter().find(|visit| visit.path == path).map(|visit| visit.inode.clone());
        let names = if name.starts_with("tiny") { [&b"d/f"[..], b"d/h"] } else { [&b"etc/motd"[..], b"etc/motd2"] };
        let [one, other] = names.map(|path| of(path).unwrap());
        if image.layout().major > 2 {
            assert_eq!((one.at, one.links), (other.at, 2), "{name}");
        }
    }
}

#[test]
fn images_are_found_after_other_data() {
    for name in names().iter().filter(|name| name.starts_with("tiny")) {
        let mut file = b"sqsh hsqs shsq".repeat(30);
        let start = file.len() as u64;
        file.extend(bytes(name));
        assert_eq!(find_superblock(&file, 1..u64::MAX).unwrap(), Some(start), "{name}");
        let image = open(file).unwrap();
        assert_eq!((image.origin(), verified(&image)), (start, Vec::new()), "{name}");
    }
}

/// Reads everything of an image that may be damaged, within bounds. Any error is allowed.
fn read_all(bytes: Vec<u8>) {
    let Ok(image) = open(bytes) else { return };
    let (visits, _) = walked(&image, ENTRIES);
    contents(&image, &visits);
    for Visit { path, inode } in &visits {
        let _ = Volume::resolve(&image, path);
        let _ = image.numbered(inode.number);
    }
    verified(&image);
}

#[test]
fn changed_bytes_do_no_harm() {
    for name in names().iter().filter(|name| name.starts_with("tiny")) {
        let sound = bytes(name);
        for at in 0..sound.len() {
            for change in [0x01, 0x10, 0x80, 0xff] {
                let mut changed = sound.clone();
                changed[at] ^= change;
                read_all(changed);
            }
            let mut changed = sound.clone();
            changed[at..].iter_mut().take(4).for_each(|byte| *byte = 0xff);
            read_all(changed);
        }
    }
}

#[test]
fn cut_images_do_no_harm() {
    for name in names().iter().filter(|name| name.starts_with("tiny")) {
        let sound = bytes(name);
        for length in 0..sound.len() {
            let cut = sound[..length].to_vec();
            let fault = open(cut.clone()).map(drop).unwrap_err();
            let is_short = length < 119;
            assert!(is_short || fault.is_cut_off(), "{name}: {length} bytes: {fault}");
            read_all(cut);
        }
    }
}

#[test]
fn directories_that_contain_themselves_are_found() {
    let mut image = bytes("tiny-2.1-le.sqfs");
    // The entry of `e` in the listing of `d`: type 1 and the offset of the inode, length of the name less one, name.
    let entry = image.windows(4).position(|bytes| bytes == b"\x22\x20\0e").unwrap();
    let root = open(image.clone()).unwrap().root().0 as u16;
    image[entry..entry + 2].copy_from_slice(&(1 << 13 | root).to_le_bytes());
    let image = open(image).unwrap();
    let (_, faults) = walked(&image, usize::MAX);
    assert!(faults.iter().any(|fault| fault.contains("inside itself")), "{faults:?}");
    let findings = verified(&image);
    assert!(findings.iter().any(|finding| finding.what.contains("a second name of directory")), "{findings:?}");
}
