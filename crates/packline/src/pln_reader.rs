//! The content of a .pln file, read at any position.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use packline_pln::ContentReader;
use packline_runtime::seek_position;

use crate::Error;
use crate::pln_file::{fault, pln_open};

/// The content of a .pln file, which can be read at any position.
///
/// The checksum of each record is verified before bytes of it are returned. A read returns bytes of one record at most, and may
/// be of any size: the record read last is kept (4 KiB to 16 MiB), besides a decoder. A seek reads nothing, and may lead beyond the
/// end, where nothing is read.
///
/// # Errors
/// Those of [`Read`] hold an [`Error`] with the path, the part and its offset ([`io::Error::get_ref`]). They are of the kind
/// [`io::ErrorKind::InvalidData`] for a damaged file, and of the kind of the operating system's answer where it refuses. The
/// position then stays. A seek to before the start is an [`io::ErrorKind::InvalidInput`].
pub struct PlnReader {
    content: ContentReader,
    position: u64,
    path: PathBuf,
}

impl PlnReader {
    /// Opens a file, and reads its index.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be opened, [`Error::Target`] for a pipe, [`Error::Container`] for another container,
    /// [`Error::Stream`] if the header, the index or the trailer is damaged: [`decompress`](crate::decompress) reads the
    /// records before the damage.
    pub fn open(path: impl Into<PathBuf>) -> Result<PlnReader, Error> {
        PlnReader::open_as(path.into(), None)
    }

    /// Opens a file that may be encrypted, with keys that may open it. Only the chunks of it that are touched are decrypted.
    ///
    /// # Errors
    /// As [`PlnReader::open`]; [`Error::Stream`] also if no key opens it, or if it is cut off.
    #[cfg(feature = "encryption")]
    pub fn open_with(path: impl Into<PathBuf>, identities: &crate::Identities) -> Result<PlnReader, Error> {
        PlnReader::open_as(path.into(), Some(identities))
    }

    fn open_as(path: PathBuf, identities: Option<&crate::Identities>) -> Result<PlnReader, Error> {
        let content = ContentReader::new(pln_open(&path, identities)?);
        Ok(PlnReader { content, position: 0, path })
    }

    /// Size of the content, bytes.
    pub fn size(&self) -> u64 {
        self.content.reader().size()
    }

    fn fault(&self, cause: packline_pln::Error) -> io::Error {
        let kind = match &cause {
            packline_pln::Error::Input(cause) => cause.kind(),
            cause if cause.is_of_file() => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, fault(&self.path, &self.path, cause))
    }
}

impl Read for PlnReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read_at(self.position, buffer).map_err(|cause| self.fault(cause))?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for PlnReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = seek_position(self.position, self.size(), to)?;
        Ok(self.position)
    }
}

impl fmt::Debug for PlnReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlnReader")
            .field("size", &self.size())
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
