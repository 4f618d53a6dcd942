//! Contents of files as pieces of units.

use crate::ReadError;

/// The form of a unit whose stored bytes are its content.
pub const PLAIN: u16 = 0;

/// Bytes that are decoded at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Offset of its stored bytes, bytes from the start of the image.
    pub offset: u64,
    /// Number of stored bytes; at least one.
    pub stored: u32,
    /// Number of content bytes; for a shared unit, an upper bound.
    pub length: u32,
    /// How the unit is stored: [`PLAIN`], or a number of the container's own.
    pub form: u16,
}

impl Unit {
    /// Whether the stored bytes are the content, so that a part of it can be read without decoding.
    pub fn is_plain(self) -> bool {
        self.form == PLAIN
    }
}

/// A position in a shared unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedPlace {
    /// Key of the unit among the shared units of its volume, for [`Volume::shared_unit`](crate::Volume::shared_unit).
    pub unit: u32,
    /// Offset in the unit's content in bytes.
    pub offset: u32,
}

/// A part of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Zeros that are not stored.
    Hole { length: u64 },
    /// Bytes of a unit that has content of this file only, from byte `start` of the unit's content on.
    Own { unit: Unit, start: u32, length: u32 },
    /// Bytes of a unit that other files use too.
    Shared { place: SharedPlace, length: u32 },
}

impl Piece {
    /// Returns the number of bytes of the file; at least one.
    pub fn length(&self) -> u64 {
        match *self {
            Piece::Hole { length } => length,
            Piece::Own { length, .. } | Piece::Shared { length, .. } => length.into(),
        }
    }
}

/// Content whose position cannot be read.
#[derive(Debug, Clone)]
pub struct Missing {
    /// Bytes of content that are missing.
    pub length: u64,
    pub error: ReadError,
}

/// The pieces of one file, in order and without gaps. The lengths of pieces and missing content add up to the size of the file.
pub trait Pieces: Send {
    /// Returns the next piece; `None` at the end of the file. After missing content the next piece follows.
    fn next_piece(&mut self) -> Option<Result<Piece, Missing>>;

    /// Returns the offset in bytes in the file of the next piece.
    fn offset(&self) -> u64;

    /// Returns the same pieces, from the next one on.
    fn boxed_clone(&self) -> Box<dyn Pieces>;
}

impl Iterator for dyn Pieces + '_ {
    type Item = Result<Piece, Missing>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_piece()
    }
}

/// Reads and decodes units; for use by one thread.
pub trait UnitDecoder: Send {
    /// Decodes a unit to the start of `out`; returns its length, which is at most the length of `out`.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the unit is malformed or longer than `out`, [`ReadError::Input`].
    fn decode(&mut self, unit: Unit, out: &mut [u8]) -> Result<usize, ReadError>;

    /// Reads stored bytes of adjacent units together, for [`UnitDecoder::decode_loaded`].
    ///
    /// # Errors
    /// [`ReadError::Input`].
    fn load(&mut self, offset: u64, length: usize) -> Result<(), ReadError>;

    /// Returns the stored bytes of a unit at index `at` of the loaded bytes; fewer if they were not loaded.
    fn loaded(&self, at: usize, unit: Unit) -> &[u8];

    /// Decodes the unit at index `at` of the loaded bytes, as [`UnitDecoder::decode`] does.
    ///
    /// # Errors
    /// Errors of [`UnitDecoder::decode`].
    fn decode_loaded(&mut self, unit: Unit, at: usize, out: &mut [u8]) -> Result<usize, ReadError>;

    /// Reads a part of a plain unit, from byte `start` of it on.
    ///
    /// # Errors
    /// [`ReadError::Input`]; [`ReadError::Work`] if the unit is not plain or has no such part.
    fn plain_part(&mut self, unit: Unit, start: usize, out: &mut [u8]) -> Result<(), ReadError>;

    /// Decodes a unit of exactly [`Unit::length`] bytes into `out`, whose content it replaces.
    ///
    /// # Errors
    /// Errors of [`UnitDecoder::decode`]; [`ReadError::Corrupt`] if the unit has another length.
    fn own(&mut self, unit: Unit, out: &mut Vec<u8>) -> Result<(), ReadError> {
        out.resize(unit.length as usize, 0);
        let length = self.decode(unit, out)?;
        check_length(unit, length, out.len())
    }

    /// Decodes a unit of at most [`Unit::length`] bytes into `out`, whose content it replaces.
    ///
    /// # Errors
    /// Errors of [`UnitDecoder::decode`].
    fn shared(&mut self, unit: Unit, out: &mut Vec<u8>) -> Result<(), ReadError> {
        out.resize(unit.length as usize, 0);
        let length = self.decode(unit, out)?;
        out.truncate(length);
        Ok(())
    }
}

/// Checks that a unit has the length that its file needs.
///
/// # Errors
/// [`ReadError::Corrupt`] if the length differs.
pub fn check_length(unit: Unit, found: usize, expected: usize) -> Result<(), ReadError> {
    if found == expected {
        return Ok(());
    }
    Err(ReadError::corrupt(unit.offset, format!("block of {found} bytes"), format!("{expected} bytes")))
}
