//! Indexes of logical clusters.

use super::Specimen;
use super::draft::*;
use super::frames::{lz4_literals, zstd_repeat};

/// Flags of map headers.
const SHORT: u8 = 1;
const BIG_FIRST: u8 = 2;
const BIG: u8 = 6;

/// A map header: flags, number of the algorithm, logarithm of the blocks of a logical cluster.
pub(super) fn header(flags: u8, algorithms: u8, bits: u8) -> [u8; 8] {
    [0, 0, 0, 0, flags, 0, algorithms, bits]
}

/// The start of an extent: 0 plain, 1 first algorithm, 3 second algorithm.
pub(super) fn start(kind: u16, offset: u16, block: u32) -> [u8; 8] {
    let ([a, b], [c, d], [e, f, g, h]) = (kind.to_le_bytes(), offset.to_le_bytes(), block.to_le_bytes());
    [a, b, c, d, e, f, g, h]
}

/// A logical cluster in an extent, with the distances to its start and to the next one.
pub(super) fn inside(back: u16, next: u16) -> [u8; 8] {
    let ([a, b], [c, d]) = (back.to_le_bytes(), next.to_le_bytes());
    [2, 0, 0, 0, a, b, c, d]
}

/// A file that is one cluster of one block with an algorithm.
pub(super) fn one_cluster(size: u64, block: u32, algorithm: u8) -> Node {
    let count = size.div_ceil(BLOCK as u64) as u16;
    let mut entries = vec![start(1, 0, block)];
    // Larger values have other meanings.
    entries.extend((1..count).map(|number| inside(number.min(0x7ff), (count - number).min(0x7ff))));
    Node::full(size, header(0, algorithm, 0), &entries)
}

/// Two logical clusters of 4 KiB with these entries, after a block that is a frame of zstd with 8192 bytes.
fn two(flags: u8, bits: u8, entries: &[[u8; 8]]) -> Vec<u8> {
    let mut draft = Draft::compressed();
    draft.store_cluster(&zstd_repeat(17, b'x', 8192));
    draft.of_node(&Node::full(8192, header(flags, 3, bits), entries))
}

/// A file of 8192 bytes with a compact index of two values of 16 bits.
fn compact(flags: u8, bits: u8, values: [u16; 2], block: u32) -> Vec<u8> {
    let mut draft = Draft::compressed();
    draft.store_cluster(&zstd_repeat(17, b'x', 8192));
    let [[a, b], [c, d], [e, f]] = [values[0], values[1], block as u16].map(u16::to_le_bytes);
    let tail = [&header(flags, 3, bits)[..], &[a, b, c, d, e, f, 0, 0]].concat();
    draft.of_node(&Node::new(FILE, COMPACT, 8192).tail(&tail))
}

const HEAD: u16 = 1 << 12;
const INSIDE: u16 = 2 << 12;
const BLOCKS: u16 = 0x800;

pub(super) fn all() -> Vec<Specimen> {
    [starts(), distances(), counts(), compacts(), odd()].concat()
}

fn starts() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new(
            "bad-index-no-start",
            "logical cluster 0 without an extent",
            "an index that begins inside an extent",
            || two(0, 0, &[inside(1, 1), start(1, 0, 1)]),
        )
        .in_data(),
        new("bad-index-first-offset", "first extent at 7 of the file", "a file that does not begin at 0", || {
            two(0, 0, &[start(1, 7, 1), inside(1, 1)])
        })
        .in_data(),
        new("bad-index-offset", "extent at 4096 of logical cluster 1", "an extent after its logical cluster", || {
            two(0, 0, &[start(1, 0, 1), start(1, 4096, 1)])
        })
        .in_data(),
        new("bad-index-algorithm", "compression algorithm 2", "an algorithm that the image does not have", || {
            let mut draft = Draft::compressed();
            draft.store_cluster(&zstd_repeat(17, b'x', 8192));
            draft.of_node(&one_cluster(8192, 1, 2))
        })
        .in_data(),
        new("bad-index-second-algorithm", "compression algorithm 15", "a second algorithm that does not exist", || {
            let mut draft = Draft::compressed();
            draft.store_cluster(&zstd_repeat(17, b'x', 8192));
            let entries = [start(3, 0, 1), inside(1, 1)];
            draft.of_node(&Node::full(8192, header(0, 0xf3, 0), &entries))
        })
        .in_data(),
        new("bad-index-beyond", "stored at", "a cluster after the end of the image", || {
            two(0, 0, &[start(1, 0, u32::MAX), inside(1, 1)])
        })
        .in_data(),
        new("bad-index-plain-long", "because it is not compressed", "two plain blocks of which one is stored", || {
            two(0, 0, &[start(0, 0, 1), inside(1, 1)])
        })
        .in_data(),
    ]
}

