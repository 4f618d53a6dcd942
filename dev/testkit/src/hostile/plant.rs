//! Inserts any bytes as one part of an otherwise sound image, so that a fuzzer's changes are read.

use super::bytes::number;
use super::draft::{Draft, ROOT, get, set};
use super::sound::sound;

/// The replaced part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The superblock and everything after it; its magic is corrected.
    Superblock,
    /// The stored inode table: metadata blocks with their headers. The first byte is the compressor's number.
    Metadata,
    /// The inode table before it is cut into blocks. The first two bytes are the position of the root.
    Inodes,
    /// The root's listing.
    Listing,
}

/// An image with these bytes as one part.
pub fn planted(part: Part, bytes: &[u8]) -> Vec<u8> {
    match part {
        Part::Superblock => superblock(bytes),
        Part::Metadata => metadata(bytes),
        Part::Inodes => inodes(bytes),
        Part::Listing => listing(bytes),
    }
}

/// Bytes of which [`planted`] makes a sound image.
pub fn sound_part(part: Part) -> Vec<u8> {
    let (draft, root) = sound();
    match part {
        Part::Superblock => super::good()[..96].to_vec(),
        Part::Metadata => [&[1], &super::bytes::blocks(&draft.inodes, None)[..]].concat(),
        Part::Inodes => [&(root.position as u16).to_le_bytes(), &draft.inodes[..]].concat(),
        Part::Listing => root_listing(&draft).to_vec(),
    }
}

fn superblock(bytes: &[u8]) -> Vec<u8> {
    let mut image = super::good();
    let length = bytes.len().min(image.len());
    image[..length].copy_from_slice(&bytes[..length]);
    set(&mut image, (0, 4), 0x7371_7368);
    image
}

fn metadata(bytes: &[u8]) -> Vec<u8> {
    let (mut draft, root) = sound();
    let (compressor, blocks) = bytes.split_first().unwrap_or((&1, &[]));
    draft.compressor = u16::from(*compressor % 6) + 1;
    draft.options = if draft.compressor == 5 { super::sound::lz4_options() } else { Vec::new() };
    draft.inode_blocks = Some(blocks.to_vec());
    draft.build(root)
}

fn inodes(bytes: &[u8]) -> Vec<u8> {
    let (mut draft, root) = sound();
    draft.inodes = bytes.get(2..).unwrap_or_default().to_vec();
    let mut image = draft.build(root);
    set(&mut image, ROOT, number(bytes, 0, 2));
    image
}

fn listing(bytes: &[u8]) -> Vec<u8> {
    let (mut draft, root) = sound();
    let start = draft.listings.len() - root_listing(&draft).len();
    draft.listings.truncate(start);
    draft.listings.extend_from_slice(bytes);
    draft.inodes.truncate(root.position);
    draft.exports.pop();
    let root = draft.directory_at(start, bytes.len() as u32);
    let image = draft.build(root);
    debug_assert_ne!(get(&image, ROOT), 0);
    image
}

/// The root's listing is the last.
fn root_listing(draft: &Draft) -> &[u8] {
    const BELOW: usize = 12 + 8 + b"inner".len();
    &draft.listings[BELOW..]
}
