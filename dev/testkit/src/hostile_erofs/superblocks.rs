//! The superblock and the records after it.

use super::Specimen;
use super::draft::*;
use crate::hostile::bytes::Put;

/// A sound image with other fields.
fn with(fields: &[(Field, u64)]) -> Vec<u8> {
    let mut draft = Draft::compressed();
    for (field, number) in fields {
        draft.set(*field, *number);
    }
    let file = draft.file(b"content");
    draft.of_file(file)
}

fn with_records(algorithms: u64, records: &[u8]) -> Vec<u8> {
    let mut draft = Draft::compressed();
    draft.records = records.to_vec();
    draft.set(ALGORITHMS, algorithms);
    let file = draft.file(b"content");
    draft.of_file(file)
}

pub(super) fn all() -> Vec<Specimen> {
    [fields(), roots(), records(), others()].concat()
}

fn fields() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-block-bits-8", "logarithm 8 of the block size", "blocks of 256 bytes", || with(&[(BLOCK_BITS, 8)])),
        new("bad-block-bits-17", "logarithm 17", "blocks of 128 KiB", || with(&[(BLOCK_BITS, 17)])),
        new("bad-block-bits-255", "logarithm 255", "blocks of 2^255 bytes", || with(&[(BLOCK_BITS, 255)])),
        new("bad-directory-bits", "logarithm 1 of the blocks of a directory", "directory blocks of two blocks", || {
            with(&[(DIRECTORY_BITS, 1)])
        }),
        new("bad-nanoseconds", "1000000000 nanoseconds", "a second of nanoseconds", || {
            with(&[(NANOSECONDS, 1_000_000_000)])
        }),
        new("bad-feature", "unknown EROFS features 0x8000", "an unknown incompatible feature", || {
            with(&[(INCOMPAT, 0x8003)])
        }),
        new("bad-checksum", "damaged superblock: checksum", "a wrong checksum", || {
            let mut draft = Draft::new();
            draft.is_summed = false;
            let file = draft.file(b"content");
            draft.of_file(file)
        }),
        new("bad-slots", "record of algorithm", "a superblock of 4 KiB, without the records after it", || {
            with(&[(SLOTS, 255)])
        }),
        new("bad-inodes-zero", "0 inodes in the superblock", "no inodes", || with(&[(INODES, 0)])).in_data(),
        new("bad-inodes-most", "18446744073709551615 inodes", "2^64 - 1 inodes", || with(&[(INODES, u64::MAX)]))
            .in_data(),
        new("odd-blocks-zero", "", "no size", || with(&[(BLOCKS, 0)])),
        new("odd-blocks-most", "", "a size of 16 TiB", || with(&[(BLOCKS, u32::MAX.into())])),
    ]
}

fn roots() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-root-beyond", "to byte", "a root after the end of the image", || with(&[(ROOT, 65_535)])),
        new("bad-root-file", "root inode that is a regular file", "a root that is a file", || {
            let mut draft = Draft::new();
            let file = draft.file(b"content");
            draft.build(file)
        }),
        new("bad-root-zero", "inode of mode 0", "root 0, which is not an inode", || with(&[(ROOT, 0)])),
        new("bad-root-wide", "inode 9223372036854775807", "a root of 63 bits", || {
            with(&[(INCOMPAT, 0x83), (WIDE_ROOT, u64::MAX >> 1)])
        }),
        new("bad-root-in-no-metabox", "metadata in the metabox", "a root in a metabox that does not exist", || {
            with(&[(INCOMPAT, 0x83), (WIDE_ROOT, 1 << 63 | 5)])
        }),
    ]
}

fn records() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-algorithm", "unknown compression algorithms 0x10", "an unknown algorithm", || {
            with_records(0x10, &[0; 64])
        }),
        new("bad-record-short", "record of algorithm 0 with 13 bytes", "a short record of lz4", || {
            let mut records = Vec::new();
            records.u16(13).all(&[0; 14]);
            with_records(1, &records)
        }),
        new("bad-lzma-dictionary", "dictionary of 4294967295 bytes", "a dictionary of lzma of 4 GiB", || {
            let mut records = Vec::new();
            records.u16(14).u32(u32::MAX).all(&[0; 10]);
            with_records(2, &records)
        }),
        new("bad-lzma-format", "format 1 of lzma", "another format of lzma", || {
            let mut records = Vec::new();
            records.u16(14).u32(1 << 17).u16(1).all(&[0; 8]);
            with_records(2, &records)
        }),
        new("bad-deflate-window", "logarithm 16 of the window of deflate", "a window of deflate of 64 KiB", || {
            let mut records = Vec::new();
            records.u16(6).all(&[16, 0, 0, 0, 0, 0]);
            with_records(4, &records)
        }),
        new("bad-zstd-window", "logarithm 10 + 11 of the window of zstd", "a window of zstd of 2 MiB", || {
            let mut records = Vec::new();
            records.u16(6).all(&[0, 11, 0, 0, 0, 0]);
            with_records(8, &records)
        }),
    ]
}

fn others() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-packed-in-metabox", "packed inode in the metabox", "a packed inode in the metabox", || {
            with(&[(INCOMPAT, 0x23), (PACKED, 1 << 63)])
        }),
        new("bad-metabox-in-itself", "metabox inode in the metabox", "a metabox in itself", || {
            with(&[(INCOMPAT, 0x103), (SLOTS, 1), (METABOX, 1 << 63 | 2)])
        }),
        new(
            "bad-metabox-without-slot",
            "superblock of 128 bytes in an image with a metabox",
            "no slot for the metabox",
            || with(&[(INCOMPAT, 0x103)]),
        ),
        new("bad-packed-directory", "packed inode that is a directory", "a packed inode that is the root", || {
            let mut draft = Draft::compressed();
            let file = draft.file(b"content");
            let root = draft.directory(&[(b"file", file)]);
            draft.set(INCOMPAT, 0x23).set(PACKED, root.number);
            draft.build(root)
        })
        .in_data(),
        new("bad-prefixes-beyond", "to byte", "long prefixes after the end of the image", || {
            with(&[(INCOMPAT, 0x43), (COMPAT, 0x13), (PREFIXES, 128), (PREFIX_START, u32::MAX.into())])
        }),
        new("bad-prefix-empty", "long prefix 0 of attribute names with 0 bytes", "a long prefix of no bytes", || {
            with(&[(INCOMPAT, 0x43), (COMPAT, 0x13), (PREFIXES, 1), (PREFIX_START, 3000 / 4)])
        }),
        new("bad-devices-beyond", "to byte", "a device table after the end of the image", || {
            with(&[(INCOMPAT, 0xb), (DEVICES, 65_535), (DEVICE_TABLE, 65_535)])
        }),
        new("bad-device-in-image", "device 1 from block 1 on", "a device among the blocks of the image", || {
            let mut draft = Draft::compressed();
            let mut table = vec![b'd'; 64];
            table.u32(5).u32(1).all(&[0; 56]);
            let block = draft.store(&table);
            draft.set(INCOMPAT, 0xb).set(DEVICES, 1).set(DEVICE_TABLE, u64::from(block) * 32);
            let file = draft.file(b"content");
            draft.of_file(file)
        })
        .in_data(),
        new("bad-shared-xattrs-in-no-metabox", "shared extended attributes in the metabox of", "no metabox", || {
            with(&[(COMPAT, 0xb)])
        })
        .in_data(),
    ]
}
