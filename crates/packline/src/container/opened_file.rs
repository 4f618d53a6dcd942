//! A file that is opened once, and recognised by the bytes that are read then.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

#[cfg(any(feature = "delta", feature = "lrz", feature = "pln", feature = "recovery"))]
use packline_runtime::FileAttributes;
use packline_runtime::{FileIdentity, FileInput, FileStamp, Input, InputStream};

use super::by_magic::{ContentKind, HEAD, log_kind};
use crate::error::Error;

/// An open file or block device. Its first bytes are read once and kept. Clones share the open file.
#[derive(Debug, Clone)]
pub struct OpenedFile(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The name in messages.
    path: PathBuf,
    input: FileInput,
    about: Metadata,
    head: OnceLock<Head>,
}

#[derive(Debug)]
struct Head {
    /// Empty if the first bytes cannot be read: the error then belongs to the operation that needs the bytes.
    bytes: Vec<u8>,
    kind: Option<ContentKind>,
}

impl OpenedFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened, or cannot be read at any offset.
    pub fn open(path: impl AsRef<Path>) -> Result<OpenedFile, Error> {
        OpenedFile::of(path.as_ref(), File::open(path.as_ref()))
    }

    /// The open `file`, called `path` in messages.
    ///
    /// # Errors
    /// As for [`OpenedFile::open`].
    pub(crate) fn of(path: &Path, file: io::Result<File>) -> Result<OpenedFile, Error> {
        let opened = file.and_then(|file| {
            let about = file.metadata()?;
            OpenedFile::described(path.to_path_buf(), file, about)
        });
        opened.map_err(|cause| Error::Source { path: path.to_path_buf(), action: "cannot open", cause })
    }

    /// The open `file`, whose metadata is `about`.
    pub(crate) fn described(path: PathBuf, file: File, about: Metadata) -> io::Result<OpenedFile> {
        let input = if about.is_file() { FileInput::described(file, &about) } else { FileInput::new(file)? };
        Ok(OpenedFile(Arc::new(Shared { path, input, about, head: OnceLock::new() })))
    }

    /// The path that was opened, or the name of the stream that was stored in the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether this is a regular file and not a block device.
    pub fn is_regular(&self) -> bool {
        self.0.about.is_file()
    }

    /// The identity of the open file.
    pub fn identity(&self) -> Option<FileIdentity> {
        FileIdentity::of(&self.0.about)
    }

    /// The container, by the first bytes. `None` if it is unknown.
    pub fn content_kind(&self) -> Option<ContentKind> {
        self.read_head().kind
    }

    /// The first 512 bytes, or all bytes of a smaller file.
    pub fn head(&self) -> &[u8] {
        &self.read_head().bytes
    }

    fn read_head(&self) -> &Head {
        self.0.head.get_or_init(|| {
            let mut bytes = vec![0; self.size().min(HEAD as u64) as usize];
            if self.0.input.read_at(0, &mut bytes).is_err() {
                bytes.clear();
            }
            let kind = ContentKind::of_head(&bytes);
            log_kind(&self.0.path, kind);
            Head { bytes, kind }
        })
    }

    /// The bytes from front to back.
    pub(crate) fn stream(&self) -> InputStream<Arc<dyn Input>> {
        InputStream::new(Arc::new(self.clone()), 0)
    }

    /// The attributes that an output takes from this file.
    #[cfg(any(feature = "delta", feature = "lrz", feature = "pln", feature = "recovery"))]
    pub(crate) fn attributes(&self) -> Result<FileAttributes, Error> {
        let about = FileAttributes::of_source(self.0.input.file());
        about.map_err(|cause| Error::Source { path: self.0.path.clone(), action: "cannot read", cause })
    }
}

impl Input for OpenedFile {
    fn size(&self) -> u64 {
        self.0.input.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if let Some(head) = self.0.head.get()
            && offset < HEAD as u64
            && let Some(bytes) = head.bytes.get(offset as usize..).and_then(|head| head.get(..buffer.len()))
        {
            buffer.copy_from_slice(bytes);
            return Ok(());
        }
        self.0.input.read_at(offset, buffer)
    }

    fn changed(&self) -> io::Result<bool> {
        self.0.input.changed()
    }

    fn stamp(&self) -> Option<FileStamp> {
        self.0.input.stamp()
    }
}
