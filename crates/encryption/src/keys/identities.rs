//! Keys that open files.

use std::fmt;
use std::sync::Arc;

use age::secrecy::SecretString;
use age::ssh;

use super::LockedKeys;
use crate::Error;

pub(super) const EXPECTED: &str =
    "an identity file of age (AGE-SECRET-KEY-...), or an OpenSSH private key of ed25519 or RSA";

/// Maximum number of prompts.
const ATTEMPTS: u32 = 3;

/// Asks the user for a passphrase; the argument names what it opens. `None` if no user can be asked.
pub type Ask = Arc<dyn Fn(&str) -> Option<SecretString> + Send + Sync>;

/// A key that is ready for use.
pub(super) type Key = Box<dyn age::Identity + Send + Sync>;

/// Keys and passphrases that may open a file.
#[derive(Default)]
pub struct Identities {
    pub(super) keys: Vec<Key>,
    pub(super) locked: Vec<LockedKeys>,
    pub(super) passphrases: Vec<SecretString>,
    pub(super) ask: Option<Ask>,
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys.len() + self.locked.len();
        write!(f, "Identities({keys} keys, {} passphrases)", self.passphrases.len())
    }
}

impl Identities {
    /// Whether there is no key and no passphrase.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.locked.is_empty() && self.passphrases.is_empty()
    }

    /// Sets the function that asks for missing passphrases: the passphrase of a file if no key and no passphrase was given, and those of
    /// encrypted keys.
    pub fn set_ask(&mut self, ask: Ask) {
        self.ask = Some(ask);
    }

    /// Adds the keys of an age identity file, or a private ssh key. A key with a passphrase is opened when it is needed, with one of the
    /// given passphrases or with an answer. Later prompts and errors call the file `name`.
    ///
    /// # Errors
    /// [`Error::Key`] if the file is neither. The message contains neither the file's content nor its name.
    pub fn add_file(&mut self, file: &[u8], name: &str) -> Result<(), Error> {
        if LockedKeys::is_age_encrypted(file) {
            self.locked.push(LockedKeys::from_age(file, name)?);
            return Ok(());
        }
        let text = std::str::from_utf8(file).map_err(|_| no_identity())?;
        if text.trim_start().starts_with("-----BEGIN ") {
            return self.add_ssh(text, name);
        }
        self.keys.extend(keys_in(file).ok_or_else(no_identity)?);
        Ok(())
    }

    fn add_ssh(&mut self, text: &str, name: &str) -> Result<(), Error> {
        use ssh::UnsupportedKey::{EncryptedPem, EncryptedSsh};
        let identity = ssh::Identity::from_buffer(text.trim_start().as_bytes(), None);
        match identity.map_err(|_| Error::key("not a valid private key", EXPECTED))? {
            ssh::Identity::Encrypted(key) => self.locked.push(LockedKeys::from_ssh(key, name)),
            ssh::Identity::Unsupported(EncryptedPem | EncryptedSsh(_)) => {
                let what = "a private key with a passphrase in an unsupported format";
                return Err(Error::key(what, "the usual form of OpenSSH, which ssh-keygen -p -f FILE writes"));
            }
            ssh::Identity::Unsupported(_) => {
                return Err(Error::key("a private key of an unsupported kind", EXPECTED));
            }
            plain => self.keys.push(Box::new(plain)),
        }
        Ok(())
    }

    pub fn add_passphrase(&mut self, passphrase: SecretString) {
        self.passphrases.push(passphrase);
    }
}

/// The keys in the text of an identity file. `None` if there are none.
pub(super) fn keys_in(text: &[u8]) -> Option<Vec<Key>> {
    let identities = age::IdentityFile::from_buffer(text).ok()?.into_identities().ok()?;
    (!identities.is_empty()).then_some(identities)
}

fn no_identity() -> Error {
    Error::key("no identity found", EXPECTED)
}

pub(super) enum AskResult<T> {
    Opened(T),
    /// No answer was right.
    Wrong,
    /// No user could be asked.
    NoAnswer,
}

/// Asks for a passphrase until `open` accepts it. `of` is added to the prompt, such as ` of the ssh key x`.
///
/// # Errors
/// Returns the errors of `open`.
pub(super) fn ask_for<T>(
    identities: &Identities,
    of: &str,
    open: &mut dyn FnMut(&SecretString) -> Result<Option<T>, Error>,
) -> Result<AskResult<T>, Error> {
    let Some(ask) = &identities.ask else { return Ok(AskResult::NoAnswer) };
    let mut prompt = format!("Passphrase{of}");
    for attempt in 0..ATTEMPTS {
        match ask(&prompt) {
            Some(answer) => {
                if let Some(found) = open(&answer)? {
                    return Ok(AskResult::Opened(found));
                }
            }
            None if attempt == 0 => return Ok(AskResult::NoAnswer),
            None => return Ok(AskResult::Wrong),
        }
        prompt = format!("Wrong passphrase{of}. Try again");
    }
    Ok(AskResult::Wrong)
}
