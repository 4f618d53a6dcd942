//! A file, perhaps on a server, that is opened once, and recognised by the bytes that are read then.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, IoSliceMut, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use packline_archives::decompress::HEAD;
#[cfg(any(feature = "delta", feature = "lrz", feature = "pln", feature = "recovery"))]
use packline_runtime::FileAttributes;
use packline_runtime::{FileIdentity, FileInput, FileStamp, Input, InputChange, InputStream};
use rustix::fs::OFlags;

use super::by_magic::{ContentKind, log_kind};
use crate::error::Error;

/// An open file or block device, or a file on a server. Its first bytes are read once and kept. Clones share the open file.
#[derive(Debug, Clone)]
pub struct OpenedFile(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The name in messages.
    path: PathBuf,
    bytes: Bytes,
    head: OnceLock<Head>,
}

#[allow(clippy::large_enum_variant)] // There is one for each open file.
enum Bytes {
    /// On this machine.
    File { input: FileInput, about: Metadata },
    /// Elsewhere.
    Remote(Arc<dyn Input>),
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bytes::File { input, .. } => f.debug_tuple("File").field(input).finish(),
            Bytes::Remote(input) => f.debug_tuple("Remote").field(&input.size()).finish(),
        }
    }
}

impl Bytes {
    fn input(&self) -> &dyn Input {
        match self {
            Bytes::File { input, .. } => input,
            Bytes::Remote(input) => input.as_ref(),
        }
    }
}

#[derive(Debug)]
struct Head {
    /// Fewer bytes than the file has if they cannot be read.
    bytes: Vec<u8>,
    kind: Option<ContentKind>,
    /// Why the bytes cannot be read.
    failure: Option<io::Error>,
}

/// Rejects a directory, which is not read as a file.
///
/// # Errors
/// [`Error::Target`].
pub(super) fn refuse_directory(path: &Path, about: &Metadata) -> Result<(), Error> {
    if !about.is_dir() {
        return Ok(());
    }
    let expected = "a file or a block device".to_string();
    Err(Error::Target { path: path.to_path_buf(), what: "is a directory".to_string(), expected })
}

