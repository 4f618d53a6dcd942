//! Cuts blocks of raw DEFLATE: keeps the symbols of a start of the content with the codes of their blocks, and ends the last of these blocks.

use super::GzipParams;
use super::bare::BareDeflater;
use super::optimal::{COPY, Code, Codes, END, LONGEST_CODE, MANY_ZEROS, ORDER, ZEROS, distance_extra, length_bits};
use crate::CodecError;
use crate::fit::{Cut, Cutter, Fitted};
use crate::traits::Compressor;

pub(crate) struct DeflateCutter {
    encoder: BareDeflater,
    tables: Tables,
}

impl DeflateCutter {
    /// Memory in bytes in addition to a [`BareDeflater`].
    pub(crate) const MORE_MEMORY: usize = 2 * (size_of::<u16>() << LONGEST_CODE);

    /// A cutter for blocks of up to `block_size` bytes.
    pub(crate) fn new(params: &GzipParams, block_size: usize) -> Result<DeflateCutter, CodecError> {
        Ok(DeflateCutter { encoder: BareDeflater::new(params, block_size)?, tables: Tables::default() })
    }
}

impl Compressor for DeflateCutter {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.encoder.try_compress(src, out)
    }
}

impl Cutter for DeflateCutter {
    fn cut(&mut self, _: &[u8], cut: &Cut, out: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        let bits = Bits { bytes: &out[..cut.whole], at: 0 };
        let mut walk = Walk { bits, limit: cut.most * 8, content: 0, tables: &mut self.tables, end: None };
        while walk.block() == Some(true) {}
        let end = walk.end.filter(|end| end.content > cut.least);
        Ok(end.map(|end| Fitted { content: end.content, stored: end.write(out) }))
    }
}

/// How the last block ends.
#[derive(Debug, Clone, Copy)]
enum Closing {
    /// With the code of a symbol.
    Symbol { code: u16, length: u8 },
    /// After this number of stored bytes.
    Stored(u16),
}

/// Where a result is cut.
#[derive(Debug, Clone, Copy)]
struct End {
    /// The first bit of the last block.
    block: usize,
    /// Number of bits that are kept.
    bits: usize,
    closing: Closing,
    /// Bytes of content.
    content: usize,
}

impl End {
    /// Cuts the result. Returns its size.
    fn write(&self, out: &mut [u8]) -> usize {
        out[self.block / 8] |= 1 << (self.block % 8);
        let first = self.bits / 8;
        match self.closing {
            Closing::Symbol { code, length } => {
                let kept = self.bits % 8;
                let value = u32::from(code) << kept | u32::from(out[first]) & ((1 << kept) - 1);
                let size = (self.bits + usize::from(length)).div_ceil(8);
                out[first..size].copy_from_slice(&value.to_le_bytes()[..size - first]);
                size
            }
            Closing::Stored(count) => {
                let [low, high] = count.to_le_bytes();
                let head = first - usize::from(count) - 4;
                out[head..head + 4].copy_from_slice(&[low, high, !low, !high]);
                first
            }
        }
    }
}

/// The bits of a result from a position on.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    /// At least 57 bits from the position on; zeros after the end.
    #[inline(always)]
    fn peek(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            last
        });
        u64::from_le_bytes(word) >> (self.at % 8)
    }

    #[inline(always)]
    fn take(&mut self, count: u32) -> usize {
        let value = self.peek() & ((1 << count) - 1);
        self.at += count as usize;
        value as usize
    }
}

/// The symbol and the length of the code that each sequence of bits begins with; 0 for none. The length has the lowest four bits.
#[derive(Default)]
struct Table(Vec<u16>);

