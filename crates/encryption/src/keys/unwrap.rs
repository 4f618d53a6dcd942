//! Gets the file key from the wraps of a head.

use std::io::Read;

use age::DecryptError;
use age::secrecy::SecretString;
use zeroize::Zeroizing;

use super::identities::Key;
use super::identities::{AskResult, ask_for};
use super::recipients::check_memory;
use super::{Identities, MAX_WORK};
use crate::cipher::{FILE_KEY, FileKey};
use crate::format::{Head, Stanza};
use crate::{Error, Part};

/// A wrapped key and its offset in the head.
struct Wrap<'a> {
    number: usize,
    offset: u64,
    bytes: &'a [u8],
    stanzas: Vec<Stanza>,
}

/// Returns the file key, opened with the first identity that is a recipient of the file.
///
/// # Errors
/// [`Error::NoKey`], [`Error::WrongKey`] and [`Error::WrongPassphrase`]; [`Error::Corrupt`] if a wrap is malformed; [`Error::WorkFactor`]
/// and [`Error::Memory`] for a passphrase that costs too much.
pub(crate) fn unwrap(head: &Head, identities: &Identities, limit: Option<u64>) -> Result<FileKey, Error> {
    let wraps = head.wraps().enumerate().zip(head.stanzas()?);
    let wraps: Vec<Wrap<'_>> =
        wraps.map(|((number, (offset, bytes)), stanzas)| Wrap { number, offset, bytes, stanzas }).collect();
    let (locked, keyed): (Vec<_>, Vec<_>) =
        wraps.iter().partition(|wrap| wrap.stanzas.iter().any(Stanza::is_passphrase));
    if let Some(found) = by_keys(&keyed, &identities.keys)? {
        return Ok(found);
    }
    // The passphrases of these keys are asked for only if the keys may help.
    for file in identities.locked.iter().filter(|_| !keyed.is_empty()) {
        if let Some(found) = by_keys(&keyed, file.keys(identities, limit)?)? {
            return Ok(found);
        }
    }
    for passphrase in &identities.passphrases {
        if let Some(found) = by_passphrase(&locked, passphrase, limit)? {
            return Ok(found);
        }
    }
    if !identities.is_empty() {
        return Err(Error::WrongKey(head.made_for()?));
    }
    let mut open = |passphrase: &SecretString| by_passphrase(&locked, passphrase, limit);
    let asked = if locked.is_empty() { AskResult::NoAnswer } else { ask_for(identities, "", &mut open)? };
    match asked {
        AskResult::Opened(found) => Ok(found),
        AskResult::Wrong => Err(Error::WrongPassphrase),
        AskResult::NoAnswer => Err(Error::NoKey(head.made_for()?)),
    }
}

/// Returns the file key, if a passphrase opens a wrap.
fn by_passphrase(wraps: &[&Wrap<'_>], passphrase: &SecretString, limit: Option<u64>) -> Result<Option<FileKey>, Error> {
    for wrap in wraps {
        if let Some(found) = wrap.open_by(passphrase, limit)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the file key, if one of the keys opens a wrap.
fn by_keys(wraps: &[&Wrap<'_>], keys: &[Key]) -> Result<Option<FileKey>, Error> {
    for wrap in wraps {
        for key in keys {
            if let Some(found) = wrap.open(&**key)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Binary logarithm of the work factor of a passphrase; `None` without a passphrase.
pub(super) fn work_factor(stanzas: &[Stanza]) -> Option<u8> {
    stanzas.iter().find_map(Stanza::work_factor)
}

/// The identity of a passphrase, if its work factor is allowed.
pub(super) fn scrypt_identity(
    passphrase: &SecretString,
    work: u8,
    limit: Option<u64>,
) -> Result<age::scrypt::Identity, Error> {
    if work > MAX_WORK {
        return Err(Error::WorkFactor { found: work, most: MAX_WORK });
    }
    check_memory(work, limit)?;
    let mut identity = age::scrypt::Identity::new(passphrase.clone());
    identity.set_max_work_factor(MAX_WORK);
    Ok(identity)
}

impl Wrap<'_> {
    /// Returns the file key, or `None` if it was not wrapped for this identity.
    fn open(&self, identity: &dyn age::Identity) -> Result<Option<FileKey>, Error> {
        let opened = age::Decryptor::new_buffered(self.bytes);
        let reader = match opened.and_then(|wrap| wrap.decrypt(std::iter::once(identity))) {
            Ok(reader) => reader,
            Err(DecryptError::NoMatchingKeys | DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed) => {
                return Ok(None);
            }
            Err(cause) => return Err(self.corrupt(cause)),
        };
        let mut key = Zeroizing::new(Vec::with_capacity(FILE_KEY + 1));
        reader.take(FILE_KEY as u64 + 1).read_to_end(&mut key).map_err(|cause| self.corrupt(cause))?;
        let found = FileKey::from_bytes(&key);
        found.map(Some).ok_or_else(|| self.corrupt("it does not hold a key of 32 bytes"))
    }

    fn open_by(&self, passphrase: &SecretString, limit: Option<u64>) -> Result<Option<FileKey>, Error> {
        let stored = work_factor(&self.stanzas);
        let work = stored.ok_or_else(|| self.corrupt("a passphrase without its work factor"))?;
        self.open(&scrypt_identity(passphrase, work, limit)?)
    }

    fn corrupt(&self, cause: impl std::fmt::Display) -> Error {
        Error::corrupt(Part::Wrap(self.number), self.offset, cause.to_string(), "a file of age with the file key")
    }
}
