//! Inputs that are one file or stream.

use std::io::Read;
use std::path::PathBuf;

#[cfg(any(feature = "lrz", feature = "pln"))]
use crate::sources::peeked;
#[cfg(any(feature = "lrz", feature = "pln"))]
use crate::{ContentKind, Error};

/// A file or block device that is read at any offset.
///
/// # Errors
/// [`Error::Source`](crate::Error::Source).
#[cfg(any(feature = "delta", feature = "recovery", feature = "verity"))]
pub(crate) fn open_input(path: &std::path::Path) -> Result<std::sync::Arc<dyn packline_runtime::Input>, crate::Error> {
    let file = std::fs::File::open(path).and_then(packline_runtime::FileInput::new);
    let file = file.map_err(|cause| crate::Error::Source { path: path.to_path_buf(), action: "cannot open", cause })?;
    Ok(std::sync::Arc::new(file))
}

/// What an output that is made from a file takes from it.
///
/// # Errors
/// [`Error::Source`](crate::Error::Source).
#[cfg(any(feature = "delta", feature = "recovery"))]
pub(crate) fn attributes_of(path: &std::path::Path) -> Result<packline_runtime::FileAttributes, crate::Error> {
    let about = std::fs::File::open(path).and_then(|file| packline_runtime::FileAttributes::of_source(&file));
    about.map_err(|cause| crate::Error::Source { path: path.to_path_buf(), action: "cannot read", cause })
}

/// Where bytes come from, compressed or not.
pub enum Input {
    /// A file. One that is not a regular file is read as a stream.
    File(PathBuf),
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

    #[cfg(any(feature = "lrz", feature = "pln"))]
    pub(crate) fn shown(&self) -> PathBuf {
        match self {
            Input::File(path) => path.clone(),
            Input::Stream(name, _) => PathBuf::from(name),
        }
    }

    /// The same input, and its container by its first bytes.
    #[cfg(any(feature = "lrz", feature = "pln"))]
    pub(crate) fn recognized(self) -> Result<(Input, Option<ContentKind>), Error> {
        match self {
            Input::File(path) => {
                let found = ContentKind::of_file(&path);
                Ok((Input::File(path), found))
            }
            Input::Stream(name, stream) => {
                let (head, stream) = peeked(std::path::Path::new(&name), stream)?;
                Ok((Input::Stream(name, stream), ContentKind::of_head(&head)))
            }
        }
    }
}
