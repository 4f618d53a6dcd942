//! Keys of encrypted .pln files: for encryption and for reading.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline::{Identities, Recipients};
use packline_encryption::{Ask, Error, SecretString, Zeroizing};

use super::wrong;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The largest file with keys or a passphrase, in bytes.
const LARGEST: u64 = 1 << 20;
/// The long names of [`OpeningKeys`].
pub const OPENING: [&str; 2] = ["identity", "passphrase-file"];
/// The long names of the options that name recipients, apart from passphrase files.
pub const RECIPIENTS: [&str; 3] = ["recipient", "recipients-file", "passphrase"];

/// Options of commands that read .pln files.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Encryption")]
pub struct OpeningKeys {
    /// Open an encrypted .pln file with the key in FILE: an age identity, also one that age -p encrypted, or an SSH private key
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    identity: Vec<PathBuf>,
    /// Read the passphrase of the .pln file or of a key from FILE. Without it, packline asks on the terminal
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    passphrase_file: Vec<PathBuf>,
}

/// Options of commands that write .pln files.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Encryption")]
pub struct RecipientOptions {
    /// Encrypt for this public key: age1..., 'ssh-ed25519 ...' or 'ssh-rsa ...'. If repeated, any of the keys opens the file
    #[arg(long, value_name = "KEY")]
    recipient: Vec<String>,
    /// Encrypt for the public keys in FILE, one per line
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    recipients_file: Vec<PathBuf>,
    /// Encrypt with a passphrase that packline asks for; --passphrase-file reads one from a file
    #[arg(long)]
    passphrase: bool,
}

/// `--pad` of `compress`. Images have an option of this name.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Encryption")]
pub struct PadOption {
    /// Pad the encrypted file to hide its exact size (at most 12% larger, less for large files)
    #[arg(long)]
    pub pad: bool,
}

impl OpeningKeys {
    /// Returns the keys that open a file. packline asks for a missing key on the terminal.
    ///
    /// # Errors
    /// A file cannot be read, or is not a key.
    pub fn identities(&self, io: &Io) -> Result<Option<Arc<Identities>>, Failure> {
        let mut identities = Identities::default();
        identities.set_ask(terminal_prompt(io));
        for path in &self.identity {
            let name = path.escaped().to_string();
            identities.add_file(&read(path)?, &name).map_err(|error| of_file(path, &error))?;
        }
        for path in &self.passphrase_file {
            identities.add_passphrase(passphrase_in(path)?);
        }
        Ok(Some(Arc::new(identities)))
    }

    /// Like [`OpeningKeys::identities`], but asks for nothing, and returns `None` if no key is given.
    pub fn explicit_identities(&self, io: &Io) -> Result<Option<Arc<Identities>>, Failure> {
        if self.identity.is_empty() && self.passphrase_file.is_empty() { Ok(None) } else { self.identities(io) }
    }
}

impl RecipientOptions {
    /// Returns the recipients of a file, including passphrases in the files of `keys`; `None` for no encryption.
    ///
    /// # Errors
    /// A key is malformed, a file cannot be read, or packline cannot ask for a passphrase.
    pub fn recipients(&self, keys: &OpeningKeys, pad: bool, io: &Io) -> Result<Option<Arc<Recipients>>, Failure> {
        let mut recipients = Recipients::default();
        for key in &self.recipient {
            recipients.add_key(key).map_err(|error| wrong("recipient", format!("{error}{}", file_hint(key))))?;
        }
        for path in &self.recipients_file {
            let file = read(path)?;
            let text = std::str::from_utf8(&file);
            let text = text.map_err(|_| Failure::failed(format!("{}: is not text", path.escaped())))?;
            recipients.add_list(text).map_err(|error| of_file(path, &error))?;
        }
        for path in &keys.passphrase_file {
            recipients.add_passphrase(passphrase_in(path)?);
        }
        if self.passphrase {
            recipients.add_passphrase(ask_twice(io)?);
        }
        if pad && recipients.is_empty() {
            let keys = "--recipient, --recipients-file, --passphrase or --passphrase-file";
            return Err(wrong("pad", format!("has no effect without {keys}")));
        }
        if pad {
            recipients.set_padded();
        }
        Ok((!recipients.is_empty()).then(|| Arc::new(recipients)))
    }
}

/// Returns a hint if the text that should be a key is the name of a file.
fn file_hint(key: &str) -> String {
    let path = Path::new(key);
    let is_file = path.is_file();
    if is_file { format!("; for the keys in a file: --recipients-file {}", path.escaped()) } else { String::new() }
}

fn terminal_prompt(io: &Io) -> Ask {
    let ask = io.host.ask_hidden;
    let shutdown = io.shutdown.clone();
    let drawn = io.drawn.clone();
    Arc::new(move |prompt| drawn.aside(|| ask(prompt, &shutdown)).and_then(|answer| secret(&answer)))
}

fn ask_twice(io: &Io) -> Result<SecretString, Failure> {
    let ask = |prompt| {
        let none = || {
            wrong("passphrase", "cannot ask for a passphrase: no terminal, or no answer; use --passphrase-file FILE")
        };
        (io.host.ask_hidden)(prompt, &io.shutdown).ok_or_else(none)
    };
    let first = ask("Passphrase")?;
    let second = ask("Repeat the passphrase")?;
    if first != second {
        return Err(Failure::failed("the two passphrases differ"));
    }
    secret(&first).ok_or_else(|| Failure::failed("the passphrase is not UTF-8"))
}

fn secret(bytes: &[u8]) -> Option<SecretString> {
    std::str::from_utf8(bytes).ok().map(|text| SecretString::from(text.to_owned()))
}

/// Reads a passphrase: the complete file without its final line end.
fn passphrase_in(path: &Path) -> Result<SecretString, Failure> {
    let file = read(path)?;
    let bytes = file.strip_suffix(b"\n").unwrap_or(&file);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let refused = |what: &str| Failure::failed(format!("{}: {what} (expected a passphrase)", path.escaped()));
    match secret(bytes) {
        Some(_) if bytes.is_empty() => Err(refused("is empty")),
        Some(_) if bytes.contains(&b'\n') => Err(refused("has more than one line")),
        Some(passphrase) => Ok(passphrase),
        None => Err(refused("is not UTF-8")),
    }
}

/// Reads a small file, which may be a pipe. Its bytes are wiped from memory after use.
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let refused = |cause: std::io::Error| Failure::failed(format!("{}: cannot read: {cause}", path.escaped()));
    let mut bytes = Zeroizing::new(Vec::new());
    std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(refused)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::failed(format!("{}: is larger than {LARGEST} bytes (expected keys)", path.escaped())));
    }
    Ok(bytes)
}

fn of_file(path: &Path, error: &Error) -> Failure {
    Failure::failed(format!("{}: {error}", path.escaped()))
}
