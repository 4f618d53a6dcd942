//! Writes the blocks of DEFLATE (RFC 1951, 3.2.3), each in the shortest of three ways.

use super::code::{Code, Codes};
use super::statistics::Statistics;
use super::symbols::{END, Step, distance_code, length_code};
use super::writer::Writer;

/// Longest code of a code length, bits.
const LONGEST_OF_LENGTH: usize = 7;
/// Most bytes of a stored block.
const STORED: usize = u16::MAX as usize;
/// Bytes before them, at most.
const STORED_HEAD: usize = 5;

/// The types of blocks.
const FIXED: u32 = 1;
const DYNAMIC: u32 = 2;

/// Order of the code lengths of code lengths.
pub(in crate::gzip) const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Symbols that repeat a code length: the last one, zeros, and more zeros.
pub(in crate::gzip) const COPY: u8 = 16;
pub(in crate::gzip) const ZEROS: u8 = 17;
pub(in crate::gzip) const MANY_ZEROS: u8 = 18;

pub(super) struct Block<'a> {
    pub(super) steps: &'a [Step],
    /// The bytes that the steps make.
    pub(super) bytes: &'a [u8],
    pub(super) is_last: bool,
}

/// A symbol of the list of code lengths.
struct Item {
    symbol: u8,
    /// The value of the extra bits.
    value: u8,
}

/// The code lengths as they are written.
struct Header {
    literals: usize,
    distances: usize,
    items: Vec<Item>,
    code: Code,
    /// Size in bits.
    bits: u64,
}

impl Block<'_> {
    /// Writes the block. `None` if it does not fit.
    pub(super) fn put(&self, statistics: &Statistics, out: &mut Writer) -> Option<()> {
        let own = Codes::new(statistics);
        let header = Header::shortest(&own);
        let fixed = Codes::fixed();
        let own_cost = header.bits + own.cost(statistics);
        let fixed_cost = fixed.cost(statistics);
        let stored = self.bytes.len() + STORED_HEAD * self.bytes.len().div_ceil(STORED);
        if (stored as u64) * 8 < own_cost.min(fixed_cost) + statistics.extra_bits() {
            return self.put_stored(out);
        }
        if fixed_cost <= own_cost {
            out.put(FIXED << 1 | u32::from(self.is_last), 3)?;
            return self.put_steps(&fixed, out);
        }
        out.put(DYNAMIC << 1 | u32::from(self.is_last), 3)?;
        header.put(out)?;
        self.put_steps(&own, out)
    }

    fn put_stored(&self, out: &mut Writer) -> Option<()> {
        let mut chunks = self.bytes.chunks(STORED).peekable();
        while let Some(chunk) = chunks.next() {
            out.put((self.is_last && chunks.peek().is_none()).into(), 3)?;
            let size = chunk.len() as u16;
            out.bytes(&size.to_le_bytes())?;
            out.bytes(&(!size).to_le_bytes())?;
            out.bytes(chunk)?;
        }
        Some(())
    }

    fn put_steps(&self, codes: &Codes, out: &mut Writer) -> Option<()> {
        for step in self.steps {
            if step.length() == 0 {
                codes.literals.put(step.byte().into(), out)?;
                continue;
            }
            let length = length_code(step.length());
            codes.literals.put(length.symbol, out)?;
            out.put(length.value, length.extra)?;
            let distance = distance_code(step.distance());
            codes.distances.put(distance.symbol, out)?;
            out.put(distance.value, distance.extra)?;
        }
        codes.literals.put(END, out)
    }
}

impl Header {
    /// The shortest header, with or without each of the symbols that repeat code lengths.
    fn shortest(codes: &Codes) -> Header {
        let mut best = Header::new(codes, 0);
        for avoided in 1..8 {
            let other = Header::new(codes, avoided);
            if other.bits < best.bits {
                best = other;
            }
        }
        best
    }

    /// A header without the repeating symbols that are bits of `avoided`, [`COPY`] first.
    fn new(codes: &Codes, avoided: u8) -> Header {
        let literals = codes.literals.used(END + 1);
        let distances = codes.distances.used(1);
        let items =
            items(&[&codes.literals.lengths[..literals], &codes.distances.lengths[..distances]].concat(), avoided);
        let mut counts = [0; ORDER.len()];
        items.iter().for_each(|item| counts[usize::from(item.symbol)] += 1);
        let code = Code::new(&counts, LONGEST_OF_LENGTH);
        let extra: u64 = items.iter().map(|item| u64::from(extra(item.symbol))).sum();
        let bits = 14 + 3 * stored(&code) as u64 + code.cost(&counts) + extra;
        Header { literals, distances, items, code, bits }
    }

    fn put(&self, out: &mut Writer) -> Option<()> {
        let stored = stored(&self.code);
        out.put((self.literals - END - 1) as u32, 5)?;
        out.put((self.distances - 1) as u32, 5)?;
        out.put((stored - 4) as u32, 4)?;
        for symbol in &ORDER[..stored] {
            out.put(self.code.lengths[*symbol].into(), 3)?;
        }
        for item in &self.items {
            self.code.put(item.symbol.into(), out)?;
            out.put(item.value.into(), extra(item.symbol))?;
        }
        Some(())
    }
}

/// Number of code lengths of code lengths that are written.
fn stored(code: &Code) -> usize {
    ORDER.iter().rposition(|symbol| code.lengths[*symbol] > 0).map_or(0, |last| last + 1).max(4)
}

/// Number of extra bits of a symbol of the list of code lengths.
fn extra(symbol: u8) -> u32 {
    match symbol {
        COPY => 2,
        ZEROS => 3,
        MANY_ZEROS => 7,
        _ => 0,
    }
}

/// The list of code lengths, with runs as single symbols.
fn items(lengths: &[u8], avoided: u8) -> Vec<Item> {
    let mut items = Vec::new();
    for run in lengths.chunk_by(|one, other| one == other) {
        let length = run[0];
        let mut left = run.len();
        if length > 0 {
            // A copy needs the length before it.
            items.push(Item { symbol: length, value: 0 });
            left -= 1;
        }
        let mut repeat = |symbol: u8, least: usize, most: usize| {
            while avoided >> (symbol - COPY) & 1 == 0 && left >= least {
                // The rest of a run should not be too short for another symbol of the kind.
                let count = if left > most && left < most + least { left - least } else { left.min(most) };
                items.push(Item { symbol, value: (count - least) as u8 });
                left -= count;
            }
        };
        if length == 0 {
            repeat(MANY_ZEROS, 11, 138);
            repeat(ZEROS, 3, 10);
        } else {
            repeat(COPY, 3, 6);
        }
        items.extend((0..left).map(|_| Item { symbol: length, value: 0 }));
    }
    items
}
