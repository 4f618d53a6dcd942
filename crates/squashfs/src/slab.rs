//! Slabs: the raw bytes that travel the line, several pieces of content in one buffer.
//!
//! One slab holds a large block, or many small ones and tail ends, so that handing a tiny file over costs no more than a
//! memory copy. Pieces lie in the order in which they were read.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use packline_engine::Permit;

/// What a piece of content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A data block, or a tail end that goes into a block of its own.
    Block,
    /// A tail end for a fragment block.
    Tail,
    /// So many blocks of zeros that take no bytes; the last may be a short one.
    Holes(u64),
}

/// One piece of one file.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// The file, by the order in which files were added.
    pub(crate) file: u32,
    /// What it is.
    pub(crate) piece: Piece,
    /// Where its bytes lie in the slab.
    pub(crate) range: Range<usize>,
    /// How it may be stored.
    pub(crate) rules: Rules,
    /// Whether it is the last of its file.
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
    /// Start at a multiple of the device block size.
    pub(crate) align: bool,
}

/// A buffer with pieces of content, on its way to the hash stage.
#[derive(Debug)]
pub(crate) struct Slab {
    /// The bytes; given back to the pool when the last user is done.
    pub(crate) buffer: Buffer,
    /// Bytes in use.
    pub(crate) filled: usize,
    /// The pieces, in order.
    pub(crate) items: Vec<Item>,
    /// Memory for what the pieces turn into: their compressed form, and the copy of tail ends in a fragment block.
    pub(crate) products: Permit,
}

/// Raw bytes that return to their pool, and their memory to the budget, when dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    pool: Arc<Pool>,
    _permit: Permit,
}

impl Buffer {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.bytes));
    }
}

/// Keeps buffers for reuse: a fresh one costs a page fault every 4 KiB.
#[derive(Debug)]
pub(crate) struct Pool {
    size: usize,
    keep: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl Pool {
    /// A pool of buffers of `size` bytes that keeps at most `keep` of them.
    pub(crate) fn new(size: usize, keep: usize) -> Arc<Pool> {
        Arc::new(Pool { size, keep, free: Mutex::new(Vec::new()) })
    }

    /// Bytes of each buffer.
    pub(crate) fn buffer_size(&self) -> usize {
        self.size
    }

    /// A buffer with unspecified content, whose memory `permit` accounts for.
    pub(crate) fn take(self: &Arc<Pool>, permit: Permit) -> Buffer {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = free.unwrap_or_else(|| vec![0; self.size]);
        Buffer { bytes, pool: Arc::clone(self), _permit: permit }
    }

    fn put(&self, bytes: Vec<u8>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < self.keep && bytes.len() == self.size {
            free.push(bytes);
        }
    }
}
