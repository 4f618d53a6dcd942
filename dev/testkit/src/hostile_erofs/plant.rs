//! Inserts any bytes as one part of an otherwise sound image, so that a fuzzer's changes are read.

use super::draft::*;
use super::frames::{lz4_literals, zstd_repeat};
use super::indexes::{header, inside, start};
use super::xattrs::{entry, set};

/// The replaced part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The map header and the index of a file. The first byte is the layout, 1 or 3; the next 3 bytes are the size.
    Index,
    /// The attributes of a file, with their header.
    Xattrs,
}

/// Longest planted part in bytes: it fits into a block after an inode.
const LONGEST: usize = 3900;

/// An image with these bytes as one part.
pub fn planted(part: Part, bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    match part {
        Part::Index => index(bytes),
        Part::Xattrs => xattrs(bytes),
    }
}

/// Bytes of which [`planted`] makes sound images.
pub fn sound_parts(part: Part) -> Vec<Vec<u8>> {
    match part {
        Part::Index => {
            let file = |layout, size: u32, tail: &[u8]| [&[layout], &size.to_le_bytes()[..3], tail].concat();
            let full = [&header(0, 3, 0)[..], &[0; 8], &start(1, 0, 1), &inside(1, 1)].concat();
            let big = [&header(6, 3, 0)[..], &[0; 8], &start(1, 0, 1), &inside(0x801, 1)].concat();
            let compact = [&header(0, 3, 0)[..], &[0, 0x10, 1, 0x20, 0, 0, 0, 0]].concat();
            let extents = [&[1, 0, 0, 0, 5, 0, 0, 0][..], &[0; 8], &[10, 0, 0, 0x40], &[0xf6, 0x1f], &[0; 10]].concat();
            let fragment = (1u64 << 63 | 50).to_le_bytes();
            vec![
                file(1, 8192, &full),
                file(1, 8192, &big),
                file(3, 8192, &compact),
                file(1, 8192, &extents),
                file(1, 100, &fragment),
            ]
        }
        Part::Xattrs => vec![
            set(&[], &[entry(1, b"name", b"value")]),
            set(&[0, 4], &[entry(0x80, b"opaque", b"y"), entry(6, b"capability", &[1; 20])]),
        ],
    }
}

fn index(bytes: &[u8]) -> Vec<u8> {
    let (first, rest) = bytes.split_first_chunk::<4>().unwrap_or((&[1, 0, 0x20, 0], &[]));
    let [layout, a, b, c] = *first;
    let mut draft = Draft::compressed();
    draft.store_cluster(&zstd_repeat(17, b'x', 8192));
    draft.store_cluster(&lz4_literals(&[b'y'; 4000]));
    draft.store(&[7; 4096]);
    let packed = draft.node(&Node::inline(FILE, &[b'p'; 300]));
    draft.set(INCOMPAT, 0xbf).set(PACKED, packed.number);
    let layout = if layout & 2 == 0 { FULL } else { COMPACT };
    draft.of_node(&Node::new(FILE, layout, u32::from_le_bytes([a, b, c, 0]).into()).tail(rest))
}

fn xattrs(bytes: &[u8]) -> Vec<u8> {
    let mut draft = Draft::new();
    let shared = [entry(1, b"s", b"1"), entry(2, b"", &[2, 0, 0, 0]), entry(4, b"t", b"")].concat();
    let block = draft.store(&shared);
    let prefixes = draft.store(&[9, 0, 4, b'o', b'v', b'e', b'r', b'l', b'a', b'y', b'.', 0]);
    draft.set(XATTR_BLOCK, block.into()).set(COMPAT, 0x13).set(INCOMPAT, 0x40);
    draft.set(PREFIXES, 1).set(PREFIX_START, u64::from(prefixes) * 1024);
    let mut body = bytes.to_vec();
    body.resize(body.len().max(12).next_multiple_of(4), 0);
    draft.of_node(&Node::inline(FILE, b"content").xattrs(body))
}
