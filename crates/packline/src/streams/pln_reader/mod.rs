//! The content of a .pln file, read at any position.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use packline_pln::{ContentReader, Reader};
use packline_runtime::{Input, Resources, seek_position};

use super::encrypted::{Identities, is_damage};
use super::opened_input::OpenedInput;
use super::pln::{OpenedPln, fault, pln_open, pln_open_input, pln_repaired};
use super::request::StreamOptions;
use crate::error::Error;

/// The content of a .pln file, which can be read at any position.
///
/// The checksum of each record is verified before bytes of it are returned. A read returns bytes of one record at most, and may
/// be of any size: the record read last is kept (4 KiB to 16 MiB), in addition to a decoder. A seek reads nothing, and may lead beyond the
/// end, where nothing is read.
///
/// A damaged file that was opened by [`PlnReader::open_repairing`] is read from a copy that its recovery data repairs, if the recovery data
/// suffices.
///
/// # Errors
/// An error of [`Read`] holds an [`Error`] with the path, the part and its offset ([`io::Error::get_ref`]). Its kind is
/// [`io::ErrorKind::InvalidData`] for a damaged file, and otherwise the kind of the operating system's error. The position
/// does not change after an error. A seek to before the start is an [`io::ErrorKind::InvalidInput`].
pub struct PlnReader {
    content: ContentReader,
    position: u64,
    path: PathBuf,
    /// Shared by all readers of one file.
    repair: Arc<Mutex<Repair>>,
    repaired: bool,
}

/// The repair of a damaged file.
enum Repair {
    /// The file has no recovery data, is not to be repaired, or cannot be repaired.
    None,
    /// The file with its recovery data, which turned out to be damaged nowhere yet.
    Possible(Arc<dyn Input>, Box<StreamOptions>),
    /// The repaired copy.
    Done(Arc<Reader>),
}

impl PlnReader {
    /// Opens a file, and reads its index.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be opened, [`Error::Target`] for a pipe, [`Error::Container`] for another container,
    /// [`Error::Stream`] if the header, the index or the trailer is damaged: [`decompress`](super::convert::decompress) reads the
    /// records before the damage.
    pub fn open(path: impl Into<PathBuf>) -> Result<PlnReader, Error> {
        PlnReader::open_as(path.into(), None, &Resources::new(0), None)
    }

    /// Opens a file that may be damaged. When damage is found, here or in a read, all workers repair the file with its recovery data. The
    /// repaired copy is an unnamed file of the same size in [`Resources::scratch`], and later reads use it. Without that directory nothing is
    /// repaired. The keys of the options open an encrypted file; the other options are ignored.
    ///
    /// # Errors
    /// As [`PlnReader::open`]; for damage only if it cannot be repaired. [`Error::Output`] if the copy cannot be written.
    pub fn open_repairing(path: impl Into<PathBuf>, options: &StreamOptions) -> Result<PlnReader, Error> {
        PlnReader::open_as(path.into(), options.identities.as_deref(), &options.resources, Some(options))
    }

    /// Whether a repaired copy is read in place of the file.
    pub fn is_repaired(&self) -> bool {
        self.repaired
    }

    /// Opens a file that may be encrypted, with keys that may open it. Only the chunks that are read are decrypted.
    ///
    /// # Errors
    /// As [`PlnReader::open`]; [`Error::Stream`] also if no key opens it, or if it is cut off.
    #[cfg(feature = "encryption")]
    pub fn open_with(path: impl Into<PathBuf>, identities: &Identities) -> Result<PlnReader, Error> {
        PlnReader::open_as(path.into(), Some(identities), &Resources::new(0), None)
    }

    fn open_as(
        path: PathBuf,
        identities: Option<&Identities>,
        resources: &Resources,
        repairing: Option<&StreamOptions>,
    ) -> Result<PlnReader, Error> {
        let opened = pln_open(&path, identities, resources)?;
        Ok(PlnReader::of(path, opened, repairing))
    }

    /// As [`PlnReader::open_repairing`], for a file that is read at offsets already.
    pub(crate) fn of_input(opened: OpenedInput, options: &StreamOptions) -> Result<PlnReader, Error> {
        let path = opened.display_path.clone();
        let opened = pln_open_input(opened, options.identities.as_deref(), &options.resources)?;
        Ok(PlnReader::of(path, opened, Some(options)))
    }

    fn of(path: PathBuf, opened: OpenedPln, repairing: Option<&StreamOptions>) -> PlnReader {
        let OpenedPln { reader, protected, repaired } = opened;
        let repair = match (protected, repairing) {
            (Some(protected), Some(options)) => Repair::Possible(protected, Box::new(options.clone())),
            _ => Repair::None,
        };
        let content = ContentReader::new(Arc::new(reader));
        PlnReader { content, position: 0, path, repair: Arc::new(Mutex::new(repair)), repaired }
    }

    /// Another reader of the file, at its start. It opens nothing, and holds a record of its own.
    pub(crate) fn another(&self) -> PlnReader {
        PlnReader {
            content: ContentReader::new(Arc::clone(self.content.reader())),
            position: 0,
            path: self.path.clone(),
            repair: Arc::clone(&self.repair),
            repaired: self.repaired,
        }
    }

    /// Bytes of content in a record.
    pub(crate) fn record_bytes(&self) -> u64 {
        self.content.reader().record_size().bytes() as u64
    }

    /// Continues with a repaired copy, if the file can be repaired and this reader does not read the copy already. A repair is tried once.
    fn repair(&mut self) -> Result<bool, Error> {
        let mut repair = self.repair.lock().unwrap_or_else(PoisonError::into_inner);
        if let Repair::Possible(protected, options) = &*repair {
            let repaired = pln_repaired(&self.path, protected, options.identities.as_deref(), &options.resources);
            let repaired = repaired.inspect_err(|_| *repair = Repair::None)?;
            *repair = repaired.map_or(Repair::None, |reader| Repair::Done(Arc::new(reader)));
        }
        match &*repair {
            Repair::Done(reader) if !Arc::ptr_eq(reader, self.content.reader()) => {
                self.content = ContentReader::new(Arc::clone(reader));
                self.repaired = true;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Size of the content in bytes.
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
        let mut read = self.content.read_at(self.position, buffer);
        if read.as_ref().is_err_and(is_damage) && self.repair().map_err(io::Error::other)? {
            read = self.content.read_at(self.position, buffer);
        }
        let read = read.map_err(|cause| self.fault(cause))?;
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

#[cfg(test)]
mod tests;
