//! The ways in which a command fails, and the messages.

use std::fmt;
use std::io;
use std::path::Path;

use packline::StreamError;
use packline::requests::ContentKind;
use packline_runtime::{Exists, ScratchError, expectation};
use packline_squashfs::BaseError;

use crate::host::streams::STDOUT;
use crate::ui::escape::Escape;

#[derive(Debug)]
pub enum Failure {
    /// Wrong usage: the message, without the program's name.
    Usage(String),
    /// The work failed.
    Failed(Reason),
    /// The work needs more memory than the limit.
    Memory(Reason),
    /// The reader of standard output is gone. The command ends without a message, with status 0.
    BrokenPipe,
    /// Another failure with a special exit status, for commands where 1 means something else.
    Exit(u8, Box<Failure>),
    /// The failure was already printed. Only the exit status remains.
    AlreadyReported(u8),
}

/// The reason why the work failed. Displays as the message without the program's name, followed by the options and commands that help.
#[derive(Debug)]
pub struct Reason {
    cause: Cause,
    /// A hint on what to do next, after the message.
    way_out: String,
}

#[derive(Debug)]
enum Cause {
    /// An error that the command found.
    Words(String),
    /// An error of the library.
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

    /// Adds a hint on what to do next.
    #[must_use]
    pub fn with_way_out(mut self, way_out: &str) -> Reason {
        self.way_out.push_str("; ");
        self.way_out.push_str(way_out);
        self
    }
}

impl Failure {
    /// Returns the failure of a write to standard output or standard error.
    pub fn printing(cause: io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::failed(format!("cannot write to {STDOUT}: {cause}")),
        }
    }

    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::Usage(message.into())
    }

    /// Adds the hint on how to raise the memory limit, if there is one, to a failure for lack of memory.
    pub fn advised(self, hint: &dyn Fn() -> Option<String>) -> Failure {
        match self {
            Failure::Memory(reason) => Failure::Failed(match hint() {
                Some(hint) => reason.with_way_out(&hint),
                None => reason,
            }),
            Failure::Exit(status, failure) => Failure::Exit(status, Box::new(failure.advised(hint))),
            other => other,
        }
    }

    /// Returns whether the system denied access to an entry of a directory.
    pub fn is_denied_entry(&self) -> bool {
        let Failure::Failed(Reason { cause: Cause::Error(error), .. }) = self else { return false };
        let source = match &**error {
            packline::Error::Tree(source) => source,
            packline::Error::Image { cause, .. } => match &**cause {
                packline_blocks::Error::Source(source) => source,
                _ => return false,
            },
            _ => return false,
        };
        let packline_tree::Error::Io { cause, .. } = source else { return false };
        cause.kind() == io::ErrorKind::PermissionDenied
    }

    /// Returns whether a file was not decrypted because no key was given.
    pub fn is_without_key(&self) -> bool {
        let Failure::Failed(Reason { cause: Cause::Error(error), .. }) = self else { return false };
        let packline::Error::Stream { cause, .. } = &**error else { return false };
        is_without_key(cause)
    }

    /// Adds a hint on what to do next, unless the failure is wrong usage.
    #[must_use]
    pub fn with_way_out(self, way_out: &str) -> Failure {
        if let Failure::Failed(reason) = self { Failure::Failed(reason.with_way_out(way_out)) } else { self }
    }

    /// The same failure of a command that writes a file to a stream: a reader that is gone has only a part of the file.
    #[must_use]
    pub fn of_incomplete_file(self) -> Failure {
        match self {
            Failure::BrokenPipe => Failure::failed(format!("{STDOUT}: the reader closed the stream before the end")),
            other => other,
        }
    }

    pub fn failed(message: impl ToString) -> Failure {
        Failure::Failed(Reason::of_words(message.to_string()))
    }
}

/// Returns the hint for an image that is cut off, that has a damaged superblock, or whose device was not given.
fn completed_by(error: &packline::Error) -> Option<String> {
    let packline::Error::Read { path, cause, .. } = error else { return None };
    if cause.lacks_device() {
        return Some("give --device FILE, the file with the contents that the image points to".to_string());
    }
    let copied = match (cause.is_cut_off(), cause.is_of_superblock()) {
        (true, _) => "get the complete image",
        (_, true) => "get an undamaged copy of the image",
        _ => return None,
    };
    let has_recovery_data = packline::requests::sidecar_of(path).is_file();
    let repair = || format!("'packline repair {}' repairs it", path.escaped());
    Some(if has_recovery_data { repair() } else { copied.to_string() })
}

/// Returns how an archive is unpacked that packline does not read, for the formats that people pack.
fn unpacked_by(format: &str) -> Option<&'static str> {
    Some(match format {
        "a 7z archive" => "unpack it with 7z, and pack the directory",
        "a rar archive" => "unpack it with unrar, and pack the directory",
        "an ar archive" => "unpack it with 'ar x', and pack the directory",
        "a Debian package" => "'dpkg-deb --fsys-tarfile DEB | packline pack - IMAGE' packs its files",
        "an RPM package" => "'rpm2cpio RPM | packline pack - IMAGE' packs its files",
        _ => return None,
    })
}

