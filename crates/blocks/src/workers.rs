//! The workers after all data is written: they encode metadata, and read the image back.

use std::collections::VecDeque;

use packline_engine::{Outbox, Permit, QueueStats, Sequencer, Stats, WorkerStats};
use packline_runtime::{TaskError, of_fault};

use crate::Error;
use crate::work::{BlockPipeline, CompressTask, HashTask, Hashed, Job, Packed};

/// The drained pipeline of a data area.
pub struct Workers {
    pub(crate) pipeline: BlockPipeline,
    /// Bytes that are read back at once.
    pub(crate) chunk_size: usize,
    /// Memory in bytes for parts that are read ahead of the workers.
    pub(crate) window: usize,
    /// The memory that the tree took from the pipeline.
    _tree: Permit,
    done: Done,
    pending: usize,
}

/// Encoded parts in the order of submission.
#[derive(Default)]
struct Done(VecDeque<Vec<u8>>);

impl Workers {
    pub(crate) fn new(pipeline: BlockPipeline, chunk_size: usize, window: usize, tree: Permit) -> Workers {
        Workers { pipeline, chunk_size, window, _tree: tree, done: Done::default(), pending: 0 }
    }

    /// Submits a part of the metadata for [`Coder::encode_metadata`](crate::Coder::encode_metadata). The caller limits the number of parts in
    /// flight.
    pub fn encode(&mut self, raw: Vec<u8>) {
        self.pending += 1;
        self.pipeline.outbox().submit(Job::Metadata { raw });
    }

    /// Puts a part that is already encoded in order with the others.
    pub fn pass(&mut self, encoded: Vec<u8>) {
        self.pending += 1;
        self.pipeline.outbox().pass(Packed::Metadata(encoded));
    }

    /// Waits for the next encoded part, in the order of submission. `None` when all parts have been returned.
    ///
    /// # Errors
    /// Of the codec; [`Error::Work`].
    pub fn next_encoded(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.done.0.is_empty() {
            self.pipeline.drain(&mut self.done).map_err(of_fault)?;
        }
        let part = self.done.0.pop_front();
        self.pending -= usize::from(part.is_some());
        Ok(part)
    }

    /// Returns the number of submitted parts that are not yet returned.
    pub fn encoding(&self) -> usize {
        self.pending
    }

    pub fn stats(&self) -> Stats {
        self.pipeline.stats()
    }

    pub fn queue_stats(&self) -> Vec<QueueStats> {
        self.pipeline.queue_stats()
    }

    pub fn worker_stats(&self) -> Vec<WorkerStats> {
        self.pipeline.worker_stats()
    }
}

impl Sequencer<HashTask, CompressTask> for Done {
    fn decide(&mut self, _: Hashed, _: &mut Outbox<CompressTask>) -> Result<(), Error> {
        Err(Error::internal("content after the end of the data area".into()))
    }

    fn commit(&mut self, packed: Packed) -> Result<(), Error> {
        match packed {
            Packed::Metadata(block) => self.0.push_back(block),
            _ => return Err(Error::internal("data after the end of the data area".into())),
        }
        Ok(())
    }
}
