//! The bytes of an image, little-endian numbers read from them with bounds checks, and the decoder of its blocks.

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

/// A position in a slice of bytes. Errors name the part that was being read.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
    what: &'static str,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize, what: &'static str) -> Cursor<'a> {
        Cursor { bytes, at, what }
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(length);
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        let found = found.ok_or_else(|| {
            format!("{}: {length} bytes at {} of {} do not exist", self.what, self.at, self.bytes.len())
        })?;
        self.at += length;
        Ok(found)
    }

    pub fn u16(&mut self) -> Result<u16, String> {
        self.take(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    pub fn i16(&mut self) -> Result<i16, String> {
        self.u16().map(u16::cast_signed)
    }

    pub fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from(self.u16()?) | u32::from(self.u16()?) << 16)
    }

    pub fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from(self.u32()?) | u64::from(self.u32()?) << 32)
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
}
