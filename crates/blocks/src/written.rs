//! Records every part that was written: its position, its length and its hashes. `read_back.rs` compares the parts with the image.

use packline_runtime::Buffer;

use crate::digest::hash;
use crate::{Coder, Error};

/// Maximum length of a part that is neither a block nor metadata.
const PLAIN_MOST: usize = 64 * 1024;

/// How the content of a part is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Uncompressed.
    Plain,
    /// A compressed data or fragment block.
    Block {
        /// Bytes of the decoded content.
        content: u32,
    },
    /// A part of the metadata, encoded by [`Coder::encode_metadata`].
    Metadata,
}

/// 64 bits of BLAKE3 each. The hashes detect accidents, not attacks, so 64 bits are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashes {
    /// Hash of the bytes in the image.
    pub stored: u64,
    /// Hash of the decoded bytes; not used for [`Form::Plain`].
    pub content: u64,
}

/// A part of the image, written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Offset in the image in bytes.
    pub start: u64,
    /// Length in the image in bytes.
    pub length: u32,
    pub form: Form,
    pub hashes: Hashes,
}

impl Part {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }
}

/// The parts of an image, if it will be read back: 40 bytes of memory for each.
#[derive(Debug, Default)]
pub struct Written(Option<Vec<Part>>);

impl Written {
    /// Returns an empty record; without `record` it stays empty.
    pub fn new(record: bool) -> Written {
        Written(record.then(Vec::new))
    }

    /// Whether parts are recorded.
    pub fn records(&self) -> bool {
        self.0.is_some()
    }

    pub fn add(&mut self, part: Part) {
        if let Some(parts) = &mut self.0 {
            parts.push(part);
        }
    }

    /// Adds bytes that are stored uncompressed.
    pub fn add_plain(&mut self, mut start: u64, bytes: &[u8]) {
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
    pub fn into_parts(self) -> Option<Vec<Part>> {
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
    /// Compares the parts with their hashes, in order, and returns the length of the chunk in bytes.
    pub(crate) fn check(&self, coder: &mut dyn Coder) -> Result<u64, Error> {
        let mut rest = &self.buffer.bytes()[..self.length];
        for part in &self.parts {
            let (bytes, later) = rest.split_at(part.length as usize);
            check_part(part, bytes, coder).map_err(|is| Error::ReadBack {
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
fn check_part(part: &Part, bytes: &[u8], coder: &mut dyn Coder) -> Result<(), String> {
    if hash(bytes) != part.hashes.stored {
        return Err("has different bytes".into());
    }
    let is_right = match part.form {
        Form::Plain => true,
        Form::Block { .. } | Form::Metadata => hash(coder.decode(part.form, bytes)?) == part.hashes.content,
    };
    if is_right { Ok(()) } else { Err("decodes to different content".into()) }
}
