//! Encoded extents.

use super::Specimen;
use super::draft::*;
use super::frames::zstd_repeat;
use crate::hostile::bytes::Put;

/// Flags of map headers: encoded extents with records of 4, 8, 16 and 32 bytes.
const RECORDS_4: u8 = 1;
const RECORDS_8: u8 = 3;
const RECORDS_16: u8 = 5;
const RECORDS_32: u8 = 7;
/// zstd in the first word of a record.
const ZSTD: u32 = 4 << 28;

/// A record of 16 bytes.
fn record(word: u32, position: u64, start: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.u32(word).u64(position).u32(start);
    bytes
}

/// A file with a number of extents and these records, after a frame of zstd with 8192 bytes at byte 4096.
fn file(size: u64, flags: u8, count: u64, records: &[u8]) -> Vec<u8> {
    let mut draft = Draft::compressed();
    draft.store(&frame());
    draft.set(INCOMPAT, 0x83);
    let mut header = [0; 8];
    header[..4].copy_from_slice(&count.to_le_bytes()[..4]);
    header[4] = flags;
    header[6..8].copy_from_slice(&count.to_le_bytes()[4..6]);
    // Records start at a multiple of their size after the header.
    let size_of_record = 4usize << (flags >> 1 & 3);
    let aligned = 8usize.next_multiple_of(size_of_record);
    let tail = [&header[..], &vec![0; aligned - 8][..], records].concat();
    draft.set(WIDE_ROOT, 0);
    draft.of_node(&Node::new(FILE, FULL, size).tail(&tail))
}

fn frame() -> Vec<u8> {
    zstd_repeat(17, b'x', 8192)
}

fn stored() -> u32 {
    frame().len() as u32
}

pub(super) fn all() -> Vec<Specimen> {
    [orders(), sizes(), odd()].concat()
}

fn orders() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-extents-unsorted", "extent at 0 after the one at 0", "two extents at 0", || {
            let records = [record(ZSTD | stored(), 4096, 0), record(ZSTD | stored(), 4096, 0)].concat();
            file(16_384, RECORDS_16, 2, &records)
        })
        .in_data(),
        new(
            "bad-extent-after-file",
            "extent at 1000000 after the one at 0",
            "an extent after the end of the file",
            || {
                let records = [record(ZSTD | stored(), 4096, 0), record(ZSTD | stored(), 4096, 1_000_000)].concat();
                file(8192, RECORDS_16, 2, &records)
            },
        )
        .in_data(),
        new("bad-extents-many", "extent at 0 after the one at 0", "2^47 - 1 extents", || {
            file(8192, RECORDS_16, (1 << 47) - 1, &record(ZSTD | stored(), 4096, 0))
        })
        .in_data(),
        new("bad-extents-32-beyond", "extent at 0 after the one at 0", "2^40 records of 32 bytes", || {
            file(8192, RECORDS_32, 1 << 40, &record(ZSTD | stored(), 4096, 0))
        })
        .in_data(),
    ]
}

fn sizes() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-extent-algorithm", "compression algorithm 14", "an unknown algorithm", || {
            file(8192, RECORDS_16, 1, &record(15 << 28 | stored(), 4096, 0))
        })
        .in_data(),
        new("bad-extent-beyond", "stored at 18446744073709551615", "a position of ones", || {
            file(8192, RECORDS_16, 1, &record(ZSTD | stored(), u64::MAX, 0))
        })
        .in_data(),
        new("bad-extent-stored-most", "2097151 stored at 4096", "2 MiB stored", || {
            file(8192, RECORDS_16, 1, &record(ZSTD | 0x1f_ffff, 4096, 0))
        })
        .in_data(),
        new("bad-extent-plain-short", "because it is not compressed", "plain bytes that are too few", || {
            file(8192, RECORDS_16, 1, &record(100, 4096, 0))
        })
        .in_data(),
        new("bad-extent-larger-than-content", "compressed to", "more compressed bytes than content", || {
            let mut draft = Draft::compressed();
            let block = draft.store(&zstd_repeat(17, b'x', 5));
            draft.set(INCOMPAT, 0x83);
            let records = record(ZSTD | zstd_repeat(17, b'x', 5).len() as u32, u64::from(block) * 4096, 0);
            let header = [1, 0, 0, 0, RECORDS_16, 0, 0, 0];
            draft.of_node(&Node::new(FILE, FULL, 5).tail(&[&header[..], &[0; 8], &records].concat()))
        })
        .in_data(),
        new("bad-extent-overlaps", "belong to another part", "a cluster that starts inside another one", || {
            let records = [record(ZSTD | stored(), 4096, 0), record(stored() - 1, 4097, 8192)].concat();
            file(8192 + 5, RECORDS_16, 2, &records)
        })
        .in_data(),
        new("bad-extents-without-feature", "without the feature \"48-bit block numbers\"", "no feature", || {
            let mut draft = Draft::compressed();
            draft.store(&frame());
            let header = [1, 0, 0, 0, RECORDS_16, 0, 0, 0];
            let tail = [&header[..], &[0; 8], &record(ZSTD | stored(), 4096, 0)].concat();
            draft.of_node(&Node::new(FILE, FULL, 8192).tail(&tail))
        })
        .in_data(),
    ]
}