fn distances() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-index-distance-0", "distance 0 in logical cluster 1", "a distance of 0", || {
            two(0, 0, &[start(1, 0, 1), inside(0, 1)])
        })
        .in_data(),
        new("bad-index-distance-2", "distance 2 in logical cluster 1", "a distance that leads before the file", || {
            two(0, 0, &[start(1, 0, 1), inside(2, 1)])
        })
        .in_data(),
        new("bad-index-endless", "that does not end before", "an extent of 16 MiB", || {
            let mut draft = Draft::compressed();
            let block = draft.store_cluster(&zstd_repeat(17, b'x', 12 << 20));
            draft.of_node(&one_cluster(16 << 20, block, 3))
        })
        .in_data(),
        new("bad-index-large", "of logical cluster", "a file of 2^50 bytes with two entries", || {
            let mut draft = Draft::compressed();
            draft.store_cluster(&zstd_repeat(17, b'x', 8192));
            draft.of_node(&Node::full(1 << 50, header(0, 3, 0), &[start(1, 0, 1), start(1, 0, 1)]))
        })
        .in_data(),
    ]
}

fn counts() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-blocks-zero", "without a number of blocks", "a cluster of 0 blocks", || {
            two(BIG, 0, &[start(1, 0, 1), inside(BLOCKS, 1)])
        })
        .in_data(),
        new("bad-blocks-missing", "without a number of blocks", "a cluster without a number of blocks", || {
            two(BIG, 0, &[start(1, 0, 1), inside(1, 1)])
        })
        .in_data(),
        new("bad-blocks-2047", "stored at 4096", "a cluster of 2047 blocks", || {
            two(BIG, 0, &[start(1, 0, 1), inside(BLOCKS | 2047, 1)])
        })
        .in_data(),
        new(
            "bad-blocks-not-big",
            "cluster of 1 blocks in a file without big clusters",
            "a number without big clusters",
            || two(0, 0, &[start(1, 0, 1), inside(BLOCKS | 1, 1)]),
        )
        .in_data(),
        new("bad-blocks-twice", "number of blocks in logical cluster 2", "a second number of blocks", || {
            let mut draft = Draft::compressed();
            draft.store_cluster(&zstd_repeat(17, b'x', 12_288));
            let entries = [start(1, 0, 1), inside(BLOCKS | 1, 2), inside(BLOCKS | 1, 1)];
            draft.of_node(&Node::full(12_288, header(BIG, 3, 0), &entries))
        })
        .in_data(),
        new(
            "bad-blocks-without-feature",
            "without the feature \"compression records",
            "big clusters of lz4 without records",
            || {
                let mut draft = Draft::new();
                draft.set(INCOMPAT, 1).set(ALGORITHMS, 0xffff);
                let literals = lz4_literals(&[b'x'; 4000]);
                let block = draft.store_cluster(&literals);
                draft.of_node(&Node::full(4000, header(BIG, 0, 0), &[start(1, 0, block)]))
            },
        )
        .in_data(),
    ]
}

fn compacts() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-compact-no-start", "logical cluster 0 without an extent", "a compact index without a start", || {
            compact(0, 0, [INSIDE | 1, INSIDE | 1], 0)
        })
        .in_data(),
        new(
            "bad-compact-one-kind",
            "big clusters of one kind only",
            "big clusters of one kind in a compact index",
            || compact(BIG_FIRST, 0, [HEAD, INSIDE | BLOCKS | 1], 1),
        )
        .in_data(),
        new(
            "bad-compact-bits",
            "compact index with logical clusters of 2^15 bytes",
            "logical clusters of 32 KiB",
            || compact(0, 3, [HEAD, INSIDE | 1], 0),
        )
        .in_data(),
        new(
            "bad-compact-short-bits",
            "compact index with logical clusters of 2^13 bytes",
            "short values of 13 bits",
            || {
                let mut draft = Draft::compressed();
                draft.store_cluster(&zstd_repeat(17, b'x', 8192));
                let tail = [&header(SHORT, 3, 1)[..], &[0; 200]].concat();
                draft.of_node(&Node::new(FILE, COMPACT, 40 * 8192).tail(&tail))
            },
        )
        .in_data(),
        new("bad-compact-beyond", "stored at", "an address that wraps around", || {
            compact(0, 0, [HEAD, INSIDE | 1], 0xffff)
        })
        .in_data(),
    ]
}

fn odd() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("odd-index", "", "a full index of one cluster", || two(0, 0, &[start(1, 0, 1), inside(1, 1)])),
        new("odd-index-bits-15", "", "logical clusters of 128 MiB", || two(0, 15, &[start(1, 0, 1)])),
        new("odd-compact", "", "a compact index of one cluster", || compact(0, 0, [HEAD, INSIDE | 1], 0)),
        new("odd-index-next-zero", "", "distances of 0 to the next extent", || {
            two(0, 0, &[start(1, 0, 1), inside(1, 0)])
        }),
        new("odd-12-mib", "", "a cluster of 12 MiB in one block", || {
            let mut draft = Draft::compressed();
            let block = draft.store_cluster(&zstd_repeat(17, b'x', 12 << 20));
            draft.of_node(&one_cluster(12 << 20, block, 3))
        }),
    ]
}
