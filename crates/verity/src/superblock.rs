//! The superblock of a tree, 512 bytes: version 1, hash type 1.

use crate::Error;
use crate::layout::{BLOCK, BLOCK_BYTES, Layout};
use crate::options::{MAX_SALT, Uuid};

/// Bytes of a superblock. The rest of its block is zero.
pub(crate) const SIZE: usize = 512;
const SIGNATURE: &[u8; 8] = b"verity\0\0";
const ALGORITHM: &[u8] = b"sha256";
/// Offset of the salt's field.
const SALT: usize = 88;

/// The fields of a superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Identity of the tree. No hash depends on it.
    pub uuid: Uuid,
    /// Number of data blocks that the tree covers.
    pub data_blocks: u64,
    /// The bytes that precede each block in its hash.
    pub salt: Vec<u8>,
}

impl Superblock {
    /// Whether bytes begin as a superblock does.
    pub(crate) fn is_signed(bytes: &[u8]) -> bool {
        bytes.starts_with(SIGNATURE)
    }

    pub(crate) fn encode(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, SIGNATURE);
        put(8, &1u32.to_le_bytes());
        put(12, &1u32.to_le_bytes());
        put(16, &self.uuid.0);
        put(32, ALGORITHM);
        put(64, &(BLOCK as u32).to_le_bytes());
        put(68, &(BLOCK as u32).to_le_bytes());
        put(72, &self.data_blocks.to_le_bytes());
        put(80, &(self.salt.len() as u16).to_le_bytes());
        put(SALT, &self.salt);
        bytes
    }

    /// # Errors
    /// [`Error::Superblock`] if this version of trees does not allow a field. Bytes without a meaning must be zero.
    pub fn decode(bytes: &[u8]) -> Result<Superblock, Error> {
        let Some(bytes) = bytes.first_chunk::<SIZE>().filter(|bytes| Superblock::is_signed(&bytes[..])) else {
            return Err(wrong("no dm-verity superblock", "a block that begins with 'verity'"));
        };
        let word = |at: usize| number(&bytes[at..at + 4]);
        expect("version", word(8), 1)?;
        expect("hash type", word(12), 1)?;
        let algorithm = field_text(&bytes[32..64]);
        if algorithm != ALGORITHM {
            let name = algorithm.escape_ascii();
            return Err(wrong(format!("the superblock's hash algorithm is '{name}'"), "sha256"));
        }
        expect("data block size", word(64), BLOCK_BYTES)?;
        expect("hash block size", word(68), BLOCK_BYTES)?;
        let data_blocks = number(&bytes[72..80]);
        let salt_size = number(&bytes[80..82]) as usize;
        Layout::of(data_blocks)?;
        if salt_size > MAX_SALT {
            return Err(wrong(format!("the superblock's salt has {salt_size} bytes"), "at most 256"));
        }
        let (salt, rest) = bytes[SALT..].split_at(salt_size);
        if bytes[82..SALT].iter().chain(rest).any(|byte| *byte != 0) {
            return Err(wrong("the superblock's unused bytes are not zero", "zeros"));
        }
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[16..32]);
        Ok(Superblock { uuid: Uuid(uuid), data_blocks, salt: salt.to_vec() })
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn expect(field: &str, found: u64, expected: u64) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(wrong(format!("the superblock's {field} is {found}"), &expected.to_string()))
    }
}

fn wrong(what: impl Into<String>, expected: &str) -> Error {
    Error::Superblock { what: what.into(), expected: expected.to_string() }
}

/// The text in a field of fixed length, without the zeros at its end.
fn field_text(field: &[u8]) -> &[u8] {
    &field[..field.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> Superblock {
        Superblock { uuid: Uuid([7; 16]), data_blocks: 300, salt: vec![1, 2, 3] }
    }

    #[test]
    fn superblocks_round_trip() {
        let longest = Superblock { salt: vec![9; MAX_SALT], ..superblock() };
        for superblock in [superblock(), longest, Superblock { salt: Vec::new(), ..superblock() }] {
            assert_eq!(Superblock::decode(&superblock.encode()).unwrap(), superblock);
        }
    }

    #[test]
    fn changed_bits_change_or_invalidate_the_superblock() {
        for bit in 0..SIZE * 8 {
            let mut bytes = superblock().encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(
                Superblock::decode(&bytes).is_ok_and(|read| read != superblock())
                    || Superblock::decode(&bytes).is_err()
            );
        }
        assert!(Superblock::decode(&superblock().encode()[..SIZE - 1]).is_err());
        assert!(Superblock::decode(b"").is_err());
    }
}