fn odd() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("odd-extents-of-holes", "", "a file of 2^45 bytes that is a hole", || {
            file(1 << 45, RECORDS_16, 1, &record(0, 0, 0))
        }),
        new("odd-extents-8", "", "a record of 8 bytes", || {
            let mut records = Vec::new();
            records.u32(ZSTD | stored()).u32(4096);
            let mut draft = Draft::compressed();
            draft.store(&frame());
            draft.set(INCOMPAT, 0x83);
            // Logical clusters of 8 KiB.
            let header = [1, 0, 0, 0, RECORDS_8, 0, 0, 1];
            draft.of_node(&Node::new(FILE, FULL, 8192).tail(&[&header[..], &records].concat()))
        }),
        new("odd-extents-4-many", "", "500,000 records of 4 bytes, whose positions are sums", many),
        new("odd-extents-files-of-holes", "", "30 files of 2^50 bytes, each a hole", files_of_holes),
        new("odd-extents-of-one-cluster", "", "300 extents of 8 MiB, all in one cluster of zeros", one_cluster),
    ]
}

fn files_of_holes() -> Vec<u8> {
    let mut draft = Draft::compressed();
    draft.set(INCOMPAT, 0x83).set(WIDE_ROOT, 0);
    let tail = [&[1, 0, 0, 0, RECORDS_16, 0, 0, 0][..], &[0; 8], &record(0, 0, 0)].concat();
    let node = Node::new(FILE, FULL, 1 << 50).tail(&tail);
    let files: Vec<(String, Ino)> = (0..30).map(|number| (format!("f{number:02}"), draft.node(&node))).collect();
    let entries: Vec<(&[u8], Ino)> = files.iter().map(|(name, ino)| (name.as_bytes(), *ino)).collect();
    let root = draft.directory(&entries);
    draft.build(root)
}

fn one_cluster() -> Vec<u8> {
    const COUNT: u32 = 300;
    const CONTENT: u32 = 8 << 20;
    let zeros = zstd_repeat(17, 0, CONTENT as usize);
    let mut draft = Draft::compressed();
    draft.store(&zeros);
    draft.set(INCOMPAT, 0xa3).set(WIDE_ROOT, 0);
    let mut tail = vec![COUNT as u8, (COUNT >> 8) as u8, 0, 0, RECORDS_16, 0, 0, 0];
    tail.resize(16, 0);
    (0..COUNT).for_each(|number| tail.extend(record(ZSTD | zeros.len() as u32, 4096, number * CONTENT)));
    draft.of_node(&Node::new(FILE, FULL, u64::from(COUNT) * u64::from(CONTENT)).tail(&tail))
}

/// A file of holes of 4 KiB, then one cluster.
fn many() -> Vec<u8> {
    const COUNT: usize = 500_000;
    let mut draft = Draft::compressed();
    draft.store(&zstd_repeat(17, b'x', 4096));
    draft.set(INCOMPAT, 0x83);
    let mut tail = vec![0, 0, 0, 0, RECORDS_4, 0, 0, 0];
    tail.u64(4096);
    (1..COUNT).fold(&mut tail, |tail, _| tail.u32(0)).u32(ZSTD | zstd_repeat(17, b'x', 4096).len() as u32);
    draft.of_node(&Node::new(FILE, FULL, COUNT as u64 * 4096).tail(&tail))
}
