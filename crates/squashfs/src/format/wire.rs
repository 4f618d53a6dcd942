//! Little-endian numbers and metadata blocks, as the format stores them.

use packline_codec::{CodecError, Encoder, Outcome};

/// Bytes of the header of a metadata block.
pub const METADATA_HEADER: usize = 2;
/// Set in the header of a stored metadata block.
pub(crate) const STORED: u16 = 1 << 15;

/// Returns a metadata block: its header, then `bytes`, which are stored or compressed.
pub(crate) fn metadata_block(bytes: &[u8], stored: bool) -> Vec<u8> {
    let mut block = Vec::with_capacity(METADATA_HEADER + bytes.len());
    block.put_u16(bytes.len() as u16 | if stored { STORED } else { 0 });
    block.extend_from_slice(bytes);
    block
}

/// Returns a metadata block of `plain`, compressed if that makes it smaller.
///
/// # Errors
/// Errors of the encoder.
pub fn encode_metadata(encoder: &mut dyn Encoder, plain: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut block = vec![0; METADATA_HEADER + plain.len()];
    let (header, payload) = block.split_at_mut(METADATA_HEADER);
    match encoder.compress(plain, payload)? {
        Outcome::Smaller(size) => {
            header.copy_from_slice(&(size as u16).to_le_bytes());
            block.truncate(METADATA_HEADER + size);
            Ok(block)
        }
        Outcome::NotSmaller => Ok(metadata_block(plain, true)),
    }
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
