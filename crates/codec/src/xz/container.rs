//! The parts of .xz streams (xz `doc/xz-file-format.txt`, version 1.2).

use super::Bcj;

/// Bytes of a stream header, and of a stream footer.
pub(crate) const EDGE: usize = 12;
/// Stream flags: a CRC-32 of the content of each block, the only check that Linux supports.
const FLAGS: [u8; 2] = [0, 1];
/// Bytes of a block's check.
pub(crate) const CHECK: usize = 4;
/// The filter LZMA2.
pub(crate) const LZMA2: u8 = 0x21;

/// Sizes in bytes of a block as the index stores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockSizes {
    /// Header, compressed data and check, without padding.
    pub(crate) unpadded: u64,
    pub(crate) content: u64,
}

pub(crate) fn stream_header() -> Vec<u8> {
    let mut header = b"\xfd7zXZ\0".to_vec();
    header.extend_from_slice(&FLAGS);
    header.extend_from_slice(&crc32(&FLAGS).to_le_bytes());
    header
}

/// A block header, with the compressed size and the content's size if `sizes` has them.
pub(crate) fn block_header(sizes: Option<[u64; 2]>, bcj: Option<Bcj>, dictionary: u8) -> Vec<u8> {
    let sizes_flag = if sizes.is_some() { 0xc0 } else { 0 };
    let mut header = vec![0, sizes_flag | u8::from(bcj.is_some())];
    sizes.into_iter().flatten().for_each(|size| put_number(&mut header, size));
    if let Some(bcj) = bcj {
        header.extend_from_slice(&[bcj.id(), 0]);
    }
    header.extend_from_slice(&[LZMA2, 1, dictionary]);
    header.resize(header.len().next_multiple_of(4), 0);
    header[0] = (header.len() / 4) as u8;
    put_crc(&mut header);
    header
}

/// A dictionary size as a block header stores it: the smallest 2^n or 2^n + 2^(n-1) that is at least `size`.
pub(crate) fn dictionary_byte(size: u32) -> u8 {
    let of = |byte: u8| u64::from(2 | byte & 1) << (byte / 2 + 11);
    (0..40).find(|byte| of(*byte) >= size.into()).unwrap_or(40)
}

/// The index of a stream under construction.
#[derive(Debug, Default)]
pub(crate) struct Index {
    count: u64,
    records: Vec<u8>,
}

impl Index {
    pub(crate) fn add(&mut self, sizes: BlockSizes) {
        self.count += 1;
        put_number(&mut self.records, sizes.unpadded);
        put_number(&mut self.records, sizes.content);
    }

    /// The index and the stream footer.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut end = vec![0];
        put_number(&mut end, self.count);
        end.extend_from_slice(&self.records);
        end.resize(end.len().next_multiple_of(4), 0);
        put_crc(&mut end);
        let size = (end.len() / 4 - 1) as u32;
        let words = [&size.to_le_bytes()[..], &FLAGS].concat();
        end.extend_from_slice(&crc32(&words).to_le_bytes());
        end.extend_from_slice(&words);
        end.extend_from_slice(b"YZ");
        end
    }
}

/// Writes a number of the format: 7 bits a byte, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_crc(bytes: &mut Vec<u8>) {
    let crc = crc32(bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
}

#[allow(unsafe_code, reason = "calls a C library")]
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    // SAFETY: the pointer is valid for the length given.
    unsafe { liblzma_sys::lzma_crc32(bytes.as_ptr(), bytes.len(), 0) }
}
