//! Records every part that was written: its position, its length and its hashes. `read_back.rs` compares the parts with the image.

use packline_codec::{Decoder, METADATA_BLOCK_SIZE};
use packline_runtime::Buffer;

use crate::Error;
use crate::format::wire::STORED;
use crate::write::digest::hash;

/// Maximum length of a part that is neither a block nor metadata.
const PLAIN_MOST: usize = 64 * 1024;

/// How the content of a part is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Uncompressed.
    Plain,
    /// A compressed data or fragment block.
    Block,
    /// A metadata block with its header.
    Metadata,
}

/// 64 bits of BLAKE3 each. The hashes detect accidents, not attacks, so 64 bits are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hashes {
    /// Hash of the bytes in the image.
    pub(crate) stored: u64,
    /// Hash of the decoded bytes; not used for [`Form::Plain`].
    pub(crate) content: u64,
}

/// A part of the image, written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Offset in the image in bytes.
    pub(crate) start: u64,
    /// Length in the image in bytes.
    pub(crate) length: u32,
    pub(crate) form: Form,
    pub(crate) hashes: Hashes,
}

impl Part {
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// The parts of an image, if it will be read back: 32 bytes of memory for each.
#[derive(Debug, Default)]
pub(crate) struct Written(Option<Vec<Part>>);

impl Written {
    /// Returns an empty record; without `record` it stays empty.
    pub(crate) fn new(record: bool) -> Written {
        Written(record.then(Vec::new))
    }

    /// Whether parts are recorded.
    pub(crate) fn records(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn add(&mut self, part: Part) {
        if let Some(parts) = &mut self.0 {
            parts.push(part);
        }
    }

    /// Adds bytes that are stored uncompressed.
    pub(crate) fn add_plain(&mut self, mut start: u64, bytes: &[u8]) {
        let Some(parts) = &mut self.0 else { return };
        for piece in bytes.chunks(PLAIN_MOST) {
            let hashes = Hashes { stored: hash(piece), content: 0 };
            parts.push(Part { start, length: piece.len() as u32, form: Form::Plain, hashes });
            start += piece.len() as u64;
        }
    }

    /// Returns the part that begins at an offset. All parts so far must be in the order of the image.
    pub(crate) fn at(&self, start: u64) -> Option<Part> {
        let parts = self.0.as_ref()?;
        parts.binary_search_by_key(&start, |part| part.start).ok().map(|index| parts[index])
    }

    pub(crate) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |parts| parts.capacity() * size_of::<Part>())
    }

    /// Returns all parts in the order of the image, if they were recorded.
    pub(crate) fn into_parts(self) -> Option<Vec<Part>> {
        let mut parts = self.0?;
        parts.sort_unstable_by_key(|part| part.start);
        Some(parts)
    }
}

/// Consecutive parts of the image, as they were read back.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) buffer: Buffer,
    pub(crate) length: usize,
    pub(crate) parts: Vec<Part>,
}

impl Chunk {
    /// Compares the parts with their hashes, in order, and returns the length of the chunk in bytes. A decoded block fits into `scratch`.
    pub(crate) fn check(&self, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<u64, Error> {
        let mut rest = &self.buffer.bytes()[..self.length];
        for part in &self.parts {
            let (bytes, later) = rest.split_at(part.length as usize);
            check_part(part, bytes, decoder, scratch).map_err(|is| Error::ReadBack {
                offset: part.start,
                what: String::new(),
                is,
            })?;
            rest = later;
        }
        Ok(self.length as u64)
    }
}

/// Says what is wrong with a part.
fn check_part(part: &Part, bytes: &[u8], decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<(), String> {
    if hash(bytes) != part.hashes.stored {
        return Err("has different bytes".into());
    }
    let (payload, compressed, most) = match (part.form, bytes) {
        (Form::Plain, _) => return Ok(()),
        (Form::Block, _) => (bytes, true, scratch.len()),
        (Form::Metadata, &[low, high, ref payload @ ..]) => {
            (payload, u16::from_le_bytes([low, high]) & STORED == 0, METADATA_BLOCK_SIZE)
        }
        (Form::Metadata, _) => return Err("has no header".into()),
    };
    let content = if compressed {
        let decoded = decoder.decompress(payload, &mut scratch[..most]);
        &scratch[..decoded.map_err(|error| format!("cannot be decoded ({error})"))?]
    } else {
        payload
    };
    if hash(content) == part.hashes.content { Ok(()) } else { Err("decodes to different content".into()) }
}
