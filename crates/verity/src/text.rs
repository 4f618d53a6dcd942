//! Root hashes as text.

use packline_runtime::from_hex;

use crate::Digest;

/// A root hash in hexadecimal, with white space around it as in a file.
///
/// # Errors
/// A message, with the expected form.
pub fn parse_root_hash(text: &str) -> Result<Digest, String> {
    let bytes = from_hex(text.trim().as_bytes()).and_then(|bytes| Digest::try_from(bytes).ok());
    bytes.ok_or_else(|| "not a root hash of SHA-256 (expected 64 hexadecimal digits)".to_string())
}
