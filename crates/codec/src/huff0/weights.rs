//! The code description at the start of a block: a weight for each symbol except the last, whose weight follows from the others.

use super::encode::lengths::{Lengths, SYMBOLS};
use super::{MAX_BITS, fse};

/// A first byte of at least this value counts weights of 4 bits each. A lower one is the size of coded weights.
const RAW: usize = 128;
/// Maximum size of a description.
pub(super) const MAX_SIZE: usize = 1 + RAW;

/// The weight of each symbol: 0 if the symbol does not occur, otherwise 1 plus the difference of its code length to the longest.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    /// Weight by symbol.
    pub(super) of: [u8; SYMBOLS],
    /// Bits of the longest code.
    pub(super) longest: u32,
    /// Number of symbols of each weight.
    pub(super) symbols: [u16; MAX_BITS as usize + 1],
}

/// Writes the description of a code. `None` if it takes more than [`MAX_SIZE`] bytes, which no useful code does.
pub(super) fn write(lengths: &Lengths, out: &mut [u8; MAX_SIZE]) -> Option<usize> {
    let mut weights = [0; SYMBOLS];
    for (weight, bits) in weights.iter_mut().zip(lengths.of) {
        *weight = if bits == 0 { 0 } else { (lengths.longest + 1) as u8 - bits };
    }
    let listed = &weights[..lengths.last];
    if let Some(size) =
        write_coded(listed, &mut out[1..RAW]).filter(|size| listed.len() > RAW || *size < listed.len().div_ceil(2))
    {
        out[0] = size as u8;
        return Some(1 + size);
    }
    write_raw(listed, out)
}

fn write_coded(weights: &[u8], out: &mut [u8]) -> Option<usize> {
    let differ = weights.iter().any(|weight| *weight != weights[0]);
    if differ { fse::write(weights, out) } else { None }
}

fn write_raw(weights: &[u8], out: &mut [u8; MAX_SIZE]) -> Option<usize> {
    if weights.len() > RAW {
        return None;
    }
    out[0] = (RAW - 1 + weights.len()) as u8;
    for (byte, pair) in out[1..].iter_mut().zip(weights.chunks(2)) {
        *byte = pair[0] << 4 | pair.get(1).copied().unwrap_or(0);
    }
    Some(1 + weights.len().div_ceil(2))
}

/// Reads the description at the start of a block. Also returns its size.
pub(super) fn read(block: &[u8]) -> Result<(Weights, usize), &'static str> {
    let (first, rest) = block.split_first().ok_or("the description of the code is missing")?;
    let first = usize::from(*first);
    let mut weights = [0; 255];
    let (listed, size) = if first < RAW {
        let bytes = rest.get(..first).ok_or("the description of the code is cut off")?;
        (fse::read(bytes, &mut weights)?, first)
    } else {
        let listed = first + 1 - RAW;
        let bytes = rest.get(..listed.div_ceil(2)).ok_or("the description of the code is cut off")?;
        for (pair, byte) in weights.chunks_mut(2).zip(bytes) {
            pair[0] = byte >> 4;
            if let Some(weight) = pair.get_mut(1) {
                *weight = byte & 15;
            }
        }
        (listed, bytes.len())
    };
    Ok((complete(&weights[..listed])?, 1 + size))
}

/// Adds the last symbol's weight: the difference to the next power of two.
fn complete(listed: &[u8]) -> Result<Weights, &'static str> {
    let mut weights = Weights { of: [0; SYMBOLS], longest: 0, symbols: [0; MAX_BITS as usize + 1] };
    let mut sum = 0_u32;
    for (to, weight) in weights.of.iter_mut().zip(listed) {
        *weights.symbols.get_mut(usize::from(*weight)).ok_or("a weight of more than 12")? += 1;
        sum += (1 << weight) >> 1;
        *to = *weight;
    }
    weights.longest = sum.checked_ilog2().ok_or("all weights are 0")? + 1;
    if weights.longest > MAX_BITS {
        return Err("codes of more than 12 bits");
    }
    let rest = (1 << weights.longest) - sum;
    if !rest.is_power_of_two() {
        return Err("weights whose rest for the last symbol is not a power of two");
    }
    let last = rest.ilog2() + 1;
    weights.of[listed.len()] = last as u8;
    weights.symbols[last as usize] += 1;
    // The longest codes come in pairs. Otherwise the tree has a node with one child.
    if weights.symbols[1] < 2 || weights.symbols[1] % 2 == 1 {
        return Err("weights that do not form a tree");
    }
    Ok(weights)
}
