//! What one slab hands on: its blocks in jobs of a size worth handing over, in order with everything else.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::{Outbox, Permit};

use crate::buffer::Buffer;
use crate::write::run_matcher::Copies;
use crate::write::work::{BlockRef, CompressTask, Job, Packed};

/// Raw bytes that make a job worth the hand-over.
pub(crate) const JOB_BYTES: usize = 64 * 1024;

/// The blocks of one slab on their way to the compress stage.
pub(crate) struct Batch<'a> {
    next: &'a mut Outbox<CompressTask>,
    buffer: Arc<Buffer>,
    products: Permit,
    blocks: Vec<BlockRef>,
    bytes: usize,
    stored: bool,
}

impl<'a> Batch<'a> {
    /// `products` accounts for what comes of the slab's pieces.
    pub(crate) fn new(next: &'a mut Outbox<CompressTask>, buffer: Buffer, products: Permit) -> Batch<'a> {
        Batch { next, buffer: Arc::new(buffer), products, blocks: Vec::new(), bytes: 0, stored: false }
    }

    /// The bytes of a piece.
    pub(crate) fn content(&self, range: Range<usize>) -> &[u8] {
        &self.buffer.bytes()[range]
    }

    /// Takes `bytes` of the memory that was reserved for what comes of a piece; dropped, they are free again.
    pub(crate) fn take_memory(&mut self, bytes: usize) -> Permit {
        self.products.split(bytes)
    }

    /// A block to compress, or to store as it is.
    pub(crate) fn block(&mut self, ordinal: u32, range: Range<usize>, stored: bool) {
        if self.stored != stored {
            self.flush();
            self.stored = stored;
        }
        if self.bytes + range.len() > JOB_BYTES {
            self.flush();
        }
        self.bytes += range.len();
        self.blocks.push(BlockRef { ordinal, range });
    }

    /// Blocks to be written again.
    pub(crate) fn copies(&mut self, copies: Copies) {
        if copies.count > 0 {
            self.pass(Packed::Copies { from: copies.from, to: copies.to, count: copies.count });
        }
    }

    /// Something that is ready to be committed.
    pub(crate) fn pass(&mut self, packed: Packed) {
        self.in_order().pass(packed);
    }

    /// The way on for what is not a block of this slab, after all that came before it.
    pub(crate) fn in_order(&mut self) -> &mut Outbox<CompressTask> {
        self.flush();
        self.next
    }

    /// Hands on what has gathered; called last, too.
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
