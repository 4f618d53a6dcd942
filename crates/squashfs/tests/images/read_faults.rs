//! Images that are wrong in one place, and images that are wrong anywhere. The only result is an error with a position.

use std::sync::Arc;

use crate::metadata_support::{image, options};
use packline_squashfs::read::{FileData, Image, Opening, Origin, ReadError};
use packline_testkit::model::{Node, NodeKind};
use packline_volume::{Node as Found, Volume, Walk};
use proptest::prelude::{any, prop, proptest};

/// Changes bytes of an image.
type Change<'c> = &'c dyn Fn(&mut Vec<u8>);

fn open(bytes: Vec<u8>) -> Result<Image, ReadError> {
    Image::open(Arc::new(bytes), Opening { origin: Origin::At(0), metadata_cache: 1 << 16 })
}

/// A file, a link and two directories. The metadata is not compressed, so that tests can change it in place.
fn nodes() -> Vec<Node> {
    vec![
        Node::dir("").xattr("user.k", "v"),
        Node::dir("a"),
        Node::file("a/x", ""),
        Node::file("a/y", ""),
        Node::new("l", NodeKind::Symlink(b"target".to_vec())),
        Node::dir("z"),
    ]
}

fn sound() -> Vec<u8> {
    let mut options = options("none");
    options.exportable = true;
    image(&nodes(), &options).bytes
}

