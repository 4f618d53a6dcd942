//! Errors as a user sees them: the file first, then what is wrong. `docs/design/errors.md` has the rules.

#[cfg(feature = "pln")]
use std::io;
use std::path::{Path, PathBuf};
#[cfg(feature = "pln")]
use std::sync::Arc;

use packline_image::EntryFault;
use packline_runtime::escape::Escape;
use packline_runtime::memory::Shortage;
use packline_runtime::{MemoryFault, WorkFault, expectation};

use crate::container::by_magic::ContentKind;

/// Why an operation failed. An existing output file is unchanged then.
///
/// [`Error::kind`] says what the error means to a program. The text is a complete message. The variants have the details.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system returned an error for the output.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Output {
        /// The output as the user named it.
        path: PathBuf,
        /// The failed action, as a phrase: `cannot create`.
        action: &'static str,
        /// The operating system's error.
        #[source]
        cause: std::io::Error,
    },
    /// The output cannot be, or must not be, written; or the input is not supported.
    #[error("{path}: {what}{}", expectation(.expected), path = path.escaped())]
    Target {
        /// The file as the user named it.
        path: PathBuf,
        /// The problem.
        what: String,
        /// The contents that can be written or read instead; empty after a hint.
        expected: String,
    },
    /// The output exists, and replacing it was not requested.
    #[error(transparent)]
    Exists(#[from] packline_runtime::Exists),
    /// The operating system returned an error for the source.
    #[error("{path}: {action}: {cause}", path = path.escaped())]
    Source {
        /// The source as the user named it.
        path: PathBuf,
        /// The failed action.
        action: &'static str,
        /// The operating system's error.
        #[source]
        cause: std::io::Error,
    },
    /// The source could not be read, or is malformed.
    #[error(transparent)]
    Tree(#[from] packline_tree::Error),
    /// The container could not be written.
    #[error("{}", name_image(.path, .cause))]
    Image {
        /// The output as the user named it.
        path: PathBuf,
        /// The error, with the entry or the offset.
        #[source]
        cause: Box<packline_blocks::Error>,
    },
    /// An image could not be read.
    #[error("{}", name_read(.path, .entry.as_deref(), .cause))]
    Read {
        /// The image as the user named it.
        path: PathBuf,
        /// The faulty entry, if the fault is in one.
        entry: Option<Vec<u8>>,
        /// The defect, with its offset.
        #[source]
        cause: Box<packline_squashfs::read::ReadError>,
    },
    /// Blocks of an earlier image cannot be reused. The user can change that.
    #[error("{path}: {cause}", path = path.escaped())]
    Base {
        /// The image as the user named it.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: Box<packline_squashfs::BaseError>,
    },
    /// A .lrz or .pln file, a delta, recovery data or a hash tree could not be written or read.
    #[error("{path}: {cause}", path = path.escaped())]
    Stream {
        /// The file, or its input, as the user named it.
        path: PathBuf,
        /// The defect, with the part and its offset.
        #[source]
        cause: Box<StreamError>,
    },
    /// A file has another container than expected. The user can change that.
    #[error("{path}: {found} (expected {expected})", path = path.escaped())]
    Container {
        /// The file as the user named it.
        path: PathBuf,
        /// The kind of its content.
        found: ContentKind,
        /// The containers that are read.
        expected: String,
    },
    /// The first bytes of a file are not the first bytes of a known container.
    #[error("{path}: {what}{}", expectation(.expected), path = path.escaped())]
    Unrecognized {
        /// The file as the user named it.
        path: PathBuf,
        /// The problem.
        what: String,
        /// The containers that are read.
        expected: String,
    },
    /// A path in an image does not lead to an entry of the expected type.
    #[error("{path}: {entry}: {fault} (expected {expected})", path = path.escaped(), entry = entry.escaped())]
    Entry {
        /// The image as the user named it.
        path: PathBuf,
        /// The path in the image.
        entry: Vec<u8>,
        /// The problem.
        fault: EntryFault,
        /// Paths that are valid.
        expected: &'static str,
    },
    /// A file is not repaired, because it was changed after its recovery data was written, perhaps on purpose. The user must decide.
    #[error(
        "{path}: differs from the protected file; it was changed after {recovery} was written",
        path = path.escaped(),
        recovery = recovery.escaped()
    )]
    ChangedLater {
        /// The file as the user named it.
        path: PathBuf,
        /// The file with its recovery data.
        recovery: PathBuf,
    },
    /// An image already ends with a hash tree, so its root hash is not written again without a request.
    #[error("{path}: already ends with a hash tree, from byte {at} on", path = path.escaped())]
    HashTree {
        /// The image as the user named it.
        path: PathBuf,
        /// The byte at which the hash tree begins.
        at: u64,
    },
    /// The memory limit is too low. The user can change it.
    #[error(transparent)]
    Memory(#[from] MemoryFault),
    /// A codec is unknown, or does not have a parameter. The user's error.
    #[error(transparent)]
    Codec(#[from] packline_codec::CodecError),
    /// A pattern is malformed. The user's error.
    #[error(transparent)]
    Pattern(#[from] packline_tree::PatternFault),
    /// The request contradicts itself or names something that does not exist. The user's error.
    #[error("{what}{}", expectation(.expected))]
    Request {
        /// The rejected part of the request, and the reason.
        what: String,
        /// Requests that are valid instead; empty after a hint.
        expected: String,
    },
}

impl From<packline_runtime::Error> for Error {
    fn from(error: packline_runtime::Error) -> Error {
        match error {
            packline_runtime::Error::Output { path, action, cause } => Error::Output { path, action, cause },
            packline_runtime::Error::Target { path, what, expected } => Error::Target { path, what, expected },
            packline_runtime::Error::Exists(exists) => Error::Exists(exists),
        }
    }
}

/// Each kind of error of an operation on an image stays the same kind, so that a caller need not know where an error comes from.
impl From<packline_image::Error> for Error {
    fn from(error: packline_image::Error) -> Error {
        use packline_image::Error as Image;
        match error {
            Image::Output { path, action, cause } => Error::Output { path, action, cause },
            Image::Target { path, what, expected } => Error::Target { path, what, expected },
            Image::Exists(exists) => Error::Exists(exists),
            Image::Source { path, action, cause } => Error::Source { path, action, cause },
            Image::Read { path, entry, cause } => Error::Read { path, entry, cause },
            Image::Entry { path, entry, fault, expected } => Error::Entry { path, entry, fault, expected },
            Image::Memory(fault) => Error::Memory(fault),
            Image::Pattern(fault) => Error::Pattern(fault),
            Image::Request { what, expected } => Error::Request { what, expected },
        }
    }
}

impl From<packline_cache::Error> for Error {
    fn from(error: packline_cache::Error) -> Error {
        match error {
            packline_cache::Error::Io { path, action, cause } => Error::Output { path, action, cause },
            packline_cache::Error::NotACache(path) => Error::Target {
                path,
                what: "is not a block cache".to_string(),
                expected: "an empty directory, or a directory with CACHEDIR.TAG and v1".to_string(),
            },
        }
    }
}

impl Error {
    /// An error of a format that is one stream, with the name of the file.
    #[cfg(any(feature = "lrz", feature = "recovery", feature = "delta", feature = "verity"))]
    pub fn stream(path: impl Into<PathBuf>, cause: impl Into<StreamError>) -> Error {
        Error::Stream { path: path.into(), cause: Box::new(cause.into()) }
    }

    /// Whether the cause is damage to a .pln file: to its content, or to a file that is read from the content.
    #[cfg(feature = "pln")]
    pub fn is_pln_damage(&self) -> bool {
        is_caused_by_damage(self)
    }

    /// The workers that read or write `path` cannot be started.
    pub(crate) fn workers(path: &Path, fault: WorkFault) -> Error {
        let cause = match fault {
            WorkFault::Workers(cause) => std::io::Error::new(cause.kind(), cause),
            fault => std::io::Error::other(fault),
        };
        Error::Source { path: path.to_path_buf(), action: "cannot start the workers", cause }
    }

    /// A memory limit is too small for `what`.
    pub fn memory(shortage: Shortage, what: String) -> Error {
        Error::Memory(shortage.of(what))
    }
}

/// Why a .lrz or .pln file, a delta, recovery data or a hash tree cannot be read or written: the error of its crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A .lrz file.
    #[cfg(feature = "lrz")]
    #[error(transparent)]
    Lrz(#[from] packline_lrz::Error),
    /// A .pln file.
    #[cfg(feature = "pln")]
    #[error(transparent)]
    Pln(#[from] packline_pln::Error),
    /// The frame around the content of an encrypted .pln file, or the keys.
    #[cfg(feature = "encryption")]
    #[error(transparent)]
    Encryption(#[from] packline_encryption::Error),
    /// A delta.
    #[cfg(feature = "delta")]
    #[error(transparent)]
    Delta(#[from] packline_delta::Error),
    /// Recovery data.
    #[cfg(feature = "recovery")]
    #[error(transparent)]
    Recovery(#[from] packline_recovery::Error),
    /// A hash tree of dm-verity.
    #[cfg(feature = "verity")]
    #[error(transparent)]
    Verity(#[from] packline_verity::Error),
    /// Damage to a .pln file that comes through a stream and has recovery data.
    #[cfg(feature = "pln")]
    #[error("{0}; it has recovery data, which can repair a file while it is read, but not a stream")]
    Repairable(#[source] Box<StreamError>),
}

#[cfg(feature = "pln")]
impl StreamError {
    /// Whether the cause is damage to a .pln file.
    fn is_pln_damage(&self) -> bool {
        match self {
            StreamError::Pln(error) => error.is_of_file(),
            #[cfg(feature = "encryption")]
            StreamError::Encryption(error) => error.is_of_file(),
            StreamError::Repairable(cause) => cause.is_pln_damage(),
            _ => false,
        }
    }
}

/// Whether an error, or one that caused it, is damage to a .pln file. An error of reading a .pln file as an input is inside an [`io::Error`].
#[cfg(feature = "pln")]
fn is_caused_by_damage(error: &(dyn std::error::Error + 'static)) -> bool {
    let shared = error.downcast_ref::<Arc<io::Error>>().map(Arc::as_ref);
    let inner = error.downcast_ref::<io::Error>().or(shared).and_then(io::Error::get_ref);
    let damaged = match inner {
        Some(inner) => is_damage(inner),
        None => is_damage(error),
    };
    damaged || error.source().is_some_and(is_caused_by_damage)
}

#[cfg(feature = "pln")]
fn is_damage(error: &(dyn std::error::Error + 'static)) -> bool {
    #[cfg(feature = "encryption")]
    if error.downcast_ref().is_some_and(packline_encryption::Error::is_of_file) {
        return true;
    }
    // The source of [`Error::Stream`] is a box.
    let boxed = error.downcast_ref().map(Box::<StreamError>::as_ref);
    error.downcast_ref().is_some_and(packline_pln::Error::is_of_file)
        || error.downcast_ref().or(boxed).is_some_and(StreamError::is_pln_damage)
}

/// Errors of the source name their own file. All other errors concern the image.
fn name_image(path: &std::path::Path, cause: &packline_blocks::Error) -> String {
    match cause {
        packline_blocks::Error::Source(source) => source.to_string(),
        other => format!("{}: {other}", path.escaped()),
    }
}

fn name_read(path: &std::path::Path, entry: Option<&[u8]>, cause: &packline_squashfs::read::ReadError) -> String {
    match entry {
        Some(entry) => format!("{}: {}: {cause}", path.escaped(), entry.escaped()),
        None => format!("{}: {cause}", path.escaped()),
    }
}
