//! Files with wrong block positions or sizes.

use super::Expect::{Contents, Huge, Rules, Sound, Tree};
use super::Specimen;
use super::bytes::{Put, noise};
use super::draft::{Draft, FileFields, STORED_BLOCK};
use super::sound::with_odd;

/// A file `odd` of this size with these size words, its blocks in 8,192 bytes of noise (`start` is relative to them).
fn file(start: i64, size: u64, words: &[u32]) -> Vec<u8> {
    with_odd(|draft| {
        let place = draft.store(&noise(8192)).wrapping_add_signed(start);
        draft.file_with(&FileFields::new(place, size, words.to_vec()))
    })
}

/// The same with other fields changed.
fn fields(change: fn(FileFields) -> FileFields) -> Vec<u8> {
    with_odd(|draft| {
        let start = draft.store(&noise(8192));
        draft.file_with(&change(FileFields::new(start, 8192, vec![FULL, FULL])))
    })
}

/// A stored block of the block size.
const FULL: u32 = 4096 | STORED_BLOCK;

/// A basic file whose start is beyond the image.
fn basic() -> Vec<u8> {
    with_odd(|draft| {
        let mut body = Vec::new();
        body.u32(0xffff_fff0).u32(0xffff_ffff).u32(0).u32(4096).u32(FULL);
        draft.inode(2, &body)
    })
}

/// A file whose size words are all zero.
fn holes(size: u64, words: usize) -> Vec<u8> {
    let mut draft = Draft::new();
    draft.block_log = 20;
    draft.codec = "gzip".parse().ok();
    let body = draft.directory_body(0, 12 + 8 + 6 + 3);
    let root = draft.inode(8, &body);
    let file = draft.file_with(&FileFields { sparse: size, ..FileFields::new(96, size, vec![0; words]) });
    draft.listing(&[(b"sparse", file)]);
    draft.build(root)
}

pub(super) fn specimens() -> Vec<Specimen> {
    [sizes(), places(), lengths(), sparse()].concat()
}

fn sizes() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-file-size-2-to-63", Tree, "a file of 2^63 bytes and two blocks", || file(0, 1 << 63, &[FULL, FULL])),
        new("bad-file-size-all-ones", Tree, "a file of 2^64-1 bytes and two blocks", || {
            file(0, u64::MAX, &[FULL, FULL])
        }),
        new("bad-file-size-2-to-62-tail", Tree, "a file of 2^62 bytes, a tail end and two blocks", || {
            fields(|fields| FileFields { size: (1 << 62) + 1, fragment: 0, ..fields })
        }),
        new("bad-file-blocks-beyond", Tree, "a file of 4 GiB whose size words reach beyond the inode table", || {
            file(0, 1 << 32, &[FULL, FULL])
        }),
        new("bad-file-links-0", Rules, "a file of no names", || fields(|fields| FileFields { links: 0, ..fields })),
        new("bad-file-sparse", Rules, "a file with more bytes in holes than it has", || {
            fields(|fields| FileFields { sparse: u64::MAX, ..fields })
        }),
    ]
}

fn places() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-block-beyond", Tree, "blocks beyond the image", || file(1 << 30, 8192, &[FULL, FULL])),
        new("bad-block-start-all-ones", Tree, "blocks that start at byte 2^64-1", || {
            fields(|fields| FileFields { start: u64::MAX, ..fields })
        }),
        new("bad-block-sum", Tree, "blocks whose places wrap at 2^64", || {
            fields(|fields| FileFields { start: u64::MAX - 4096, ..fields })
        }),
        new("bad-block-start-0", Rules, "blocks that start in the superblock", || {
            fields(|fields| FileFields { start: 0, ..fields })
        }),
        new("bad-block-in-tables", Tree, "blocks that lie in the tables", || file(9000, 4096, &[FULL])),
        new("bad-block-basic-beyond", Tree, "a basic file with its block at byte 2^32-16", basic),
        new("odd-block-shared", Sound, "two files of the same blocks", || {
            with_odd(|draft| {
                let start = draft.store(&noise(8192));
                let one = draft.file_with(&FileFields::new(start, 8192, vec![FULL, FULL]));
                let two = draft.file_with(&FileFields::new(start + 1, 4096, vec![FULL]));
                draft.directory(&[(b"one", one), (b"two", two)])
            })
        }),
    ]
}

fn lengths() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-word-long", Contents, "a compressed block longer than the block size", || file(0, 4096, &[4097])),
        new("bad-word-stored-long", Contents, "a stored block longer than the block size", || {
            file(0, 4096, &[4097 | STORED_BLOCK])
        }),
        new("bad-word-all-ones", Contents, "a size word of ones", || file(0, 4096, &[u32::MAX])),
        new("bad-word-high-bits", Contents, "a size word with bits that mean nothing", || {
            file(0, 4096, &[FULL | 0x8000_0000])
        }),
        new("bad-word-16-mib", Contents, "a compressed block of 16 MiB less 1", || file(0, 4096, &[0x00ff_ffff])),
        new("bad-word-stored-0", Contents, "a stored block of 0 bytes", || file(0, 4096, &[STORED_BLOCK])),
        new("bad-word-short", Contents, "a stored block shorter than the file's part", || {
            file(0, 8192, &[100 | STORED_BLOCK, FULL])
        }),
        new("bad-word-last-long", Contents, "a last stored block longer than the rest of the file", || {
            file(0, 4097, &[FULL, FULL])
        }),
        new("bad-word-garbage", Contents, "a compressed block that no decoder takes", || file(0, 4096, &[2000])),
    ]
}

fn sparse() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("odd-sparse-256-gib", Sound, "a file of 256 GiB of holes", || holes(1 << 38, 1 << 18)),
        new("odd-sparse-1-tib", Huge, "a file of 1 TiB of holes, from an image of a few KiB", || {
            holes(1 << 40, 1 << 20)
        }),
        new("bad-sparse-8-eib", Tree, "a file of 8 EiB of holes, its size words beyond the table", || {
            holes((1 << 63) - 1, 1 << 10)
        }),
    ]
}
