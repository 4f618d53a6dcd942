//! Checks whether a block of unknown origin has only the filters and dictionaries of an encoder.

use super::container::{EDGE, LZMA2, dictionary_byte, stream_header};
use super::{Bcj, NAME, XzParams};
use crate::{Choice, CodecError, Set};

/// Flags of a block header: reserved bits, and one flag for each size that the header stores.
const RESERVED: u8 = 0x3c;
const SIZES: [u8; 2] = [0x40, 0x80];

/// Checks that `src` is a stream of one block, with no filter or one of those of `params`, and a dictionary that is not larger than the one
/// of `params`. Nothing else in the stream is checked.
pub(crate) fn check_parameters(params: &XzParams, block_size: usize, src: &[u8]) -> Result<(), CodecError> {
    let bad = |reason| CodecError::Malformed { codec: NAME, size: src.len(), reason };
    if !src.starts_with(&stream_header()) {
        return Err(bad("not a stream with a CRC-32"));
    }
    if count_of_blocks(src) != Some(1) {
        return Err(bad("not one block"));
    }
    let (filters, dictionary) =
        block_filters(src).ok_or_else(|| bad("a block header that our encoders do not write"))?;
    if filters.iter().any(|filter| !params.filters.contains(filter)) {
        return Err(bad("a filter that is not among the parameters"));
    }
    if dictionary > dictionary_byte(params.dict_size(block_size)?) {
        return Err(bad("a dictionary that is larger than a block"));
    }
    Ok(())
}

/// Returns the number of blocks according to the index, which is found through the stream footer.
fn count_of_blocks(src: &[u8]) -> Option<u64> {
    let footer = src.len().checked_sub(EDGE)?;
    let stored = src.get(footer + 4..footer + 8)?;
    let size = (u32::from_le_bytes(stored.try_into().ok()?) as usize).checked_add(1)?.checked_mul(4)?;
    let mut index = src.get(footer.checked_sub(size)?..footer)?;
    match take(&mut index)? {
        0 => number(&mut index),
        _ => None,
    }
}

/// Returns the filters before LZMA2 in the header of the first block, and the dictionary as the header stores it.
fn block_filters(src: &[u8]) -> Option<(Set<Bcj>, u8)> {
    let mut header = src.get(EDGE..)?;
    let length = (usize::from(*header.first()?) + 1) * 4 - 4;
    header = header.get(1..length)?;
    let flags = take(&mut header)?;
    if flags & RESERVED != 0 {
        return None;
    }
    for _ in SIZES.into_iter().filter(|size| flags & size != 0) {
        number(&mut header)?;
    }
    let mut filters = Set::EMPTY;
    for _ in 0..flags & 3 {
        let id = take(&mut header)?;
        filters.insert(Bcj::ALL.iter().copied().find(|filter| filter.id() == id)?);
        // A filter with a start offset is not accepted.
        (take(&mut header)? == 0).then_some(())?;
    }
    match (take(&mut header)?, take(&mut header)?) {
        (LZMA2, 1) => Some((filters, take(&mut header)?)),
        _ => None,
    }
}

/// Reads a number of the format: 7 bits a byte, the lowest first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let byte = take(bytes)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn take(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}
