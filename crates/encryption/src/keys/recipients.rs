//! The recipients of a file.

use std::fmt;
use std::io::Write;

use age::secrecy::SecretString;
use packline_runtime::MemoryFault;
use packline_runtime::memory::BASE;

use super::{WORK, scrypt_memory};
use crate::Error;
use crate::cipher::FileKey;

const EXPECTED: &str = "age1..., ssh-ed25519 ... or ssh-rsa ...";

/// Keys and passphrases, each of which opens the sealed file.
#[derive(Default)]
pub struct Recipients {
    keys: Vec<Box<dyn age::Recipient + Send + Sync>>,
    passphrases: Vec<SecretString>,
    pub(crate) padded: bool,
    /// Binary logarithm of scrypt's work factor; `None` for the default.
    work: Option<u8>,
}

impl fmt::Debug for Recipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipients({} keys, {} passphrases)", self.keys.len(), self.passphrases.len())
    }
}

impl Recipients {
    /// Whether there are no recipients.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.passphrases.is_empty()
    }

    /// Adds a public key of age (`age1...`) or ssh (`ssh-ed25519 ...`, `ssh-rsa ...`).
    ///
    /// # Errors
    /// [`Error::Key`] if the key is of another kind or malformed.
    pub fn add_key(&mut self, key: &str) -> Result<(), Error> {
        use age::ssh::ParseRecipientKeyError as Ssh;
        let key = key.trim();
        if let Ok(native) = key.parse::<age::x25519::Recipient>() {
            self.keys.push(Box::new(native));
            return Ok(());
        }
        if key.starts_with("AGE-SECRET-KEY-") {
            return Err(Error::key("is a private key, which opens files", "its public key, age1..."));
        }
        match key.parse::<age::ssh::Recipient>() {
            Ok(ssh) => self.keys.push(Box::new(ssh)),
            Err(Ssh::RsaModulusTooLarge) => return Err(Error::key("an RSA key that is too large", "up to 4096 bits")),
            Err(Ssh::RsaModulusTooSmall) => return Err(Error::key("a weak RSA key", "2048 bits or more")),
            Err(Ssh::Unsupported(kind)) => return Err(Error::key(format!("a key of the kind {kind:?}"), EXPECTED)),
            Err(_) => return Err(Error::key("not a valid recipient", EXPECTED)),
        }
        Ok(())
    }

    /// Adds the public keys of a list, one per line. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// [`Error::Key`] with the number of the line, or for a list without keys.
    pub fn add_list(&mut self, list: &str) -> Result<(), Error> {
        let before = self.keys.len();
        for (number, line) in (1..).zip(list.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            self.add_key(line).map_err(|error| match error {
                Error::Key { what, expected } => Error::key(format!("line {number}: {what}"), expected),
                error => error,
            })?;
        }
        if self.keys.len() == before {
            return Err(Error::key("a list without recipients", format!("one a line: {EXPECTED}")));
        }
        Ok(())
    }

    pub fn add_passphrase(&mut self, passphrase: SecretString) {
        self.passphrases.push(passphrase);
    }

    /// Pads the content, so that the size of the file reveals little about the size of its content. Adds at most 12 %.
    pub fn set_padded(&mut self) {
        self.padded = true;
    }

    /// Makes passphrases cheap, for tests: the work is 2^`log` instead of the default.
    #[doc(hidden)]
    pub fn set_test_work(&mut self, log: u8) {
        self.work = Some(log);
    }

    /// Wraps the file key: once for all keys, and once for each passphrase, because an age file cannot have both.
    ///
    /// # Errors
    /// [`Error::Key`] without recipients; [`Error::Memory`] if scrypt does not fit into the limit.
    pub(crate) fn wrap(&self, key: &FileKey, limit: Option<u64>) -> Result<Vec<Vec<u8>>, Error> {
        if self.is_empty() {
            return Err(Error::key("no recipient", "one at least"));
        }
        let mut wraps = Vec::new();
        if !self.keys.is_empty() {
            let keys = self.keys.iter().map(|key| &**key as &dyn age::Recipient);
            wraps.push(wrapped(age::Encryptor::with_recipients(keys), key)?);
        }
        let work = self.work.unwrap_or(WORK);
        if !self.passphrases.is_empty() {
            check_memory(work, limit)?;
        }
        for passphrase in &self.passphrases {
            let mut recipient = age::scrypt::Recipient::new(passphrase.clone());
            recipient.set_work_factor(work);
            let recipients = std::iter::once(&recipient as &dyn age::Recipient);
            wraps.push(wrapped(age::Encryptor::with_recipients(recipients), key)?);
        }
        Ok(wraps)
    }
}

/// Checks that scrypt fits into a memory limit.
pub(super) fn check_memory(work: u8, limit: Option<u64>) -> Result<(), Error> {
    let needed = BASE + scrypt_memory(work);
    match limit.filter(|&allowed| allowed < needed) {
        Some(allowed) => Err(Error::Memory(MemoryFault { allowed, needed, what: "a passphrase (scrypt)".into() })),
        None => Ok(()),
    }
}

fn wrapped(encryptor: Result<age::Encryptor, age::EncryptError>, key: &FileKey) -> Result<Vec<u8>, Error> {
    let refused = |cause: &dyn fmt::Display| Error::key(format!("recipients: {cause}"), EXPECTED);
    let encryptor = encryptor.map_err(|cause| refused(&cause))?;
    let mut wrap = Vec::new();
    let mut writer = encryptor.wrap_output(&mut wrap).map_err(|cause| refused(&cause))?;
    let written = writer.write_all(key.bytes()).and_then(|()| writer.finish().map(drop));
    written.map_err(|cause| refused(&cause))?;
    Ok(wrap)
}
