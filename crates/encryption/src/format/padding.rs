//! Padding of a content, which hides its length: zeros, then the length of the content before them.

/// Bytes of the length at the end of a padded content.
pub(crate) const LENGTH: usize = 8;

/// Rounds a length up by the Padmé rule, so that only its highest bits vary: as many as the binary logarithm has digits. At most 12 % more.
fn padme(length: u64) -> u64 {
    let Some(log @ 1..) = length.checked_ilog2() else { return length };
    let kept = log.ilog2() + 1;
    length.checked_next_multiple_of(1 << (log - kept)).unwrap_or(u64::MAX)
}

/// Number of zeros between `content` bytes of content and the length.
pub(crate) fn zeros(content: u64) -> u64 {
    let least = content.saturating_add(LENGTH as u64);
    padme(least) - least
}

/// Returns the bytes of content in `padded` bytes that end with `length`. `None` if there are fewer.
pub(crate) fn content_of(padded: u64, length: [u8; LENGTH]) -> Option<u64> {
    let content = u64::from_le_bytes(length);
    (content <= padded.checked_sub(LENGTH as u64)?).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_highest_bits_vary() {
        // The numbers in the paper (PURBs, section 4): 9 bytes become 10.
        for (length, padded) in [(0, 0), (1, 1), (7, 7), (9, 10), (255, 256), (1025, 1088), (1 << 40, 1 << 40)] {
            assert_eq!(padme(length), padded, "{length}");
        }
        assert_eq!(padme((1 << 40) + 1), (1 << 40) + (1 << 34));
        for length in (0..5000).chain((13..63).map(|log| (1 << log) + 1)) {
            let padded = padme(length);
            assert!(padded >= length && padme(padded) == padded && (padded - length) / 3 * 25 <= length, "{length}");
        }
        assert_eq!(padme(u64::MAX), u64::MAX);
    }

    #[test]
    fn rejects_lengths_over_the_padded_content() {
        let of = |padded, length: u64| content_of(padded, length.to_le_bytes());
        assert_eq!((of(7, 0), of(8, 0), of(8, 1)), (None, Some(0), None));
        assert_eq!((of(20, 12), of(20, 13), of(20, u64::MAX)), (Some(12), None, None));
    }
}
