//! Hashes of blocks: SHA-256 of the salt and the block.

use packline_runtime::from_hex;
use sha2::{Digest as _, Sha256};

/// Bytes of a hash.
pub(crate) const DIGEST: usize = 32;

/// A hash of a block.
pub type Digest = [u8; DIGEST];

/// A SHA-256 state after the salt.
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

/// Parses a root hash in hexadecimal. White space around it is allowed, as in a file.
///
/// # Errors
/// A message that describes the expected form.
pub fn parse_root_hash(text: &str) -> Result<Digest, String> {
    let bytes = from_hex(text.trim().as_bytes()).and_then(|bytes| Digest::try_from(bytes).ok());
    bytes.ok_or_else(|| "invalid root hash (expected 64 hexadecimal digits)".to_string())
}
