//! Content digests, by which equal content is recognised.

use packline_cache::ContentDigest;

/// A [`ContentDigest`], or one of a list of them: equal digests are taken for equal content and nothing is read back to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; ContentDigest::LENGTH]);

impl Digest {
    /// The start of every chain.
    pub(crate) const EMPTY: Digest = Digest([0; 24]);

    /// The digest of a block or tail end. `stored` distinguishes content that must not be compressed, so that it is never shared with the
    /// same content compressed.
    pub(crate) fn of(content: &[u8], stored: bool) -> Digest {
        let mut digest = Digest(*ContentDigest::of(content).bytes());
        digest.0[23] ^= u8::from(stored);
        digest
    }

    /// The digest of the content alone, if it is not one that must not be compressed.
    pub(crate) fn content(&self) -> ContentDigest {
        ContentDigest::from(self.0)
    }

    /// Extends the digest of a list of blocks by one block.
    pub(crate) fn chain(&self, next: &Digest) -> Digest {
        let mut both = [0; 48];
        both[..24].copy_from_slice(&self.0);
        both[24..].copy_from_slice(&next.0);
        Digest::of(&both, false)
    }

    /// 64 bits as a hash for tables.
    pub(crate) fn bits(&self) -> u64 {
        self.content().bits()
    }
}

/// 64 bits of a content's digest.
pub(crate) fn hash(content: &[u8]) -> u64 {
    Digest::of(content, false).bits()
}

/// Whether all bytes are zero. Compares the content with itself, shifted by one byte, by the C library's memcmp, which is vectorised and
/// stops at the first difference.
pub(crate) fn is_zero(content: &[u8]) -> bool {
    match content.split_first() {
        Some((0, rest)) => rest == &content[..rest.len()],
        Some(_) => false,
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_distinguished() {
        let mut content = vec![0; 5000];
        assert!(is_zero(&content));
        for at in [0, 1, 2499, 4999] {
            content[at] = 1;
            assert!(!is_zero(&content), "a one at {at}");
            content[at] = 0;
        }
        assert!(is_zero(&[]));
    }

    #[test]
    fn stored_content_has_a_digest_of_its_own() {
        assert_ne!(Digest::of(b"a", false), Digest::of(b"a", true));
        assert_eq!(Digest::of(b"a", false), Digest::of(b"a", false));
        assert_ne!(Digest::of(b"a", false), Digest::of(b"b", false));
    }

    #[test]
    fn a_chain_depends_on_order() {
        let a = Digest::of(b"a", false);
        let b = Digest::of(b"b", false);
        assert_ne!(Digest::EMPTY.chain(&a).chain(&b), Digest::EMPTY.chain(&b).chain(&a));
    }
}
