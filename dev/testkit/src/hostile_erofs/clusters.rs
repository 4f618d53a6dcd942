//! Compressed clusters.

use super::Specimen;
use super::draft::*;
use super::frames::{lz4_literals, zstd_repeat};
use super::indexes::{header, inside, one_cluster, start};

const LZ4: u8 = 0;
const LZMA: u8 = 1;
const ZSTD: u8 = 3;

/// A file of a cluster at the end of its block.
fn file(size: u64, algorithm: u8, cluster: &[u8]) -> Vec<u8> {
    let mut draft = Draft::compressed();
    let block = draft.store_cluster(cluster);
    draft.of_node(&one_cluster(size, block, algorithm))
}

pub(super) fn all() -> Vec<Specimen> {
    [paddings(), zstd(), others(), shared()].concat()
}

fn paddings() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-cluster-zeros", "with 4096 zeros at its start", "a cluster of zeros", || file(8192, ZSTD, &[0; 4096]))
            .in_data(),
        new("bad-cluster-padding", "with 4096 zeros at its start", "zeros in all of the first of two blocks", || {
            let mut draft = Draft::compressed();
            let frame = zstd_repeat(17, b'x', 12_288);
            let block = draft.store(&[vec![0; 8192 - frame.len()], frame].concat());
            let entries = [start(1, 0, block), inside(0x802, 2), inside(2, 1)];
            draft.of_node(&Node::full(12_288, header(6, ZSTD, 0), &entries))
        })
        .in_data(),
    ]
}

fn zstd() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-zstd-frame-window", "cluster of 8192 bytes", "a window of 256 KiB, recorded as 128 KiB", || {
            file(8192, ZSTD, &zstd_repeat(18, b'x', 8192))
        })
        .in_data(),
        new("bad-zstd-magic", "cluster of 8192 bytes", "bytes that are not a frame", || file(8192, ZSTD, &[7; 100]))
            .in_data(),
        new("bad-zstd-two-frames", "cluster of 8192 bytes", "two frames", || {
            file(8192, ZSTD, &[zstd_repeat(17, b'x', 4096), zstd_repeat(17, b'y', 4096)].concat())
        })
        .in_data(),
        new("bad-zstd-skippable", "cluster of 8192 bytes", "a skippable frame before the content", || {
            let skippable = [0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7];
            file(8192, ZSTD, &[&skippable[..], &zstd_repeat(17, b'x', 8192)].concat())
        })
        .in_data(),
        new("bad-zstd-dictionary", "cluster of 3 bytes", "a frame that needs a dictionary", || {
            file(3, ZSTD, &[0x28, 0xb5, 0x2f, 0xfd, 0x01, 0, 7, 0x19, 0, 0, b'a', b'b', b'c'])
        })
        .in_data(),
        new("bad-zstd-short", "cluster of 8192 bytes", "a cluster with less content than its extent", || {
            file(8192, ZSTD, &zstd_repeat(17, b'x', 8191))
        })
        .in_data(),
        new("bad-zstd-long", "cluster of 8192 bytes", "a cluster of 12 MiB for an extent of 8 KiB", || {
            file(8192, ZSTD, &zstd_repeat(17, b'x', 12 << 20))
        })
        .in_data(),
    ]
}

fn others() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-lz4-offset-0", "cluster of 8192 bytes", "a match at a distance of 0", || {
            file(8192, LZ4, &[0x1f, b'x', 0, 0, 255, 255])
        })
        .in_data(),
        new("bad-lz4-offset-before", "cluster of 8192 bytes", "a match before the content", || {
            file(8192, LZ4, &[0x1f, b'x', 9, 0, 255, 255])
        })
        .in_data(),
        new("bad-lz4-cut", "cluster of 4000 bytes", "literals that are cut off", || {
            let literals = lz4_literals(&[b'x'; 4000]);
            file(4000, LZ4, &literals[..2000])
        })
        .in_data(),
        new("bad-lzma-properties", "cluster of 8192 bytes", "lzma with impossible properties", || {
            file(8192, LZMA, &[1; 64])
        })
        .in_data(),
        new("bad-lzma-cut", "cluster of 8192 bytes", "lzma that is cut off", || file(8192, LZMA, &[!0x5d, 0, 0, 1, 2]))
            .in_data(),
    ]
}

fn shared() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new(
            "bad-cluster-shared",
            "without the feature \"fragments or shared clusters\"",
            "one cluster of two files",
            || {
                let mut draft = Draft::compressed();
                let block = draft.store_cluster(&zstd_repeat(17, b'x', 8192));
                let one = draft.node(&one_cluster(8192, block, ZSTD));
                let other = draft.node(&one_cluster(8192, block, ZSTD));
                let root = draft.directory(&[(b"one", one), (b"other", other)]);
                draft.build(root)
            },
        )
        .in_data(),
        new(
            "bad-clusters-overlap",
            "belong to another part",
            "a cluster of two blocks, and one of its second block",
            || {
                let mut draft = Draft::compressed();
                draft.store(&[vec![0; 4080], vec![0xf0; 16]].concat());
                let block = draft.store_cluster(&zstd_repeat(17, b'x', 8192));
                let one = draft.node(&one_cluster(8192, block, ZSTD));
                let entries = [start(1, 0, block - 1), inside(0x802, 2), inside(2, 1)];
                let other = draft.node(&Node::full(12_288, header(6, ZSTD, 0), &entries));
                let root = draft.directory(&[(b"one", one), (b"other", other)]);
                draft.build(root)
            },
        )
        .in_data(),
        new("bad-cluster-in-inodes", "belong to another part", "a cluster that is the block of the inodes", || {
            Draft::compressed().of_node(&one_cluster(8192, 1, ZSTD))
        })
        .in_data(),
    ]
}
