//! Key files with a passphrase: age identity files and private ssh keys.

use std::io::Read;
use std::sync::OnceLock;

use age::armor::ArmoredReader;
use age::secrecy::SecretString;
use age::{DecryptError, ssh};
use zeroize::Zeroizing;

use super::Identities;
use super::identities::{AskResult, ask_for};
use super::identities::{EXPECTED, Key, keys_in};
use super::unwrap::{scrypt_identity, work_factor};
use crate::Error;
use crate::format::stanzas;

/// Keys that a passphrase opens. They are opened when they are needed.
pub(super) struct LockedKeys {
    /// The name of the file in prompts and errors.
    name: String,
    file: File,
    keys: OnceLock<Vec<Key>>,
}

enum File {
    /// An age file in binary form, with the binary logarithm of its work factor.
    Age(Vec<u8>, u8),
    Ssh(Box<ssh::EncryptedKey>),
}

impl LockedKeys {
    /// Whether a file was encrypted by age.
    pub(super) fn is_age_encrypted(file: &[u8]) -> bool {
        let text = file.trim_ascii_start();
        text.starts_with(b"age-encryption.org/") || text.starts_with(b"-----BEGIN AGE ENCRYPTED FILE")
    }

    /// An identity file that age encrypted, armored or not.
    ///
    /// # Errors
    /// [`Error::Key`] if the file is malformed or encrypted for keys.
    pub(super) fn from_age(file: &[u8], name: &str) -> Result<LockedKeys, Error> {
        let mut bytes = Vec::new();
        let read = ArmoredReader::new(file.trim_ascii_start()).read_to_end(&mut bytes).ok();
        let stanzas = read.and_then(|_| stanzas(&bytes));
        let expected = "a file that age -p has encrypted, or the text that age -d decrypts from it";
        let stanzas = stanzas.ok_or_else(|| Error::key("an encrypted identity that is malformed", expected))?;
        if !matches!(&stanzas[..], [one] if one.is_passphrase()) {
            return Err(Error::key("an identity that is encrypted for keys, not with a passphrase", expected));
        }
        let work = work_factor(&stanzas).ok_or_else(|| {
            Error::key("an encrypted identity whose head has no valid work factor of scrypt", expected)
        })?;
        Ok(LockedKeys {
            name: format!("the identity file {name}"),
            file: File::Age(bytes, work),
            keys: OnceLock::new(),
        })
    }

    pub(super) fn from_ssh(key: ssh::EncryptedKey, name: &str) -> LockedKeys {
        LockedKeys { name: format!("the ssh key {name}"), file: File::Ssh(Box::new(key)), keys: OnceLock::new() }
    }

    /// Returns the keys, opened with one of the given passphrases or with an answer.
    ///
    /// # Errors
    /// [`Error::Key`] and [`Error::WrongPassphraseOf`] without the right passphrase; [`Error::WorkFactor`] and [`Error::Memory`] if it
    /// costs too much.
    pub(super) fn keys(&self, identities: &Identities, limit: Option<u64>) -> Result<&[Key], Error> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let mut keys = None;
        for passphrase in &identities.passphrases {
            keys = self.open(passphrase, limit)?;
            if keys.is_some() {
                break;
            }
        }
        let keys = match keys {
            Some(keys) => keys,
            None => self.asked(identities, limit)?,
        };
        Ok(self.keys.get_or_init(|| keys))
    }

    fn asked(&self, identities: &Identities, limit: Option<u64>) -> Result<Vec<Key>, Error> {
        let name = &self.name;
        let no_answer =
            |what: &str| Error::key(format!("{what} for {name}; give it on a terminal or in a passphrase file"), "");
        let mut open = |passphrase: &SecretString| self.open(passphrase, limit);
        match ask_for(identities, &format!(" of {name}"), &mut open)? {
            AskResult::Opened(keys) => Ok(keys),
            AskResult::Wrong => Err(Error::WrongPassphraseOf(name.clone())),
            AskResult::NoAnswer if identities.passphrases.is_empty() => Err(no_answer("no passphrase")),
            AskResult::NoAnswer => Err(no_answer("none of the given passphrases is right")),
        }
    }

    /// Returns the keys, or `None` if the passphrase is wrong.
    fn open(&self, passphrase: &SecretString, limit: Option<u64>) -> Result<Option<Vec<Key>>, Error> {
        match &self.file {
            File::Age(bytes, work) => self.opened(bytes, &scrypt_identity(passphrase, *work, limit)?),
            File::Ssh(key) => match key.decrypt(passphrase.clone()) {
                Ok(key) => Ok(Some(vec![Box::new(ssh::Identity::from(key))])),
                Err(DecryptError::KeyDecryptionFailed) => Ok(None),
                Err(cause) => Err(Error::key(format!("{}: {cause}", self.name), "a key that ssh-keygen has written")),
            },
        }
    }

    /// The keys in an age file.
    fn opened(&self, bytes: &[u8], identity: &age::scrypt::Identity) -> Result<Option<Vec<Key>>, Error> {
        let damaged =
            |cause: &dyn std::fmt::Display| Error::key(format!("{}: {cause}", self.name), "it as age wrote it");
        let opened = age::Decryptor::new_buffered(bytes).and_then(|file| file.decrypt(std::iter::once(identity as _)));
        let reader = match opened {
            Ok(reader) => reader,
            Err(DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed | DecryptError::NoMatchingKeys) => {
                return Ok(None);
            }
            Err(cause) => return Err(damaged(&cause)),
        };
        // The buffer does not grow, because the memory that it leaves would not be wiped.
        let mut text = Zeroizing::new(Vec::with_capacity(bytes.len() + 1));
        reader.take(bytes.len() as u64).read_to_end(&mut text).map_err(|cause| damaged(&cause))?;
        let keys = keys_in(&text).ok_or_else(|| Error::key(format!("no identity in {}", self.name), EXPECTED))?;
        Ok(Some(keys))
    }
}
