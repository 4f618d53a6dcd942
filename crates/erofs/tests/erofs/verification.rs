//! Verification finds no fault in images of mkfs.erofs, and each violated rule.

use std::path::Path;

use packline_engine::Config;
use packline_erofs::read::{Image, ReadError};
use packline_erofs::verify::{Examiner, Finding, Verified, VerifySettings, verify};
use packline_volume::ReadSettings;

use super::support::{fixture, open, open_with};

#[derive(Default)]
pub struct Notes(pub Vec<Finding>);

impl Examiner for Notes {
    fn found(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}

pub fn settings(workers: usize, space: usize) -> VerifySettings {
    let engine = Config::new(workers, 1 << 20);
    let reading = ReadSettings { shared: 1 << 20, scratch: None, engine, listener: None };
    VerifySettings { reading, inodes: 1 << 20, space }
}

pub fn verified(image: &Image, workers: usize) -> Result<(Verified, Vec<Finding>), ReadError> {
    let mut notes = Notes::default();
    let totals = verify(image, &settings(workers, 1 << 20), &mut notes)?;
    Ok((totals, notes.0))
}

pub fn line(finding: &Finding) -> String {
    let path = finding.path.as_deref().unwrap_or(b"").escape_ascii();
    format!("{:?} {path} {} {} ({})", finding.severity, finding.offset, finding.what, finding.expected)
}

/// Names of all fixtures, and of their devices.
fn fixtures() -> Vec<(String, Option<&'static str>)> {
    let root = format!("{}/tests/images", env!("CARGO_MANIFEST_DIR"));
    let mut names = Vec::new();
    for directory in ["", "compressed"] {
        for entry in std::fs::read_dir(Path::new(&root).join(directory)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".erofs") {
                let device = match name.as_str() {
                    "blob.erofs" => Some("blob.bin"),
                    "tarindex.erofs" => Some("small.tar"),
                    _ => None,
                };
                names.push((Path::new(directory).join(name).to_string_lossy().into_owned(), device));
            }
        }
    }
    names.sort();
    names
}

#[test]
fn images_of_mkfs_are_sound() {
    let fixtures = fixtures();
    assert_eq!(fixtures.len(), 59);
    for (name, device) in fixtures {
        let devices: Vec<Vec<u8>> = device.into_iter().map(fixture).collect();
        let image = open_with(fixture(&name), &devices).unwrap();
        let (totals, findings) = verified(&image, 0).unwrap();
        let lines: Vec<String> = findings.iter().map(line).collect();
        assert_eq!(totals.faults, 0, "{name}: {lines:#?}");
        // mkfs.erofs names no device.
        assert!(lines.iter().all(|line| line.contains("device 1 without a name")), "{name}: {lines:#?}");
        assert_eq!(verified(&image, 2).unwrap(), (totals, findings), "{name}");
    }
}

/// Reads a number of the superblock of an image.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    (0..length).fold(0, |number, index| number | u64::from(bytes[1024 + at + index]) << (8 * index))
}

/// Returns the offset of an inode.
fn inode(bytes: &[u8], image: &Image, path: &str) -> usize {
    let node = super::support::at(image, path).at;
    let block = 1 << bytes[1024 + 12];
    (number(bytes, 40, 4) * block + 32 * image.inode_number(node)) as usize
}

type Change = fn(&mut Vec<u8>, &Image);

