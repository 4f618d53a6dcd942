//! Metadata blocks with invalid headers and lengths.
//!
//! Long because each specimen is an entry of one table.

use packline_codec::Spec;

use super::Expect::{Refused, Rules, Tree};
use super::Specimen;
use super::bytes::{Put, STORED, blocks, compressed_block, noise, with_header};
use super::draft::{Draft, Ino};
use super::sound::sound;

/// The sound tree with its inode table built from the raw bytes by `make`.
fn inodes(make: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let (mut draft, root) = sound();
    draft.inode_blocks = Some(make(&draft.inodes));
    draft.build(root)
}

/// The same with the directory table.
fn listings(make: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let (mut draft, root) = sound();
    draft.listing_blocks = Some(make(&draft.listings));
    draft.build(root)
}

fn gzip(raw: &[u8]) -> Vec<u8> {
    "gzip".parse::<Spec>().ok().and_then(|codec| compressed_block(&codec, raw)).unwrap_or_default()
}

/// The raw bytes padded with zeros to more than a block, and compressed.
fn filled(raw: &[u8], length: usize) -> Vec<u8> {
    let mut raw = raw.to_vec();
    raw.resize(length, 0);
    gzip(&raw)
}

/// A root whose listing continues after a chain of empty blocks.
fn chain() -> Vec<u8> {
    let mut draft = Draft::new();
    let root = draft.directory_at(0, 1 << 20);
    draft.listing_blocks = Some([0, 0x80].repeat(200_000));
    draft.build(root)
}

/// A tree in which a directory's inode crosses two blocks, the first of which is short.
fn short_block() -> Vec<u8> {
    let mut draft = Draft::new();
    let file = draft.file(b"sound");
    let root = draft.directory(&[(b"file", file)]);
    let (first, second) = draft.inodes.split_at(root.position + 20);
    let table = [first, second].map(|part| with_header(part.len() as u16 | STORED, part));
    draft.inode_blocks = Some(table.concat());
    draft.build(root)
}

/// A tree whose root's inode is cut off by the end of the table.
fn cut() -> Vec<u8> {
    let (mut draft, root) = sound();
    let length = draft.inodes.len() - 3;
    draft.inode_blocks = Some(blocks(&draft.inodes[..length], None));
    draft.build(root)
}

fn wild(header: u16) -> impl Fn(&[u8]) -> Vec<u8> {
    move |raw| with_header(header, raw)
}

/// A file whose size words are a table of zeros compressed a thousand times; its size field is larger still.
fn endless_words() -> Vec<u8> {
    let mut draft = Draft::new();
    draft.codec = "gzip".parse().ok();
    let root = Ino { position: 0, number: 1, kind: 1 };
    let body = draft.directory_body(0, 12 + 8 + 4 + 3);
    draft.inode(8, &body);
    let file = draft.file_with(&super::draft::FileFields::new(96, 1 << 60, vec![0; 1 << 20]));
    draft.listing(&[(b"file", file)]);
    draft.build(root)
}

pub(super) fn specimens() -> Vec<Specimen> {
    let new = Specimen::new;
    vec![
        new("bad-metadata-header-0", Refused, "the inode table's first block is compressed and has 0 bytes", || {
            inodes(|raw| wild(0)(raw))
        }),
        new("bad-metadata-stored-0", Refused, "the inode table's first block is stored and has 0 bytes", || {
            inodes(|raw| wild(STORED)(raw))
        }),
        new("bad-metadata-header-7fff", Refused, "a compressed metadata block of 32,767 bytes", || {
            inodes(|raw| wild(0x7fff)(raw))
        }),
        new("bad-metadata-header-ffff", Refused, "a stored metadata block of 32,767 bytes", || {
            inodes(|raw| wild(0xffff)(raw))
        }),
        new("bad-metadata-8193", Refused, "a stored metadata block of 8,193 bytes", || {
            inodes(|raw| with_header(8193 | STORED, &[raw, &noise(8193)].concat()[..8193]))
        }),
        new("bad-metadata-garbage", Refused, "a metadata block that no decoder takes", || {
            inodes(|raw| wild(raw.len() as u16)(&noise(raw.len())))
        }),
        new("bad-metadata-long", Refused, "a metadata block of 8,193 bytes when decompressed", || {
            inodes(|raw| {
                let bytes = filled(raw, 8193);
                with_header(bytes.len() as u16, &bytes)
            })
        }),
        new("bad-metadata-bomb", Refused, "a metadata block of 4 MiB when decompressed", || {
            inodes(|raw| {
                let bytes = filled(raw, 4 << 20);
                with_header(bytes.len() as u16, &bytes)
            })
        }),
        new("bad-metadata-truncated", Refused, "a compressed metadata block without its last bytes", || {
            inodes(|raw| {
                let bytes = filled(raw, 8192);
                with_header(bytes.len() as u16 - 9, &bytes[..bytes.len() - 9])
            })
        }),
        new("bad-metadata-short-block", Rules, "a metadata block that is not full, and another after it", short_block),
        new("bad-metadata-cut-inode", Refused, "the inode table ends in the middle of the root", cut),
        new(
            "bad-metadata-into-next-table",
            Refused,
            "the inode table's last block reaches into the next table",
            || inodes(|raw| with_header((raw.len() as u16 + 60) | STORED, raw)),
        ),
        new("bad-listing-header-0", Tree, "the directory table's first block has 0 bytes", || {
            listings(|raw| wild(0)(raw))
        }),
        new("bad-listing-garbage", Tree, "a directory table that no decoder takes", || {
            listings(|raw| wild(raw.len() as u16)(&noise(raw.len())))
        }),
        new("bad-listing-zeros", Tree, "a directory table of zeros", || {
            listings(|raw| wild(raw.len() as u16 | STORED)(&vec![0; raw.len()]))
        }),
        new("bad-listing-ones", Tree, "a directory table of ones", || {
            listings(|raw| wild(raw.len() as u16 | STORED)(&vec![255; raw.len()]))
        }),
        new("bad-metadata-chain", Tree, "a listing over 200,000 metadata blocks of nothing", chain),
        new(
            "bad-metadata-endless-words",
            Tree,
            "a file of 2^60 bytes over a million size words made of a few bytes",
            endless_words,
        ),
        new("bad-metadata-noise", Refused, "an inode table of noise", || {
            inodes(|raw| {
                let mut out = Vec::new();
                out.u16(raw.len() as u16 | STORED).all(&noise(raw.len()));
                out
            })
        }),
    ]
}
