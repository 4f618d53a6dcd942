//! Encoders that write the same blocks on every processor: those of the library on a little-endian processor with 64 bits.
//!
//! The library hashes words in the order of the machine's bytes, and with 32 bits it hashes shorter words. Other hashes find other matches.
//! These encoders make the same decisions from words that are always little-endian. They run where the library's blocks would differ. Tests
//! compare them with the library.

mod chains;
mod fast;
mod lazy;
mod middle;
mod priced;
#[cfg(test)]
mod tests;

use super::Lz4Params;
use super::writer::{LAST_LITERALS, LAST_START, SHORTEST_MATCH, STEP, Writer, more_bytes};
use crate::traits::Compressor;
use chains::Chains;

/// Highest level of `hc` that uses [`middle`].
const MIDDLE: u32 = 2;
/// Highest level of `hc` that uses [`lazy`].
const LAZY: u32 = 9;
/// Farthest distance of a match, bytes.
const FARTHEST: usize = (1 << 16) - 1;
/// Positions in tables have this number added. An empty entry, which is 0, is therefore too far from all positions.
const BASE: usize = 1 << 16;
/// The factor of hashes of four bytes.
const FACTOR: u32 = 2_654_435_761;

/// Returns the encoder of a level or an acceleration, except the levels of [`super::optimal`].
pub(super) fn encoder(params: &Lz4Params) -> Box<dyn Compressor> {
    if !params.hc {
        Box::new(fast::Fast::new(params.acceleration))
    } else if params.level <= MIDDLE {
        Box::new(middle::Middle::default())
    } else if params.level <= LAZY {
        Box::new(lazy::Lazy::new(params.level))
    } else {
        Box::new(priced::Priced::default())
    }
}

/// Memory of an encoder.
pub(super) fn memory(params: &Lz4Params) -> usize {
    if !params.hc {
        fast::MEMORY
    } else if params.level <= MIDDLE {
        middle::MEMORY
    } else if params.level <= LAZY {
        Chains::MEMORY
    } else {
        Chains::MEMORY + priced::MEMORY
    }
}

/// Writes a block as the library does. The library estimates sizes, and gives up a few bytes before a destination is full.
struct Output<'a> {
    src: &'a [u8],
    writer: Writer<'a>,
    /// Bytes of the content that are written.
    written: usize,
    /// Bytes of the destination; no limit if any block fits.
    limit: usize,
    /// Estimates the bytes of a length after the token.
    estimate: fn(usize) -> usize,
}

impl<'a> Output<'a> {
    fn new(src: &'a [u8], out: &'a mut [u8], estimate: fn(usize) -> usize) -> Output<'a> {
        let largest = src.len() + src.len() / STEP + 16;
        let limit = if out.len() < largest { out.len() } else { usize::MAX };
        Output { src, writer: Writer::new(out), written: 0, limit, estimate }
    }

    /// The output of levels of `hc`.
    fn of_hc(src: &'a [u8], out: &'a mut [u8]) -> Output<'a> {
        Output::new(src, out, |length| length / STEP)
    }

    /// Writes a match and the literals before it. `None` if the rest may not fit.
    fn sequence(&mut self, Match { start, length, distance }: Match) -> Option<()> {
        let literals = &self.src[self.written..start];
        let run = literals.len();
        // A token, the literals, a distance, and the end of the block.
        let least = self.writer.size() + 1 + run + 2 + 1 + LAST_LITERALS;
        let with_run = least + run / STEP;
        let with_match = least + more_bytes(run) + (self.estimate)(length - SHORTEST_MATCH);
        if with_run.max(with_match) > self.limit {
            return None;
        }
        self.written = start + length;
        self.writer.sequence(literals, length, distance)
    }

    /// Writes the last literals. Returns the size of the block.
    fn finish(self) -> Option<usize> {
        self.writer.finish(&self.src[self.written..])
    }
}

/// A match at a position.
#[derive(Debug, Clone, Copy)]
struct Match {
    start: usize,
    length: usize,
    distance: usize,
}

impl Match {
    fn end(&self) -> usize {
        self.start + self.length
    }

    /// Moves the start forward.
    fn skip(&mut self, bytes: usize) {
        self.start += bytes;
        self.length = self.length.saturating_sub(bytes);
    }
}

/// The position before which matches end.
fn end_of_matches(src: &[u8]) -> usize {
    src.len().saturating_sub(LAST_LITERALS)
}

/// The positions at which matches start are below this one.
fn end_of_starts(src: &[u8]) -> usize {
    (src.len() + 1).saturating_sub(LAST_START)
}
