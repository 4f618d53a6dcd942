//! Wrong superblocks, truncated images, invalid compressor options, and images after other data.

use super::Expect::{Refused, Rules, Sound};
use super::Specimen;
use super::bytes::{Put, noise, over};
use super::draft::{
    BLOCK_LOG, BLOCK_SIZE, BYTES_USED, COMPRESSOR, Draft, FLAGS, Field, IDS, INODES, MAJOR, MINOR, set,
};
use super::sound::{good, lz4_options};

/// The sound image with one number of its superblock changed.
pub(super) fn with(field: Field, number: u64) -> Vec<u8> {
    let mut image = good();
    set(&mut image, field, number);
    image
}

/// A sound tree with a compressor and these options.
fn options(compressor: u16, options: &[u8]) -> Vec<u8> {
    let mut draft = Draft::new();
    draft.compressor = compressor;
    draft.options = options.to_vec();
    let file = draft.file(b"sound");
    let root = draft.directory(&[(b"file", file)]);
    draft.build(root)
}

fn two(first: u32, second: u32) -> Vec<u8> {
    let mut out = Vec::new();
    out.u32(first).u32(second);
    out
}

/// Options whose block has this header.
fn options_header(header: u64) -> Vec<u8> {
    let mut image = options(4, &two(8192, 0));
    over(&mut image, 96, 2, header);
    image
}

pub(super) fn specimens() -> Vec<Specimen> {
    [numbers(), cut(), compressor_options(), elsewhere()].concat()
}

fn numbers() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-magic", Refused, "the magic is another", || with((0, 4), 0x7371_7369)),
        new("bad-magic-big-endian", Refused, "the magic is that of big-endian images", || with((0, 4), 0x6873_7173)),
        new("bad-version-3", Refused, "version 3.0", || with(MAJOR, 3)),
        new("bad-version-5", Refused, "version 5.0", || with(MAJOR, 5)),
        new("bad-version-4-1", Refused, "version 4.1", || with(MINOR, 1)),
        new("bad-block-size-0", Refused, "blocks of 0 bytes", || with(BLOCK_SIZE, 0)),
        new("bad-block-size-3", Refused, "blocks of 3 bytes", || with(BLOCK_SIZE, 3)),
        new("bad-block-size-5000", Refused, "a block size that is not a power of two", || with(BLOCK_SIZE, 5000)),
        new("bad-block-size-2-to-31", Refused, "blocks of 2 GiB", || {
            let mut image = with(BLOCK_SIZE, 1 << 31);
            set(&mut image, BLOCK_LOG, 31);
            image
        }),
        new("bad-block-size-2-mib", Refused, "blocks of 2 MiB, twice what the format allows", || {
            let mut image = with(BLOCK_SIZE, 1 << 21);
            set(&mut image, BLOCK_LOG, 21);
            image
        }),
        new("bad-block-size-2-kib", Refused, "blocks of 2 KiB, half of what the format allows", || {
            let mut image = with(BLOCK_SIZE, 1 << 11);
            set(&mut image, BLOCK_LOG, 11);
            image
        }),
        new("bad-block-log-13", Refused, "the logarithm of the block size is that of another size", || {
            with(BLOCK_LOG, 13)
        }),
        new("bad-block-log-65535", Refused, "the logarithm of the block size is 65,535", || with(BLOCK_LOG, 65_535)),
        new("bad-block-log-44", Refused, "a logarithm that is right only modulo 32", || with(BLOCK_LOG, 44)),
        new("bad-compressor-0", Refused, "compressor 0", || with(COMPRESSOR, 0)),
        new("bad-compressor-7", Refused, "compressor 7", || with(COMPRESSOR, 7)),
        new("bad-compressor-65535", Refused, "compressor 65,535", || with(COMPRESSOR, 65_535)),
        new("bad-inodes-0", Refused, "no inodes", || with(INODES, 0)),
        new("bad-inodes-4g", Refused, "2^32-1 inodes in a table of a few", || with(INODES, 0xffff_ffff)),
        new("bad-ids-0", Refused, "no ids", || with(IDS, 0)),
        new("bad-flags-all", Refused, "every flag set, also that options follow where data does", || {
            with(FLAGS, 0xffff)
        }),
        new("bad-created-and-flags", Rules, "a flag says that there are no attributes, and there are", || {
            with(FLAGS, 0x280)
        }),
    ]
}

