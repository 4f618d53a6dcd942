//! Content digests, which identify equal content.

use packline_cache::ContentDigest;

use crate::keyed_hash::HashKey;

/// A digest of a content, see [`Digester`], or of a list of digests. Contents with equal digests count as equal; nothing is read back to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; ContentDigest::LENGTH]);

impl Digest {
    /// The digest of an empty list, with which every chain starts.
    pub(crate) const EMPTY: Digest = Digest([0; 24]);

    /// Returns the digest of a block or tail end. Content that must be `stored` uncompressed has another digest, so that it never shares bytes
    /// with the same content compressed.
    pub(crate) fn of(content: &[u8], stored: bool) -> Digest {
        Digest(*ContentDigest::of(content).bytes()).mark(stored)
    }

    fn mark(mut self, stored: bool) -> Digest {
        self.0[23] ^= u8::from(stored);
        self
    }

    /// Returns the digest of the content alone, for content that may be compressed and has a [`ContentDigest`].
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

    /// Returns 64 bits as a hash for tables.
    pub(crate) fn bits(&self) -> u64 {
        self.content().bits()
    }
}

/// How the contents of an image are digested.
#[derive(Debug)]
pub(crate) enum Digester {
    /// Only to compare them with each other, which needs no digest that is the same in other runs.
    Keyed(Box<HashKey>),
    /// As a [`ContentDigest`], to look them up or to verify them, even if they are not compared.
    All,
}

impl Digester {
    /// Returns the digest of a content. Content that must be `stored` has another digest, see [`Digest::of`].
    pub(crate) fn digest(&self, content: &[u8], stored: bool) -> Digest {
        match self {
            Digester::Keyed(key) => {
                let [first, second] = key.hash(content);
                let mut digest = Digest([0; ContentDigest::LENGTH]);
                let parts = [first, second, content.len() as u64];
                for (part, bytes) in parts.into_iter().zip(digest.0.as_chunks_mut().0) {
                    *bytes = part.to_le_bytes();
                }
                digest.mark(stored)
            }
            Digester::All => Digest::of(content, stored),
        }
    }

    /// Whether contents are digested that are not compared with others, too.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Digester::All)
    }
}

/// Returns 64 bits of a content's digest, for [`Hashes`](crate::Hashes).
pub fn hash(content: &[u8]) -> u64 {
    Digest::of(content, false).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_content_has_a_digest_of_its_own() {
        assert_ne!(Digest::of(b"a", false), Digest::of(b"a", true));
        assert_eq!(Digest::of(b"a", false), Digest::of(b"a", false));
        assert_ne!(Digest::of(b"a", false), Digest::of(b"b", false));
    }

    #[test]
    fn digesters_distinguish_lengths_and_stored_content() {
        for digester in [Digester::Keyed(Box::new(HashKey::random())), Digester::All] {
            let zeros = digester.digest(&[0; 100], false);
            assert_eq!(zeros, digester.digest(&[0; 100], false));
            assert_ne!(zeros, digester.digest(&[0; 101], false));
            assert_ne!(zeros, digester.digest(&[0; 100], true));
            assert_ne!(zeros, Digest::EMPTY);
        }
    }

    #[test]
    fn a_chain_depends_on_order() {
        let a = Digest::of(b"a", false);
        let b = Digest::of(b"b", false);
        assert_ne!(Digest::EMPTY.chain(&a).chain(&b), Digest::EMPTY.chain(&b).chain(&a));
    }
}
