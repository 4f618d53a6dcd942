//! Content that a container knows only when all files are stored, such as listings with the positions of inodes.
//!
//! It is cut into blocks of the size of fragment blocks. The workers compress the blocks as they compress fragment blocks, and the container stores
//! them after the data area.

use std::sync::Arc;

use packline_engine::{Outbox, Sequencer};
use packline_runtime::{Buffers, TaskError, of_fault};

use crate::data_writer::add_part;
use crate::layout::split;
use crate::work::{BlockPipeline, CompressTask, FragmentBuffer, HashTask, Hashed, Packed, PackedFragment};
use crate::{BlockPlace, DataOptions, Error, Extent, Workers, Written};

/// Takes the blocks in their order.
pub type Store<'w> = &'w mut dyn FnMut(LateBlock) -> Result<(), Error>;

/// Compresses content that follows the data area. Holds one block, and the blocks in flight.
pub struct LateContent<'w> {
    pipeline: &'w mut BlockPipeline,
    stored: Storing<'w>,
    pool: Arc<Buffers>,
    /// Zeros complete the content of the last block to a multiple of this number of bytes.
    unit: usize,
    open: Option<FragmentBuffer>,
}

impl<'w> LateContent<'w> {
    /// `options`: those of the data area, which is complete. `store` gets each block in order, once it is compressed.
    pub fn new(workers: &'w mut Workers, options: &DataOptions, store: Store<'w>) -> LateContent<'w> {
        LateContent {
            pool: Buffers::new(options.fragment_size as usize, workers.window),
            pipeline: &mut workers.pipeline,
            stored: Storing(store),
            unit: options.cluster_unit(),
            open: None,
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Errors of `store` and of the codec; [`Error::Work`].
    pub fn put(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        let size = self.pool.buffer_size();
        while !bytes.is_empty() {
            let open = match &mut self.open {
                Some(open) => open,
                none => {
                    // For the content, and for its compressed form.
                    let mut permit = self.pipeline.reserve(2 * size, &mut self.stored).map_err(of_fault)?;
                    let raw = self.pool.take(permit.split(size));
                    none.insert(FragmentBuffer { index: 0, raw, length: 0, parts: None, permit })
                }
            };
            let (now, later) = bytes.split_at(bytes.len().min(size - open.length));
            open.raw.bytes_mut()[open.length..][..now.len()].copy_from_slice(now);
            open.length += now.len();
            bytes = later;
            if open.length == size {
                self.submit();
            }
        }
        Ok(())
    }

    /// Waits until all blocks are stored.
    ///
    /// # Errors
    /// Errors of [`LateContent::put`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.submit();
        self.pipeline.drain(&mut self.stored).map_err(of_fault)
    }

    fn submit(&mut self) {
        if let Some(block) = self.open.take() {
            block.completed(self.unit).submit(false, self.pipeline.outbox());
        }
    }
}

/// A compressed block that is not yet in the image.
#[derive(Debug)]
pub struct LateBlock(PackedFragment);

impl LateBlock {
    /// Returns the bytes to store.
    pub fn bytes(&self) -> &[u8] {
        self.0.stored_bytes()
    }

    /// Records that the bytes are stored at an offset of the image. Returns the parts of the content that are decoded at once, in order.
    pub fn stored_at(self, start: u64, written: &mut Written) -> Vec<Extent> {
        let part = self.0.part(start, written.records());
        let clusters = add_part(written, part, &self.0.clusters);
        let place = BlockPlace { start, size_word: self.0.size_word() };
        split(place, self.0.content_length, &clusters).collect()
    }
}

struct Storing<'w>(Store<'w>);

impl Sequencer<HashTask, CompressTask> for Storing<'_> {
    fn decide(&mut self, _: Hashed, _: &mut Outbox<CompressTask>) -> Result<(), Error> {
        Err(Error::internal("content of a file after the end of the data area".into()))
    }

    fn commit(&mut self, packed: Packed) -> Result<(), Error> {
        match packed {
            Packed::Fragment(block) => (self.0)(LateBlock(block)),
            _ => Err(Error::internal("other data after the end of the data area".into())),
        }
    }
}
