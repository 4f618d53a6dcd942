//! Verification finds damage in every part, and no damage in a sound image.

use std::sync::Arc;

use packline_engine::Config;
use packline_tree::{Entry, Kind, Xattr};

use packline_runtime::WorkFault;

use super::*;
use crate::read::metadata::{Area, MetaPlace};
use crate::read::{FileData, InodeRef, Node, Opening, Origin};
use crate::test_image::{self, BLOCK};

#[derive(Default)]
struct Notes(Vec<Finding>);

impl Examiner for Notes {
    fn found(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}

fn open(bytes: &[u8]) -> Result<Image, ReadError> {
    Image::open(Arc::new(bytes.to_vec()), Opening { origin: Origin::At(0), metadata_cache: 1 << 20 })
}

fn settings(workers: usize) -> VerifySettings {
    let reading =
        ReadSettings { shared: 1 << 20, scratch: None, engine: Config::new(workers, 1 << 20), listener: None };
    VerifySettings { reading, records: 1 << 20 }
}

fn verified(bytes: &[u8], workers: usize) -> (Verified, Vec<Finding>) {
    let mut notes = Notes::default();
    let totals = verify(&open(bytes).unwrap(), &settings(workers), &mut notes).unwrap();
    (totals, notes.0)
}

fn text(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| ((at / 9) * (seed + 3) % 251 + at % 5) as u8).collect()
}

fn linked(mut entry: Entry, number: usize) -> Entry {
    entry.xattrs.push(Xattr { name: b"user.number".to_vec(), value: number.to_string().into_bytes() });
    entry
}

/// Files of all shapes, two hard links, a symbolic link, sets of attributes, a directory with an index.
fn image(codec: &str) -> Vec<u8> {
    let mut entries = vec![(test_image::entry("d", Kind::Dir), Vec::new())];
    for number in 0..700usize {
        let (entry, bytes) =
            test_image::file(&format!("d/{number:03}-{}", "n".repeat(number % 50)), &text(number, number * 9));
        entries.push((if number % 9 == 0 { linked(entry, number) } else { entry }, bytes));
    }
    entries.push(test_image::file("hole", &[text(1, BLOCK), vec![0; 20 * BLOCK], text(2, 77)].concat()));
    entries.push((test_image::entry("second", Kind::HardLink(b"hole".to_vec())), Vec::new()));
    entries.push((test_image::entry("to", Kind::Symlink(b"hole".to_vec())), Vec::new()));
    test_image::image(entries, codec, |options| options.exportable = true)
}

/// Start and end of every metadata block.
fn metadata_blocks(image: &Image) -> Vec<(u64, u64)> {
    let tables = image.tables();
    let indexed = [tables.fragments.as_ref(), tables.exports.as_ref(), tables.ids.as_ref()];
    let mut areas: Vec<Area> = vec![tables.inodes, tables.directories];
    areas.extend(indexed.into_iter().flatten().map(|table| table.area));
    areas.extend(tables.xattrs.iter().flat_map(|xattrs| [xattrs.values, xattrs.sets.area]));
    let mut blocks = Vec::new();
    for area in areas {
        let mut at = area.start;
        while at < area.end {
            let next = image.store().block(&area, at).unwrap().next;
            blocks.push((at, next));
            at = next;
        }
    }
    blocks
}

#[test]
fn images_of_the_writer_are_sound() {
    for codec in ["gzip", "xz", "lzma", "zstd", "lz4", "lzo", "none"] {
        let image = image(codec);
        for workers in [0, 3] {
            let (totals, findings) = verified(&image, workers);
            assert_eq!(findings, [], "{codec}");
            assert_eq!((totals.inodes, totals.files, totals.directories, totals.names), (704, 701, 2, 704));
            let content = (0..700).map(|number| number * 9).sum::<usize>() + 21 * BLOCK + 77;
            assert_eq!((totals.content, totals.faults, totals.notes), (content as u64, 0, 0));
            assert_eq!(totals.fragments, u64::from(open(&image).unwrap().superblock().fragments));
        }
    }
}

#[test]
fn damage_to_any_block_is_found() {
    for codec in ["gzip", "xz"] {
        let sound = image(codec);
        let opened = open(&sound).unwrap();
        // Only compressed blocks are changed: stored blocks have no checksum.
        let compressed = |(start, _): &&(u64, u64)| sound[*start as usize + 1] & 0x80 == 0;
        let blocks = metadata_blocks(&opened);
        let mut places: Vec<u64> = blocks.iter().filter(compressed).map(|(start, end)| (start + 2 + end) / 2).collect();
        assert!(places.len() > 8, "{places:?}");
        let fragments = (0..opened.superblock().fragments).map(|index| opened.fragment(index).unwrap());
        let files =
            packline_volume::Walk::new(&opened, opened.root(), Vec::new()).map(|visit| visit.unwrap().inode.node);
        let files = files.filter_map(|node| {
            if let packline_volume::Node::File(file) = node { Some(FileData::of(&file)) } else { None }
        });
        let blocks: Vec<_> =
            files.flat_map(|file| opened.blocks(&file)).filter_map(|block| block.unwrap().place).collect();
        let data = fragments.chain(blocks.into_iter().step_by(40));
        let data = data.filter(|place| place.compressed);
        places.extend(data.map(|place| place.offset + u64::from(place.stored) / 2));
        for place in places {
            let mut bytes = sound.clone();
            bytes[place as usize] ^= 0x10;
            let Ok(image) = open(&bytes) else { continue };
            let mut notes = Notes::default();
            let totals = verify(&image, &settings(0), &mut notes).unwrap();
            assert!(totals.faults > 0, "{codec}: byte {place}");
            assert!(
                notes.0.iter().any(|finding| finding.offset <= place && place < finding.offset + 9000),
                "{codec}: {place}"
            );
        }
    }
}