/// Returns the findings after a change of a fixture, without its checksum.
fn found(name: &str, change: Change) -> String {
    let mut bytes = fixture(name);
    let image = open(bytes.clone()).unwrap();
    change(&mut bytes, &image);
    bytes[1024 + 8] &= !1;
    match open(bytes) {
        Ok(image) => verified(&image, 0).unwrap().1.iter().map(|finding| line(finding) + "\n").collect(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn each_rule_is_checked() {
    let cases: [(&str, &str, Change); 18] = [
        ("inline.erofs", "Note  1040 29 inodes in the superblock", |bytes, _| bytes[1024 + 16] += 1),
        ("inline.erofs", "Fault  1040 27 inodes in the superblock", |bytes, _| bytes[1024 + 16] -= 1),
        ("inline.erofs", "Fault  1040 65564 inodes in the superblock", |bytes, _| bytes[1024 + 18] += 1),
        ("inline.erofs", "Note  1088 label of 16 bytes", |bytes, _| bytes[1024 + 64..1024 + 80].fill(b'l')),
        ("inline.erofs", "superblock with bytes [00, 07] at 106", |bytes, _| bytes[1024 + 107] = 7),
        ("inline.erofs", "unknown compatible features 0x80000000", |bytes, _| bytes[1024 + 11] |= 0x80),
        ("inline.erofs", "an image of 69632 bytes", |bytes, _| bytes[1024 + 36] += 1),
        ("inline.erofs", "3 bytes after the image, not all zero", |bytes, _| bytes.extend([0, 1, 2])),
        ("inline.erofs", "and 1 in their reserved field", |bytes, _| bytes[1024 + 104] = 1),
        ("chunks.erofs", "without the feature \"chunks\"", |bytes, _| bytes[1024 + 80] &= !4),
        ("compressed/lz4-64k.erofs", "file with a link count of 3", |bytes, image| {
            let at = inode(bytes, image, "text");
            assert_eq!((bytes[at] & 1, bytes[at + 44]), (1, 1));
            bytes[at + 44] = 3;
        }),
        ("compressed/lz4-64k.erofs", "inode with bytes [00, 00, 09, 00", |bytes, image| {
            let at = inode(bytes, image, "text");
            bytes[at + 50] = 9;
        }),
        ("inline.erofs", "Note  51552 directory, inode 1611, with a link count of 3", |bytes, image| {
            let at = inode(bytes, image, "many");
            let links = if bytes[at] & 1 == 1 { at + 44 } else { at + 6 };
            bytes[links] += 1;
        }),
        ("inline.erofs", "entry \"..\" of type 2 that leads to inode 9", |bytes, image| {
            let root = inode(bytes, image, "");
            let size = if bytes[root] & 1 == 1 { 64 } else { 32 };
            let attributes = usize::from(bytes[root + 2]);
            let entries = root + size + if attributes > 0 { 12 + 4 * (attributes - 1) } else { 0 };
            // The first entry is "!bang".
            bytes[entries + 24] = 9;
        }),
        ("inline.erofs", "that hides an extended attribute", |bytes, image| {
            let at = with_attributes(bytes, image);
            bytes[at..at + 4].fill(0xff);
        }),
        ("inline.erofs", "with bits of names that do not exist", |bytes, image| {
            let at = with_attributes(bytes, image);
            bytes[at..at + 4].fill(0);
        }),
        ("inline.erofs", "header of extended attributes with bytes", |bytes, image| {
            let at = with_attributes(bytes, image);
            bytes[at + 6] = 1;
        }),
        ("inline.erofs", "1 bytes of the image that belong to nothing", |bytes, _| {
            bytes[62_000] = 1;
        }),
    ];
    for (name, expected, change) in cases {
        let found = found(name, change);
        assert!(found.contains(expected), "{name}: {expected}:\n{found}");
    }
}

/// Returns the offset of the attributes of an inode that has some.
fn with_attributes(bytes: &[u8], image: &Image) -> usize {
    for visit in packline_volume::Walk::new(image, image.root(), Vec::new()) {
        let visit = visit.unwrap();
        if visit.inode.xattr.is_some() {
            let at = inode(bytes, image, std::str::from_utf8(&visit.path).unwrap());
            return at + if bytes[at] & 1 == 1 { 64 } else { 32 };
        }
    }
    panic!("no attributes")
}

#[test]
fn damage_to_a_cluster_is_found() {
    for name in ["compressed/lzma-64k.erofs", "compressed/zstd-small.erofs", "compressed/deflate-64k.erofs"] {
        let sound = fixture(name);
        let mut faulty = 0;
        for at in (4096..sound.len()).step_by(1021) {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x55;
            let Ok(image) = open(bytes) else { continue };
            let (totals, findings) = verified(&image, 0).unwrap();
            faulty += usize::from(totals.faults > 0);
            assert_eq!(verified(&image, 2).unwrap().1, findings, "{name} {at}");
        }
        assert!(faulty > 5, "{name}: {faulty}");
    }
}

#[test]
fn names_missing_devices() {
    let image = open(fixture("blob.erofs")).unwrap();
    let error = verified(&image, 0).unwrap_err();
    assert!(error.to_string().contains("without its device"), "{error}");
}

#[test]
fn a_cancelled_verification_stops() {
    let image = open(fixture("inline.erofs")).unwrap();
    let settings = settings(2, 0);
    settings.reading.engine.cancel.cancel();
    assert!(matches!(verify(&image, &settings, &mut Notes::default()), Err(ReadError::Work(_))));
}
