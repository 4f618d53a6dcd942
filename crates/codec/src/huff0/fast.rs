//! The hot loops of decoding: four streams in step, several symbols of each between two looks at the bounds.

use super::decode::Lane;
use super::kernel::Kernel;
use super::table::{Tables, USUAL_LOG};

/// Goes on with the lanes as far as no bound can be reached; none of them, if a stream is too short to begin with.
pub(super) fn run(
    kernel: Kernel,
    block: &[u8],
    lanes: &mut [Lane; 4],
    out: &mut [u8],
    tables: &Tables,
    multiple: bool,
) {
    if lanes.iter().any(|lane| lane.end - lane.start < WORD) {
        return;
    }
    let work = Work { block, out, tables, multiple };
    match kernel {
        Kernel::Portable => steps(lanes, work),
        // SAFETY: `Kernel::detect` alone makes this one, where the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Kernel::Bmi2 => unsafe { steps_bmi2(lanes, work) },
    }
}

struct Work<'a> {
    block: &'a [u8],
    out: &'a mut [u8],
    tables: &'a Tables,
    multiple: bool,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
fn steps_bmi2(lanes: &mut [Lane; 4], work: Work) {
    steps(lanes, work);
}

#[inline(always)]
fn steps(lanes: &mut [Lane; 4], work: Work) {
    match (work.tables.log, work.multiple) {
        (USUAL_LOG, false) => singles::<11, 5>(lanes, work),
        (USUAL_LOG, true) => multiples::<11, 5>(lanes, work),
        (_, false) => singles::<12, 4>(lanes, work),
        (_, true) => multiples::<12, 4>(lanes, work),
    }
}

/// Bytes of what is looked up at a time.
const WORD: usize = 8;
/// Bytes that a lane goes back between two looks at the bounds, at most: 55 bits and the 7 that may be left from before.
const BACK: usize = 7;

/// The words that four lanes are reading.
///
/// Invariants: `at[lane]` bytes into the block there are `WORD` more. `bits[lane]` is the word there, its read bits shifted out and
/// a one shifted in behind the last bit, in place of that one. So the number of zeros below is that of bits read of the word.
struct Words {
    bits: [u64; 4],
    at: [usize; 4],
}

impl Words {
    /// Words at the ends of all lanes, each of which has at least `WORD` bytes.
    #[inline(always)]
    fn new(block: &[u8], lanes: &[Lane; 4]) -> Self {
        let mut words = Words { bits: [0; 4], at: [0; 4] };
        for (lane, from) in lanes.iter().enumerate() {
            words.at[lane] = from.end - WORD;
            let bytes = block[words.at[lane]..].first_chunk().copied().unwrap_or_default();
            let read = (from.end - from.start) as isize * 8 - from.left;
            words.bits[lane] = (u64::from_le_bytes(bytes) | 1) << read;
        }
        words
    }

    /// Steps that all lanes can go back before one might come to the beginning of the block.
    #[inline(always)]
    fn steps(&self) -> usize {
        self.at.iter().min().map_or(0, |at| at / BACK)
    }

    /// Takes the next word of a lane.
    ///
    /// # Safety
    /// `block` is the beginning of the block, `at[lane]` at least `BACK`, and at most 55 bits were read since the last time.
    #[inline(always)]
    unsafe fn refill(&mut self, block: *const u8, lane: usize) {
        let read = self.bits[lane].trailing_zeros();
        self.at[lane] -= (read >> 3) as usize;
        // SAFETY: at most 62 bits are read, which is no more than `BACK` bytes; so the place is still in the block, and as
        // places only go back there are `WORD` bytes.
        let word = unsafe { block.add(self.at[lane]).cast::<u64>().read_unaligned() };
        self.bits[lane] = (u64::from_le(word) | 1) << (read & 7);
    }

    /// Tells the lanes how far they are read.
    #[inline(always)]
    fn leave(&self, lanes: &mut [Lane; 4]) {
        for (lane, to) in lanes.iter_mut().enumerate() {
            let read = self.bits[lane].trailing_zeros() as isize;
            to.left = (self.at[lane] as isize - to.start as isize + WORD as isize) * 8 - read;
        }
    }
}

/// One symbol at a time.
#[inline(always)]
fn singles<const LOG: u32, const PER: usize>(lanes: &mut [Lane; 4], work: Work) {
    let table = work.tables.single.as_ptr();
    let block = work.block.as_ptr();
    let mut words = Words::new(work.block, lanes);
    let quarter = lanes[1].next - lanes[0].next;
    // The last lane makes no more than the others, and all are in step.
    let (mut done, end) = (0, lanes[3].stop - lanes[3].next);
    loop {
        let steps = words.steps().min((end - done) / PER);
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            // SAFETY: `done + PER` is at most what the last lane makes, so the place is in the quarter of each.
            let out = unsafe { work.out.as_mut_ptr().add(done) };
            for symbol in 0..PER {
                for lane in 0..4 {
                    let index = (words.bits[lane] >> (64 - LOG)) as usize;
                    // SAFETY: `LOG` bits are an index into a table that has 2^12 entries; the place is in the lane's quarter.
                    unsafe {
                        let entry = *table.add(index);
                        words.bits[lane] <<= entry & 63;
                        *out.add(lane * quarter + symbol) = (entry >> 8) as u8;
                    }
                }
            }
            for lane in 0..4 {
                // SAFETY: `Words::steps` has allowed for this step, and `PER` codes are no more than 55 bits.
                unsafe { words.refill(block, lane) };
            }
            done += PER;
        }
    }
    lanes.iter_mut().for_each(|lane| lane.next += done);
    words.leave(lanes);
}

/// One to three symbols at a time.
#[inline(always)]
fn multiples<const LOG: u32, const PER: usize>(lanes: &mut [Lane; 4], work: Work) {
    let table = work.tables.multiple.as_ptr();
    let block = work.block.as_ptr();
    let out = work.out.as_mut_ptr();
    let mut words = Words::new(work.block, lanes);
    let mut next = [lanes[0].next, lanes[1].next, lanes[2].next, lanes[3].next];
    // Three symbols a time are made at most, and a fourth byte written behind the last.
    let most = 3 * PER;
    loop {
        let room = (0..4).map(|lane| (lanes[lane].stop - next[lane]).saturating_sub(1) / most).min().unwrap_or(0);
        let steps = words.steps().min(room);
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            for _ in 0..PER {
                for lane in 0..4 {
                    let index = (words.bits[lane] >> (64 - LOG)) as usize;
                    // SAFETY: `LOG` bits are an index into a table that has 2^12 entries; `room` steps write nothing behind
                    // the end of the lane.
                    unsafe {
                        let entry = *table.add(index);
                        words.bits[lane] <<= entry & 63;
                        out.add(next[lane]).cast::<u32>().write_unaligned((entry >> 8).to_le());
                        next[lane] += ((entry >> 6) & 3) as usize;
                    }
                }
            }
            for lane in 0..4 {
                // SAFETY: `Words::steps` has allowed for this step, and `PER` entries are no more than 55 bits.
                unsafe { words.refill(block, lane) };
            }
        }
    }
    lanes.iter_mut().zip(next).for_each(|(lane, next)| lane.next = next);
    words.leave(lanes);
}
