//! A file being read: maps its offsets to blocks, and records the pattern of requests.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use packline_runtime::{FormatFault, TaskError};

use super::ahead::Pattern;
use super::cache::Wanted;
use super::decoder_pool::lock;
use super::index::BlockIndex;
use crate::read::{FileData, Image, ReadError};

/// An open file. May be read by several threads.
pub struct OpenFile {
    image: Image,
    file: FileData,
    block_size: u64,
    index: Mutex<BlockIndex>,
    pub(super) pattern: Mutex<Pattern>,
    /// A sequential reader has passed the blocks before this one.
    pub(super) through: Arc<AtomicU64>,
}

/// A part of a file within one block, its tail end, or a hole.
#[derive(Debug)]
pub(super) struct Piece {
    /// Index of its block in the file.
    pub(super) block: u64,
    /// The block that contains it; `None` in a hole.
    pub(super) wanted: Option<Wanted>,
    /// Its range in the block.
    pub(super) range: Range<usize>,
}

impl Piece {
    pub(super) fn length(&self) -> usize {
        self.range.len()
    }

    /// The fault of a block too short for this piece.
    pub(super) fn outside(&self, found: usize) -> ReadError {
        ReadError::Corrupt(FormatFault {
            offset: self.wanted.map_or(0, |wanted| wanted.place.offset),
            what: format!("block of {found} bytes"),
            expected: format!("at least {} bytes, which a file's content needs", self.range.end),
        })
    }
}

impl OpenFile {
    pub(super) fn new(image: &Image, file: &FileData) -> OpenFile {
        OpenFile {
            image: image.clone(),
            file: file.clone(),
            block_size: u64::from(image.superblock().block_size),
            index: Mutex::new(BlockIndex::new(image.blocks(file))),
            pattern: Mutex::default(),
            through: Arc::default(),
        }
    }

    /// Size, bytes.
    pub fn size(&self) -> u64 {
        self.file.size
    }

    pub(super) fn block_size(&self) -> u64 {
        self.block_size
    }

    /// Index of the block that contains a byte; the tail end counts as a block.
    pub(super) fn block_of(&self, offset: u64) -> u64 {
        offset / self.block_size
    }

    /// Number of blocks, with the tail end.
    pub(super) fn blocks(&self) -> u64 {
        self.file.size.div_ceil(self.block_size)
    }

    pub(super) fn is_sequential(&self) -> bool {
        lock(&self.pattern).is_sequential()
    }

    /// Records that a sequential reader has all of a block.
    pub(super) fn pass(&self, block: u64) {
        self.through.store(block + 1, Ordering::Relaxed);
    }

    /// The stored block to decode for a block of the file; `None` for a hole.
    pub(super) fn wanted(&self, block: u64) -> Result<Option<Wanted>, ReadError> {
        if block < self.file.blocks {
            let block = lock(&self.index).get(block)?;
            return Ok(block.place.map(|place| Wanted { place, length: Some(block.length) }));
        }
        let tail = self.file.tail.ok_or_else(|| self.no_tail())?;
        Ok(Some(Wanted { place: self.image.fragment(tail.fragment)?, length: None }))
    }

    /// The first of the pieces of `length` bytes at `offset`, which lie within the file.
    pub(super) fn piece(&self, offset: u64, length: usize) -> Result<Piece, ReadError> {
        let (block, within) = (self.block_of(offset), (offset % self.block_size) as usize);
        let length = length.min(self.block_size as usize - within);
        let mut begin = within;
        if block >= self.file.blocks {
            begin += self.file.tail.map_or(0, |tail| tail.offset as usize);
        }
        Ok(Piece { block, wanted: self.wanted(block)?, range: begin..begin + length })
    }

    fn no_tail(&self) -> ReadError {
        ReadError::internal(format!(
            "file of {} bytes with {} blocks and no tail end",
            self.file.size, self.file.blocks
        ))
    }
}
