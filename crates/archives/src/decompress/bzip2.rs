//! Splits bzip2 streams into their blocks, and makes each block a stream of its own, so that blocks are decoded in parallel.
//!
//! A block starts with a mark of 48 bits at any bit offset. The end of the stream has another mark, and a checksum over the
//! blocks' checksums. The format has no specification; facts are from the bzip2 1.0.8 sources, `compress.c` and `decompress.c`.

use std::io::{self, Read};

use super::Format;
use super::bits::{BitWriter, bits};
use super::fault::{corrupt, truncated};
use super::split::{Dispatcher, read_some};

const BLOCK_MARK: u64 = 0x3141_5926_5359;
const END_MARK: u64 = 0x1772_4538_5090;
const MARK_BITS: usize = 48;
/// Bytes read at a time.
const READ: usize = 256 << 10;
/// A block of 900,000 bytes needs at most 20 bits for each symbol, which no encoder reaches. Anything longer is not a block.
const MAX_BLOCK: usize = 4 << 20;
/// Upper bound of the bytes of a block's header, up to the end of its selectors.
const LOOK_AHEAD: usize = 32 << 10;

/// Reads streams from `input` and dispatches their blocks in order. Errors in the data are dispatched too.
///
/// # Errors
/// The reader has been dropped.
pub(super) fn split(input: &mut dyn Read, dispatcher: &mut Dispatcher) -> io::Result<()> {
    let mut splitter = Splitter {
        window: Window { input, bytes: Vec::new(), offset: 0, ended: false },
        filter: mark_filter(),
        dispatcher,
        level: 0,
        sum: 0,
    };
    match splitter.run() {
        Err(Stop::Data(error)) => splitter.dispatcher.fail(error),
        Err(Stop::Unread(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}

/// Why splitting stopped before the end.
enum Stop {
    /// The input is invalid.
    Data(io::Error),
    /// The reader has been dropped.
    Unread(io::Error),
}

/// The part of the input in memory.
struct Window<'a> {
    input: &'a mut dyn Read,
    bytes: Vec<u8>,
    /// Offset of the first byte in the input.
    offset: u64,
    ended: bool,
}

impl Window<'_> {
    /// Reads until `wanted` bytes are in memory or the input ends.
    fn need(&mut self, wanted: usize) -> Result<(), Stop> {
        while self.bytes.len() < wanted && !self.ended {
            let length = self.bytes.len();
            self.bytes.resize(length + READ, 0);
            let count = read_some(self.input, &mut self.bytes[length..]).map_err(Stop::Data)?;
            self.bytes.truncate(length + count);
            self.ended = count == 0;
        }
        Ok(())
    }

    fn drop_front(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.offset += count as u64;
    }
}

struct Splitter<'a> {
    window: Window<'a>,
    /// For each byte value, the shifts at which it can be the second byte of a mark.
    filter: [u8; 256],
    dispatcher: &'a mut Dispatcher,
    level: u8,
    /// The combined checksum of the blocks so far.
    sum: u32,
}

