//! Decryption of records, data and the digest.

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Tag};
use hmac::{Hmac, Mac};
use sha2::Sha512;

use packline_runtime::TaskError;

use crate::crypt::{CIPHER_BLOCK, Decryption, Key, SALT_SIZE};
use crate::format::{MAGIC_SIZE, Magic, Protection};
use crate::{Error, Input};

const NONCE: usize = 12;
const TAG: usize = 16;
/// Bytes of a decrypted record. Encrypted records have full width.
const RECORD: usize = 25;
/// Bytes after the magic with the parameters of key derivation, in version 0.7.
const DESCRIPTOR: usize = 32;
/// Upper bound for the rounds of key derivation, as in lrzip 0.7.
const ROUNDS_MOST: u32 = 5_000_000;

const WRONG: &str = "wrong password, or the file is damaged (expected the password that encrypted the file)";

/// The encryption of a file.
pub(super) enum Seal {
    /// The file is not encrypted.
    Plain,
    /// The encryption of 0.4 to 0.6: a salt precedes each item.
    Cbc { key: Key, salt: [u8; SALT_SIZE] },
    /// The encryption of 0.7: a nonce precedes each item, and a tag that authenticates the item follows it.
    Gcm(Box<Gcm>),
}

impl Seal {
    /// Derives the key, which takes seconds.
    pub(super) fn open(magic: &Magic, input: &dyn Input, password: Option<&[u8]>) -> Result<Seal, Error> {
        let needed = || password.ok_or(Error::Password("the file is encrypted (expected a password)"));
        match magic.protection {
            Protection::None => Ok(Seal::Plain),
            Protection::Aes128 { salt } if !Key::accepts(salt) => Err(Error::corrupt(
                6,
                format!("a password to be stretched {} << {} times", salt[1], salt[0]),
                "at most 268435456 times",
            )),
            Protection::Aes128 { salt } => Ok(Seal::Cbc { key: Key::new(needed()?, salt), salt }),
            Protection::Aes256 { .. } => Gcm::open(magic, input, needed()?).map(|gcm| Seal::Gcm(Box::new(gcm))),
        }
    }

    pub(super) fn is_encrypted(&self) -> bool {
        !matches!(self, Seal::Plain)
    }

    /// Bytes between the magic and the first chunk.
    pub(super) fn descriptor(&self) -> u64 {
        if matches!(self, Seal::Gcm(_)) { DESCRIPTOR as u64 } else { 0 }
    }

    /// Returns the size in the file of a record of `plain` bytes.
    pub(super) fn record_size(&self, plain: u64) -> u64 {
        match self {
            Seal::Plain => plain,
            Seal::Cbc { .. } => (SALT_SIZE + RECORD) as u64,
            Seal::Gcm(_) => (NONCE + RECORD + TAG) as u64,
        }
    }

    /// Returns the size in the file of a block's data of `stored` bytes. CBC encrypts at least 16 bytes. GCM is a stream cipher and adds no
    /// padding.
    pub(super) fn data_size(&self, stored: u64) -> u64 {
        match self {
            Seal::Plain => stored,
            Seal::Cbc { .. } => stored.max(CIPHER_BLOCK as u64).saturating_add(SALT_SIZE as u64),
            Seal::Gcm(_) => stored.saturating_add((NONCE + TAG) as u64),
        }
    }

    /// Returns the size in the file of the data of an empty block; `left` bytes precede the digest. lrzip pads an empty block like any other.
    /// Earlier versions of packline wrote only the salt.
    pub(super) fn empty_size(&self, left: u64) -> u64 {
        match self {
            Seal::Cbc { .. } if left == SALT_SIZE as u64 => left,
            _ => self.data_size(0),
        }
    }

    /// The size of the digest in the file, in bytes.
    pub(super) fn digest_size(&self) -> u64 {
        match self {
            Seal::Plain | Seal::Cbc { .. } => 16,
            Seal::Gcm(_) => (NONCE + 16 + TAG) as u64,
        }
    }

