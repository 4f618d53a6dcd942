//! Loads, comparisons and hashes of several bytes at a time.

/// Four bytes as a little-endian number; 0 if fewer are left.
#[inline]
pub(crate) fn four(src: &[u8], at: usize) -> u32 {
    src.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// Eight bytes as a little-endian number; 0 if fewer are left.
#[inline]
pub(crate) fn eight(src: &[u8], at: usize) -> u64 {
    src.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Returns the number of equal bytes from `one` and from `other`, which is after it.
#[inline]
pub(crate) fn match_length(src: &[u8], one: usize, other: usize) -> usize {
    let mut length = 0;
    while other + length + 8 <= src.len() {
        let differing = eight(src, one + length) ^ eight(src, other + length);
        if differing != 0 {
            return length + (differing.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = src[other + length..].iter().zip(&src[one + length..]);
    length + rest.take_while(|(there, here)| there == here).count()
}

/// As [`match_length`], but at most `most`, for callers that find many lengths which may all be long.
#[inline]
pub(crate) fn bounded_match_length(src: &[u8], one: usize, other: usize, most: usize) -> usize {
    match_length(&src[..src.len().min(other + most)], one, other)
}

/// A multiplicative hash, best in its high bits.
#[inline(always)]
fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The slot of a key in a table of 2^`bits` entries.
#[inline(always)]
pub(crate) fn slot(key: u64, bits: u32) -> usize {
    (hash(key) >> (64 - bits)) as usize
}

/// A hash of the first four of eight bytes, for combining with other bytes by exclusive or.
#[inline(always)]
pub(crate) fn spread(bytes: u64) -> u64 {
    hash(bytes << 32).rotate_left(32)
}
