//! Encodes streams from the last symbol to the first, because a decoder starts at the end and gets the first symbol first.

#[cfg(target_arch = "x86_64")]
mod avx512;
pub(super) mod histogram;
pub(super) mod lengths;
mod limited;

use super::bits::Forward;
use crate::processor::Kernel;
use lengths::{Lengths, SYMBOLS};

/// The codes of all symbols, shifted for joining.
#[derive(Debug)]
pub(super) struct Codes {
    /// By symbol: the code in the highest bits, its length in the lowest.
    of: [u64; SYMBOLS],
    longest: u32,
    /// Whether eight symbols often exceed a word.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) dense: bool,
}

impl Codes {
    /// Canonical codes: the longest codes begin with 0, and of codes of equal length the lower symbol has the lower code. The `symbols`
    /// symbols of the block take `total` bits.
    pub(super) fn new(lengths: &Lengths, symbols: usize, total: u64) -> Self {
        let at = histogram::count_small(&lengths.of);
        let mut next = [0_u64; 16];
        let mut code = 0;
        for bits in (1..=lengths.longest as usize).rev() {
            next[bits] = code;
            code = (code + u64::from(at[bits])) >> 1;
        }
        let mut of = [0; SYMBOLS];
        for (packed, bits) in of.iter_mut().zip(lengths.of).filter(|(_, bits)| *bits > 0) {
            let code = &mut next[usize::from(bits & 15)];
            *packed = *code << (64 - u32::from(bits)) | u64::from(bits);
            *code += 1;
        }
        Codes { of, longest: lengths.longest, dense: total > 6 * symbols as u64 }
    }

    /// The codes as words of 16 bits: the code, and its length in the highest four bits.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn words(&self) -> [u16; SYMBOLS] {
        self.of.map(|packed| {
            let length = packed & 63;
            (packed.unbounded_shr(64 - length as u32) | length << 12) as u16
        })
    }
}

/// Writes the stream of `src`, which is not empty and contains only symbols of the code. `None` if it does not fit.
pub(super) fn stream(kernel: Kernel, src: &[u8], codes: &Codes, out: &mut [u8]) -> Option<usize> {
    let tail = Tail { size: 0, held: 0, bits: 0 };
    match kernel {
        Kernel::Portable => any(src, codes, out, tail),
        // SAFETY: only `Kernel::detect` returns this variant, where the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Kernel::Bmi2 => unsafe { any_bmi2(src, codes, out, tail) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512 => unsafe {
            let mut tail = tail;
            let rest = avx512::encode_groups(src, codes, out, &mut tail);
            any_bmi2(rest, codes, out, tail)
        },
    }
}

/// End of a stream that is being written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    /// Bytes written.
    pub(super) size: usize,
    /// Bits after these bytes.
    pub(super) held: u64,
    /// Number of held bits, fewer than 8.
    pub(super) bits: u32,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,avx2")]
fn any_bmi2(src: &[u8], codes: &Codes, out: &mut [u8], tail: Tail) -> Option<usize> {
    any(src, codes, out, tail)
}

/// Encodes as many symbols at a time as always fit into a word.
#[inline(always)]
fn any(src: &[u8], codes: &Codes, out: &mut [u8], tail: Tail) -> Option<usize> {
    match codes.longest {
        0..=7 => groups::<8>(src, codes, out, tail),
        8 => groups::<7>(src, codes, out, tail),
        9 => groups::<6>(src, codes, out, tail),
        10..=11 => groups::<5>(src, codes, out, tail),
        _ => groups::<4>(src, codes, out, tail),
    }
}

#[inline(always)]
fn groups<const SIZE: usize>(src: &[u8], codes: &Codes, out: &mut [u8], tail: Tail) -> Option<usize> {
    let (first, mut groups) = src.as_rchunks::<SIZE>();
    let whole = out.len();
    let mut left = out.get_mut(tail.size..)?;
    let mut held = HeldBits::new(tail);
    // Loops while two complete words may be written, even if few of their bits are used.
    while let Some(to) = left.first_chunk_mut::<16>() {
        let Some((others, [former, latter])) = groups.split_last_chunk() else { break };
        let latter = join(latter, codes);
        let former = join(former, codes);
        let latter_end = held.put(latter, to, 0);
        let end = held.put(former, to, latter_end);
        left = &mut left[end..];
        groups = others;
    }
    let Tail { size, held, bits } = held.tail(whole - left.len());
    let mut end = Forward::resumed(out, size, held, bits)?;
    for symbol in groups.as_flattened().iter().rev().chain(first.iter().rev()) {
        let packed = codes.of[usize::from(*symbol)];
        end = end.put(packed >> (64 - (packed & 63)), (packed & 63) as u32)?;
    }
    end.end_marked()
}

/// Bits not yet written, in the highest places of a word. The bits below them are already written.
struct HeldBits {
    word: u64,
    /// Number of bits, fewer than 8.
    bits: u32,
}

impl HeldBits {
    fn new(tail: Tail) -> Self {
        HeldBits { word: tail.held.unbounded_shl(64 - tail.bits), bits: tail.bits }
    }

    /// Appends a joined group, writes the complete bytes (at most 7) at `at`, and returns their end.
    #[inline(always)]
    fn put(&mut self, group: Joined, to: &mut [u8; 16], at: usize) -> usize {
        self.word = self.word >> (group.bits & 63) | group.code;
        // At most 63: up to 56 are added to up to 7.
        let bits = (self.bits + group.bits) & 63;
        let low = self.word >> ((64 - bits) & 63);
        to[at..at + 8].copy_from_slice(&low.to_le_bytes());
        self.bits = bits & 7;
        at + (bits as usize >> 3)
    }

    /// The held bits as a [`Tail`] after `size` bytes.
    fn tail(&self, size: usize) -> Tail {
        Tail { size, held: self.word.unbounded_shr(64 - self.bits), bits: self.bits }
    }
}

/// The codes of a group, joined in the highest bits of a word, the first symbol's uppermost.
#[derive(Clone, Copy)]
struct Joined {
    code: u64,
    bits: u32,
}

/// Joins the codes of a group. The chain of shifts does not depend on other groups, so that groups overlap in the processor.
#[inline(always)]
fn join<const SIZE: usize>(group: &[u8; SIZE], codes: &Codes) -> Joined {
    let mut code = 0;
    let mut lengths = 0_u64;
    for symbol in group.iter().rev() {
        let packed = codes.of[usize::from(*symbol)];
        // The lengths in the lowest bits are added too; they stay below the 56 bits that are used.
        code = code >> (packed & 63) | packed;
        // This also adds the codes, above the bits that are used.
        lengths = lengths.wrapping_add(packed);
    }
    Joined { code: code & !63, bits: lengths as u32 }
}