/// Returns the commands that read a container.
fn readers_of(container: ContentKind) -> &'static str {
    match container {
        ContentKind::Lrz => "packline unpack, list, cat, info and verify read it",
        ContentKind::Pln => {
            "packline unpack, list, cat, info, verify, diff and mount read it, and 'packline decompress' writes the image \
             or tar in it to a file"
        }
        ContentKind::Encrypted if cfg!(feature = "encryption") => {
            "with a key, packline unpack, list, cat, info, verify, diff and mount read it, and 'packline decompress' \
             writes the image or tar in it to a file"
        }
        ContentKind::Encrypted => "this build cannot read it; a build with the feature 'encryption' can",
        ContentKind::Delta => "packline patch applies it, info describes it",
        ContentKind::Tar => {
            "packline list, cat, info, verify and unpack read it, and 'packline pack TAR IMAGE' turns it \
             into an image"
        }
        ContentKind::Cpio => {
            "packline list, cat, info, verify and unpack read it, and 'packline pack CPIO IMAGE' turns it into an image"
        }
        ContentKind::Zip => {
            "packline list, cat, info, verify and unpack read it, and 'packline pack ZIP IMAGE' turns it into an image"
        }
        ContentKind::Compressed(_) => {
            "packline list, cat, info, verify and unpack read it if it is a tar or a cpio archive, and 'packline pack TAR \
             IMAGE' turns it into an image"
        }
        _ => "packline unpack, list, cat, info, verify, diff and mount read it",
    }
}

#[cfg(feature = "encryption")]
fn is_without_key(error: &StreamError) -> bool {
    matches!(error, StreamError::Encryption(packline_encryption::Error::NoKey(_)))
}

#[cfg(not(feature = "encryption"))]
fn is_without_key(_: &StreamError) -> bool {
    false
}

/// Returns the options that open a file whose key is missing or wrong.
#[cfg(feature = "encryption")]
fn key_of(error: &StreamError) -> Option<&'static str> {
    use packline_encryption::Error::{NoKey, WrongKey};
    let made_for = match error {
        StreamError::Encryption(NoKey(made_for)) => made_for,
        StreamError::Encryption(WrongKey(made_for)) if made_for.passphrases == 0 => {
            return Some("give the --identity of a key that it is encrypted for");
        }
        StreamError::Encryption(WrongKey(_)) => {
            return Some("use another --identity or --passphrase-file, or neither, to be asked for the passphrase");
        }
        _ => return None,
    };
    Some(match (made_for.keys.is_empty(), made_for.passphrases) {
        (_, 0) => "use --identity FILE",
        (true, _) => "use --passphrase-file FILE, or a terminal on which packline can ask",
        (false, _) => "use --identity FILE or --passphrase-file FILE, or a terminal on which packline can ask",
    })
}

/// Returns the repair command if the cause is damage to a .pln file that has recovery data next to it.
fn repaired_by(error: &packline::Error) -> Option<String> {
    let path = match error {
        packline::Error::Stream { path, .. }
        | packline::Error::Source { path, .. }
        | packline::Error::Read { path, .. }
        | packline::Error::Tree(packline_tree::Error::Io { path, .. }) => path,
        _ => return None,
    };
    let sidecar = packline::requests::sidecar_of(path);
    if !error.is_pln_damage() || !sidecar.is_file() {
        return None;
    }
    let file = path.escaped();
    Some(if packline::requests::is_later(path, &sidecar) {
        let sidecar = sidecar.escaped();
        format!("changed after {sidecar} was written; 'packline repair -f {file}' restores the protected content")
    } else {
        format!("'packline repair {file}' repairs it")
    })
}

/// Returns the message for an error of the library, with the options and commands that help.
fn message_of(error: &packline::Error) -> String {
    if let Some(repair) = repaired_by(error).or_else(|| completed_by(error)) {
        return format!("{error}; {repair}");
    }
    match error {
        _ if ScratchError::is_cause_of(error) => {
            format!("{error}; set TMPDIR to a directory with enough space")
        }
        packline::Error::Container { found: ContentKind::Foreign(format), .. } => match unpacked_by(format) {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        },
        packline::Error::Container { path, found, expected } => {
            let readers = readers_of(*found);
            format!("{}: is {found} (expected {expected}); {readers}", path.escaped())
        }
        packline::Error::Exists(Exists::File(path)) => {
            format!("{}: already exists; --force replaces it", path.escaped())
        }
        packline::Error::Exists(Exists::Directory(path)) => {
            format!("{}: is not empty; --force replaces files in it", path.escaped())
        }
        packline::Error::Tree(cause) if packline::requests::lacks_platform(cause) => {
            format!("{error}; --platform chooses another one")
        }
        packline::Error::HashTree { .. } => {
            format!("{error}; --append --force writes its root hash, and with --key its signature, again")
        }
        packline::Error::Base { path, cause } => match &**cause {
            BaseError::Foreign { what, expected } => {
                let any = "--base-any reuses such blocks too, but the bytes of the image may then differ";
                format!("{}: {what}{}; {any}", path.escaped(), expectation(expected))
            }
            _ => error.to_string(),
        },
        #[cfg(feature = "encryption")]
        packline::Error::Stream { cause, .. } => match key_of(cause) {
            Some(hint) => format!("{error}; {hint}"),
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
            packline::Error::Memory(fault) => {
                // The message rounds the number.
                log::debug!("at least {} bytes of memory are needed", fault.needed);
                Failure::Memory(Reason::of_error(error))
            }
            _ => Failure::Failed(Reason::of_error(error)),
        }
    }
}
