//! Reads the parts of a file from a stream, in order.

use std::io;

use crate::format::{HEAD_BYTES, Head, PIECE_HEAD_BYTES};
use crate::record_buffer::fill;
use crate::{Error, Part};

/// Reads the parts of a file from a stream.
pub(super) struct PartReader<'a> {
    stream: &'a mut dyn io::Read,
    /// The number of bytes read so far.
    pub(super) at: u64,
    /// The number of complete records.
    pub(super) records: u64,
    /// The bytes of content of the complete records.
    pub(super) bytes: u64,
}

impl<'a> PartReader<'a> {
    /// Reads from a stream that begins at byte `at` of a file.
    pub(super) fn new(stream: &'a mut dyn io::Read, at: u64) -> PartReader<'a> {
        PartReader { stream, at, records: 0, bytes: 0 }
    }

    /// Fills a buffer with bytes of a part that begins at byte `offset`.
    ///
    /// # Errors
    /// [`Error::Cut`] if the stream has fewer bytes, [`Error::Input`].
    pub(super) fn read(&mut self, into: &mut [u8], part: Part, offset: u64) -> Result<(), Error> {
        let filled = fill(self.stream, into).map_err(Error::Input)?;
        self.at += filled as u64;
        if filled == into.len() {
            return Ok(());
        }
        let missing = (into.len() - filled) as u64;
        Err(Error::Cut { length: self.at, part, offset, missing, records: self.records, bytes: self.bytes })
    }

    /// Reads the head of a file.
    ///
    /// # Errors
    /// Returns the errors of [`PartReader::read`], and [`Error::Corrupt`] if the file is not a .pln file.
    pub(super) fn head(&mut self) -> Result<[u8; HEAD_BYTES], Error> {
        let mut bytes = [0; HEAD_BYTES];
        let read = self.read(&mut bytes, Part::Head, 0);
        // A short file with another magic is reported as another kind of file, not as cut off.
        Head::check_magic(&bytes[..self.at.min(8) as usize])?;
        read.map(|()| bytes)
    }

    /// Reads the head of the next piece, which is `part`.
    ///
    /// # Errors
    /// Returns the errors of [`PartReader::read`].
    pub(super) fn piece(&mut self, part: Part) -> Result<[u8; PIECE_HEAD_BYTES], Error> {
        let mut bytes = [0; PIECE_HEAD_BYTES];
        let offset = self.at;
        self.read(&mut bytes, part, offset)?;
        Ok(bytes)
    }

    /// Checks that nothing follows except recovery data, which is skipped.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Input`].
    pub(super) fn end(&mut self) -> Result<(), Error> {
        let mut magic = [0; packline_recovery::MAGIC.len()];
        match fill(self.stream, &mut magic).map_err(Error::Input)? {
            0 => Ok(()),
            _ if magic == packline_recovery::MAGIC => {
                io::copy(self.stream, &mut io::sink()).map(drop).map_err(Error::Input)
            }
            _ => Err(trailing_data(self.at)),
        }
    }
}

/// Returns the error for data after the trailer, which ends at byte `offset`.
pub(super) fn trailing_data(offset: u64) -> Error {
    let expected = "the end of the file, or recovery data: concatenated .pln files are not a .pln file";
    Error::corrupt(Part::AfterTrailer, offset, "the file has more bytes", expected)
}
