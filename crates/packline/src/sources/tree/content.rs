//! The content of a file in a tree that a program builds.

use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use packline_tree::Copied;

/// The content of a file in a [`Tree`](super::Tree): bytes, a file of this machine, or a reader.
pub struct Content(pub(super) Origin);

/// Where the bytes come from.
pub(super) enum Origin {
    Memory(Arc<[u8]>),
    /// A file of this machine.
    Host(PathBuf),
    Reader {
        reader: Box<dyn Read + Send>,
        /// Number of bytes, if known.
        size: Option<u64>,
    },
    /// A reader that was copied, because its size was not known.
    Copied(Copied),
    /// A reader that was read.
    Spent,
}

impl Content {
    /// The file of this machine at `path` at the time of the pack, with symbolic links followed. Its holes stay holes. Its attributes are not
    /// used.
    pub fn path(path: impl Into<PathBuf>) -> Content {
        Content(Origin::Host(path.into()))
    }

    /// All bytes of a reader. They are copied before the file is packed, because the image needs the size first: into memory up to 16 MiB, or a
    /// 32nd of the memory limit if that is less, and beyond it into an unnamed temporary file in
    /// [`Resources::scratch`](crate::Resources::scratch). [`Content::sized`] needs no copy.
    pub fn reader(reader: impl Read + Send + 'static) -> Content {
        Content(Origin::Reader { reader: Box::new(reader), size: None })
    }

    /// All bytes of a reader, which must be exactly `size` bytes.
    pub fn sized(reader: impl Read + Send + 'static, size: u64) -> Content {
        Content(Origin::Reader { reader: Box::new(reader), size: Some(size) })
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Origin::Memory(bytes) => write!(f, "Content of {} bytes", bytes.len()),
            Origin::Host(path) => write!(f, "Content of {path:?}"),
            Origin::Reader { size, .. } => write!(f, "Content of a reader of size {size:?}"),
            Origin::Copied(copy) => write!(f, "Content of {} copied bytes", copy.size()),
            Origin::Spent => f.write_str("Content that was read"),
        }
    }
}

impl From<Arc<[u8]>> for Content {
    fn from(bytes: Arc<[u8]>) -> Content {
        Content(Origin::Memory(bytes))
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        Content(Origin::Memory(bytes.into()))
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Content {
        Content(Origin::Memory(bytes.into()))
    }
}

impl<const N: usize> From<&[u8; N]> for Content {
    fn from(bytes: &[u8; N]) -> Content {
        bytes.as_slice().into()
    }
}

impl From<String> for Content {
    fn from(text: String) -> Content {
        text.into_bytes().into()
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Content {
        text.as_bytes().into()
    }
}
