//! Finds runs of zeros, a window of bytes at a time.

use super::window::zeros;
use super::{MOST_ZEROS, N};
use crate::CodecError;
use crate::bounded::Compressor;

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
