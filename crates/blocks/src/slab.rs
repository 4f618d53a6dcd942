//! Slabs: the raw bytes that go through the pipeline, several pieces of content in one buffer.
//!
//! One slab holds a large block, or many small blocks and tail ends, so that submitting a tiny file costs no more than a memory copy. Pieces are
//! in the order of reading.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::Permit;
use packline_runtime::Buffer;
use packline_tree::SharedContent;

use crate::{Error, Fragments};

/// Kind of a piece of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// A data block, or a tail end that goes into a block of its own.
    Block,
    /// A tail end for a fragment block.
    Tail,
    /// This number of zeros, which are not in the slab: whole blocks, or a shorter block or tail end.
    Holes(u64),
}

/// One piece of one file.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// The number of the file, in the order in which files were added.
    pub(crate) file: u32,
    pub(crate) piece: PieceKind,
    /// Range of its bytes in the slab.
    pub(crate) range: Range<usize>,
    /// How it may be stored.
    pub(crate) rules: Rules,
    /// Whether it is the last piece of its file.
    pub(crate) last: bool,
}

/// How the pieces of one file may be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Look for the same content elsewhere.
    pub(crate) deduplicate: bool,
    /// Blocks of zeros are holes.
    pub(crate) sparse: bool,
    /// Do not compress.
    pub(crate) stored: bool,
    /// Start at a multiple of this number of bytes.
    pub(crate) align: Option<u32>,
    /// Index of the open fragment block that gets the tail end.
    pub(crate) fragment_set: u16,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { deduplicate: true, sparse: true, stored: false, align: None, fragment_set: 0 }
    }
}

/// A part of a buffer that is not read yet.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) content: Arc<dyn SharedContent>,
    /// Offset for [`SharedContent::read_at`].
    pub(crate) offset: u64,
    pub(crate) range: Range<usize>,
}

/// The end of a content of which parts were read by the hash stage.
#[derive(Debug)]
pub(crate) struct SharedEnd {
    pub(crate) cut: FileCut,
    pub(crate) content: Arc<dyn SharedContent>,
}

/// A file to be cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileCut {
    pub(crate) file: u32,
    pub(crate) size: u64,
    pub(crate) rules: Rules,
    pub(crate) tails: Fragments,
}

/// A buffer with pieces of content for the hash stage.
#[derive(Debug)]
pub(crate) struct Slab {
    /// The bytes; returned to the pool after the last use.
    pub(crate) buffer: Buffer,
    /// Number of bytes in use.
    pub(crate) filled: usize,
    pub(crate) items: Vec<Item>,
    /// Parts of the buffer that the hash stage reads.
    pub(crate) unread: Vec<Unread>,
    /// Contents that end in this slab, and were not read when the slab was submitted.
    pub(crate) ends: Vec<SharedEnd>,
    /// Memory for the results of the pieces: their compressed form, and the copy of tail ends in a fragment block.
    pub(crate) products: Permit,
}

impl Slab {
    /// Reads what is not read yet. Missing bytes of a content that became shorter are zeros.
    pub(crate) fn read(&mut self) -> Result<(), Error> {
        for Unread { content, offset, range } in std::mem::take(&mut self.unread) {
            let bytes = &mut self.buffer.bytes_mut()[range];
            let count = content.read_at(offset, bytes)?;
            bytes[count..].fill(0);
        }
        Ok(())
    }
}
