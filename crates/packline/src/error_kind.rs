//! What an error means to a program, whichever crate it comes from.

use std::io;
use std::path::Path;
use std::sync::Arc;

use packline_blocks::Error as BlocksError;
use packline_codec::CodecError;
use packline_image::EntryFault;
use packline_runtime::{Exists, FormatFault, ScratchError, WorkFault, WriteError};
use packline_squashfs::BaseError;
use packline_tree::Error as TreeError;
use packline_volume::ReadError;

use crate::error::{Error, StreamError};

/// What an error means to a program: the decision that the program can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file, or a path in an image, does not exist.
    NotFound,
    /// The output exists, and replacing it was not requested.
    Exists,
    /// The system denies access, or the file system is read-only.
    Permission,
    /// The file system is full, a quota is exceeded, or the output is too large for the file system.
    NoSpace,
    /// The input is damaged. [`Error::corruption`] returns the offset, if it is known.
    Corrupt,
    /// The input is not a container or source that the operation reads.
    WrongFormat,
    /// The input has a feature that is not supported.
    Unsupported,
    /// A limit is exceeded: the memory limit, the system's limit of threads, or a limit of the format.
    Limit,
    /// A [`CancelToken`](crate::CancelToken) was set.
    Cancelled,
    /// The key or password is missing or wrong.
    WrongKey,
    /// The request is invalid: a codec, a pattern, a path, or options that exclude each other.
    Invalid,
    /// Another error of the operating system.
    Io,
    /// A bug in packline.
    Internal,
}

impl Error {
    /// What the error means to a program. Operating system errors keep their meaning, wherever they occur.
    ///
    /// ```
    /// use packline::{ErrorKind, Image};
    ///
    /// let error = Image::open("/missing/root.sqfs").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NotFound);
    /// assert_eq!(error.path().unwrap(), "/missing/root.sqfs");
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Output { cause, .. } | Error::Source { cause, .. } => of_io(cause),
            Error::Exists(_) | Error::HashTree { .. } => ErrorKind::Exists,
            Error::Tree(cause) => of_tree(cause),
            Error::Image { cause, .. } => of_blocks(cause),
            Error::Read { cause, .. } => of_read(cause),
            Error::Base { cause, .. } => of_base(cause),
            Error::Stream { cause, .. } => of_stream(cause),
            Error::Container { .. } | Error::Unrecognized { .. } => ErrorKind::WrongFormat,
            Error::Entry { fault: EntryFault::Missing, .. } => ErrorKind::NotFound,
            Error::Memory(_) => ErrorKind::Limit,
            Error::Codec(cause) => of_codec(cause),
            Error::Target { .. }
            | Error::Entry { .. }
            | Error::ChangedLater { .. }
            | Error::Pattern(_)
            | Error::Request { .. } => ErrorKind::Invalid,
        }
    }

    /// The file of this machine that the error concerns, as the caller named it.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Error::Image { cause, .. } if of_source(cause).is_some() => of_source(cause).and_then(path_of),
            Error::Tree(cause) => path_of(cause),
            Error::Output { path, .. }
            | Error::Target { path, .. }
            | Error::Exists(Exists::File(path) | Exists::Directory(path))
            | Error::Source { path, .. }
            | Error::Image { path, .. }
            | Error::Read { path, .. }
            | Error::Base { path, .. }
            | Error::Stream { path, .. }
            | Error::Container { path, .. }
            | Error::Unrecognized { path, .. }
            | Error::Entry { path, .. }
            | Error::ChangedLater { path, .. }
            | Error::HashTree { path, .. } => Some(path),
            Error::Memory(_) | Error::Codec(_) | Error::Pattern(_) | Error::Request { .. } => None,
        }
    }

    /// The path in the source or in the image that the error concerns.
    pub fn entry(&self) -> Option<&[u8]> {
        match self {
            Error::Read { entry, .. } => entry.as_deref(),
            Error::Entry { entry, .. } => Some(entry),
            Error::Tree(cause) => entry_of(cause),
            Error::Image { cause, .. } => of_source(cause).and_then(entry_of),
            _ => None,
        }
    }

    /// The damage, if the kind is [`ErrorKind::Corrupt`] and its offset is known: the offset in bytes in the input (in an image: from the first
    /// byte of the image; in a compressed tar: in the decompressed tar), what is there, and what was expected.
    pub fn corruption(&self) -> Option<FormatFault> {
        match self {
            Error::Read { cause, .. } => match &**cause {
                ReadError::Corrupt(fault) => Some(fault.clone()),
                _ => None,
            },
            Error::Tree(cause) => damage_of(cause),
            Error::Image { cause, .. } => match &**cause {
                BlocksError::Source(cause) => damage_of(cause),
                BlocksError::ReadBack { offset, what, is } => {
                    Some(FormatFault::new(*offset, format!("{what} {is}"), "what was written"))
                }
                _ => None,
            },
            Error::Base { cause, .. } => match &**cause {
                BaseError::Read(ReadError::Corrupt(fault)) => Some(fault.clone()),
                _ => None,
            },
            Error::Stream { cause, .. } => damage_of_stream(cause),
            _ => None,
        }
    }
}