fn long(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Offset of the first inode.
fn inodes(bytes: &[u8]) -> usize {
    long(bytes, 64) + 2
}

fn listings(bytes: &[u8]) -> usize {
    long(bytes, 72) + 2
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Writes `at` bytes after a position that depends on the image.
fn put_from(bytes: &mut [u8], start: impl Fn(&[u8]) -> usize, at: usize, value: &[u8]) {
    let start = start(bytes);
    put(bytes, start + at, value);
}

/// Position of a value in `bytes` from `from` on.
fn find(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    from + bytes[from..].windows(what.len()).position(|window| window == what).unwrap()
}

/// Reads everything of an image except data, and returns the first error. Stops if it finds more than an image can have.
fn read_all(image: &Image, most: usize) -> Result<usize, ReadError> {
    let mut first = Ok(());
    let mut keep = |result: Result<(), ReadError>| first = std::mem::replace(&mut first, Ok(())).and(result);
    let mut count = 0;
    for visit in Walk::new(image, image.root(), Vec::new()).take(most) {
        count += 1;
        match visit {
            Err((_, fault)) => keep(Err(fault)),
            Ok(visit) => {
                keep(Volume::xattrs(image, &visit.inode).map(drop));
                keep(image.resolve(&visit.path).map(drop));
                if let Found::File(file) = &visit.inode.node {
                    let file = FileData::of(file);
                    image.blocks(&file).take(1000).for_each(|block| keep(block.map(drop)));
                    file.tail.iter().for_each(|tail| keep(image.fragment(tail.fragment).map(drop)));
                }
            }
        }
    }
    for number in 1..=image.superblock().inodes.min(100) {
        keep(image.export(number).map(drop));
    }
    first.map(|()| count)
}

/// Returns the message of the first error of an image after a change.
fn refusal(change: Change<'_>) -> String {
    let mut bytes = sound();
    change(&mut bytes);
    let fault = open(bytes).and_then(|image| read_all(&image, 1000)).map(|count| panic!("{count} names were read"));
    fault.unwrap_err().to_string()
}

fn refused(cases: &[(&str, Change<'_>)]) {
    for (part, change) in cases {
        let message = refusal(*change);
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn the_image_itself_is_sound() {
    assert_eq!(read_all(&open(sound()).unwrap(), 1000).unwrap(), 6);
}

#[test]
fn rejects_superblocks_that_break_a_rule() {
    refused(&[
        ("not a SquashFS image: magic", &|b| b[0] = b'x'),
        ("SquashFS version 1024.0", &|b| b[..4].reverse()),
        ("streamed", &|b| put(b, 0, b"HSQS")),
        ("SquashFS version 4.1 (expected version 1.0, 2.0, 2.1, 3.0, 3.1 or 4.0)", &|b| b[30] = 1),
        ("at byte 51", &|b| put(b, 28, b"\x03\0\x01\0")),
        ("block size 0 at byte 12", &|b| put(b, 12, &[0; 4])),
        ("block size 131073", &|b| b[12] = 1),
        ("block size 2048", &|b| put(b, 12, &2048u32.to_le_bytes())),
        ("block size 2097152", &|b| put(b, 12, &(2u32 << 20).to_le_bytes())),
        ("logarithm 16", &|b| b[22] = 16),
        ("0 inodes", &|b| put(b, 4, &[0; 4])),
        ("0 ids", &|b| put(b, 26, &[0; 2])),
        ("compressor number 7", &|b| b[20] = 7),
        ("the image is cut off", &|b| b.truncate(400)),
        ("not a SquashFS image: 95 bytes", &|b| b.truncate(95)),
        ("not a SquashFS image: 0 bytes", &|b| b.clear()),
    ]);
}

#[test]
fn rejects_tables_out_of_place() {
    refused(&[
        ("inode table at 95", &|b| put(b, 64, &95u64.to_le_bytes())),
        ("directory table at 96", &|b| put(b, 72, &96u64.to_le_bytes())),
        ("id table at 18446744073709551615", &|b| put(b, 48, &[0xff; 8])),
        ("export table of 4294967295 entries", &|b| put(b, 4, &[0xff; 4])),
        ("id table of 65535 entries", &|b| put(b, 26, &[0xff; 2])),
        ("fragment table of 1 entries, with 0 bytes", &|b| put(b, 16, &[1, 0, 0, 0])),
        ("xattr table of 1 entries, with 7 bytes", &|b| b[40] -= 1),
        ("id table: a block at", &|b| {
            let index = long(b, 48);
            put(b, index, &(index as u64).to_le_bytes());
        }),
        ("xattr table of 0 entries", &|b| {
            let header = long(b, 56);
            put(b, header + 8, &[0; 4]);
        }),
        ("xattr names and values at 0", &|b| {
            let header = long(b, 56);
            put(b, header, &[0; 8]);
        }),
    ]);
}

#[test]
fn rejects_invalid_metadata_blocks() {
    refused(&[
        ("header of a metadata block says 0 bytes", &|b| put_from(b, |b| long(b, 64), 0, &[0; 2])),
        ("header of a metadata block says 32767 bytes", &|b| put_from(b, |b| long(b, 64), 0, &[0xff; 2])),
        ("does not decompress", &|b| put_from(b, |b| long(b, 64), 1, &[0])),
        ("header of a metadata block says 8193", &|b| put_from(b, |b| long(b, 72), 0, &[1, 0xa0])),
    ]);
}

#[test]
fn rejects_inodes_that_break_a_rule() {
    let first = |at: usize, value: &'static [u8]| move |b: &mut Vec<u8>| put_from(b, inodes, at, value);
    let link = |at: usize, value: &'static [u8]| {
        move |b: &mut Vec<u8>| put_from(b, |b| find(b, inodes(b), b"target") - 24, at, value)
    };
    refused(&[
        ("inode of type 0", &first(0, &[0, 0])),
        ("inode of type 15", &first(0, &[15, 0])),
        ("index 9 of an owner", &first(4, &[9, 0])),
        ("index 65535 of an owner", &first(6, &[0xff, 0xff])),
        ("inode number 0", &first(12, &[0; 4])),
        ("inode number 7", &first(12, &[7, 0, 0, 0])),
        ("tail end in fragment block 0", &first(20, &[0; 4])),
        ("file of 18446744073709551615 bytes", &|b| {
            put_from(b, inodes, 0, &[9]);
            put_from(b, inodes, 24, &[0xff; 8]);
            put_from(b, inodes, 44, &[0xff; 12]);
        }),
        ("file of 1099511627776 bytes", &|b| {
            put_from(b, inodes, 0, &[9]);
            put_from(b, inodes, 24, &(1u64 << 40).to_le_bytes());
            put_from(b, inodes, 44, &[0xff; 12]);
        }),
        ("symbolic link of 0 bytes", &link(20, &[0; 4])),
        ("symbolic link of 65536 bytes", &link(20, &[0, 0, 1, 0])),
        ("symbolic link of 4294967295 bytes", &link(20, &[0xff; 4])),
        ("NUL byte in its target", &link(25, &[0])),
        ("inode reference to block", &|b| put(b, 34, &[0xff; 6])),
        ("inode reference to block 0, offset 8192", &|b| put(b, 32, &[0, 0x20])),
    ]);
}

#[test]
fn rejects_listings_that_break_a_rule() {
    // The first listing is the listing of `a`: a header, then `x` and `y`.
    let at = |at: usize, value: &'static [u8]| move |b: &mut Vec<u8>| put_from(b, listings, at, value);
    refused(&[
        ("directory header with 257 entries", &at(0, &[0, 1])),
        ("directory header with 4294967296 entries", &at(0, &[0xff; 4])),
        ("listing with", &at(0, &[2])),
        ("inode offset 8192", &at(12, &[0, 0x20])),
        ("directory entry of type 0", &at(16, &[0])),
        ("directory entry of type 8", &at(16, &[8])),
        ("listed as a symbolic link", &at(16, &[3])),
        ("name of 256 bytes", &at(18, &[255])),
        ("listing with", &at(18, &[200])),
        ("name \"/\"", &at(20, b"/")),
        ("name \".\"", &at(20, b".")),
        ("name \"\\x00\"", &at(20, b"\0")),
        ("name \"y\" after \"z\"", &at(20, b"z")),
        ("name \"y\" after \"y\"", &at(20, b"y")),
        ("inode reference to block", &at(4, &[0xff; 4])),
    ]);
}

#[test]
fn a_directory_under_a_second_name_or_inside_itself() {
    let mut bytes = sound();
    let image = open(bytes.clone()).unwrap();
    let target = image.resolve(b"a").unwrap().unwrap().at.0 as u16;
    let entry = find(&bytes, listings(&bytes), b"z") - 8;
    put(&mut bytes, entry, &target.to_le_bytes());
    let faults: Vec<_> = walk_of(bytes.clone()).into_iter().filter_map(Result::err).collect();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].0 == b"z" && faults[0].1.to_string().contains("second name"), "{faults:?}");
    let root = image.root().0 as u16;
    put(&mut bytes, entry, &root.to_le_bytes());
    assert_eq!(walk_of(bytes).into_iter().filter(Result::is_err).count(), 1);
}

#[test]
fn a_walk_continues_after_broken_entries() {
    let mut bytes = sound();
    let header = listings(&bytes);
    put(&mut bytes, header, &[0xff; 4]);
    let paths: Vec<_> = walk_of(bytes).into_iter().map(|visit| visit.map_err(|fault| fault.0)).collect();
    assert_eq!(paths, [Ok(vec![]), Ok(b"a".to_vec()), Err(b"a".to_vec()), Ok(b"l".to_vec()), Ok(b"z".to_vec())]);
}

/// Each path, or the path at which the walk met a fault.
type Step = Result<Vec<u8>, (Vec<u8>, ReadError)>;

fn walk_of(bytes: Vec<u8>) -> Vec<Step> {
    let image = open(bytes).unwrap();
    let walk = Walk::new(&image, image.root(), Vec::new());
    walk.take(1000).map(|visit| visit.map(|visit| visit.path)).collect()
}

#[test]
fn rejects_xattrs_that_break_a_rule() {
    // Prefix, length of the name, `k`, length of the value, `v`.
    let pair = |at: usize, value: &'static [u8]| {
        move |b: &mut Vec<u8>| {
            let values = long(b, long(b, 56));
            put(b, values + 2 + at, value);
        }
    };
    refused(&[
        ("prefix 0x3", &pair(0, &[3])),
        ("prefix 0xff", &pair(0, &[0xff])),
        ("reference to a value, of 1 bytes", &pair(1, &[1])),
        ("a name of 1 to 65535 bytes", &pair(2, &[0])),
        ("a metadata block is wanted", &pair(2, &[0xff, 0xff])),
        ("at most 16 MiB in total", &pair(5, &[0xff; 4])),
        ("a metadata block is wanted", &pair(5, &[2])),
        ("a metadata block is wanted", &|b: &mut Vec<u8>| {
            let set = long(b, long(b, 56) + 16) + 2;
            put(b, set + 8, &[0xff; 4]);
        }),
        ("a metadata block is wanted", &|b: &mut Vec<u8>| {
            let set = long(b, long(b, 56) + 16) + 2;
            put(b, set, &[0xff; 8]);
        }),
    ]);
}

proptest! {
    #[test]
    fn any_bytes_give_an_error_or_a_tree(changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..12), zip: bool) {
        let mut options = options(if zip { "gzip" } else { "none" });
        options.exportable = true;
        let mut bytes = image(&nodes(), &options).bytes;
        let used = long(&bytes, 40);
        for (at, value) in changes {
            bytes[usize::from(at) % used] = value;
        }
        if let Ok(image) = open(bytes) {
            let _ = read_all(&image, 10_000);
        }
    }

    #[test]
    fn an_index_may_say_anything(changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..30)) {
        let files = (0..900).map(|n| Node::file(format!("{n:03}-with-a-name"), ""));
        let nodes: Vec<Node> = [Node::dir("")].into_iter().chain(files).collect();
        let mut bytes = image(&nodes, &options("none")).bytes;
        let root = find(&bytes, inodes(&bytes), b"-with-a-name") - 200;
        for (at, value) in changes {
            bytes[root + usize::from(at) % 400] = value;
        }
        if let Ok(image) = open(bytes) {
            let root = image.inode(image.root()).unwrap();
            for name in [&b"000-with-a-name"[..], b"450-with-a-name", b"899-with-a-name", b"none", b""] {
                let _ = image.lookup(&root, name);
            }
        }
    }
}
