//! Decodes one or four streams with the tables of their code.

pub(super) mod fast;
pub(super) mod table;

use super::bits::Backward;
use crate::processor::Kernel;
use table::Tables;

/// Bytes of the jump table: the sizes of the first three streams, 16-bit little endian.
pub(super) const JUMP: usize = 6;

/// One stream of a block: its range in the block, how much was read, and the output range that is left.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Unread bits; negative after reading beyond the start.
    pub(super) left: isize,
    /// Next output byte.
    pub(super) next: usize,
    /// End of the lane's output.
    pub(super) stop: usize,
}

impl Lane {
    /// An unread lane, if the stream has its end mark.
    fn new(block: &[u8], start: usize, end: usize, out: std::ops::Range<usize>) -> Result<Self, &'static str> {
        let stream = block.get(start..end).ok_or("a stream that is cut off")?;
        let bits = Backward::new(stream).ok_or("a stream without an end mark")?;
        Ok(Lane { start, end, left: bits.left(), next: out.start, stop: out.end })
    }

    /// Decodes the rest of the lane and checks that the stream ends there.
    fn finish(&self, block: &[u8], out: &mut [u8], tables: &Tables) -> Result<(), &'static str> {
        let left = usize::try_from(self.left).map_err(|_| TOO_SHORT)?;
        let mut bits = Backward::resumed(&block[self.start..self.end], left).ok_or(TOO_SHORT)?;
        let (groups, rest) = out[self.next..self.stop].as_chunks_mut::<4>();
        groups.iter_mut().for_each(|group| symbols(&mut bits, group, tables));
        symbols(&mut bits, rest, tables);
        match bits.left() {
            0 => Ok(()),
            1.. => Err("a stream that continues after the last symbol"),
            _ => Err(TOO_SHORT),
        }
    }
}

const TOO_SHORT: &str = "a stream that ends before the last symbol";

/// Decodes up to 4 symbols: a window of 57 bits holds at least that many.
fn symbols(bits: &mut Backward, out: &mut [u8], tables: &Tables) {
    let mut window = bits.window();
    let mut taken = 0;
    for byte in out {
        let entry = tables.single[(window >> (64 - tables.log)) as usize];
        *byte = (entry >> 8) as u8;
        window <<= entry & 63;
        taken += u32::from(entry & 63);
    }
    bits.skip(taken);
}

/// Decodes the only stream of a block, which begins at `start`. Otherwise as [`four`].
pub(super) fn one(
    kernel: Kernel,
    block: &[u8],
    start: usize,
    out: &mut [u8],
    tables: &Tables,
    multiple: bool,
) -> Result<(), &'static str> {
    let mut lane = [Lane::new(block, start, block.len(), 0..out.len())?];
    fast::run(kernel, block, &mut lane, out, tables, multiple);
    lane[0].finish(block, out, tables)
}

/// The ranges of the four streams of a block and of their output.
fn lanes(block: &[u8], start: usize, out: usize) -> Result<[Lane; 4], &'static str> {
    let jump = block.get(start..start + JUMP).ok_or("a jump table that is cut off")?;
    let size = |stream: usize| usize::from(u16::from_le_bytes([jump[2 * stream], jump[2 * stream + 1]]));
    let quarter = out.div_ceil(4);
    if 3 * quarter > out {
        return Err("four streams for too few bytes");
    }
    let first = start + JUMP;
    let second = first + size(0);
    let third = first + size(0) + size(1);
    let fourth = third + size(2);
    Ok([
        Lane::new(block, first, second, 0..quarter)?,
        Lane::new(block, second, third, quarter..2 * quarter)?,
        Lane::new(block, third, fourth, 2 * quarter..3 * quarter)?,
        Lane::new(block, fourth, block.len(), 3 * quarter..out)?,
    ])
}

/// Decodes the four streams of a block, with the jump table at `start`. If `multiple` is true, up to three symbols are decoded per step;
/// `Tables::multiple` must then be set.
pub(super) fn four(
    kernel: Kernel,
    block: &[u8],
    start: usize,
    out: &mut [u8],
    tables: &Tables,
    multiple: bool,
) -> Result<(), &'static str> {
    let mut lanes = lanes(block, start, out.len())?;
    fast::run(kernel, block, &mut lanes, out, tables, multiple);
    lanes.iter().try_for_each(|lane| lane.finish(block, out, tables))
}