/// The error of the source in an error of writing an image.
fn of_source(cause: &BlocksError) -> Option<&TreeError> {
    if let BlocksError::Source(cause) = cause { Some(cause) } else { None }
}

fn path_of(cause: &TreeError) -> Option<&Path> {
    if let TreeError::Io { path, .. } = cause { Some(path) } else { None }
}

fn entry_of(cause: &TreeError) -> Option<&[u8]> {
    match cause {
        TreeError::Malformed { entry, .. } | TreeError::Entry { entry, .. } => Some(entry.as_slice()),
        _ => None,
    }
}

fn damage_of(cause: &TreeError) -> Option<FormatFault> {
    match cause {
        TreeError::Malformed { offset, what, expected, .. } => {
            Some(FormatFault::new(*offset, what.as_str(), expected.as_str()))
        }
        _ => None,
    }
}

fn of_work(fault: &WorkFault) -> ErrorKind {
    match fault {
        WorkFault::Cancelled => ErrorKind::Cancelled,
        WorkFault::Workers(_) => ErrorKind::Limit,
        WorkFault::Internal(_) => ErrorKind::Internal,
    }
}

fn of_tree(cause: &TreeError) -> ErrorKind {
    match cause {
        TreeError::Io { cause, .. } => of_io(cause),
        TreeError::Malformed { .. } => ErrorKind::Corrupt,
        TreeError::Input { .. } => ErrorKind::WrongFormat,
        TreeError::Entry { .. } | TreeError::Line { .. } => ErrorKind::Invalid,
        TreeError::Work(fault) => of_work(fault),
    }
}

fn of_read(cause: &ReadError) -> ErrorKind {
    match cause {
        ReadError::Corrupt(_) => ErrorKind::Corrupt,
        ReadError::Unsupported(_) => ErrorKind::Unsupported,
        ReadError::Input { cause, .. } => of_io(cause),
        ReadError::Work(fault) => of_work(fault),
    }
}

fn of_blocks(cause: &BlocksError) -> ErrorKind {
    match cause {
        BlocksError::Source(cause) => of_tree(cause),
        BlocksError::Codec(cause) => of_codec(cause),
        BlocksError::Sink { cause, .. } => of_io(cause),
        BlocksError::ReadBack { .. } => ErrorKind::Corrupt,
        BlocksError::Limit { .. } => ErrorKind::Limit,
        BlocksError::Work(fault) => of_work(fault),
    }
}

fn of_base(cause: &BaseError) -> ErrorKind {
    match cause {
        BaseError::Read(cause) => of_read(cause),
        BaseError::Fit { .. } | BaseError::Foreign { .. } => ErrorKind::Unsupported,
        BaseError::Memory { .. } => ErrorKind::Limit,
    }
}