    /// Decrypts the record at `at`.
    pub(super) fn unseal_record<'b>(&self, at: u64, bytes: &'b mut [u8]) -> Result<&'b [u8], Error> {
        match self {
            Seal::Plain => Ok(bytes),
            Seal::Cbc { key, .. } => Ok(unseal_salted(key, bytes)),
            Seal::Gcm(gcm) => gcm.unseal(at, Context::Record, bytes),
        }
    }

    /// Decrypts a block's data at `at`: `stored` bytes.
    pub(super) fn unseal_data(&self, at: u64, mut bytes: Vec<u8>, stored: usize) -> Result<Vec<u8>, Error> {
        let before = match self {
            Seal::Plain => 0,
            Seal::Cbc { key, .. } => {
                unseal_salted(key, &mut bytes);
                SALT_SIZE
            }
            Seal::Gcm(gcm) => {
                gcm.unseal(at, Context::Data, &mut bytes)?;
                NONCE
            }
        };
        bytes.copy_within(before..before + stored, 0);
        bytes.truncate(stored);
        Ok(bytes)
    }

    /// Whether a block's data can be decrypted incrementally. Data that is authenticated only at its end cannot.
    pub(super) fn in_pieces(&self) -> bool {
        !matches!(self, Seal::Gcm(_))
    }

    /// Begins to decrypt a block's data incrementally. `before` holds the bytes before the data. Returns `None` if the file is not encrypted.
    pub(super) fn pieces(&self, before: &[u8]) -> Option<Decryption> {
        match self {
            Seal::Cbc { key, .. } => Some(key.decryption(array(before))),
            Seal::Plain | Seal::Gcm(_) => None,
        }
    }

    /// The number of bytes before a block's data, for [`Seal::pieces`].
    pub(super) fn before_data(&self) -> usize {
        match self {
            Seal::Plain => 0,
            Seal::Cbc { .. } => SALT_SIZE,
            Seal::Gcm(_) => NONCE,
        }
    }

    /// Decrypts the digest at `at`.
    pub(super) fn unseal_digest(&self, at: u64, bytes: &mut [u8]) -> Result<[u8; 16], Error> {
        match self {
            Seal::Plain => Ok(array(bytes)),
            Seal::Cbc { key, salt } => {
                key.decrypt(bytes, *salt);
                Ok(array(bytes))
            }
            Seal::Gcm(gcm) => gcm.unseal(at, Context::Digest, bytes).map(array),
        }
    }

    /// Replaces the error of an invalid record by the error of a wrong password if the file is encrypted.
    pub(super) fn nonsense(&self, error: Error) -> Error {
        if self.is_encrypted() { Error::Password(WRONG) } else { error }
    }
}

fn unseal_salted<'b>(key: &Key, bytes: &'b mut [u8]) -> &'b [u8] {
    let (salt, item) = bytes.split_at_mut(SALT_SIZE);
    key.decrypt(item, array(salt));
    item
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|index| bytes[index])
}

/// The type of an item. The type is authenticated too, so that items cannot be exchanged.
#[derive(Clone, Copy)]
enum Context {
    Record = 1,
    Data = 2,
    Digest = 3,
}

/// AES-256 in GCM: one key for records, one key for everything else.
pub(super) struct Gcm {
    records: Aes256Gcm,
    rest: Aes256Gcm,
    /// The first bytes of the additional authenticated data.
    label: [u8; 7],
}

impl Gcm {
    fn open(magic: &Magic, input: &dyn Input, password: &[u8]) -> Result<Gcm, Error> {
        let at = MAGIC_SIZE as u64;
        let mut descriptor = [0; DESCRIPTOR];
        input
            .read_at(at, &mut descriptor)
            .map_err(|_| Error::corrupt(at, "the end of the file", "the parameters of encryption"))?;
        let rounds = u32::from_le_bytes(array(&descriptor[2..6]));
        let salt = &descriptor[8..24];
        if descriptor[..2] != [1, 16] || descriptor[6..8] != [0; 2] || descriptor[24..] != [0; 8] {
            return Err(Error::corrupt(
                at,
                format!("{:02x?}", &descriptor[..2]),
                "AES-256-GCM with a salt of 16 bytes",
            ));
        }
        if !(1..=ROUNDS_MOST).contains(&rounds) {
            let expected = format!("1 to {ROUNDS_MOST}");
            return Err(Error::corrupt(at + 2, format!("a password to be stretched {rounds} times"), expected));
        }
        let mut master = [0; 64];
        pbkdf2::pbkdf2_hmac::<Sha512>(password, salt, rounds, &mut master);
        let label = [b'L', b'R', b'Z', b'I', 0, magic.dialect.minor(), 3];
        Ok(Gcm { records: cipher(&master, b"lrzip-v3-hdr")?, rest: cipher(&master, b"lrzip-v3-data")?, label })
    }

    fn unseal<'b>(&self, at: u64, context: Context, bytes: &'b mut [u8]) -> Result<&'b [u8], Error> {
        // The first record is decrypted before any data, so the password is right when data is decrypted.
        let wrong = || match context {
            Context::Record => Error::Password(WRONG),
            Context::Data | Context::Digest => {
                Error::corrupt(at, "encrypted bytes that were changed", "bytes that match their tag")
            }
        };
        let tag_at = bytes.len().checked_sub(TAG).filter(|&at| at >= NONCE);
        let split = tag_at.ok_or_else(|| Error::corrupt(at, "an encrypted item without a tag", "at least 28 bytes"))?;
        let (body, tag) = bytes.split_at_mut(split);
        let (nonce, item) = body.split_at_mut(NONCE);
        let mut label = [context as u8; 8];
        label[..7].copy_from_slice(&self.label);
        let cipher = if matches!(context, Context::Record) { &self.records } else { &self.rest };
        let nonce = array::<NONCE>(nonce).into();
        let tag = Tag::from(array::<TAG>(tag));
        cipher.decrypt_inout_detached(&nonce, &label, (&mut *item).into(), &tag).map_err(|_| wrong())?;
        Ok(item)
    }
}

/// Derives the key for a purpose: the first step of HKDF's expansion (RFC 5869).
fn cipher(master: &[u8], purpose: &[u8]) -> Result<Aes256Gcm, Error> {
    let internal = |_| Error::internal("a key of the wrong length".into());
    let mut mac = <Hmac<Sha512> as hmac::KeyInit>::new_from_slice(master).map_err(internal)?;
    mac.update(purpose);
    mac.update(&[1]);
    let key = mac.finalize().into_bytes();
    Ok(Aes256Gcm::new(&array::<32>(&key).into()))
}
