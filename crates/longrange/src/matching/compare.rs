//! Lengths of common prefixes and suffixes.

/// Length of the common prefix of `a` and `b` in bytes.
pub(crate) fn forward(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let (words_a, rest_a) = a[..most].as_chunks::<8>();
    let (words_b, rest_b) = b[..most].as_chunks::<8>();
    let differing = words_a.iter().zip(words_b).position(|(x, y)| x != y);
    if let Some(word) = differing {
        let bits = u64::from_le_bytes(words_a[word]) ^ u64::from_le_bytes(words_b[word]);
        return word * 8 + bits.trailing_zeros() as usize / 8;
    }
    most - rest_a.len() + rest_a.iter().zip(rest_b).take_while(|(x, y)| x == y).count()
}

/// Length of the common suffix of `a` and `b` in bytes.
pub(crate) fn backward(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let (rest_a, words_a) = a[a.len() - most..].as_rchunks::<8>();
    let (rest_b, words_b) = b[b.len() - most..].as_rchunks::<8>();
    let differing = words_a.iter().rev().zip(words_b.iter().rev()).position(|(x, y)| x != y);
    if let Some(word) = differing {
        let last = words_a.len() - 1 - word;
        let bits = u64::from_le_bytes(words_a[last]) ^ u64::from_le_bytes(words_b[last]);
        return word * 8 + bits.leading_zeros() as usize / 8;
    }
    most - rest_a.len() + rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_comparison_byte_by_byte(same in proptest::collection::vec(any::<u8>(), 0..70), a in proptest::collection::vec(any::<u8>(), 0..20), b in proptest::collection::vec(any::<u8>(), 0..20)) {
            let left = [&same[..], &a].concat();
            let right = [&same[..], &b].concat();
            let naive = left.iter().zip(&right).take_while(|(x, y)| x == y).count();
            prop_assert_eq!(forward(&left, &right), naive);
            let (left, right): (Vec<u8>, Vec<u8>) = (left.into_iter().rev().collect(), right.into_iter().rev().collect());
            prop_assert_eq!(backward(&left, &right), naive);
        }
    }
}
