//! Hexadecimal text.

use crate::Digest;

/// Bytes of hexadecimal text.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

/// A root hash in hexadecimal, with white space around it as in a file.
///
/// # Errors
/// A message, with the expected form.
pub fn parse_root_hash(text: &str) -> Result<Digest, String> {
    let bytes = from_hex(text.trim()).and_then(|bytes| Digest::try_from(bytes).ok());
    bytes.ok_or_else(|| "not a root hash of SHA-256 (expected 64 hexadecimal digits)".to_string())
}
