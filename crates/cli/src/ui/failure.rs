//! How a command ends when it does not succeed.

use std::fmt;
use std::io;
use std::path::Path;

#[cfg(feature = "encryption")]
use packline::StreamError;
use packline::requests::ContentKind;
use packline_runtime::{Exists, ScratchError};
use packline_squashfs::BaseError;

use crate::host::streams::STDOUT;
use crate::ui::escape::Escape;

/// Why a command ended without success.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage: the message, without the program's name.
    Usage(String),
    /// The work failed.
    Failed(Reason),
    /// More memory is needed than was allowed.
    Memory(Reason),
    /// The reader of standard output is gone: the command ends without a message, with status 0.
    BrokenPipe,
    /// Any of these, where 1 means something else: exits with this status.
    Exit(u8, Box<Failure>),
    /// The failure has been printed already: exits with this status.
    AlreadyReported(u8),
}

/// Why the work failed. As text it is the message, without the program's name: what went wrong, and the options and commands that help.
#[derive(Debug)]
pub struct Reason {
    cause: Cause,
    /// What else can be done, after the message.
    way_out: String,
}

#[derive(Debug)]
enum Cause {
    /// The command itself found out.
    Words(String),
    /// The library did.
    Error(Box<packline::Error>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Words(words) => f.write_str(words)?,
            Cause::Error(error) => f.write_str(&message_of(error))?,
        }
        f.write_str(&self.way_out)
    }
}

impl Reason {
    fn of_words(words: String) -> Reason {
        Reason { cause: Cause::Words(words), way_out: String::new() }
    }

    fn of_error(error: packline::Error) -> Reason {
        Reason { cause: Cause::Error(Box::new(error)), way_out: String::new() }
    }

    /// Adds what can be done.
    #[must_use]
    pub fn with_way_out(mut self, way_out: &str) -> Reason {
        self.way_out.push_str("; ");
        self.way_out.push_str(way_out);
        self
    }
}

impl Failure {
    /// Failure of writing to standard output or standard error.
    pub fn printing(cause: io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::failed(format!("cannot write to {STDOUT}: {cause}")),
        }
    }

    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::Usage(message.into())
    }

    /// Adds the long option that allows more memory, if the command has one.
    pub fn advised(self, memory: Option<&str>) -> Failure {
        match (self, memory) {
            (Failure::Memory(reason), Some(long)) => {
                Failure::Failed(reason.with_way_out(&format!("--{long} allows more")))
            }
            (Failure::Memory(reason), None) => Failure::Failed(reason),
            (Failure::Exit(status, failure), _) => Failure::Exit(status, Box::new(failure.advised(memory))),
            (other, _) => other,
        }
    }

    pub fn failed(message: impl ToString) -> Failure {
        Failure::Failed(Reason::of_words(message.to_string()))
    }
}

/// Commands that read a container.
fn readers_of(container: ContentKind) -> &'static str {
    match container {
        ContentKind::Lrz => "packline unpack, list, cat, info and verify read it",
        ContentKind::Pln => "packline decompress, list, cat, info and verify read it",
        ContentKind::Encrypted if cfg!(feature = "encryption") => {
            "packline decompress, list, cat, info and verify read it with a key"
        }
        ContentKind::Encrypted => "this build does not read it, one with the feature 'encryption' does",
        ContentKind::Delta => "packline patch applies it, info describes it",
        ContentKind::Tar => "packline pack, list, cat, info and verify read it, tar -xf unpacks it",
        ContentKind::Compressed(_) => "packline pack, list, cat, info and verify read it if it is a tar",
        _ => "packline unpack, list, cat, info, verify, diff and mount read it",
    }
}

/// The options that open a file, if it cannot be read for want of its key.
#[cfg(feature = "encryption")]
fn key_of(error: &StreamError) -> Option<&'static str> {
    use packline_encryption::Error::{NoKey, WrongKey};
    let made_for = match error {
        StreamError::Encryption(NoKey(made_for)) => made_for,
        StreamError::Encryption(WrongKey(made_for)) if made_for.passphrases == 0 => {
            return Some("the --identity FILE of one of them");
        }
        StreamError::Encryption(WrongKey(_)) => {
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
fn repaired_by(error: &packline::Error) -> Option<String> {
    let path = match error {
        packline::Error::Stream { path, .. }
        | packline::Error::Source { path, .. }
        | packline::Error::Read { path, .. }
        | packline::Error::Tree(packline_tree::Error::Io { path, .. }) => path,
        _ => return None,
    };
    let is_repairable = error.is_pln_damage() && packline::requests::sidecar_of(path).is_file();
    is_repairable.then(|| format!("'packline repair {}' repairs it", path.escaped()))
}

/// The message for an error of the library, with the options and commands that help.
fn message_of(error: &packline::Error) -> String {
    if let Some(repair) = repaired_by(error) {
        return format!("{error}; {repair}");
    }
    match error {
        _ if ScratchError::is_cause_of(error) => {
            format!("{error} (TMPDIR names another directory, with room for all of it)")
        }
        packline::Error::Container { found: ContentKind::Foreign(_), .. } => error.to_string(),
        packline::Error::Container { path, found, expected } => {
            let readers = readers_of(*found);
            format!("{}: {found} (expected {expected}; {readers})", path.escaped())
        }
        packline::Error::Exists(Exists::File(path)) => {
            format!("{}: exists already (expected --force to replace it)", path.escaped())
        }
        packline::Error::Exists(Exists::Directory(path)) => {
            let expected = "an empty directory, or --force to replace files in it";
            format!("{}: is not empty (expected {expected})", path.escaped())
        }
        packline::Error::Base { path, cause } => match &**cause {
            BaseError::Foreign { what, expected } => {
                let any = "--base-any takes such blocks too, and the image may then have other bytes";
                format!("{}: {what} (expected {expected}; {any})", path.escaped())
            }
            _ => error.to_string(),
        },
        #[cfg(feature = "encryption")]
        packline::Error::Stream { cause, .. } => match key_of(cause) {
            Some(expected) => format!("{error} (expected {expected})"),
            None => error.to_string(),
        },
        _ => error.to_string(),
    }
}

impl From<packline_runtime::Error> for Failure {
    fn from(error: packline_runtime::Error) -> Failure {
        packline::Error::from(error).into()
    }
}

impl From<packline_image::Error> for Failure {
    fn from(error: packline_image::Error) -> Failure {
        packline::Error::from(error).into()
    }
}

impl From<packline::Error> for Failure {
    fn from(error: packline::Error) -> Failure {
        match &error {
            packline::Error::Output { path, cause, .. }
                if path == Path::new(STDOUT) && cause.kind() == io::ErrorKind::BrokenPipe =>
            {
                Failure::BrokenPipe
            }
            packline::Error::Memory { .. } => Failure::Memory(Reason::of_error(error)),
            _ => Failure::Failed(Reason::of_error(error)),
        }
    }
}
