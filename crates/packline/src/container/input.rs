//! Inputs that are one file or stream.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use packline_runtime::escape::Escape;

#[cfg(any(feature = "lrz", feature = "pln"))]
use super::by_magic::ContentKind;
use super::opened_file::{OpenedFile, refuse_directory};
#[cfg(any(feature = "lrz", feature = "pln"))]
use super::recognise::peeked;
use crate::error::Error;

/// A source of bytes, compressed or not.
pub enum Input {
    /// A file. One that is not a regular file is read as a stream.
    File(PathBuf),
    /// A file that is open already.
    Opened(OpenedFile),
    /// A stream, with its name in messages.
    Stream(String, Box<dyn Read + Send>),
}

impl Input {
    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Input {
        Input::File(path.into())
    }

    /// A stream; `name` is for messages.
    pub fn reader(name: impl Into<String>, stream: impl Read + Send + 'static) -> Input {
        Input::Stream(name.into(), Box::new(stream))
    }

    /// Opens the file at `path` once, whatever is in it. A pipe and a character device become a stream.
    ///
    /// # Errors
    /// [`Error::Target`] for a directory, [`Error::Source`] if the file cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> Result<Input, Error> {
        let path = path.into();
        let refused = |cause| Error::Source { path: path.clone(), action: "cannot open", cause };
        let file = File::open(&path).map_err(refused)?;
        Input::of(path, file)
    }

    /// Takes the open file that is standard input. A file of size 0 becomes a stream, since files of the kernel (`/proc`) report that size.
    ///
    /// # Errors
    /// As for [`Input::open`].
    pub fn stdin(name: &str, file: File) -> Result<Input, Error> {
        if file.metadata().is_ok_and(|about| about.is_file() && about.len() == 0) {
            return Ok(Input::reader(name, file));
        }
        Input::of(name.into(), file)
    }

    fn of(path: PathBuf, file: File) -> Result<Input, Error> {
        let refused = |cause| Error::Source { path: path.clone(), action: "cannot open", cause };
        let about = file.metadata().map_err(refused)?;
        let kind = about.file_type();
        if kind.is_fifo() || kind.is_char_device() {
            return Ok(Input::reader(path.escaped(), file));
        }
        refuse_directory(&path, &about)?;
        OpenedFile::described(path.clone(), file, about).map(Input::Opened).map_err(refused)
    }

    /// The file, if it is open.
    pub fn opened_file(&self) -> Option<&OpenedFile> {
        if let Input::Opened(file) = self { Some(file) } else { None }
    }

    #[cfg(any(feature = "lrz", feature = "pln"))]
    pub(crate) fn shown(&self) -> PathBuf {
        match self {
            Input::File(path) => path.clone(),
            Input::Opened(file) => file.path().to_path_buf(),
            Input::Stream(name, _) => PathBuf::from(name),
        }
    }

    /// Returns the same input, and its container by its first bytes.
    #[cfg(any(feature = "lrz", feature = "pln"))]
    pub(crate) fn recognized(self) -> Result<(Input, Option<ContentKind>), Error> {
        match self {
            Input::File(path) => match Input::open(&path) {
                Ok(opened) => opened.recognized(),
                // Whoever reads the file reports the error.
                Err(_) => Ok((Input::File(path), None)),
            },
            Input::Opened(file) => {
                let found = file.content_kind();
                Ok((Input::Opened(file), found))
            }
            Input::Stream(name, stream) => {
                let (head, stream) = peeked(std::path::Path::new(&name), stream)?;
                Ok((Input::Stream(name, stream), ContentKind::of_head(&head)))
            }
        }
    }
}
