//! NEW as it is written: in order, hashed, and no longer than the delta says.

use packline_engine::Consumer;
use packline_runtime::Sink;

use super::piece::{MadePiece, PieceTask};
use crate::passes::Passes;
use crate::{Error, Head};

/// Writes the pieces.
pub(super) struct Output<'o> {
    sink: &'o mut dyn Sink,
    passes: Passes<'o>,
    hasher: blake3::Hasher,
    head: Head,
    written: u64,
    /// Pieces written.
    pub(super) pieces: u64,
}

impl<'o> Output<'o> {
    pub(super) fn new(head: Head, sink: &'o mut dyn Sink, mut passes: Passes<'o>) -> Output<'o> {
        passes.begin("writing", head.new.size);
        Output { sink, passes, hasher: blake3::Hasher::new(), head, written: 0, pieces: 0 }
    }

    /// Checks that all of NEW was written.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is not what the delta was made from.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.written == self.head.new.size && *self.hasher.finalize().as_bytes() == self.head.new.hash {
            return Ok(());
        }
        let what = format!("the {} bytes that the delta makes are not the new file", self.written);
        Err(Error::corrupt(0, what, "what the delta was made from"))
    }
}

impl Consumer<PieceTask> for Output<'_> {
    fn consume(&mut self, made: MadePiece) -> Result<(), Error> {
        let length = made.bytes.len() as u64;
        if length > self.head.new.size - self.written {
            let what = format!("the delta makes more than {} bytes", self.head.new.size);
            return Err(Error::corrupt(0, what, "no more than its head says"));
        }
        self.hasher.update(&made.bytes);
        self.sink.append(&made.bytes).map_err(Error::Output)?;
        self.written += length;
        self.pieces += 1;
        self.passes.show(self.written);
        Ok(())
    }
}
