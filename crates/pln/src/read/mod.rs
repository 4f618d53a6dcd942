//! Reading of .pln files: decompression of all or a part, a listing, verification.

mod info;
mod span;
mod unpacked;

use std::io;
use std::sync::Arc;

pub use info::{Info, Kind};
pub use span::Span;
pub use unpacked::{Unpacked, Verified};

use crate::{Error, Input, Machine, Observer, RecordSize, Source};

/// An open .pln file: its head, its trailer and its index have been read and agree.
pub struct Reader {
    input: Arc<dyn Input>,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if head, trailer or index are not right, [`Error::Unsupported`] for a version or a flag that is not known
    /// here, [`Error::Input`].
    pub fn open(input: Arc<dyn Input>) -> Result<Reader, Error> {
        Ok(Reader { input })
    }

    /// Bytes of a record.
    pub fn record_size(&self) -> RecordSize {
        RecordSize::default()
    }

    /// Bytes of content.
    pub fn size(&self) -> u64 {
        self.input.length()
    }

    /// BLAKE3 of the content, as the trailer has it. The index agrees with it.
    pub fn blake3(&self) -> [u8; 32] {
        [0; 32]
    }

    /// What the file has of which kind, by its tables; no record is read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a table is not right, [`Error::Input`].
    pub fn info(&self) -> Result<Info, Error> {
        Err(Error::Internal("nothing is read yet".into()))
    }
}

/// Decompresses a file, or a span of its content, into a sink, which is not flushed. Each byte has been checked before it is handed
/// out. Of something with offsets the index leads workers to what is wanted; a stream is read from front to back.
///
/// A file that is damaged or cut off is decompressed up to the last whole record before that; then comes the error.
///
/// # Errors
/// [`Error::Corrupt`] and [`Error::Cut`] with the part and its offset, [`Error::Unsupported`], [`Error::Range`] for a span that is not
/// within the content, [`Error::Input`], [`Error::Output`], [`Error::Memory`] if not even one worker fits, [`Error::Cancelled`].
pub fn decompress(
    source: Source<'_>,
    span: Span,
    sink: &mut dyn io::Write,
    machine: &Machine,
    observer: &mut dyn Observer,
) -> Result<Unpacked, Error> {
    let _ = (source, span, sink, machine, observer);
    Err(Error::Internal("nothing is read yet".into()))
}

/// Reads a whole file and checks all of it. What is wrong is `found`, in the order of the file: [`Error::Corrupt`] and [`Error::Cut`],
/// after which reading goes on where it can.
///
/// # Errors
/// Those that are not the file's fault, and [`Error::Unsupported`].
pub fn verify(
    source: Source<'_>,
    found: &mut dyn FnMut(&Error),
    machine: &Machine,
    observer: &mut dyn Observer,
) -> Result<Verified, Error> {
    let _ = (source, found, machine, observer);
    Err(Error::Internal("nothing is read yet".into()))
}
