//! Metadata blocks on the same line as the data, so that the same workers compress them.

use std::collections::VecDeque;

use packline_engine::{Caller, Line, Outbox};

use crate::fault::from_fault;
use crate::write::work::{BlockWork, Hashed, Job, Packed, stored_metadata};
use crate::{Error, Press};

/// The line once all data is written, seen as a press for metadata blocks.
pub(crate) struct LinePress<'a> {
    line: &'a mut dyn Line<BlockWork>,
    done: Done,
    pending: usize,
}

/// Takes what the line has finished.
#[derive(Default)]
struct Done(VecDeque<Vec<u8>>);

impl<'a> LinePress<'a> {
    /// `line` must be drained.
    pub(crate) fn new(line: &'a mut dyn Line<BlockWork>) -> LinePress<'a> {
        LinePress { line, done: Done::default(), pending: 0 }
    }
}

impl Press for LinePress<'_> {
    fn submit(&mut self, raw: Vec<u8>, stored: bool) -> Result<(), Error> {
        self.pending += 1;
        let next = self.line.outbox();
        if stored {
            next.pass(Packed::Metadata(stored_metadata(&raw)));
        } else {
            next.submit(Job::Metadata { raw });
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.done.0.is_empty() {
            self.line.drain(&mut self.done).map_err(from_fault)?;
        }
        let block = self.done.0.pop_front();
        self.pending -= usize::from(block.is_some());
        Ok(block)
    }

    fn pending(&self) -> usize {
        self.pending
    }
}

impl Caller<BlockWork> for Done {
    fn decide(&mut self, _: Hashed, _: &mut dyn Outbox<BlockWork>) -> Result<(), Error> {
        Err(Error::Internal("content after the end of the data area".into()))
    }

    fn commit(&mut self, packed: Packed) -> Result<(), Error> {
        match packed {
            Packed::Metadata(block) => self.0.push_back(block),
            _ => return Err(Error::Internal("data after the end of the data area".into())),
        }
        Ok(())
    }
}
