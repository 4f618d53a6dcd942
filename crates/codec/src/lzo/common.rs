//! Looking at bytes several at a time.

/// Four bytes, as a number.
#[inline]
pub(super) fn four(src: &[u8], at: usize) -> u32 {
    src.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[inline]
fn eight(src: &[u8], at: usize) -> Option<u64> {
    let bytes = src.get(at..at + 8)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// How many bytes from `one` and from `other`, which is behind it, are the same.
#[inline]
pub(super) fn match_length(src: &[u8], one: usize, other: usize) -> usize {
    let mut length = 0;
    while let Some(there) = eight(src, other + length) {
        let differing = there ^ eight(src, one + length).unwrap_or(!there);
        if differing != 0 {
            return length + (differing.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = src[other + length..].iter().zip(&src[one + length..]);
    length + rest.take_while(|(there, here)| there == here).count()
}
