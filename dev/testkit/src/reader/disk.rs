//! The bytes of an image, and the decoder of its blocks.

use packline_codec::{Decoder, Spec};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Maximum uncompressed bytes of a metadata block. Every block of a table except the last has this size.
pub(super) const METADATA_BLOCK: usize = 8192;
/// Memory limit of decoders, bytes: far more than any sound image needs.
const DECODER_MEMORY: usize = 64 << 20;

/// The bytes of an image, its codec, and the problems found so far.
pub(super) struct Disk {
    file: File,
    pub size: u64,
    pub block_size: usize,
    decoder: Box<dyn Decoder>,
    scratch: Vec<u8>,
    pub problems: Vec<String>,
}

impl Disk {
    pub fn new(file: File, size: u64, codec: &str, block_size: usize) -> Result<Disk, String> {
        let longest = block_size.max(METADATA_BLOCK);
        let spec: Spec = codec.parse().map_err(|cause| format!("{codec}: {cause}"))?;
        let decoder = spec.decoder(longest, DECODER_MEMORY).map_err(|cause| format!("{codec}: {cause}"))?;
        Ok(Disk { file, size, block_size, decoder, scratch: vec![0; longest], problems: Vec::new() })
    }

    /// Reads `length` bytes at `at`, all of which are within the image.
    pub fn bytes(&mut self, at: u64, length: u64, what: &str) -> Result<Vec<u8>, String> {
        if at.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(format!("{what}: {length} bytes at {at} of an image of {}", self.size));
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, at).map_err(|cause| format!("{what}: {cause}"))?;
        Ok(bytes)
    }

    /// Decompresses a block of at most `limit` bytes.
    pub fn decode(&mut self, raw: &[u8], limit: usize) -> Result<Vec<u8>, String> {
        let length = self.decoder.decompress(raw, &mut self.scratch[..limit]).map_err(|cause| cause.to_string())?;
        Ok(self.scratch[..length].to_vec())
    }
}
