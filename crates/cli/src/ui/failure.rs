//! How a command ends when it does not succeed.

use std::io;
use std::path::Path;
#[cfg(feature = "pln")]
use std::sync::Arc;

use packline_image::ContentKind;
use packline_runtime::{Exists, ScratchError};
use packline_squashfs::BaseError;

use crate::host::streams::STDOUT;
use crate::ui::escape::Escape;

/// Why a command ended without success.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage: the message, without the program's name.
    Usage(String),
    /// The work failed: the message, without the program's name.
    Failed(String),
    /// More memory is needed than was allowed: the message, without the program's name.
    Memory(String),
    /// The reader of standard output is gone: the command ends without a message, with status 0.
    BrokenPipe,
    /// Any of these, where 1 means something else: exits with this status.
    Exit(u8, Box<Failure>),
    /// The failure has been printed already: exits with this status.
    AlreadyReported(u8),
}

impl Failure {
    /// Failure of writing to standard output or standard error.
    pub fn printing(cause: io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Failed(format!("cannot write to {STDOUT}: {cause}")),
        }
    }

    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::Usage(message.into())
    }

    /// Adds the long option that allows more memory, if the command has one.
    pub fn advised(self, memory: Option<&str>) -> Failure {
        match (self, memory) {
            (Failure::Memory(message), Some(long)) => Failure::Failed(format!("{message}; --{long} allows more")),
            (Failure::Memory(message), None) => Failure::Failed(message),
            (Failure::Exit(status, failure), _) => Failure::Exit(status, Box::new(failure.advised(memory))),
            (other, _) => other,
        }
    }

    pub fn failed(message: impl ToString) -> Failure {
        Failure::Failed(message.to_string())
    }
}

/// Commands that read a container.
fn readers_of(container: ContentKind) -> &'static str {
    match container {
        #[cfg(not(feature = "lrz"))]
        ContentKind::Lrz => "this build does not read it, one with the feature 'lrz' does",
        #[cfg(feature = "lrz")]
        ContentKind::Lrz => "packline unpack, list, cat, info and verify read it",
        #[cfg(not(feature = "pln"))]
        ContentKind::Pln => "this build does not read it, one with the feature 'pln' does",
        #[cfg(feature = "pln")]
        ContentKind::Pln => "packline decompress, list, cat, info and verify read it",
        #[cfg(not(feature = "encryption"))]
        ContentKind::Encrypted => "this build does not read it, one with the feature 'encryption' does",
        #[cfg(feature = "encryption")]
        ContentKind::Encrypted => "packline decompress, list, cat, info and verify read it with a key",
        #[cfg(not(feature = "delta"))]
        ContentKind::Delta => "this build does not read it, one with the feature 'delta' does",
        #[cfg(feature = "delta")]
        ContentKind::Delta => "packline patch applies it, info describes it",
        ContentKind::Tar => "packline pack, list, cat, info and verify read it, tar -xf unpacks it",
        ContentKind::Compressed(_) => "packline pack, list, cat, info and verify read it if it is a tar",
        _ => "packline unpack, list, cat, info, verify, diff and mount read it",
    }
}

/// The options that open a file, if it cannot be read for want of its key.
#[cfg(feature = "encryption")]
fn key_of(error: &packline_encryption::Error) -> Option<&'static str> {
    use packline_encryption::Error::{NoKey, WrongKey};
    let made_for = match error {
        NoKey(made_for) => made_for,
        WrongKey(made_for) if made_for.passphrases == 0 => return Some("the --identity FILE of one of them"),
        WrongKey(_) => {
            return Some("another --identity or --passphrase-file, or neither, to be asked for the passphrase");
        }
        _ => return None,
    };
    Some(match (made_for.keys.is_empty(), made_for.passphrases) {
        (_, 0) => "--identity FILE",
        (true, _) => "--passphrase-file FILE, or a terminal to ask for the passphrase",
        (false, _) => "--identity FILE, --passphrase-file FILE, or a terminal to ask for a passphrase",
    })
}