fn cut() -> Vec<Specimen> {
    fn first(length: usize) -> Vec<u8> {
        let mut image = good();
        image.truncate(length);
        image
    }
    let new = Specimen::new;
    vec![
        new("bad-empty", Refused, "a file of 0 bytes", Vec::new),
        new("bad-cut-at-4", Refused, "nothing but the magic", || first(4)),
        new("bad-cut-at-95", Refused, "a superblock that lacks its last byte", || first(95)),
        new("bad-cut-at-96", Refused, "nothing but a superblock", || first(96)),
        new("bad-cut-in-data", Refused, "cut in the data area", || first(5000)),
        new("bad-cut-in-tables", Refused, "cut a byte before the end that the superblock says", || {
            let image = good();
            let used = super::draft::get(&image, BYTES_USED) as usize;
            first(used - 1)
        }),
        new("bad-bytes-used-0", Refused, "0 bytes used", || with(BYTES_USED, 0)),
        new("bad-bytes-used-95", Refused, "95 bytes used", || with(BYTES_USED, 95)),
        new("bad-bytes-used-beyond", Refused, "more bytes used than the file has", || with(BYTES_USED, 1 << 20)),
        new("bad-bytes-used-2-to-63", Refused, "2^63 bytes used", || with(BYTES_USED, 1 << 63)),
        new("bad-bytes-used-all-ones", Refused, "2^64-1 bytes used", || with(BYTES_USED, u64::MAX)),
    ]
}

fn compressor_options() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-options-gzip-7", Refused, "gzip options of 7 bytes", || options(1, &[9, 0, 0, 0, 15, 0, 0])),
        new("bad-options-gzip-level", Rules, "gzip level 99", || options(1, &[99, 0, 0, 0, 15, 0, 0, 0])),
        new("bad-options-gzip-window", Rules, "a gzip window of 2^255", || options(1, &[9, 0, 0, 0, 255, 0, 0, 0])),
        new("bad-options-lzma", Rules, "options for lzma, which has none", || options(2, &two(0, 0))),
        new("bad-options-lzo-algorithm", Rules, "lzo algorithm 5", || options(3, &two(5, 8))),
        new("bad-options-xz-dictionary-0", Refused, "an xz dictionary of 0 bytes", || options(4, &two(0, 0))),
        new("bad-options-xz-dictionary-odd", Refused, "an xz dictionary of 12,345 bytes", || {
            options(4, &two(12_345, 0))
        }),
        new("bad-options-xz-dictionary-4g", Refused, "an xz dictionary of 4 GiB less 1", || {
            options(4, &two(u32::MAX, 0))
        }),
        new("bad-options-xz-filters", Rules, "xz filters that nobody knows", || options(4, &two(8192, 0xffff_0000))),
        new("bad-options-lz4-version", Refused, "lz4 options of version 2", || options(5, &two(2, 0))),
        new("bad-options-lz4-missing", Rules, "lz4 without the options that it must have", || options(5, &[])),
        new("bad-options-zstd-level", Rules, "zstd level 2^31", || options(6, &[0, 0, 0, 0x80])),
        new("bad-options-empty", Refused, "options of 0 bytes", || options_header(0x8000)),
        new("bad-options-8192", Refused, "options of 8,192 bytes", || options_header(0xa000)),
        new("bad-options-32767", Refused, "options that reach beyond the image", || options_header(0xffff)),
        new("bad-options-compressed", Refused, "options that are compressed", || options_header(8)),
        new("odd-options-lz4", Sound, "lz4 options, and nothing is compressed", || options(5, &lz4_options())),
    ]
}

/// Data that looks like a superblock's header at every possible offset.
fn false_superblocks() -> Vec<u8> {
    let mut out = vec![0; 1 << 20];
    let image = good();
    for at in (1..out.len() - 96).step_by(96) {
        out[at..at + 96].copy_from_slice(&image[..96]);
        set(&mut out[at..], BYTES_USED, (1 << 20) + 1);
    }
    out
}

fn elsewhere() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-false-superblocks", Refused, "a megabyte of superblocks, none of which is one", false_superblocks),
        new("bad-magics", Refused, "a megabyte of magics", || b"hsqs".repeat(1 << 18)),
        new("bad-noise", Refused, "a megabyte of noise", || noise(1 << 20)),
        new("odd-behind-a-program", Sound, "an image after other data", || [noise(10_001), good()].concat()),
        new("odd-behind-a-false-superblock", Sound, "an image after half a superblock of another image", || {
            [&good()[..60], &good()].concat()
        }),
    ]
}
