//! The output of one slab: blocks in jobs of suitable size, in order with all other results.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::{Outbox, Permit};
use packline_runtime::Buffer;

use crate::run_matcher::Copies;
use crate::work::{BlockRef, CompressTask, JOB_BYTES, Job, Packed};

/// Collects the blocks of one slab for the compress stage.
pub(crate) struct Batch<'a> {
    next: &'a mut Outbox<CompressTask>,
    buffer: Arc<Buffer>,
    products: Permit,
    blocks: Vec<BlockRef>,
    bytes: usize,
    stored: bool,
}

impl<'a> Batch<'a> {
    /// `products` covers the results of the slab's pieces.
    pub(crate) fn new(next: &'a mut Outbox<CompressTask>, buffer: Buffer, products: Permit) -> Batch<'a> {
        Batch { next, buffer: Arc::new(buffer), products, blocks: Vec::new(), bytes: 0, stored: false }
    }

    /// Returns the bytes of a piece.
    pub(crate) fn content(&self, range: Range<usize>) -> &[u8] {
        &self.buffer.bytes()[range]
    }

    /// Takes `bytes` of the memory reserved for a piece's result; dropping the permit frees them.
    pub(crate) fn take_memory(&mut self, bytes: usize) -> Permit {
        self.products.split(bytes)
    }

    /// Adds a block to compress, or to store.
    pub(crate) fn block(&mut self, block: BlockRef, stored: bool) {
        if self.stored != stored {
            self.flush();
            self.stored = stored;
        }
        if self.bytes + block.range.len() > JOB_BYTES {
            self.flush();
        }
        self.bytes += block.range.len();
        self.blocks.push(block);
    }

    /// Adds blocks to be written again.
    pub(crate) fn copies(&mut self, copies: Copies) {
        if copies.count > 0 {
            self.pass(Packed::Copies { from: copies.from, to: copies.to, count: copies.count });
        }
    }

    /// Adds a result that is ready to be committed.
    pub(crate) fn pass(&mut self, packed: Packed) {
        self.in_order().pass(packed);
    }

    /// Returns the outbox for items other than blocks of this slab, after everything before them.
    pub(crate) fn in_order(&mut self) -> &mut Outbox<CompressTask> {
        self.flush();
        self.next
    }

    /// Submits the collected blocks. The caller must call it at the end, too.
    pub(crate) fn flush(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let blocks = std::mem::take(&mut self.blocks);
        let permit = self.products.split(std::mem::take(&mut self.bytes));
        let buffer = Arc::clone(&self.buffer);
        if self.stored {
            self.next.pass(Packed::Raw { buffer, blocks });
        } else {
            self.next.submit(Job::Blocks { buffer, blocks, permit });
        }
    }
}
