//! The sketch and the kind of a content.

/// Bytes of a substring.
const SUBSTRING: usize = 8;
/// Number of bytes at the start of a content that decide whether it is text.
const HEAD: usize = 512;

/// Kinds of contents, in the order in which they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ContentKind {
    Elf,
    Gzip,
    /// A zero is near the start.
    Binary,
    Text,
}

pub(crate) fn content_kind(content: &[u8]) -> ContentKind {
    match content {
        [0x7f, b'E', b'L', b'F', ..] => ContentKind::Elf,
        [0x1f, 0x8b, ..] => ContentKind::Gzip,
        _ if memchr::memchr(0, &content[..content.len().min(HEAD)]).is_some() => ContentKind::Binary,
        _ => ContentKind::Text,
    }
}

/// Adds the features of a content. Substrings are spread over `minima` classes (a power of two), and the lowest hash of each
/// class that occurs becomes a feature. A content shorter than a substring has no features.
pub(crate) fn sketch(content: &[u8], minima: &mut [u64], features: &mut Vec<u32>) {
    minima.fill(u64::MAX);
    let mask = minima.len() as u64 - 1;
    for window in content.windows(SUBSTRING) {
        let Ok(word) = <[u8; SUBSTRING]>::try_from(window) else { continue };
        let hash = mixed(u64::from_le_bytes(word));
        let least = &mut minima[(hash & mask) as usize];
        *least = (*least).min(hash >> 6);
    }
    let found = minima.iter().enumerate().filter(|(_, least)| **least < u64::MAX);
    // The lowest hashes are small numbers, so they are mixed again to differ in all bits.
    features
        .extend(found.map(|(class, least)| (mixed(least.wrapping_mul(64).wrapping_add(class as u64)) >> 32) as u32));
}

fn mixed(word: u64) -> u64 {
    let product = (word ^ word >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(content: &[u8]) -> Vec<u32> {
        let mut features = Vec::new();
        sketch(content, &mut [0; 64], &mut features);
        features
    }

    fn shared(one: &[u8], other: &[u8]) -> usize {
        let one = features(one);
        let other = features(other);
        one.iter().filter(|feature| other.contains(feature)).count()
    }

    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed;
        std::iter::repeat_with(|| {
            state = mixed(state.wrapping_add(0x1234_5678_9abc_def1));
            state as u8
        })
        .take(length)
        .collect()
    }

    #[test]
    fn similar_contents_share_features_and_others_do_not() {
        let content = noise(1, 20_000);
        let mut changed = content.clone();
        changed.drain(3_000..3_100);
        changed[9_000] ^= 1;
        assert_eq!(shared(&content, &content), 64);
        assert!(shared(&content, &changed) > 48);
        assert_eq!(shared(&content, &noise(2, 20_000)), 0);
        let half = [&content[..10_000], &noise(3, 10_000)].concat();
        assert!((8..48).contains(&shared(&content, &half)), "{}", shared(&content, &half));
    }

    #[test]
    fn short_contents_have_few_features() {
        assert!(features(b"1234567").is_empty());
        assert_eq!(features(b"12345678").len(), 1);
        assert_eq!(features(&[0; 5_000]).len(), 1);
    }

    #[test]
    fn kinds_are_found_by_the_first_bytes() {
        let kinds = [&b"\x7fELF\x02"[..], b"\x1f\x8b\x08", b"a\0b", b"#!/bin/sh\n", b""].map(content_kind);
        use ContentKind::*;
        assert_eq!(kinds, [Elf, Gzip, Binary, Text, Text]);
    }
}
