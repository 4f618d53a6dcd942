//! Salt and UUID of a tree, given or derived.

use std::fmt;
use std::str::FromStr;

use packline_runtime::{from_hex, hex};
use sha2::{Digest as _, Sha256};

use crate::{BLOCK, Digest};

/// Maximum bytes of a salt, the length of its field in the superblock.
pub(crate) const MAX_SALT: usize = 256;
/// Hashed before the bytes from which a salt is derived.
const SALT_LABEL: &[u8] = b"packline dm-verity salt 1";

/// The bytes that precede each block in its hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Salt {
    /// SHA-256 of a label and the second half of the image's first block. Those bytes are known before the first block is hashed, for every
    /// writer. They do not contain the superblock of the image, which writers complete at the end.
    #[default]
    Derived,
    /// These bytes, at most 256. An empty list means no salt.
    Given(Vec<u8>),
}

impl Salt {
    /// The salt of an image with this first block.
    pub(crate) fn bytes(&self, first_block: &[u8]) -> Vec<u8> {
        match self {
            Salt::Given(bytes) => bytes.clone(),
            Salt::Derived => {
                let half = &first_block[first_block.len().min(BLOCK / 2)..];
                Sha256::new().chain_update(SALT_LABEL).chain_update(half).finalize().to_vec()
            }
        }
    }
}

impl FromStr for Salt {
    type Err = String;

    fn from_str(text: &str) -> Result<Salt, String> {
        let bytes =
            if text == "-" { Some(Vec::new()) } else { from_hex(text.as_bytes()).filter(|bytes| !bytes.is_empty()) };
        match bytes {
            Some(bytes) if bytes.len() <= MAX_SALT => Ok(Salt::Given(bytes)),
            _ => {
                Err(format!("invalid salt '{text}' (expected 2 to {} hexadecimal digits, or - for none)", 2 * MAX_SALT))
            }
        }
    }
}

/// The identity of a tree. No hash depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The UUID derived from the root hash: its first 16 bytes, marked as version 8.
    pub(crate) fn derived(root_hash: &Digest) -> Uuid {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&root_hash[..16]);
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Uuid(bytes)
    }
}

impl FromStr for Uuid {
    type Err = String;

    fn from_str(text: &str) -> Result<Uuid, String> {
        let groups: Vec<usize> = text.split('-').map(str::len).collect();
        let bytes = from_hex(text.replace('-', "").as_bytes()).filter(|_| groups == [8, 4, 4, 4, 12]);
        let uuid = bytes.and_then(|bytes| bytes.try_into().ok());
        uuid.map(Uuid).ok_or_else(|| {
            format!("invalid UUID '{text}' (expected hexadecimal digits such as 01234567-89ab-cdef-0123-456789abcdef)")
        })
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = hex(&self.0);
        let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &text[range]);
        write!(out, "{a}-{b}-{c}-{d}-{e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_salts_and_uuids() {
        assert_eq!("aAbb".parse(), Ok(Salt::Given(vec![0xaa, 0xbb])));
        assert_eq!("-".parse(), Ok(Salt::Given(Vec::new())));
        assert!("ab".repeat(256).parse::<Salt>().is_ok());
        for wrong in ["", "a", "xy", "é1", &"ab".repeat(257)] {
            assert!(wrong.parse::<Salt>().is_err(), "{wrong}");
        }
        let text = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(text.parse::<Uuid>().unwrap().to_string(), text);
        for wrong in ["", "0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcdeg"] {
            assert!(wrong.parse::<Uuid>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn derived_salt_depends_on_the_second_half_of_the_first_block() {
        let mut block = vec![0; BLOCK];
        let derive = |block: &[u8]| Salt::Derived.bytes(block);
        let before = derive(&block);
        block[BLOCK / 2 - 1] = 1;
        assert_eq!(derive(&block), before);
        block[BLOCK / 2] = 1;
        assert_ne!(derive(&block), before);
    }
}
