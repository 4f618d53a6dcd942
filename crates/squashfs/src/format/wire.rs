//! Little-endian numbers and metadata blocks, as the format stores them.

/// Set in the header of a stored metadata block.
pub(crate) const STORED: u16 = 1 << 15;

/// A metadata block: its header, then `bytes`, which are stored or compressed.
pub(crate) fn metadata_block(bytes: &[u8], stored: bool) -> Vec<u8> {
    let mut block = Vec::with_capacity(2 + bytes.len());
    block.put_u16(bytes.len() as u16 | if stored { STORED } else { 0 });
    block.extend_from_slice(bytes);
    block
}

/// Appends little-endian numbers.
pub(crate) trait Put {
    fn put_u16(&mut self, value: u16);
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
}

impl Put for Vec<u8> {
    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
}
