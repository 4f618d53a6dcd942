//! What was written, part by part: where it lies, how long it is, and its hashes, for `read_back.rs`.

use crate::write::digest::hash;

/// Longest part of bytes that are neither a block nor metadata.
const PLAIN_MOST: usize = 64 * 1024;

/// How the content of a part is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Plain,
    /// A compressed data or fragment block.
    Block,
    /// A metadata block with its header.
    Metadata,
}

/// 64 bits of BLAKE3 each: enough against accidents, by which no image is made on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hashes {
    /// Of the bytes in the image.
    pub(crate) stored: u64,
    /// Of the decoded bytes; not used for [`Form::Plain`].
    pub(crate) content: u64,
}

/// A part of the image, written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Offset in the image, bytes.
    pub(crate) start: u64,
    /// Bytes in the image.
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
    /// An empty record; without `record` it stays empty.
    pub(crate) fn new(record: bool) -> Written {
        Written(record.then(Vec::new))
    }

    /// Whether parts are recorded.
    pub(crate) fn records(&self) -> bool {
        self.0.is_some()
    }

    /// Adds a part.
    pub(crate) fn add(&mut self, part: Part) {
        if let Some(parts) = &mut self.0 {
            parts.push(part);
        }
    }

    /// Adds bytes that are stored as they are.
    pub(crate) fn add_plain(&mut self, mut start: u64, bytes: &[u8]) {
        let Some(parts) = &mut self.0 else { return };
        for piece in bytes.chunks(PLAIN_MOST) {
            let hashes = Hashes { stored: hash(piece), content: 0 };
            parts.push(Part { start, length: piece.len() as u32, form: Form::Plain, hashes });
            start += piece.len() as u64;
        }
    }

    /// The part that begins at an offset. All parts so far must be in the order of the image.
    pub(crate) fn at(&self, start: u64) -> Option<Part> {
        let parts = self.0.as_ref()?;
        parts.binary_search_by_key(&start, |part| part.start).ok().map(|index| parts[index])
    }

    /// Memory, bytes.
    pub(crate) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |parts| parts.capacity() * size_of::<Part>())
    }

    /// All parts in the order of the image, if they were recorded.
    pub(crate) fn into_parts(self) -> Option<Vec<Part>> {
        let mut parts = self.0?;
        parts.sort_unstable_by_key(|part| part.start);
        Some(parts)
    }
}
