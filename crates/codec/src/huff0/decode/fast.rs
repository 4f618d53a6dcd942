//! The hot loops of decoding: four streams together, several symbols of each between two bounds checks.

use super::Lane;
use super::table::{ENTRIES, Tables, USUAL_LOG};
use crate::huff0::weights::Weights;
use crate::processor::Kernel;

/// Builds the table of up to three symbols.
pub(in crate::huff0) fn set_multiple(kernel: Kernel, tables: &mut Tables, weights: &Weights) {
    match kernel {
        Kernel::Portable => tables.set_multiple(weights),
        // SAFETY: only `Kernel::detect` returns these variants, where the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Kernel::Bmi2 | Kernel::Avx512 => unsafe { set_multiple_bmi2(tables, weights) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,avx2")]
fn set_multiple_bmi2(tables: &mut Tables, weights: &Weights) {
    tables.set_multiple(weights);
}

/// Advances one or four lanes while no bound can be reached. Changes their order.
pub(in crate::huff0) fn run(
    kernel: Kernel,
    block: &[u8],
    lanes: &mut [Lane],
    out: &mut [u8],
    tables: &Tables,
    multiple: bool,
) {
    let work = Work { block, out, tables, multiple };
    match kernel {
        Kernel::Portable => steps(lanes, work),
        // SAFETY: only `Kernel::detect` returns these variants, where the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Kernel::Bmi2 | Kernel::Avx512 => unsafe { steps_bmi2(lanes, work) },
    }
}

/// Tables that are indexed without a bounds check. The symbols are loaded separately from the entry, which is faster than shifting them out
/// of it.
trait LookUp {
    type Entry;
    type Made;

    /// The entry at `index`, at most 12 bits, and its symbols.
    fn look_up(&self, index: usize) -> (Self::Entry, Self::Made);
}

impl LookUp for [u16; ENTRIES] {
    type Entry = u16;
    type Made = u8;

    #[inline(always)]
    fn look_up(&self, index: usize) -> (u16, u8) {
        let entry = self[index & (ENTRIES - 1)];
        if cfg!(target_endian = "big") {
            return (entry, (entry >> 8) as u8);
        }
        // SAFETY: this is the upper byte of the entry.
        (entry, unsafe { *self.as_ptr().add(index & (ENTRIES - 1)).cast::<u8>().add(1) })
    }
}

impl LookUp for [u32; ENTRIES + 1] {
    type Entry = u32;
    type Made = [u8; 4];

    #[inline(always)]
    fn look_up(&self, index: usize) -> (u32, [u8; 4]) {
        let entry = self[index & (ENTRIES - 1)];
        if cfg!(target_endian = "big") {
            return (entry, (entry >> 8).to_le_bytes());
        }
        // SAFETY: these are three bytes of the entry and one of the next entry. The table has an extra entry, so that there is a next one.
        (entry, unsafe { self.as_ptr().add(index & (ENTRIES - 1)).cast::<u8>().add(1).cast::<[u8; 4]>().read() })
    }
}

struct Work<'a> {
    block: &'a [u8],
    out: &'a mut [u8],
    tables: &'a Tables,
    multiple: bool,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,avx2")]
fn steps_bmi2(lanes: &mut [Lane], work: Work) {
    steps(lanes, work);
}

#[inline(always)]
fn steps(lanes: &mut [Lane], mut work: Work) {
    match (work.tables.log, work.multiple) {
        (USUAL_LOG, false) => in_step::<11, 5>(lanes, &mut work),
        (USUAL_LOG, true) => by_turns::<11, 5>(lanes, &mut work),
        (_, false) => in_step::<12, 4>(lanes, &mut work),
        (_, true) => by_turns::<12, 4>(lanes, &mut work),
    }
}

/// Decodes one symbol of each lane at a time. All lanes end together.
#[inline(always)]
fn in_step<const LOG: u32, const PER: usize>(lanes: &mut [Lane], work: &mut Work) {
    match <&mut [Lane; 4]>::try_from(&mut *lanes) {
        Ok(four) => singles::<LOG, PER, 4>(four, work),
        Err(_) => lanes.iter_mut().for_each(|lane| singles::<LOG, PER, 1>(std::array::from_mut(lane), work)),
    }
}

/// Decodes several symbols of each lane at a time. Some lanes end earlier, and the others continue without them.
#[inline(always)]
fn by_turns<const LOG: u32, const PER: usize>(lanes: &mut [Lane], work: &mut Work) {
    if let Ok(four) = <&mut [Lane; 4]>::try_from(&mut *lanes) {
        multiples::<LOG, PER, 4>(four, work);
        lanes.sort_unstable_by_key(|lane| lane.next.wrapping_sub(lane.stop));
        lanes.first_chunk_mut().into_iter().for_each(|lanes| multiples::<LOG, PER, 3>(lanes, work));
        lanes.first_chunk_mut().into_iter().for_each(|lanes| multiples::<LOG, PER, 2>(lanes, work));
    }
    lanes.iter_mut().for_each(|lane| multiples::<LOG, PER, 1>(std::array::from_mut(lane), work));
}

/// Bytes of a table load.
const WORD: usize = 8;
/// Maximum number of bytes that a lane moves back between two bounds checks: 55 bits, and up to 7 left from before.
const BACK: usize = 7;

/// The words that the lanes are reading.
///
/// Invariants: (1) `at[lane]` points into the block, with `WORD` bytes readable there. (2) `bits[lane]` is that word. The bits already read
/// are shifted out, and a one is shifted in after the last bit. The number of zeros below the one is the number of bits read of the word.
struct Words<const LANES: usize> {
    bits: [u64; LANES],
    at: [*const u8; LANES],
}

impl<const LANES: usize> Words<LANES> {
    /// `None` if a lane is so close to the start of the block that no complete word is left.
    #[inline(always)]
    fn new(block: &[u8], lanes: &[Lane; LANES]) -> Option<Self> {
        let mut words = Words { bits: [0; LANES], at: [block.as_ptr(); LANES] };
        for (lane, from) in lanes.iter().enumerate() {
            let position = from.start * 8 + usize::try_from(from.left).ok()?;
            let end = position.div_ceil(8);
            let word = block.get(end.checked_sub(WORD)?..end)?;
            words.at[lane] = word.as_ptr();
            words.bits[lane] = (u64::from_le_bytes(*word.first_chunk()?) | 1) << (end * 8 - position);
        }
        Some(words)
    }

    /// Number of steps that all lanes can take before one could reach the start of the block.
    #[inline(always)]
    fn steps(&self, block: &[u8]) -> usize {
        let start = block.as_ptr().addr();
        self.at.iter().map(|at| at.addr() - start).min().unwrap_or(0) / BACK
    }

    /// Loads the next word of a lane.
    ///
    /// # Safety
    /// `at[lane]` is at least `BACK` bytes into the block, and at most 55 bits were read since the last refill.
    #[inline(always)]
    unsafe fn refill(&mut self, lane: usize) {
        let read = self.bits[lane].trailing_zeros();
        // SAFETY: at most 62 bits were read, so that this moves back by at most `BACK` bytes and stays in the block. A complete word is
        // readable there, because invariant (1) held at the later position.
        let word = unsafe {
            self.at[lane] = self.at[lane].sub((read >> 3) as usize);
            self.at[lane].cast::<u64>().read_unaligned()
        };
        self.bits[lane] = (u64::from_le(word) | 1) << (read & 7);
    }

    /// Stores in the lanes how far they were read.
    #[inline(always)]
    fn leave(&self, block: &[u8], lanes: &mut [Lane; LANES]) {
        for (lane, to) in lanes.iter_mut().enumerate() {
            let read = self.bits[lane].trailing_zeros() as isize;
            let at = self.at[lane].addr() - block.as_ptr().addr();
            to.left = (at as isize - to.start as isize + WORD as isize) * 8 - read;
        }
    }
}

/// One symbol at a time.
#[inline(always)]
fn singles<const LOG: u32, const PER: usize, const LANES: usize>(lanes: &mut [Lane; LANES], work: &mut Work) {
    let Some(mut words) = Words::new(work.block, lanes) else { return };
    let table = &work.tables.single;
    let first = &lanes[0];
    let last = &lanes[LANES - 1];
    // The outputs of the lanes are at equal distances, and the last output is not longer than the others.
    let apart = (last.next - first.next) / LANES.saturating_sub(1).max(1);
    let mut out = work.out[first.next..].as_mut_ptr();
    let mut left = last.stop - last.next;
    let end = left;
    loop {
        let steps = words.steps(work.block).min(left / PER);
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            for symbol in 0..PER {
                for lane in 0..LANES {
                    let index = (words.bits[lane] >> (64 - LOG)) as usize;
                    let (entry, made) = table.look_up(index);
                    words.bits[lane] <<= entry & 63;
                    // SAFETY: no lane produces more than the last one, whose output has space for `left / PER` such steps.
                    unsafe { *out.add(lane * apart + symbol) = made };
                }
            }
            for lane in 0..LANES {
                // SAFETY: `Words::steps` allowed for this step, and `PER` codes have at most 55 bits.
                unsafe { words.refill(lane) };
            }
            // SAFETY: as above, the result is in the lane or at its end.
            out = unsafe { out.add(PER) };
        }
        left -= steps * PER;
    }
    lanes.iter_mut().for_each(|lane| lane.next += end - left);
    words.leave(work.block, lanes);
}

/// One to three symbols at a time.
#[expect(clippy::needless_range_loop, reason = "several arrays are iterated together")]
#[inline(always)]
fn multiples<const LOG: u32, const PER: usize, const LANES: usize>(lanes: &mut [Lane; LANES], work: &mut Work) {
    let Some(mut words) = Words::new(work.block, lanes) else { return };
    let table = &work.tables.multiple;
    // A step writes at most three symbols, and a fourth byte after the last symbol.
    let most = 3 * PER;
    let start = work.out.as_mut_ptr();
    let mut next = [start; LANES];
    for (next, lane) in next.iter_mut().zip(&*lanes) {
        *next = work.out[lane.next..lane.stop].as_mut_ptr();
    }
    loop {
        let made = |lane: usize| next[lane].addr() - start.addr();
        let capacity = (0..LANES).map(|lane| (lanes[lane].stop - made(lane)).saturating_sub(1) / most).min();
        let steps = words.steps(work.block).min(capacity.unwrap_or(0));
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            for _ in 0..PER {
                for lane in 0..LANES {
                    let index = (words.bits[lane] >> (64 - LOG)) as usize;
                    let (entry, symbols) = table.look_up(index);
                    words.bits[lane] <<= entry & 63;
                    // SAFETY: `steps` steps write nothing beyond the end of any lane.
                    unsafe {
                        next[lane].cast::<[u8; 4]>().write_unaligned(symbols);
                        next[lane] = next[lane].add(((entry & 0xff) >> 6) as usize);
                    }
                }
            }
            for lane in 0..LANES {
                // SAFETY: `Words::steps` allowed for this step, and `PER` entries have at most 55 bits.
                unsafe { words.refill(lane) };
            }
        }
    }
    lanes.iter_mut().zip(next).for_each(|(lane, next)| lane.next = next.addr() - start.addr());
    words.leave(work.block, lanes);
}