impl Splitter<'_> {
    fn run(&mut self) -> Result<(), Stop> {
        while self.stream_header()? {
            let mut start = 32;
            while let Some(next) = self.block(start)? {
                start = next;
            }
        }
        Ok(())
    }

    /// Reads the header of the next stream. Returns false at the end of the input. Skips zeros between streams.
    fn stream_header(&mut self) -> Result<bool, Stop> {
        loop {
            self.window.need(4)?;
            let zeros = self.window.bytes.iter().position(|&byte| byte != 0).unwrap_or(self.window.bytes.len());
            if zeros == 0 {
                break;
            }
            self.window.drop_front(zeros);
        }
        self.sum = 0;
        match self.window.bytes[..] {
            [] => Ok(false),
            [b'B', b'Z', b'h', level @ b'1'..=b'9', ..] => {
                self.level = level;
                Ok(true)
            }
            _ => Err(self.wrong("unknown data follows the stream", 0)),
        }
    }

    fn wrong(&self, what: &str, bit: usize) -> Stop {
        Stop::Data(corrupt(Format::Bzip2, what, self.window.offset + (bit / 8) as u64))
    }

    /// Processes the block or end at bit `start`. Dispatches a block and returns the bit of the next one, or returns `None` at
    /// the end of the stream.
    fn block(&mut self, start: usize) -> Result<Option<usize>, Stop> {
        self.window.need(start.div_ceil(8) + LOOK_AHEAD)?;
        match bits(&self.window.bytes, start, MARK_BITS as u32) {
            Some(BLOCK_MARK) => {}
            Some(END_MARK) => return self.stream_end(start).map(|()| None),
            Some(_) => return Err(self.wrong("no block", start)),
            None => return Err(self.ends()),
        }
        let end = self.find_end(start)?;
        self.dispatch(start, end)?;
        let whole = end / 8;
        self.window.drop_front(whole);
        Ok(Some(end % 8))
    }

    fn ends(&self) -> Stop {
        Stop::Data(truncated(Format::Bzip2, self.window.offset + self.window.bytes.len() as u64))
    }

    /// The bit at which the next block or the end of the stream starts.
    fn find_end(&mut self, start: usize) -> Result<usize, Stop> {
        let mut byte = (start + MARK_BITS) / 8;
        while byte - start / 8 < MAX_BLOCK {
            self.window.need(byte + READ + LOOK_AHEAD)?;
            let stop = if self.window.ended { self.window.bytes.len() } else { byte + READ };
            while let Some(at) = self.find_mark(byte, stop) {
                if at >= start + MARK_BITS && self.is_real(at, start) {
                    return Ok(at);
                }
                byte = at / 8 + 1;
                // Only overlapping marks could start in the same byte, and marks cannot overlap.
            }
            if self.window.ended {
                return Err(self.ends());
            }
            byte = stop;
        }
        Err(self.wrong("block without an end", start))
    }

    /// The first bit in bytes `from..to` at which a mark starts.
    fn find_mark(&self, from: usize, to: usize) -> Option<usize> {
        let second = self.window.bytes.get(from + 1..self.window.bytes.len().min(to + 1))?;
        second.iter().enumerate().filter(|&(_, &byte)| self.filter[usize::from(byte)] != 0).find_map(
            |(index, &byte)| {
                let shifts = self.filter[usize::from(byte)];
                (0..8)
                    .filter(|shift| shifts >> shift & 1 != 0)
                    .map(|shift| (from + index) * 8 + shift)
                    .find(|&at| matches!(bits(&self.window.bytes, at, MARK_BITS as u32), Some(BLOCK_MARK | END_MARK)))
            },
        )
    }

    /// Compressed data may contain a mark by chance. A block is therefore accepted only with a plausible header. An end is
    /// accepted if its checksum is right, or if its next bytes can follow an end (then the wrong checksum is reported later).
    fn is_real(&self, at: usize, start: usize) -> bool {
        let bytes = &self.window.bytes;
        if bits(bytes, at, MARK_BITS as u32) == Some(BLOCK_MARK) {
            return is_block_header(bytes, at + MARK_BITS).unwrap_or(false);
        }
        let Some(stored) = bits(bytes, at + MARK_BITS, 32) else { return self.window.ended };
        let next = (at + MARK_BITS + 32).div_ceil(8);
        stored as u32 == self.sum_with(start)
            || matches!(bytes.get(next..), None | Some([] | [0, ..] | [b'B', b'Z', b'h', ..]))
    }

    /// The combined checksum, extended with the checksum of the block at `start`, which follows the block's mark.
    fn sum_with(&self, start: usize) -> u32 {
        self.sum.rotate_left(1) ^ self.block_sum(start)
    }

    fn block_sum(&self, start: usize) -> u32 {
        bits(&self.window.bytes, start + MARK_BITS, 32).unwrap_or(0) as u32
    }

    /// A stream of a single block: the header, the block, the end mark, and the block's checksum, which is also the stream's.
    fn dispatch(&mut self, start: usize, end: usize) -> Result<(), Stop> {
        let mut writer = BitWriter::default();
        let header = u32::from_be_bytes([b'B', b'Z', b'h', self.level]);
        writer.push(header.into(), 32);
        writer.copy(&self.window.bytes, start, end);
        writer.push(END_MARK, MARK_BITS as u32);
        writer.push(self.block_sum(start).into(), 32);
        self.sum = self.sum_with(start);
        let base = self.window.offset + (start / 8) as u64;
        self.dispatcher.whole(base, writer.finish()).map_err(Stop::Unread)
    }

    fn stream_end(&mut self, start: usize) -> Result<(), Stop> {
        let Some(stored) = bits(&self.window.bytes, start + MARK_BITS, 32) else { return Err(self.ends()) };
        if stored as u32 != self.sum {
            return Err(self.wrong("wrong checksum of the stream", start));
        }
        self.window.drop_front((start + MARK_BITS + 32).div_ceil(8));
        Ok(())
    }
}

/// True if the bytes after a mark can be a block: the origin is within the largest block, and there are 2 to 6 tables and 1 to
/// 18002 selectors, each of an existing table. `None` if the input ends first.
fn is_block_header(bytes: &[u8], mark_end: usize) -> Option<bool> {
    let mut at = mark_end + 32 + 1;
    let mut take = |count: u32| {
        let value = bits(bytes, at, count);
        at += count as usize;
        value
    };
    let origin = take(24)?;
    let groups = take(16)?;
    for _ in 0..groups.count_ones() {
        take(16)?;
    }
    let tables = take(3)?;
    let selectors = take(15)?;
    if origin >= 900_000 || groups == 0 || !(2..=6).contains(&tables) || !(1..=18_002).contains(&selectors) {
        return Some(false);
    }
    for _ in 0..selectors {
        let mut rank = 0;
        while take(1)? == 1 {
            rank += 1;
            if rank >= tables {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// For each byte value, the set of shifts at which the second byte of either shifted mark has that value.
fn mark_filter() -> [u8; 256] {
    let mut filter = [0; 256];
    for mark in [BLOCK_MARK, END_MARK] {
        for shift in 0..8 {
            // With a shift of s, the first byte contains the top 8 - s bits of the mark, and the second byte the next 8.
            let second = mark >> (MARK_BITS - (8 - shift) - 8) & 0xff;
            filter[second as usize] |= 1 << shift;
        }
    }
    filter
}
