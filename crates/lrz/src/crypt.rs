//! The encryption of 0.4 to 0.6: SHA-512 for keys, AES-128 in CBC, ciphertext stealing for tails.
//!
//! The key of a file is derived from the password once. Each item (a record, the data of a block, the digest) has a salt, from which its key
//! and first vector are derived. There is no authentication: a wrong password yields garbage.

use std::fmt;

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use sha2::{Digest, Sha512};

/// Bytes of a block of AES, which is the minimum size of encrypted data.
pub const CIPHER_BLOCK: usize = 16;
/// Bytes of a salt.
pub const SALT_SIZE: usize = 8;
/// Upper bound for the rounds of key derivation, which take about half a minute. lrzip uses about 11 million rounds in 2026, and doubles them
/// every four years.
const LOOPS_MOST: u64 = 1 << 28;
/// Blocks that are decrypted at a time, because processors overlap them.
const AT_ONCE: usize = 8;

type Block = [u8; CIPHER_BLOCK];

/// The key of a file, derived from a password.
pub struct Key {
    stretched: [u8; 64],
    salted: Vec<u8>,
}

impl Key {
    /// Derives the key of a file from a password and the file's salt. The first two bytes of the salt encode the number of rounds. This takes
    /// at most half a minute.
    pub fn new(password: &[u8], salt: [u8; SALT_SIZE]) -> Key {
        let salted = [&salt, password].concat();
        let rounds = loops(salt).min(LOOPS_MOST) * 64 / (salted.len() as u64 + 8);
        let mut hash = Sha512::new();
        for round in 0..rounds {
            hash.update(round.to_le_bytes());
            hash.update(&salted);
        }
        Key { stretched: hash.finalize().into(), salted }
    }

    /// Whether the salt requires no more rounds than [`Key::new`] allows.
    pub fn accepts(salt: [u8; SALT_SIZE]) -> bool {
        loops(salt) <= LOOPS_MOST
    }

    /// Encrypts an item in place. Items of fewer than [`CIPHER_BLOCK`] bytes are padded with zeros.
    pub fn encrypt(&self, bytes: &mut Vec<u8>, item_salt: [u8; SALT_SIZE]) {
        if bytes.len() < CIPHER_BLOCK {
            bytes.resize(CIPHER_BLOCK, 0);
        }
        let (cipher, mut vector) = self.item(item_salt);
        let whole = bytes.len() - bytes.len() % CIPHER_BLOCK;
        let (blocks, tail) = bytes.split_at_mut(whole);
        for block in blocks.as_chunks_mut::<CIPHER_BLOCK>().0 {
            xor(block, &vector);
            cipher.encrypt_block(block.into());
            vector = *block;
        }
        if !tail.is_empty() {
            let mut last = [0; CIPHER_BLOCK];
            last[..tail.len()].copy_from_slice(tail);
            xor(&mut last, &vector);
            cipher.encrypt_block((&mut last).into());
            tail.copy_from_slice(&vector[..tail.len()]);
            blocks[whole - CIPHER_BLOCK..].copy_from_slice(&last);
        }
    }

    /// Decrypts an item in place. Items of fewer than [`CIPHER_BLOCK`] bytes are not encrypted, and stay unchanged.
    pub fn decrypt(&self, bytes: &mut [u8], item_salt: [u8; SALT_SIZE]) {
        self.decryption(item_salt).last(bytes);
    }

    /// Decrypts an item incrementally.
    pub fn decryption(&self, item_salt: [u8; SALT_SIZE]) -> Decryption {
        let (cipher, vector) = self.item(item_salt);
        Decryption { cipher, vector }
    }

