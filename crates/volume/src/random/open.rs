//! A file being read: finds the units of its offsets, and records the pattern of requests.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::ahead::Pattern;
use super::cache::UnitKey;
use super::decoder_pool::lock;
use super::index::PieceIndex;
use crate::{FileData, Piece, ReadError, SharedVolume};

/// An open file, which several threads may read.
pub struct OpenFile {
    volume: SharedVolume,
    file: FileData,
    block_size: u64,
    index: Mutex<PieceIndex>,
    pub(super) pattern: Mutex<Pattern>,
    /// Number of the first block that the sequential reader has not passed.
    pub(super) through: Arc<AtomicU64>,
}

/// A part of a file within one unit, or a hole.
#[derive(Debug)]
pub(super) struct Located {
    /// Index of the block in the file.
    pub(super) block: u64,
    /// The unit that contains it; `None` in a hole.
    pub(super) wanted: Option<UnitKey>,
    /// Range in the unit.
    pub(super) range: Range<usize>,
}

impl Located {
    pub(super) fn length(&self) -> usize {
        self.range.len()
    }

    /// Returns the fault of a unit that is too short for this part.
    pub(super) fn outside(&self, found: usize) -> ReadError {
        let offset = self.wanted.map_or(0, |wanted| wanted.unit.offset);
        let expected = format!("at least {} bytes, which a file's content needs", self.range.end);
        ReadError::corrupt(offset, format!("block of {found} bytes"), expected)
    }
}

impl OpenFile {
    pub(super) fn new(volume: &SharedVolume, file: &FileData) -> OpenFile {
        OpenFile {
            volume: SharedVolume::clone(volume),
            file: file.clone(),
            block_size: u64::from(volume.facts().block_size),
            index: Mutex::new(PieceIndex::new(volume.pieces(file, 0))),
            pattern: Mutex::default(),
            through: Arc::default(),
        }
    }

    pub fn size(&self) -> u64 {
        self.file.size
    }

    pub(super) fn block_size(&self) -> u64 {
        self.block_size
    }

    /// Returns the index of the block that contains a byte; a shorter end counts as a block.
    pub(super) fn block_of(&self, offset: u64) -> u64 {
        offset / self.block_size
    }

    pub(super) fn blocks(&self) -> u64 {
        self.file.size.div_ceil(self.block_size)
    }

    pub(super) fn is_sequential(&self) -> bool {
        lock(&self.pattern).is_sequential()
    }

    /// Records that a sequential reader has read a block completely.
    pub(super) fn mark_passed(&self, block: u64) {
        self.through.store(block + 1, Ordering::Relaxed);
    }

    /// Returns the unit to decode for the start of a block of the file; `None` for a hole.
    pub(super) fn wanted(&self, block: u64) -> Result<Option<UnitKey>, ReadError> {
        Ok(self.locate(block * self.block_size, 1)?.wanted)
    }

    /// Returns the first part of `length` bytes at `offset`, which are within the file.
    pub(super) fn locate(&self, offset: u64, length: usize) -> Result<Located, ReadError> {
        let (start, piece) = lock(&self.index).find(offset, &self.volume, &self.file)?;
        let within = offset - start;
        let length = (length as u64).min(piece.length() - within) as usize;
        let (wanted, first) = match piece {
            Piece::Hole { .. } => (None, 0),
            Piece::Own { unit, start, .. } => (Some(UnitKey { unit, exact: true }), start),
            Piece::Shared { place, .. } => {
                (Some(UnitKey { unit: self.volume.shared_unit(place.unit)?, exact: false }), place.offset)
            }
        };
        let begin = if wanted.is_some() { first as usize + within as usize } else { 0 };
        Ok(Located { block: self.block_of(offset), wanted, range: begin..begin + length })
    }
}
