//! Inputs that are one file or stream.

use std::fs::File;
use std::io::{Read, Seek};
use std::ops::{Bound, RangeBounds};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;

use packline_runtime::Input as ReadAt;
use packline_runtime::escape::Escape;

#[cfg(any(feature = "lrz", feature = "pln"))]
use super::by_magic::ContentKind;
use super::opened_file::{OpenedFile, refuse_directory};
use super::read_at::{Bytes, Part, Seekable};
#[cfg(any(feature = "lrz", feature = "pln"))]
use super::recognise::peeked;
use crate::error::Error;

/// A source of bytes, compressed or not.
#[non_exhaustive]
pub enum Input {
    /// A file. One that is not a regular file is read as a stream.
    File(PathBuf),
    /// A file that is open already.
    Opened(OpenedFile),
    /// A stream, with its name in messages.
    Stream(String, Box<dyn Read + Send>),
    /// Bytes that are read at any offset, with their name in messages.
    At(String, Arc<dyn ReadAt>),
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

    /// Bytes in memory; `name` is for messages.
    pub fn bytes(name: impl Into<String>, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Input {
        Input::At(name.into(), Arc::new(Bytes(bytes)))
    }

    /// Bytes that the caller reads at any offset, for several threads at once; `name` is for messages.
    pub fn custom(name: impl Into<String>, input: impl ReadAt + 'static) -> Input {
        Input::At(name.into(), Arc::new(input))
    }

    /// A stream that can seek, up to its present end. One thread reads at a time. `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Source`] if the stream cannot seek to its end.
    pub fn seekable(name: impl Into<String>, stream: impl Read + Seek + Send + 'static) -> Result<Input, Error> {
        let name = name.into();
        match Seekable::new(stream) {
            Ok(stream) => Ok(Input::At(name, Arc::new(stream))),
            Err(cause) => Err(Error::Source { path: name.into(), action: "cannot seek", cause }),
        }
    }

    /// A part of the input, by a range of bytes. A file is opened.
    ///
    /// # Errors
    /// [`Error::Request`] for a range that is not within the input, and for a stream; the errors of [`Input::open`].
    pub fn part(self, range: impl RangeBounds<u64>) -> Result<Input, Error> {
        let (name, input): (String, Arc<dyn ReadAt>) = match self {
            Input::File(path) => match Input::open(path)? {
                Input::File(_) => return Err(no_offsets("the file")),
                opened => return opened.part(range),
            },
            Input::Opened(file) => (file.path().escaped(), Arc::new(file)),
            Input::At(name, input) => (name, input),
            Input::Stream(name, _) => return Err(no_offsets(&name)),
        };
        let size = input.size();
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => size,
        };
        if start > end || end > size {
            let what = format!("{name}: bytes {start} to {end}");
            return Err(Error::Request { what, expected: format!("a range within its {size} bytes") });
        }
        Ok(Input::At(name, Arc::new(Part::new(input, start..end))))
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

    /// Takes an open file of any kind; `name` is for messages. A pipe and a character device become a stream.
    ///
    /// # Errors
    /// As for [`Input::open`].
    pub fn of_file(name: impl Into<PathBuf>, file: File) -> Result<Input, Error> {
        Input::of(name.into(), file)
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
            Input::Stream(name, _) | Input::At(name, _) => PathBuf::from(name),
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
            Input::At(name, input) => {
                let found = ContentKind::of_input(input.size(), |head| input.read_at(0, head));
                Ok((Input::At(name, input), found))
            }
        }
    }
}

/// The error for a stream where bytes at offsets are needed.
pub(super) fn no_offsets(name: &str) -> Error {
    Error::Request {
        what: format!("{name}: a stream, which cannot be read at offsets"),
        expected: "a file, bytes in memory, or a stream that can seek".to_string(),
    }
}