impl Table {
    fn set(&mut self, code: &Code) {
        let longest = code.lengths.iter().copied().max().unwrap_or(0);
        self.0.clear();
        self.0.resize(1 << longest, 0);
        for (symbol, &length) in code.lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let places = self.0.iter_mut().skip(code.bits(symbol).into()).step_by(1 << length);
            places.for_each(|place| *place = (symbol as u16) << 4 | u16::from(length));
        }
    }

    /// The next symbol.
    #[inline(always)]
    fn next(&self, bits: &mut Bits) -> Option<usize> {
        let entry = self.0[bits.peek() as usize & (self.0.len() - 1)];
        bits.at += usize::from(entry & 15);
        (entry > 0).then_some(usize::from(entry >> 4))
    }
}

#[derive(Default)]
struct Tables {
    literals: Table,
    distances: Table,
}

/// Passes the symbols of a result as long as they fit.
struct Walk<'a> {
    bits: Bits<'a>,
    /// Largest number of bits.
    limit: usize,
    content: usize,
    tables: &'a mut Tables,
    /// The last end that fits.
    end: Option<End>,
}

impl Walk<'_> {
    /// Passes a block. Returns whether another one follows, or `None` if the block does not fit.
    fn block(&mut self) -> Option<bool> {
        let block = self.bits.at;
        let is_last = self.bits.take(1) == 1;
        match self.bits.take(2) {
            0 => self.stored(block)?,
            1 => self.symbols(block, &Codes::fixed())?,
            _ => {
                let codes = self.codes()?;
                self.symbols(block, &codes)?;
            }
        }
        Some(!is_last)
    }

    fn stored(&mut self, block: usize) -> Option<()> {
        self.bits.at = self.bits.at.next_multiple_of(8);
        let count = self.bits.take(16);
        self.bits.at += 16;
        let fitting = count.min(self.limit.saturating_sub(self.bits.at) / 8);
        self.bits.at += fitting * 8;
        self.content += fitting;
        if fitting > 0 {
            let closing = Closing::Stored(fitting as u16);
            self.end = Some(End { block, bits: self.bits.at, closing, content: self.content });
        }
        (fitting == count).then_some(())
    }

    /// Reads the codes of a block.
    fn codes(&mut self) -> Option<Codes> {
        let Walk { bits, tables, .. } = self;
        let literals = bits.take(5) + END + 1;
        let all = literals + bits.take(5) + 1;
        let stored = bits.take(4) + 4;
        let mut lengths = vec![0; ORDER.len()];
        ORDER[..stored].iter().for_each(|symbol| lengths[*symbol] = bits.take(3) as u8);
        let table = &mut tables.literals;
        table.set(&Code::of_lengths(lengths));
        let mut lengths = Vec::with_capacity(all);
        while lengths.len() < all {
            let (length, count) = match table.next(bits)? as u8 {
                COPY => (*lengths.last()?, 3 + bits.take(2)),
                ZEROS => (0, 3 + bits.take(3)),
                MANY_ZEROS => (0, 11 + bits.take(7)),
                length => (length, 1),
            };
            lengths.extend(std::iter::repeat_n(length, count));
        }
        let distances = lengths.split_off(literals);
        Some(Codes { literals: Code::of_lengths(lengths), distances: Code::of_lengths(distances) })
    }

    /// Passes the symbols of a block.
    fn symbols(&mut self, block: usize, codes: &Codes) -> Option<()> {
        let Walk { bits, limit, content, tables, end } = self;
        tables.literals.set(&codes.literals);
        tables.distances.set(&codes.distances);
        let length = codes.literals.lengths[END];
        let closing = Closing::Symbol { code: codes.literals.bits(END), length };
        while bits.at + usize::from(length) <= *limit {
            *end = Some(End { block, bits: bits.at, closing, content: *content });
            match tables.literals.next(bits)? {
                ..END => *content += 1,
                END => return Some(()),
                symbol => {
                    let (first, extra) = length_bits(symbol)?;
                    *content += first + bits.take(extra);
                    let distance = tables.distances.next(bits)?;
                    bits.take(distance_extra(distance));
                }
            }
        }
        None
    }
}
