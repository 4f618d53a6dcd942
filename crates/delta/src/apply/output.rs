//! Writes NEW in order, hashes it, and checks that it is not longer than the delta states.

use packline_engine::Consumer;
use packline_runtime::Sink;

use super::chunk::{ChunkTask, FinishedChunk};
use crate::passes::Passes;
use crate::{Error, Head};

/// Writes the chunks.
pub(super) struct Output<'o> {
    sink: &'o mut dyn Sink,
    passes: Passes<'o>,
    hasher: blake3::Hasher,
    head: Head,
    written: u64,
    /// The number of chunks written.
    pub(super) chunks: u64,
}

impl<'o> Output<'o> {
    pub(super) fn new(head: Head, sink: &'o mut dyn Sink, mut passes: Passes<'o>) -> Output<'o> {
        passes.begin("writing", head.new.size);
        Output { sink, passes, hasher: blake3::Hasher::new(), head, written: 0, chunks: 0 }
    }

    /// Checks that all of NEW was written.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if NEW does not have the length and hash in the head.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.written == self.head.new.size && *self.hasher.finalize().as_bytes() == self.head.new.hash {
            return Ok(());
        }
        let what = format!("the delta produces {} bytes that are not the new file", self.written);
        Err(Error::corrupt(0, what, "the length and hash in the head"))
    }
}

impl Consumer<ChunkTask> for Output<'_> {
    fn consume(&mut self, made: FinishedChunk) -> Result<(), Error> {
        let length = made.bytes.len() as u64;
        if length > self.head.new.size - self.written {
            let what = format!("the delta produces more than {} bytes", self.head.new.size);
            return Err(Error::corrupt(0, what, "the length in the head"));
        }
        self.hasher.update(&made.bytes);
        self.sink.append(&made.bytes).map_err(Error::Output)?;
        self.written += length;
        self.chunks += 1;
        self.passes.show(self.written);
        Ok(())
    }
}
