//! Encryption for writing: a key, and salts.

use std::sync::Arc;

use super::Randomness;
use super::options::Password;
use crate::Error;
use crate::crypt::{CIPHER_BLOCK, Key, SALT_SIZE};

/// The salt of an item.
pub(super) type Salt = [u8; SALT_SIZE];

/// Rounds of key derivation: about 11 million, lrzip's number in 2026. The first byte of a salt is the shift of the second.
const STRETCH: [u8; 2] = [16, 0xaa];

/// The key of a file.
#[derive(Clone)]
pub(super) struct Seal {
    key: Arc<Key>,
    salt: Salt,
    random: Randomness,
}

impl Seal {
    /// Derives the key, which takes about a second.
    pub(super) fn new(password: &Password) -> Result<Seal, Error> {
        let mut salt = random_salt(&password.random)?;
        salt[..STRETCH.len()].copy_from_slice(&STRETCH);
        let key = Arc::new(Key::new(&password.bytes, salt));
        Ok(Seal { key, salt, random: Arc::clone(&password.random) })
    }

    /// The salt of the file.
    pub(super) fn file_salt(&self) -> Salt {
        self.salt
    }

    /// Returns a new salt.
    pub(super) fn salt(&self) -> Result<Salt, Error> {
        random_salt(&self.random)
    }

    /// Encrypts an item. An item shorter than a block of the cipher is padded to one block.
    pub(super) fn close(&self, item: &mut Vec<u8>, salt: Salt) {
        item.reserve_exact(CIPHER_BLOCK.saturating_sub(item.len()));
        self.key.encrypt(item, salt);
    }
}

fn random_salt(random: &Randomness) -> Result<Salt, Error> {
    let mut salt = [0; SALT_SIZE];
    random(&mut salt).map_err(Error::Random)?;
    Ok(salt)
}