/// The command that repairs the file of an error, if damage to a .pln file is the cause and its recovery data lies beside it.
#[cfg(feature = "pln")]
fn repaired_by(error: &packline::Error) -> Option<String> {
    let path = match error {
        packline::Error::Stream { path, .. }
        | packline::Error::Source { path, .. }
        | packline::Error::Read { path, .. }
        | packline::Error::Tree(packline_tree::Error::Io { path, .. }) => path,
        _ => return None,
    };
    let is_repairable = is_damage(error) && packline::requests::sidecar_of(path).is_file();
    is_repairable.then(|| format!("'packline repair {}' repairs it", path.escaped()))
}

/// Whether an error is about damage to a .pln file, or is caused by it.
#[cfg(feature = "pln")]
fn is_damage(error: &(dyn std::error::Error + 'static)) -> bool {
    let shared = error.downcast_ref::<Arc<io::Error>>().map(Arc::as_ref);
    let inner = error.downcast_ref::<io::Error>().or(shared).and_then(io::Error::get_ref);
    let damaged = match inner {
        Some(inner) => is_damaged(inner),
        None => is_damaged(error),
    };
    damaged || error.source().is_some_and(is_damage)
}

#[cfg(feature = "pln")]
fn is_damaged(error: &(dyn std::error::Error + 'static)) -> bool {
    #[cfg(feature = "encryption")]
    if error.downcast_ref().is_some_and(packline_encryption::Error::is_of_file) {
        return true;
    }
    error.downcast_ref().is_some_and(packline_pln::Error::is_of_file)
}

impl From<packline_runtime::Error> for Failure {
    fn from(error: packline_runtime::Error) -> Failure {
        packline::Error::from(error).into()
    }
}

impl From<packline::Error> for Failure {
    fn from(error: packline::Error) -> Failure {
        #[cfg(feature = "pln")]
        if let Some(repair) = repaired_by(&error) {
            return Failure::Failed(format!("{error}; {repair}"));
        }
        match &error {
            _ if ScratchError::is_cause_of(&error) => {
                Failure::Failed(format!("{error} (TMPDIR names another directory, with room for all of it)"))
            }
            packline::Error::Output { path, cause, .. } if path == Path::new(STDOUT) => match cause.kind() {
                io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
                _ => Failure::Failed(error.to_string()),
            },
            packline::Error::Container { found: ContentKind::Foreign(_), .. } => Failure::Failed(error.to_string()),
            packline::Error::Container { path, found, expected } => {
                let (path, use_) = (path.escaped(), readers_of(*found));
                Failure::Failed(format!("{path}: {found} (expected {expected}; {use_})"))
            }
            packline::Error::Exists(exists) => Failure::Failed(match exists {
                Exists::File(path) => format!("{}: exists already (expected --force to replace it)", path.escaped()),
                Exists::Directory(path) => {
                    let expected = "an empty directory, or --force to replace files in it";
                    format!("{}: is not empty (expected {expected})", path.escaped())
                }
            }),
            packline::Error::Base { path, cause } => match &**cause {
                BaseError::Foreign { what, expected } => {
                    let path = path.escaped();
                    let any = "--base-any takes such blocks too, and the image may then have other bytes";
                    Failure::Failed(format!("{path}: {what} (expected {expected}; {any})"))
                }
                _ => Failure::Failed(error.to_string()),
            },
            #[cfg(feature = "encryption")]
            packline::Error::Stream { cause, .. } => Failure::Failed(match cause.downcast_ref().and_then(key_of) {
                Some(expected) => format!("{error} (expected {expected})"),
                None => error.to_string(),
            }),
            packline::Error::Memory { .. } => Failure::Memory(error.to_string()),
            _ => Failure::Failed(error.to_string()),
        }
    }
}