impl OpenedFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`Error::Target`] for a directory, [`Error::Source`] if the file cannot be opened, or cannot be read at any offset.
    pub fn open(path: impl AsRef<Path>) -> Result<OpenedFile, Error> {
        let path = path.as_ref();
        // NONBLOCK: a pipe is an error, so do not wait for its writer.
        let flags = OFlags::NONBLOCK.bits() as i32;
        OpenedFile::of(path, OpenOptions::new().read(true).custom_flags(flags).open(path))
    }

    /// The open `file`, called `path` in messages.
    ///
    /// # Errors
    /// As for [`OpenedFile::open`].
    pub(crate) fn of(path: &Path, file: io::Result<File>) -> Result<OpenedFile, Error> {
        let refused = |cause| Error::Source { path: path.to_path_buf(), action: "cannot open", cause };
        let file = file.map_err(refused)?;
        let about = file.metadata().map_err(refused)?;
        refuse_directory(path, &about)?;
        OpenedFile::described(path.to_path_buf(), file, about).map_err(refused)
    }

    /// The open `file`, whose metadata is `about`.
    pub(crate) fn described(path: PathBuf, file: File, about: Metadata) -> io::Result<OpenedFile> {
        let input = if about.is_file() { FileInput::described(file, &about) } else { FileInput::new(file)? };
        Ok(OpenedFile::with(path, Bytes::File { input, about }))
    }

    /// A file that is not on this machine, and so has no attributes and no identity; `name` is for messages.
    pub fn remote(name: impl Into<PathBuf>, input: Arc<dyn Input>) -> OpenedFile {
        OpenedFile::with(name.into(), Bytes::Remote(input))
    }

    fn with(path: PathBuf, bytes: Bytes) -> OpenedFile {
        OpenedFile(Arc::new(Shared { path, bytes, head: OnceLock::new() }))
    }

    /// The path that was opened, or the name of the stream that was stored in the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether this is a regular file of this machine, and not a block device.
    pub fn is_regular(&self) -> bool {
        matches!(&self.0.bytes, Bytes::File { about, .. } if about.is_file())
    }

    /// Whether this is a file on a server.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.0.bytes, Bytes::Remote(_))
    }

    /// The identity of the open file; `None` if it is on a server.
    pub fn identity(&self) -> Option<FileIdentity> {
        match &self.0.bytes {
            Bytes::File { about, .. } => FileIdentity::of(about),
            Bytes::Remote(_) => None,
        }
    }

    /// The container, by the first bytes. `None` if it is unknown.
    pub fn content_kind(&self) -> Option<ContentKind> {
        self.read_head().kind
    }

    /// The first bytes, 1028 at most.
    pub fn head(&self) -> &[u8] {
        &self.read_head().bytes
    }

    fn read_head(&self) -> &Head {
        self.0.head.get_or_init(|| {
            let wanted = if self.has_no_size() { HEAD } else { self.size().min(HEAD as u64) as usize };
            let mut bytes = Vec::with_capacity(wanted);
            let reader = FileReader { file: self.clone(), at: 0 };
            let failure = reader.take(wanted as u64).read_to_end(&mut bytes).err();
            let kind = ContentKind::of_head(&bytes);
            log_kind(&self.0.path, kind);
            Head { bytes, kind, failure }
        })
    }

    /// As [`OpenedFile::head`]. A file that is shorter than its size, as many files in `/sys` are, is not an error.
    ///
    /// # Errors
    /// [`Error::Source`] if the first bytes cannot be read.
    pub(crate) fn readable_head(&self) -> Result<&[u8], Error> {
        let Head { bytes, failure, .. } = self.read_head();
        let Some(failure) = failure else { return Ok(bytes) };
        let cause = failure.raw_os_error().map_or_else(|| failure.kind().into(), io::Error::from_raw_os_error);
        Err(Error::Source { path: self.0.path.clone(), action: "cannot read", cause })
    }

    /// Whether this is a file of size 0. Files of the kernel (`/proc`) report that size but may have content.
    fn has_no_size(&self) -> bool {
        self.is_regular() && self.size() == 0
    }

    /// Whether this file has content but reports size 0. It cannot be read at offsets.
    pub(crate) fn is_unsized(&self) -> bool {
        self.has_no_size() && !self.head().is_empty()
    }

    /// The bytes from front to back. A file that reports size 0 is read to its end.
    pub(crate) fn stream(&self) -> Box<dyn Read + Send> {
        if self.has_no_size() {
            return Box::new(FileReader { file: self.clone(), at: 0 });
        }
        let input: Arc<dyn Input> = Arc::new(self.clone());
        Box::new(InputStream::new(input, 0))
    }

    /// The attributes that an output takes from this file.
    #[cfg(any(feature = "delta", feature = "lrz", feature = "pln", feature = "recovery"))]
    pub(crate) fn attributes(&self) -> Result<FileAttributes, Error> {
        let about = match &self.0.bytes {
            Bytes::File { input, .. } => FileAttributes::of_source(input.file()),
            Bytes::Remote(_) => Err(io::ErrorKind::Unsupported.into()),
        };
        about.map_err(|cause| Error::Source { path: self.0.path.clone(), action: "cannot read", cause })
    }
}

/// Reads a file to its end, whatever its size says.
struct FileReader {
    file: OpenedFile,
    at: u64,
}

impl Read for FileReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = match &self.file.0.bytes {
            Bytes::File { input, .. } => input.file().read_at(into, self.at)?,
            Bytes::Remote(input) => InputStream::new(input.as_ref(), self.at).read(into)?,
        };
        self.at += bytes as u64;
        Ok(bytes)
    }
}

impl Input for OpenedFile {
    fn size(&self) -> u64 {
        self.0.bytes.input().size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if let Some(head) = self.0.head.get()
            && offset < HEAD as u64
            && let Some(bytes) = head.bytes.get(offset as usize..).and_then(|head| head.get(..buffer.len()))
        {
            buffer.copy_from_slice(bytes);
            return Ok(());
        }
        self.0.bytes.input().read_at(offset, buffer)
    }

    fn read_vectored_at(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.bytes.input().read_vectored_at(offset, buffers)
    }

    fn will_read(&self, offset: u64, length: u64) {
        self.0.bytes.input().will_read(offset, length);
    }

    fn change(&self) -> io::Result<InputChange> {
        self.0.bytes.input().change()
    }

    fn stamp(&self) -> Option<FileStamp> {
        self.0.bytes.input().stamp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_files_that_report_size_zero() {
        let file = OpenedFile::open("/proc/self/status").unwrap();
        assert!(file.size() == 0 && file.is_unsized());
        assert!(file.readable_head().unwrap().starts_with(b"Name:"));
        let mut whole = String::new();
        file.stream().read_to_string(&mut whole).unwrap();
        assert!(whole.len() > HEAD && whole.starts_with("Name:"), "{whole}");
        let empty = tempfile::NamedTempFile::new().unwrap();
        let empty = OpenedFile::open(empty.path()).unwrap();
        assert!(!empty.is_unsized() && empty.readable_head().unwrap().is_empty());
    }
}
