//! Compresses metadata blocks in the same pipeline as the data, so that the same workers compress both.

use std::collections::VecDeque;

use packline_engine::{Outbox, Sequencer};
use packline_runtime::{TaskError, of_fault};

use crate::format::wire::metadata_block;
use crate::write::work::{BlockPipeline, CompressTask, HashTask, Hashed, Job, Packed};
use crate::{Error, MetadataCompressor};

/// The pipeline as a compressor of metadata blocks, after all data is written.
pub(crate) struct PipelineCompressor<'a> {
    pipeline: &'a mut BlockPipeline,
    done: Done,
    pending: usize,
}

/// Collects the pipeline's results.
#[derive(Default)]
struct Done(VecDeque<Vec<u8>>);

impl<'a> PipelineCompressor<'a> {
    /// `pipeline` must be drained.
    pub(crate) fn new(pipeline: &'a mut BlockPipeline) -> PipelineCompressor<'a> {
        PipelineCompressor { pipeline, done: Done::default(), pending: 0 }
    }
}

impl MetadataCompressor for PipelineCompressor<'_> {
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error> {
        self.pending += 1;
        let next = self.pipeline.outbox();
        if stored {
            next.pass(Packed::Metadata(metadata_block(&raw, true)));
        } else {
            next.submit(Job::Metadata { raw });
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.done.0.is_empty() {
            self.pipeline.drain(&mut self.done).map_err(of_fault)?;
        }
        let block = self.done.0.pop_front();
        self.pending -= usize::from(block.is_some());
        Ok(block)
    }

    fn pending(&self) -> usize {
        self.pending
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