    /// Derives the cipher and the first vector of an item.
    fn item(&self, salt: [u8; SALT_SIZE]) -> (Aes128, Block) {
        let derive = |from: &[u8]| -> [u8; 64] {
            Sha512::new().chain_update(from).chain_update(salt).chain_update(&self.salted).finalize().into()
        };
        let key = derive(&self.stretched);
        let vector = derive(&key);
        (Aes128::new(&first(&key).into()), first(&vector))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Incremental decryption of an item.
pub struct Decryption {
    cipher: Aes128,
    vector: Block,
}

impl Decryption {
    /// Decrypts a piece in place. The piece is a multiple of [`CIPHER_BLOCK`] bytes, and at least as many bytes follow it.
    pub fn piece(&mut self, bytes: &mut [u8]) {
        for group in bytes.as_chunks_mut::<CIPHER_BLOCK>().0.chunks_mut(AT_ONCE) {
            let mut before = [[0; CIPHER_BLOCK]; AT_ONCE];
            before[..group.len()].copy_from_slice(group);
            self.cipher.decrypt_blocks(Array::cast_slice_from_core_mut(group));
            for (block, cipher_text) in group.iter_mut().zip(before) {
                xor(block, &std::mem::replace(&mut self.vector, cipher_text));
            }
        }
    }

    /// Decrypts the last piece in place. It has at least [`CIPHER_BLOCK`] bytes.
    pub fn last(mut self, bytes: &mut [u8]) {
        let tail = bytes.len() % CIPHER_BLOCK;
        let Some(whole) = (bytes.len() - tail).checked_sub(CIPHER_BLOCK).filter(|_| tail > 0) else {
            return self.piece(bytes);
        };
        self.piece(&mut bytes[..whole]);
        // The last complete block holds the tail and the bytes stolen from the block before.
        let mut ending: Block = first(&bytes[whole..]);
        self.cipher.decrypt_block((&mut ending).into());
        let mut stolen = ending;
        stolen[..tail].copy_from_slice(&bytes[whole + CIPHER_BLOCK..]);
        for (plain, cipher_text) in ending.iter_mut().zip(&stolen[..tail]) {
            *plain ^= cipher_text;
        }
        self.cipher.decrypt_block((&mut stolen).into());
        xor(&mut stolen, &self.vector);
        bytes[whole..whole + CIPHER_BLOCK].copy_from_slice(&stolen);
        bytes[whole + CIPHER_BLOCK..].copy_from_slice(&ending[..tail]);
    }
}

/// Decodes the number of rounds in a salt.
fn loops(salt: [u8; SALT_SIZE]) -> u64 {
    let shift = u32::from(salt[0]);
    if shift < 56 { u64::from(salt[1]) << shift } else { u64::MAX }
}

fn first(bytes: &[u8]) -> Block {
    std::array::from_fn(|index| bytes[index])
}

fn xor(block: &mut Block, with: &Block) {
    for (byte, other) in block.iter_mut().zip(with) {
        *byte ^= other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: [u8; 8] = [2, 9, 3, 4, 5, 6, 7, 8];
    const ITEM: [u8; 8] = *b"an item.";

    #[test]
    fn decrypts_items_of_any_length_at_once_and_in_pieces() {
        let key = Key::new(b"password", SALT);
        for length in (16..200).chain([5000]) {
            let plain: Vec<u8> = (0..length).map(|index| (index * 7) as u8).collect();
            let mut item = plain.clone();
            key.encrypt(&mut item, ITEM);
            assert!(item != plain && item.len() == plain.len(), "{length}");
            let mut whole = item.clone();
            key.decrypt(&mut whole, ITEM);
            assert_eq!(whole, plain, "{length}");
            let mut decryption = key.decryption(ITEM);
            let (pieces, last) = item.split_at_mut((length - 16) / 16 * 16);
            pieces.chunks_mut(48).for_each(|piece| decryption.piece(piece));
            decryption.last(last);
            assert_eq!(item, plain, "{length} in pieces");
        }
    }

    #[test]
    fn depends_on_salts_and_passwords_and_rejects_endless_stretching() {
        let encrypted = |password: &[u8], salt, item| {
            let mut bytes = vec![1; 32];
            Key::new(password, salt).encrypt(&mut bytes, item);
            bytes
        };
        let one = encrypted(b"a", SALT, ITEM);
        assert_ne!(one, encrypted(b"b", SALT, ITEM));
        assert_ne!(one, encrypted(b"a", [2, 9, 3, 4, 5, 6, 7, 9], ITEM));
        assert_ne!(one, encrypted(b"a", SALT, *b"another."));
        assert!(Key::accepts(SALT) && !Key::accepts([28, 2, 0, 0, 0, 0, 0, 0]) && !Key::accepts([255; 8]));
    }
}
