//! The hash of a block: SHA-256 of the salt and the block.

use sha2::{Digest as _, Sha256};

/// Bytes of a hash.
pub(crate) const DIGEST: usize = 32;

/// A hash of a block.
pub type Digest = [u8; DIGEST];

/// SHA-256 that has taken the salt.
#[derive(Debug, Clone)]
pub(crate) struct Salted(Sha256);

impl Salted {
    pub(crate) fn new(salt: &[u8]) -> Salted {
        Salted(Sha256::new().chain_update(salt))
    }

    pub(crate) fn digest(&self, block: &[u8]) -> Digest {
        self.0.clone().chain_update(block).finalize().into()
    }
}