fn of_codec(cause: &CodecError) -> ErrorKind {
    match cause {
        CodecError::Malformed { .. } | CodecError::TooLong { .. } => ErrorKind::Corrupt,
        CodecError::Memory { .. } | CodecError::OutOfMemory { .. } => ErrorKind::Limit,
        CodecError::Library { .. } => ErrorKind::Internal,
        _ => ErrorKind::Invalid,
    }
}

/// The kind of an error of a reader, a writer or a system call. The error that it holds decides, if it says more.
fn of_io(error: &io::Error) -> ErrorKind {
    use io::ErrorKind as Io;
    match error.kind() {
        Io::NotFound => ErrorKind::NotFound,
        Io::AlreadyExists => ErrorKind::Exists,
        Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::Permission,
        Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => ErrorKind::NoSpace,
        Io::OutOfMemory => ErrorKind::Limit,
        kind => match error.get_ref().and_then(of_inner) {
            Some(inner) => inner,
            None if kind == Io::InvalidData => ErrorKind::Corrupt,
            None => ErrorKind::Io,
        },
    }
}

/// The kind of an error inside an [`io::Error`], if it is an error of packline.
fn of_inner(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Option<ErrorKind> {
    let shared = error.downcast_ref::<Arc<io::Error>>().map(Arc::as_ref);
    let wrapped = shared
        .or_else(|| error.downcast_ref())
        .or_else(|| error.downcast_ref::<ScratchError>().map(|scratch| &scratch.cause))
        .or_else(|| error.downcast_ref::<WriteError>().map(|write| &write.cause));
    wrapped
        .map(of_io)
        .or_else(|| error.downcast_ref().map(Error::kind))
        .or_else(|| error.downcast_ref().map(of_read))
        .or_else(|| error.downcast_ref().map(of_work))
        .or_else(|| error.downcast_ref().map(of_codec))
        .or_else(|| error.downcast_ref().map(of_stream))
        .or_else(|| error.is::<FormatFault>().then_some(ErrorKind::Corrupt))
        .or_else(|| of_inner_stream(error))
}

/// As [`of_inner`], for the errors of formats that are one stream.
fn of_inner_stream(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Option<ErrorKind> {
    #[cfg(feature = "encryption")]
    if let Some(error) = error.downcast_ref() {
        return Some(of_encryption(error));
    }
    #[cfg(feature = "pln")]
    if let Some(error) = error.downcast_ref() {
        return Some(of_pln(error));
    }
    let _ = error;
    None
}

fn of_stream(cause: &StreamError) -> ErrorKind {
    match cause {
        #[cfg(feature = "lrz")]
        StreamError::Lrz(cause) => of_lrz(cause),
        #[cfg(feature = "pln")]
        StreamError::Pln(cause) => of_pln(cause),
        #[cfg(feature = "encryption")]
        StreamError::Encryption(cause) => of_encryption(cause),
        #[cfg(feature = "delta")]
        StreamError::Delta(cause) => of_delta(cause),
        #[cfg(feature = "recovery")]
        StreamError::Recovery(cause) => of_recovery(cause),
        #[cfg(feature = "verity")]
        StreamError::Verity(cause) => of_verity(cause),
        #[cfg(feature = "pln")]
        StreamError::Repairable(cause) => of_stream(cause),
        #[cfg(not(any(feature = "lrz", feature = "recovery", feature = "delta", feature = "verity")))]
        _ => ErrorKind::Io,
    }
}

#[cfg(feature = "lrz")]
fn of_lrz(cause: &packline_lrz::Error) -> ErrorKind {
    use packline_lrz::Error as Lrz;
    match cause {
        Lrz::Corrupt(_) => ErrorKind::Corrupt,
        Lrz::Unsupported(_) => ErrorKind::Unsupported,
        Lrz::Password(_) => ErrorKind::WrongKey,
        Lrz::Input(cause) | Lrz::Output(cause) | Lrz::Scratch(cause) | Lrz::Random(cause) => of_io(cause),
        Lrz::Changed => ErrorKind::Io,
        Lrz::Memory(_) => ErrorKind::Limit,
        Lrz::Codec(cause) => of_codec(cause),
        Lrz::Work(fault) => of_work(fault),
    }
}

#[cfg(feature = "pln")]
fn of_pln(cause: &packline_pln::Error) -> ErrorKind {
    use packline_pln::Error as Pln;
    match cause {
        Pln::Corrupt { .. } | Pln::Cut { .. } => ErrorKind::Corrupt,
        Pln::Unsupported(_) => ErrorKind::Unsupported,
        Pln::Range { .. } => ErrorKind::Invalid,
        Pln::Input(cause) | Pln::Output(cause) => of_io(cause),
        Pln::Memory(_) => ErrorKind::Limit,
        Pln::Codec(cause) => of_codec(cause),
        Pln::Work(fault) => of_work(fault),
    }
}

#[cfg(feature = "encryption")]
fn of_encryption(cause: &packline_encryption::Error) -> ErrorKind {
    use packline_encryption::Error as Encryption;
    match cause {
        Encryption::Corrupt { .. } => ErrorKind::Corrupt,
        Encryption::Unsupported(_) => ErrorKind::Unsupported,
        Encryption::NoKey(_)
        | Encryption::WrongKey(_)
        | Encryption::WrongPassphrase
        | Encryption::WrongPassphraseOf(_) => ErrorKind::WrongKey,
        Encryption::WorkFactor { .. } | Encryption::Memory(_) => ErrorKind::Limit,
        Encryption::Key { .. } => ErrorKind::Invalid,
        Encryption::Input(cause) | Encryption::Output(cause) => of_io(cause),
        Encryption::Randomness(_) => ErrorKind::Io,
        Encryption::Work(fault) => of_work(fault),
    }
}

#[cfg(feature = "delta")]
fn of_delta(cause: &packline_delta::Error) -> ErrorKind {
    use packline_delta::Error as Delta;
    match cause {
        Delta::Corrupt(_) => ErrorKind::Corrupt,
        Delta::NotDelta => ErrorKind::WrongFormat,
        Delta::Unsupported(_) => ErrorKind::Unsupported,
        Delta::OtherOld { .. } => ErrorKind::Invalid,
        Delta::Input { cause, .. } | Delta::Output(cause) | Delta::Scratch(cause) => of_io(cause),
        Delta::Memory(_) => ErrorKind::Limit,
        Delta::Codec(cause) => of_codec(cause),
        Delta::Work(fault) => of_work(fault),
        _ => ErrorKind::Io,
    }
}

#[cfg(feature = "recovery")]
fn of_recovery(cause: &packline_recovery::Error) -> ErrorKind {
    use packline_recovery::Error as Recovery;
    match cause {
        Recovery::Unsupported(_) => ErrorKind::Unsupported,
        Recovery::NoData => ErrorKind::WrongFormat,
        Recovery::TableLost { .. } | Recovery::Beyond { .. } | Recovery::Unproven => ErrorKind::Corrupt,
        Recovery::Input(cause) | Recovery::Packets(cause) | Recovery::Output(cause) => of_io(cause),
        Recovery::Changed => ErrorKind::Io,
        Recovery::Memory(_) => ErrorKind::Limit,
        Recovery::Work(fault) => of_work(fault),
    }
}

#[cfg(feature = "verity")]
fn of_verity(cause: &packline_verity::Error) -> ErrorKind {
    use packline_verity::Error as Verity;
    match cause {
        Verity::Image(cause) | Verity::Tree(cause) | Verity::Output(cause) | Verity::Scratch(cause) => of_io(cause),
        Verity::Superblock { .. } => ErrorKind::Corrupt,
        Verity::Size { .. } | Verity::Certificate { .. } | Verity::Key { .. } => ErrorKind::Invalid,
        Verity::Memory(_) => ErrorKind::Limit,
        Verity::Work(fault) => of_work(fault),
    }
}

fn damage_of_stream(cause: &StreamError) -> Option<FormatFault> {
    match cause {
        #[cfg(feature = "lrz")]
        StreamError::Lrz(packline_lrz::Error::Corrupt(fault)) => Some(fault.clone()),
        #[cfg(feature = "pln")]
        StreamError::Pln(packline_pln::Error::Corrupt { fault, .. }) => Some(fault.clone()),
        #[cfg(feature = "pln")]
        StreamError::Pln(packline_pln::Error::Cut { length, part, missing, .. }) => {
            Some(FormatFault::new(*length, format!("cut off in {part}"), format!("at least {missing} more bytes")))
        }
        #[cfg(feature = "encryption")]
        StreamError::Encryption(packline_encryption::Error::Corrupt { fault, .. }) => Some(fault.clone()),
        #[cfg(feature = "delta")]
        StreamError::Delta(packline_delta::Error::Corrupt(fault)) => Some(fault.clone()),
        #[cfg(feature = "pln")]
        StreamError::Repairable(cause) => damage_of_stream(cause),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use packline_runtime::MemoryFault;

    use super::*;

    fn output(cause: io::Error) -> ErrorKind {
        Error::Output { path: PathBuf::from("a"), action: "cannot write", cause }.kind()
    }

    #[test]
    fn errors_of_the_system_keep_their_meaning_in_any_wrapping() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(output(full()), ErrorKind::NoSpace);
        assert_eq!(output(ScratchError::wrap(Path::new("tmp"), full())), ErrorKind::NoSpace);
        assert_eq!(output(io::Error::other(WriteError { offset: 1, bytes: 2, cause: full() })), ErrorKind::NoSpace);
        assert_eq!(output(io::Error::other(full())), ErrorKind::NoSpace);
        assert_eq!(output(io::Error::other(Arc::new(full()))), ErrorKind::NoSpace);
        assert_eq!(output(io::Error::other("unknown")), ErrorKind::Io);
        let sink = BlocksError::Sink { action: "write", offset: 0, cause: full() };
        assert_eq!(Error::Image { path: "a".into(), cause: Box::new(sink) }.kind(), ErrorKind::NoSpace);
    }

    #[test]
    fn an_error_inside_an_error_of_reading_decides() {
        let fault = FormatFault::new(7, "a bad byte", "0");
        let read = Error::Read { path: "a".into(), entry: None, cause: Box::new(fault.clone().into()) };
        assert_eq!((read.kind(), read.corruption()), (ErrorKind::Corrupt, Some(fault)));
        assert_eq!(output(io::Error::other(read)), ErrorKind::Corrupt);
        assert_eq!(output(io::Error::other(WorkFault::Cancelled)), ErrorKind::Cancelled);
        assert_eq!(output(io::Error::new(io::ErrorKind::InvalidData, "bad")), ErrorKind::Corrupt);
    }

    #[test]
    fn a_source_names_its_own_file_and_entry() {
        let gone = TreeError::Io { path: "b".into(), action: "cannot open", cause: io::ErrorKind::NotFound.into() };
        let error = Error::Image { path: "a".into(), cause: Box::new(gone.into()) };
        assert_eq!((error.kind(), error.path()), (ErrorKind::NotFound, Some(Path::new("b"))));
        let entry =
            TreeError::Entry { input: "b".into(), entry: b"x".to_vec(), what: "wrong".into(), expected: String::new() };
        let error = Error::Image { path: "a".into(), cause: Box::new(entry.into()) };
        assert_eq!((error.kind(), error.path(), error.entry()), (ErrorKind::Invalid, None, Some(&b"x"[..])));
        let memory = Error::Memory(MemoryFault { allowed: 1, needed: 2, what: "a test".into() });
        assert_eq!((memory.kind(), memory.path()), (ErrorKind::Limit, None));
    }
}
