//! Keys that open files.

use std::fmt;
use std::sync::{Arc, OnceLock};

use age::secrecy::SecretString;
use age::ssh;

use crate::Error;

const EXPECTED: &str = "an identity file of age (AGE-SECRET-KEY-...), or an OpenSSH private key of ed25519 or RSA";

/// Asks a person for a passphrase; the argument says for what. `None` if there is no one to ask.
pub type Ask = Arc<dyn Fn(&str) -> Option<SecretString> + Send + Sync>;

/// Keys and passphrases that may open a file.
#[derive(Default)]
pub struct Identities {
    pub(super) keys: Vec<Box<dyn age::Identity + Send + Sync>>,
    pub(super) passphrases: Vec<SecretString>,
    pub(super) ask: Option<Ask>,
}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identities({} keys, {} passphrases)", self.keys.len(), self.passphrases.len())
    }
}

impl Identities {
    /// Whether no key and no passphrase was given.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.passphrases.is_empty()
    }

    /// Asks for what is missing: the passphrase of a file where nothing else was given, and those of keys of ssh. Call it first.
    pub fn set_ask(&mut self, ask: Ask) {
        self.ask = Some(ask);
    }

    /// Adds the keys of an identity file of age, or a private key of ssh.
    ///
    /// # Errors
    /// [`Error::Key`] for what is neither; the message has nothing of the file.
    pub fn add_file(&mut self, file: &[u8]) -> Result<(), Error> {
        let malformed = || Error::key("no identity", EXPECTED);
        let text = std::str::from_utf8(file).map_err(|_| malformed())?;
        if text.starts_with("age-encryption.org/") || text.starts_with("-----BEGIN AGE ENCRYPTED FILE") {
            return Err(Error::key("an identity that is encrypted itself", "one that age -d has decrypted"));
        }
        if text.trim_start().starts_with("-----BEGIN ") {
            return self.add_ssh(text);
        }
        let identities = age::IdentityFile::from_buffer(text.as_bytes()).map_err(|_| malformed())?;
        let identities = identities.into_identities().map_err(|_| malformed())?;
        if identities.is_empty() {
            return Err(malformed());
        }
        self.keys.extend(identities);
        Ok(())
    }

    fn add_ssh(&mut self, text: &str) -> Result<(), Error> {
        let identity = ssh::Identity::from_buffer(text.trim_start().as_bytes(), None);
        let identity = identity.map_err(|_| Error::key("a private key that is malformed", EXPECTED))?;
        if let ssh::Identity::Unsupported(_) = identity {
            return Err(Error::key("a private key of a kind that is not supported", EXPECTED));
        }
        if let (ssh::Identity::Encrypted(_), None) = (&identity, &self.ask) {
            let what = "a private key with a passphrase, and no terminal to ask for it";
            return Err(Error::key(what, "a terminal, or a key without a passphrase"));
        }
        let callbacks = Callbacks { ask: self.ask.clone(), answer: Arc::default() };
        self.keys.push(Box::new(identity.with_callbacks(callbacks)));
        Ok(())
    }

    /// Adds a passphrase.
    pub fn add_passphrase(&mut self, passphrase: SecretString) {
        self.passphrases.push(passphrase);
    }
}

/// What age asks for while it reads a private key of ssh: its passphrase, once.
#[derive(Clone)]
struct Callbacks {
    ask: Option<Ask>,
    answer: Arc<OnceLock<Option<SecretString>>>,
}

impl age::Callbacks for Callbacks {
    fn display_message(&self, _: &str) {}

    fn confirm(&self, _: &str, _: &str, _: Option<&str>) -> Option<bool> {
        None
    }

    fn request_public_string(&self, _: &str) -> Option<String> {
        None
    }

    fn request_passphrase(&self, _: &str) -> Option<SecretString> {
        let asked = || self.ask.as_ref().and_then(|ask| ask("Passphrase of the ssh key"));
        self.answer.get_or_init(asked).clone()
    }
}
