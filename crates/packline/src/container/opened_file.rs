//! A file that is opened once, and recognised by the bytes that are read then.

use std::fs::File;
use std::io;
use std::path::Path;

use packline_runtime::{FileInput, FileStamp, Input};

use crate::container::by_magic::{ContentKind, HEAD};
use crate::error::Error;

/// An open file or block device. Its first bytes are in memory: whatever reads the start again makes no system call.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    input: FileInput,
    /// Empty if the start cannot be read: the error then belongs to the operation that needs the bytes.
    head: Vec<u8>,
}

impl OpenedFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`Error::Source`].
    pub(crate) fn open(path: &Path) -> Result<OpenedFile, Error> {
        OpenedFile::of(path, File::open(path))
    }

    /// The open `file`, called `path` in messages.
    ///
    /// # Errors
    /// [`Error::Source`] if it could not be opened, or cannot be read at any offset.
    pub(crate) fn of(path: &Path, file: io::Result<File>) -> Result<OpenedFile, Error> {
        let input = file.and_then(FileInput::new);
        let refused = |cause| Error::Source { path: path.to_path_buf(), action: "cannot open", cause };
        Ok(OpenedFile::described(input.map_err(refused)?))
    }

    /// Reads the first bytes of `input`.
    pub(crate) fn described(input: FileInput) -> OpenedFile {
        let mut head = vec![0; input.size().min(HEAD as u64) as usize];
        if input.read_at(0, &mut head).is_err() {
            head.clear();
        }
        OpenedFile { input, head }
    }

    /// The container, by the first bytes.
    pub(crate) fn content_kind(&self) -> Option<ContentKind> {
        ContentKind::of_head(&self.head)
    }
}

impl Input for OpenedFile {
    fn size(&self) -> u64 {
        self.input.size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if offset < HEAD as u64
            && let Some(bytes) = self.head.get(offset as usize..).and_then(|head| head.get(..buffer.len()))
        {
            buffer.copy_from_slice(bytes);
            return Ok(());
        }
        self.input.read_at(offset, buffer)
    }

    fn changed(&self) -> io::Result<bool> {
        self.input.changed()
    }

    fn stamp(&self) -> Option<FileStamp> {
        self.input.stamp()
    }
}
