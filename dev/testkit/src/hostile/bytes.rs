//! Little-endian numbers, appended or written over existing bytes, and metadata blocks and tables of them, valid or with any header.

use packline_codec::{Outcome, Spec};

/// Appends little-endian numbers.
pub(crate) trait Put {
    fn u16(&mut self, number: u16) -> &mut Self;
    fn u32(&mut self, number: u32) -> &mut Self;
    fn u64(&mut self, number: u64) -> &mut Self;
    fn all(&mut self, bytes: &[u8]) -> &mut Self;
}

impl Put for Vec<u8> {
    fn u16(&mut self, number: u16) -> &mut Self {
        self.all(&number.to_le_bytes())
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.all(&number.to_le_bytes())
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.all(&number.to_le_bytes())
    }

    fn all(&mut self, bytes: &[u8]) -> &mut Self {
        self.extend_from_slice(bytes);
        self
    }
}

/// The number of `length` bytes at `at`; bytes beyond the end count as zero.
pub(super) fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    (0..length).rev().fold(0, |sum, index| sum << 8 | u64::from(bytes.get(at + index).copied().unwrap_or(0)))
}

/// Overwrites a number of `length` bytes at `at`.
pub(crate) fn over(bytes: &mut [u8], at: usize, length: usize, number: u64) {
    bytes[at..at + length].copy_from_slice(&number.to_le_bytes()[..length]);
}

/// Incompressible bytes, the same on every machine.
pub(super) fn noise(length: usize) -> Vec<u8> {
    crate::Random::new(length as u64).noise(length)
}

/// Bytes of a metadata block before compression.
pub(super) const BLOCK: usize = 8192;
/// Set in the header of a stored block.
pub(super) const STORED: u16 = 1 << 15;

/// Compresses bytes as one block; `None` if that does not make them smaller.
#[allow(clippy::panic, reason = "this builds inputs for tests")]
pub(super) fn compressed_block(codec: &Spec, raw: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0; raw.len()];
    let encoder = codec.encoder(raw.len().next_power_of_two().max(4096));
    let outcome = encoder.and_then(|mut encoder| encoder.compress(raw, &mut out));
    match outcome.unwrap_or_else(|cause| panic!("{codec}: {cause}")) {
        Outcome::Smaller(length) => out.truncate(length),
        Outcome::NotSmaller => return None,
    }
    Some(out)
}

/// One metadata block with its header: stored, or compressed where a codec is given and it helps.
pub(super) fn block(raw: &[u8], codec: Option<&Spec>) -> Vec<u8> {
    match codec.and_then(|codec| compressed_block(codec, raw)) {
        Some(payload) => with_header(payload.len() as u16, &payload),
        None => with_header(raw.len() as u16 | STORED, raw),
    }
}

/// A metadata block with any header.
pub(super) fn with_header(header: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.u16(header).all(payload);
    out
}

/// A sequence of metadata blocks, full except the last.
pub(super) fn blocks(raw: &[u8], codec: Option<&Spec>) -> Vec<u8> {
    raw.chunks(BLOCK).flat_map(|chunk| block(chunk, codec)).collect()
}

/// The blocks of a table that begins at byte `at`, followed by the index of their positions; and the position of the index.
pub(super) fn indexed(raw: &[u8], at: u64, codec: Option<&Spec>) -> (Vec<u8>, u64) {
    let mut out = Vec::new();
    let mut index = Vec::new();
    for chunk in raw.chunks(BLOCK) {
        index.u64(at + out.len() as u64);
        out.all(&block(chunk, codec));
    }
    let start = at + out.len() as u64;
    out.all(&index);
    (out, start)
}

/// A reference to byte `position` of a table of stored blocks.
pub(super) fn reference(position: usize) -> u64 {
    let block = position / BLOCK;
    let offset = position % BLOCK;
    ((block * (BLOCK + 2)) as u64) << 16 | offset as u64
}
