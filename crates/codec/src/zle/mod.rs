//! ZLE: run-length coding of zeros. The format is that of OpenZFS (`module/zfs/zle.c`) with n = 64.
//!
//! A block is a sequence of tokens of a byte each:
//!
//! | token | followed by | content |
//! |---|---|---|
//! | 0 to 63 | token + 1 bytes | these bytes |
//! | 64 to 255 | nothing | token - 63 zeros |
//!
//! A single zero is one of the bytes of a token below 64; two zeros in a row end the token. The output equals that of OpenZFS byte for byte
//! wherever OpenZFS has enough space.

use crate::traits::Compressor;
use crate::{CodecError, Decoder};

pub(crate) const NAME: &str = "zle";

pub(crate) const HELP: &str = "\
zle: run-length coding of zeros, as in OpenZFS; no parameters
";

/// Maximum number of bytes after a token, and the first token of a run of zeros.
const N: usize = 64;
/// Maximum number of zeros of one token.
const MOST_ZEROS: usize = 256 - N;

/// Expands runs of zeros with wide writes where the destination has space.
pub(crate) struct ZleDecoder;

impl Decoder for ZleDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let capacity = dst.len();
        decode(src, dst).map_err(|fault| match fault {
            Fault::Cut => CodecError::Malformed { codec: NAME, size: src.len(), reason: "ends within a run of bytes" },
            Fault::TooLong => CodecError::TooLong { codec: NAME, size: src.len(), capacity },
        })
    }
}

enum Fault {
    /// Fewer bytes follow a token than it announces.
    Cut,
    /// The content exceeds the destination.
    TooLong,
}

fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize, Fault> {
    let mut rest = src;
    let mut at = 0;
    while let Some((&token, after)) = rest.split_first() {
        let token = usize::from(token);
        let out = &mut dst[at..];
        rest = after;
        if token < N {
            put_bytes(rest, token + 1, out)?;
            rest = &rest[token + 1..];
            at = at + token + 1;
        } else {
            put_zeros(token - N + 1, out)?;
            at += token - N + 1;
        }
    }
    Ok(at)
}

/// Copies the first `length` bytes, at most [`N`]; may write up to [`N`].
#[inline]
fn put_bytes(src: &[u8], length: usize, out: &mut [u8]) -> Result<(), Fault> {
    if let (Some(from), Some(to)) = (src.first_chunk::<N>(), out.first_chunk_mut::<N>()) {
        *to = *from;
        return Ok(());
    }
    let from = src.get(..length).ok_or(Fault::Cut)?;
    out.get_mut(..length).ok_or(Fault::TooLong)?.copy_from_slice(from);
    Ok(())
}

/// Writes `length` zeros, at most [`MOST_ZEROS`]; may write up to [`MOST_ZEROS`].
#[inline]
fn put_zeros(length: usize, out: &mut [u8]) -> Result<(), Fault> {
    let Some((first, more)) = out.first_chunk_mut::<MOST_ZEROS>().and_then(|out| out.split_first_chunk_mut::<N>())
    else {
        out.get_mut(..length).ok_or(Fault::TooLong)?.fill(0);
        return Ok(());
    };
    *first = [0; N];
    if length > N {
        more.fill(0);
    }
    Ok(())
}

/// Finds runs of zeros, a window of bytes at a time.
pub(crate) struct ZleEncoder;

impl Compressor for ZleEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(encode(src, out))
    }
}

/// Returns the size of the block, or `None` if it does not fit.
fn encode(src: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut rest = src;
    let mut at = 0;
    while let Some(window) = rest.first_chunk::<N>() {
        let (taken, put) = step(window, N, rest, &mut out[at..])?;
        rest = &rest[taken..];
        at += put;
    }
    while !rest.is_empty() {
        // The padding is not zero, so that no run extends beyond the end.
        let mut window = [0xFF; N];
        window[..rest.len()].copy_from_slice(rest);
        let (taken, put) = step(&window, rest.len(), rest, &mut out[at..])?;
        rest = &rest[taken..];
        at += put;
    }
    Some(at)
}

/// Writes one token and its bytes. `window` is the first `size` bytes of `rest`. Returns the bytes consumed and written.
#[inline(always)] // with a constant size
fn step(window: &[u8; N], size: usize, rest: &[u8], out: &mut [u8]) -> Option<(usize, usize)> {
    let zeros = zeros(window);
    let (token, after) = out.split_first_mut()?;
    if zeros & 1 == 1 {
        let run = zero_run(zeros, rest);
        *token = (N + run - 1) as u8;
        return Some((run, 1));
    }
    let length = literals(zeros, size);
    *token = (length - 1) as u8;
    match after.first_chunk_mut::<N>() {
        Some(whole) => *whole = *window, // the excess is overwritten later
        None => after.get_mut(..length)?.copy_from_slice(&window[..length]),
    }
    Some((length, 1 + length))
}

/// Number of bytes of a window of `size` bytes before two consecutive zeros. The first byte is not zero. A zero at the end of the window
/// may start a run, and is left for the next token.
fn literals(zeros: u64, size: usize) -> usize {
    let pairs = zeros & (zeros >> 1);
    match pairs {
        0 => size - (zeros >> (size - 1) & 1) as usize,
        _ => pairs.trailing_zeros() as usize,
    }
}

/// Number of zeros at the start of `rest`, up to the maximum of one token. `zeros` is the mask of the first window.
fn zero_run(zeros: u64, rest: &[u8]) -> usize {
    let first = zeros.trailing_ones() as usize;
    if first < N { first } else { N + more_zeros(&rest[N..rest.len().min(MOST_ZEROS)]) }
}

fn more_zeros(rest: &[u8]) -> usize {
    let (windows, last) = rest.as_chunks::<N>();
    let full = windows.iter().take_while(|window| zeros(window) == u64::MAX).count();
    let tail = windows.get(full).map_or(last, |window| window);
    full * N + tail.iter().take_while(|byte| **byte == 0).count()
}

/// Bit i is set where byte i is zero.
fn zeros(window: &[u8; N]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    return sse2::zeros(window);
    #[cfg(not(target_arch = "x86_64"))]
    portable(window)
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::N;
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_setzero_si128};

    /// As [`super::zeros`], a quarter at a time.
    #[inline]
    pub(super) fn zeros(window: &[u8; N]) -> u64 {
        let (quarters, _) = window.as_chunks::<16>();
        let bits = |quarter: &[u8; 16]| {
            // SAFETY: every x86-64 processor has SSE2. The load reads the 16 borrowed bytes, at any alignment.
            let mask = unsafe {
                let bytes = _mm_loadu_si128(quarter.as_ptr().cast());
                _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()))
            };
            u64::from(mask as u16)
        };
        bits(&quarters[0]) | bits(&quarters[1]) << 16 | bits(&quarters[2]) << 32 | bits(&quarters[3]) << 48
    }
}

/// As [`zeros`], eight bytes at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn portable(window: &[u8; N]) -> u64 {
    let (words, _) = window.as_chunks::<8>();
    words.iter().rev().fold(0, |bits, &word| bits << 8 | zeros_of_word(u64::from_le_bytes(word)))
}

/// Bit i of the lowest 8 is set where byte i of the word is zero.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn zeros_of_word(word: u64) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x7F; 8]);
    // The highest bit of each byte is set where any of its bits is. No sum carries into the next byte.
    let some = ((word & LOW) + LOW) | word;
    let zero = (!(some | LOW)) >> 7;
    // Moves bit 0 of byte i to bit 56 + i. All other bits move elsewhere.
    zero.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests;