#[test]
fn faults_do_not_depend_on_the_workers() {
    let mut bytes = image("gzip");
    let opened = open(&bytes).unwrap();
    for index in 0..4 {
        bytes[opened.fragment(index).unwrap().offset as usize + 20] ^= 1;
    }
    let (totals, findings) = verified(&bytes, 0);
    assert!(findings.len() > 4 && findings.iter().all(|finding| finding.path.is_some()), "{findings:?}");
    for workers in [1, 2, 7] {
        assert_eq!(verified(&bytes, workers), (totals, findings.clone()));
    }
}

/// Returns the offset of a table's byte in an image without compression.
fn byte(place: MetaPlace, at: usize) -> usize {
    place.block as usize + 2 + usize::from(place.offset) + at
}

/// Returns the findings after some bytes of an image without compression were changed.
fn found(change: impl FnOnce(&Image, &mut Vec<u8>)) -> String {
    let mut bytes = image("none");
    change(&open(&bytes).unwrap(), &mut bytes);
    let image = match open(&bytes) {
        Ok(image) => image,
        Err(error) => return error.to_string(),
    };
    let mut notes = Notes::default();
    verify(&image, &settings(0), &mut notes).unwrap();
    let line = |finding: &Finding| format!("{:?} {} ({})", finding.severity, finding.what, finding.expected);
    notes.0.iter().map(line).collect::<Vec<_>>().join("; ")
}

fn inode(image: &Image, path: &[u8]) -> MetaPlace {
    let InodeRef(at) = image.resolve(path).unwrap().unwrap().at;
    image.tables().inodes.place(at)
}

/// A change that damages an image.
type Change = fn(&Image, &mut Vec<u8>);

#[test]
fn each_rule_is_checked() {
    let cases: [(&str, Change); 10] = [
        ("has 1 names, but its link count is 9", |image, bytes| bytes[byte(inode(image, b"to"), 16)] = 9),
        ("directory whose parent is inode", |image, bytes| bytes[byte(inode(image, b"d"), 28)] ^= 1),
        ("a second time", |image, bytes| {
            let one = byte(inode(image, b"to"), 12);
            let other = byte(inode(image, b"hole"), 12);
            bytes.copy_within(other..other + 4, one);
        }),
        ("inodes in the superblock", |_, bytes| bytes[4] ^= 1),
        ("export table: inode 1", |image, bytes| {
            bytes[image.tables().exports.as_ref().unwrap().area.start as usize + 2] ^= 1
        }),
        ("Note spare word 0x7 of fragment block 0", |image, bytes| {
            bytes[image.tables().fragments.as_ref().unwrap().area.start as usize + 2 + 12] = 7;
        }),
        ("a fragment block of ", |image, bytes| {
            bytes[image.tables().fragments.as_ref().unwrap().area.start as usize + 2 + 7] = 7;
        }),
        ("extended attribute with prefix", |image, bytes| {
            bytes[image.tables().xattrs.as_ref().unwrap().values.start as usize + 2] = 9;
        }),
        ("index of directory", |image, bytes| {
            let Node::Directory(directory) = image.resolve(b"d").unwrap().unwrap().node else { panic!("no directory") };
            assert!(directory.indices > 0);
            bytes[byte(directory.index, 0)] ^= 8;
        }),
        ("Note 1 bytes after the image", |image, bytes| {
            bytes.truncate(image.superblock().bytes_used as usize);
            bytes.push(1);
        }),
    ];
    for (expected, change) in cases {
        let found = found(change);
        assert!(found.contains(expected), "{expected}: {}", &found[..found.len().min(2000)]);
    }
}

#[test]
fn names_hidden_by_a_broken_listing_are_only_counted() {
    let found = found(|image, bytes| {
        let start = image.tables().directories.start as usize;
        // More entries than a run can have.
        bytes[start + 2 + 2] = 9;
    });
    assert!(found.contains("inodes without a name") && found.len() < 1000, "{}", &found[..found.len().min(2000)]);
}

#[test]
fn directories_that_cannot_be_read_are_named() {
    let mut bytes = image("gzip");
    let opened = open(&bytes).unwrap();
    let Node::Directory(directory) = opened.resolve(b"d").unwrap().unwrap().node else { panic!("no directory") };
    let block = directory.listing.block;
    bytes[block as usize + 20] ^= 0x10;
    let (_, findings) = verified(&bytes, 0);
    let named = |finding: &&Finding| finding.path.as_deref() == Some(&b"d"[..]) && finding.offset == block;
    assert_eq!(findings.iter().filter(named).count(), 1, "{findings:?}");
}

#[test]
fn rejects_more_inodes_than_fit_into_memory() {
    let image = open(&image("gzip")).unwrap();
    let short = VerifySettings { records: 700 * 16, ..settings(0) };
    assert!(matches!(verify(&image, &short, &mut Notes::default()), Err(ReadError::Unsupported(_))));
}

#[test]
fn a_cancelled_verification_stops() {
    let settings = settings(2);
    settings.reading.engine.cancel.cancel();
    let image = open(&image("gzip")).unwrap();
    assert!(matches!(verify(&image, &settings, &mut Notes::default()), Err(ReadError::Work(WorkFault::Cancelled))));
}
