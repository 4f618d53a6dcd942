//! The bytes of a stream, across blocks.

use std::io::Read;
use std::sync::Arc;

use packline_runtime::MemoryFault;

use super::BlockInfo;
use super::ahead::{Ahead, Decoded, NextBytes, cost};
use super::bytes::Bytes;
use super::decode::{self, PIECE_BUFFERS, Tools};
use super::plain::Plain;
use super::plan::{Plan, SLAB};
use crate::Error;

/// A stream of the current chunk.
pub(super) struct Stream {
    index: usize,
    bytes: Arc<Bytes>,
    plan: Plan,
    current: Current,
    /// The number of used bytes of `current`.
    at: usize,
    large: Option<Large>,
}

/// The current bytes.
enum Current {
    Shared(Decoded),
    Own(Vec<u8>),
}

/// A block that is decompressed incrementally.
struct Large {
    block: BlockInfo,
    /// `None` if the block was decompressed at once.
    reader: Option<Box<dyn Read + Send>>,
    /// Plain bytes left.
    left: u64,
    /// Memory lent by the history, in bytes.
    lent: usize,
}

impl Stream {
    pub(super) fn new(index: usize, bytes: &Arc<Bytes>, plan: &Plan) -> Stream {
        Stream { index, bytes: Arc::clone(bytes), plan: *plan, current: Current::Own(Vec::new()), at: 0, large: None }
    }

    /// Returns the available bytes. If there are none, call [`Stream::fill`].
    #[inline]
    pub(super) fn ready(&self) -> &[u8] {
        match &self.current {
            Current::Shared(decoded) => &decoded.bytes[self.at..],
            Current::Own(bytes) => &bytes[self.at..],
        }
    }

    /// Consumes bytes of [`Stream::ready`].
    #[inline]
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Makes more bytes available when none are left. Returns false at the end of the stream.
    pub(super) fn fill(&mut self, ahead: &mut Ahead, plain: &mut Plain<'_>) -> Result<bool, Error> {
        while self.ready().is_empty() {
            if self.large.is_some() {
                self.fill_large(plain)?;
                continue;
            }
            // Releases used memory before more is allocated.
            self.put(Current::Own(Vec::new()));
            match ahead.next_bytes(self.index)? {
                None => return Ok(false),
                Some(NextBytes::Decoded(decoded)) => self.put(Current::Shared(decoded)),
                Some(NextBytes::Large(block)) => self.large = Some(self.open(block, plain)?),
            }
        }
        Ok(true)
    }

    fn put(&mut self, current: Current) {
        self.current = current;
        self.at = 0;
    }

    /// Borrows memory from the history for a block that exceeds the stream's share.
    fn open(&self, block: BlockInfo, plain: &mut Plain<'_>) -> Result<Large, Error> {
        decode::plausible(&block)?;
        let share = self.plan.blocks[self.index] as u64;
        let in_pieces = decode::in_pieces(&self.bytes, &block);
        let available = share.saturating_add(plain.lendable() as u64);
        let wanted = if in_pieces {
            decode::piece_memory(&self.bytes, &block)? + PIECE_BUFFERS
        } else {
            cost(&self.bytes, &block)
        };
        if wanted > available {
            let what = format!("the {} block of {} bytes at byte {}", block.back_end.name(), block.plain, block.offset);
            let needed = Plan::allowed_for(self.index, wanted, self.other_stream_memory(plain.lent()));
            return Err(Error::Memory(MemoryFault { allowed: self.plan.allowed, needed, what }));
        }
        let lent = wanted.saturating_sub(share) as usize;
        plain.lend(lent)?;
        let reader = if in_pieces {
            Some(decode::pieces(&self.bytes, &block, wanted.saturating_sub(PIECE_BUFFERS))?)
        } else {
            None
        };
        Ok(Large { block, reader, left: block.plain, lent })
    }

    fn fill_large(&mut self, plain: &mut Plain<'_>) -> Result<(), Error> {
        let Some(mut large) = self.large.take() else { return Ok(()) };
        plain.check()?;
        if large.left == 0 {
            self.put(Current::Own(Vec::new()));
            return plain.take_back(large.lent);
        }
        let bytes = match &mut large.reader {
            None => {
                large.left = 0;
                decode::whole(&self.bytes, &large.block, &mut Tools::new(), plain.cancel())?
            }
            Some(reader) => {
                let mut bytes = self.buffer();
                bytes.resize(large.left.min(SLAB as u64) as usize, 0);
                decode::fill(&large.block, reader, &mut bytes)
                    .map_err(|error| self.as_memory_limit(error, plain.lent() - large.lent))?;
                large.left -= bytes.len() as u64;
                if large.left == 0 {
                    decode::ended(&large.block, reader)?;
                }
                bytes
            }
        };
        self.put(Current::Own(bytes));
        self.large = Some(large);
        Ok(())
    }

    /// Returns the memory that a block of the other stream holds. The history lent `lent` bytes to that stream.
    fn other_stream_memory(&self, lent: usize) -> u64 {
        if lent > 0 { (lent + self.plan.blocks[1 - self.index]) as u64 } else { 0 }
    }

    /// Converts the memory that a decoder needs to a limit for the process. The other stream was lent `lent` bytes.
    fn as_memory_limit(&self, error: Error, lent: usize) -> Error {
        let Error::Memory(MemoryFault { needed, what, .. }) = error else { return error };
        let needed = Plan::allowed_for(self.index, needed + PIECE_BUFFERS, self.other_stream_memory(lent));
        Error::Memory(MemoryFault { allowed: self.plan.allowed, needed, what })
    }

    /// Returns the last buffer, for reuse.
    fn buffer(&mut self) -> Vec<u8> {
        match std::mem::replace(&mut self.current, Current::Own(Vec::new())) {
            Current::Own(bytes) => {
                self.at = 0;
                bytes
            }
            Current::Shared(_) => Vec::new(),
        }
    }
}
