//! Data and fragment blocks: their positions, and decoding of single ones.

use packline_codec::{CodecError, Decoder};
use packline_runtime::{TaskError, Unsupported};
use packline_volume::{Missing, PLAIN, Piece, Pieces, SharedPlace, Unit, UnitDecoder};

use super::metadata::Cursor;
use super::{FileData, Image, ReadError};
use crate::{STORED_BLOCK, TailPlace};

/// Memory of a decoder in addition to twice the need of this image's blocks: legacy lzma streams may declare dictionaries larger than their
/// block.
const DECODER_SLACK: usize = 8 << 20;

/// The form of a compressed unit.
const COMPRESSED: u16 = 1;

/// Position of a stored block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockPlace {
    /// Offset, bytes from the start of the image.
    pub offset: u64,
    /// Bytes stored, 1 to the block size.
    pub stored: u32,
    /// Whether the stored bytes are compressed.
    pub compressed: bool,
}

impl BlockPlace {
    pub(crate) fn of(unit: Unit) -> BlockPlace {
        BlockPlace { offset: unit.offset, stored: unit.stored, compressed: !unit.is_plain() }
    }

    pub(super) fn unit(self, length: u32) -> Unit {
        Unit {
            offset: self.offset,
            stored: self.stored,
            length,
            form: if self.compressed { COMPRESSED } else { PLAIN },
        }
    }

    /// Returns the position given by a size word and an offset, if it is within the image. Bit 24 of the word is set for a stored block; the bits
    /// below are the number of stored bytes. `what` names the block in messages.
    pub(crate) fn of_word(bounds: Bounds, offset: u64, word: u32, what: &str) -> Result<BlockPlace, ReadError> {
        let stored = word & (STORED_BLOCK - 1);
        let Bounds { block_size, end } = bounds;
        if word >= STORED_BLOCK << 1 || stored == 0 || stored > block_size {
            return Err(ReadError::corrupt(
                offset,
                format!("size word {word:#x} of {what}"),
                format!("1 to {block_size} bytes"),
            ));
        }
        if offset.checked_add(u64::from(stored)).is_none_or(|block_end| block_end > end) {
            let found = format!("{what} of {stored} stored bytes");
            return Err(ReadError::corrupt(
                offset,
                found,
                format!("an end at or before byte {end}, the end of the image"),
            ));
        }
        Ok(BlockPlace { offset, stored, compressed: word & STORED_BLOCK == 0 })
    }
}

/// Bounds of every block of an image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    block_size: u32,
    /// End of the image in bytes.
    end: u64,
}

impl Bounds {
    pub(crate) fn of(image: &Image) -> Bounds {
        let superblock = image.superblock();
        Bounds { block_size: superblock.block_size.into(), end: superblock.bytes_used }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// `None` for a block of zeros that is not stored.
    pub place: Option<BlockPlace>,
    /// Bytes of the file in the block: the block size, except for the last block of a file.
    pub length: u32,
}

/// The blocks of one file, without its tail end in a fragment block. A clone continues from the original's position. Each block is checked to be
/// within the image. The iterator ends after the first error.
#[derive(Debug, Clone)]
pub struct Blocks {
    bounds: Bounds,
    words: Cursor,
    /// Offset of the next stored block.
    offset: u64,
    /// Bytes of the file before the next block.
    position: u64,
    /// Bytes of the file in all blocks.
    end: u64,
    failed: bool,
}

impl Blocks {
    pub(super) fn new(image: &Image, file: &FileData) -> Blocks {
        let bounds = Bounds::of(image);
        let end = Blocks::bytes(bounds, file);
        Blocks { bounds, words: image.words(file), offset: file.start, position: 0, end, failed: false }
    }

    /// Returns the bytes of a file in all of its blocks.
    fn bytes(bounds: Bounds, file: &FileData) -> u64 {
        file.size.min(file.blocks.saturating_mul(u64::from(bounds.block_size)))
    }

    /// Returns the offset in bytes in the file of the next block.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the bytes of the file from the next block on, or from the block that failed; without the tail end.
    pub fn remaining(&self) -> u64 {
        self.end - self.position
    }

    fn read_block(&mut self) -> Result<Block, ReadError> {
        let length = self.remaining().min(u64::from(self.bounds.block_size)) as u32;
        let place = match self.word()? {
            0 => None,
            word => Some(self.stored(word, length)?),
        };
        self.position += u64::from(length);
        Ok(Block { place, length })
    }

    /// Reads the next size word. In version 1 it has 16 bits, of which the highest is set for a stored block, and 0 is 32 KiB.
    fn word(&mut self) -> Result<u32, ReadError> {
        if self.words.layout().major > 1 {
            return self.words.read_u32();
        }
        let word = u32::from(self.words.read_u16()?);
        let size = if word & 0x7fff == 0 { 0x8000 } else { word & 0x7fff };
        Ok(if word & 0x8000 == 0 { size } else { size | STORED_BLOCK })
    }

    fn stored(&mut self, word: u32, length: u32) -> Result<BlockPlace, ReadError> {
        let place = BlockPlace::of_word(self.bounds, self.offset, word, "a data block")?;
        check_stored(place, length)?;
        self.offset += u64::from(place.stored);
        Ok(place)
    }
}

impl Iterator for Blocks {
    type Item = Result<Block, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.position == self.end {
            return None;
        }
        let block = self.read_block();
        self.failed = block.is_err();
        Some(block)
    }
}

/// The content of a file: its blocks, then its tail end.
#[derive(Debug, Clone)]
pub(super) struct FilePieces {
    /// `None` if only the tail end is left.
    blocks: Option<Blocks>,
    /// The tail end and its length, until it has been returned.
    tail: Option<(TailPlace, u32)>,
    /// Offset in bytes in the file of the next piece.
    position: u64,
}

impl FilePieces {
    /// Starts with the first piece, or with the tail end if byte `from` is in it.
    pub(super) fn new(image: &Image, file: &FileData, from: u64) -> FilePieces {
        let in_blocks = Blocks::bytes(Bounds::of(image), file);
        let tail = file.tail.map(|tail| (tail, (file.size - in_blocks) as u32)).filter(|(_, length)| *length > 0);
        if from < in_blocks || tail.is_none() {
            return FilePieces { blocks: Some(Blocks::new(image, file)), tail, position: 0 };
        }
        FilePieces { blocks: None, tail, position: in_blocks }
    }

    fn block(&mut self) -> Option<Result<Piece, Missing>> {
        let blocks = self.blocks.as_mut()?;
        let piece = match blocks.next()? {
            Ok(Block { place: None, length }) => Ok(Piece::Hole { length: length.into() }),
            Ok(Block { place: Some(place), length }) => Ok(Piece::Own { unit: place.unit(length), start: 0, length }),
            // The list ends with an error: the rest of the blocks is missing.
            Err(error) => Err(Missing { length: blocks.remaining(), error }),
        };
        Some(piece)
    }
}

impl Pieces for FilePieces {
    fn next_piece(&mut self) -> Option<Result<Piece, Missing>> {
        let piece = match self.block() {
            Some(piece) => piece,
            None => {
                let (TailPlace { fragment, offset }, length) = self.tail.take()?;
                Ok(Piece::Shared { place: SharedPlace { unit: fragment, offset }, length })
            }
        };
        self.position += piece.as_ref().map_or_else(|missing| missing.length, Piece::length);
        Some(piece)
    }

    fn offset(&self) -> u64 {
        self.position
    }

    fn boxed_clone(&self) -> Box<dyn Pieces> {
        Box::new(self.clone())
    }
}

/// Checks that a stored block has the length of its part of the file.
fn check_stored(place: BlockPlace, length: u32) -> Result<(), ReadError> {
    if place.compressed || place.stored == length {
        return Ok(());
    }
    let what = format!("data block of {} bytes that are not compressed", place.stored);
    Err(ReadError::corrupt(place.offset, what, format!("{length} bytes")))
}

/// Reads and decompresses single blocks; for use by one thread. Holds one stored block in addition to its decoder.
pub struct BlockDecoder {
    image: Image,
    decoder: Box<dyn Decoder>,
    /// Stored bytes of the current blocks.
    stored: Vec<u8>,
}

impl std::fmt::Debug for BlockDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockDecoder").finish_non_exhaustive()
    }
}

impl BlockDecoder {
    /// # Errors
    /// [`ReadError::Unsupported`] for lack of memory.
    pub fn new(image: &Image) -> Result<BlockDecoder, ReadError> {
        let block_size = image.superblock().block_size.bytes();
        let limit = 2 * image.codec().footprint(block_size).decoder + DECODER_SLACK;
        let decoder = image
            .store()
            .coding()
            .decoder(block_size, limit)
            .map_err(|error| Unsupported::new(error.to_string(), "a decoder for the image's compressor"))?;
        Ok(BlockDecoder { image: image.clone(), decoder, stored: Vec::new() })
    }

    /// Decodes a data block of exactly `length` bytes into `out`, whose content it replaces.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the block is malformed or has another length, [`ReadError::Input`].
    pub fn data(&mut self, place: BlockPlace, length: u32, out: &mut Vec<u8>) -> Result<(), ReadError> {
        out.resize(length as usize, 0);
        self.data_into(place, out)
    }

    /// Decodes a fragment block of at most the block size into `out`, whose content it replaces.
    ///
    /// # Errors
    /// Errors of [`BlockDecoder::data`].
    pub fn fragment(&mut self, place: BlockPlace, out: &mut Vec<u8>) -> Result<(), ReadError> {
        out.resize(self.image.superblock().block_size.bytes(), 0);
        let length = self.fragment_into(place, out)?;
        out.truncate(length);
        Ok(())
    }

    /// Reads a part of a stored block, from byte `start` of it on.
    ///
    /// # Errors
    /// [`ReadError::Input`]; [`ReadError::Work`] if the block is compressed or has no such part.
    pub fn stored_part(&self, place: BlockPlace, start: usize, out: &mut [u8]) -> Result<(), ReadError> {
        if place.compressed || start.saturating_add(out.len()) > place.stored as usize {
            return Err(ReadError::internal(format!(
                "byte {start} is not in the stored block at byte {}",
                place.offset
            )));
        }
        self.image.store().read(place.offset + start as u64, out)
    }

    /// Decodes a data block that fills `out`.
    pub(super) fn data_into(&mut self, place: BlockPlace, out: &mut [u8]) -> Result<(), ReadError> {
        let length = self.fragment_into(place, out)?;
        check_length(place, length, out.len())
    }

    /// Decodes a block of at most the length of `out`; returns its length.
    pub(super) fn fragment_into(&mut self, place: BlockPlace, out: &mut [u8]) -> Result<usize, ReadError> {
        if !place.compressed && place.stored as usize <= out.len() {
            let length = place.stored as usize;
            self.image.store().read(place.offset, &mut out[..length])?;
            self.note(place.offset, &out[..length]);
            return Ok(length);
        }
        self.load(place.offset, place.stored as usize)?;
        self.unpack(place, 0, out)
    }

    /// Reads `length` stored bytes, for [`BlockDecoder::unpack`].
    pub(super) fn load(&mut self, offset: u64, length: usize) -> Result<(), ReadError> {
        self.stored.resize(length, 0);
        self.image.store().read(offset, &mut self.stored)?;
        self.note(offset, &self.stored);
        Ok(())
    }

    /// Adds stored bytes to the check of the data area, if there is one.
    fn note(&self, offset: u64, stored: &[u8]) {
        if let Some(check) = self.image.check() {
            check.add(offset, stored);
        }
    }

    /// Decodes the block at index `at` of the loaded bytes; returns its length.
    pub(super) fn unpack(&mut self, place: BlockPlace, at: usize, out: &mut [u8]) -> Result<usize, ReadError> {
        let stored = &self.stored[at..at + place.stored as usize];
        if place.compressed {
            let decoded = self.image.check_strictly(stored).and_then(|()| self.decoder.decompress(stored, out));
            return decoded.map_err(|error| malformed(place, &error));
        }
        check_length(place, stored.len(), stored.len().min(out.len()))?;
        out[..stored.len()].copy_from_slice(stored);
        Ok(stored.len())
    }
}

/// Checks that a data block has the length of its part of the file.
pub(super) fn check_length(place: BlockPlace, found: usize, expected: usize) -> Result<(), ReadError> {
    if found == expected {
        return Ok(());
    }
    Err(ReadError::corrupt(place.offset, format!("block of {found} bytes"), format!("{expected} bytes")))
}

fn malformed(place: BlockPlace, error: &CodecError) -> ReadError {
    match error {
        CodecError::Malformed { .. } | CodecError::TooLong { .. } | CodecError::Memory { .. } => {
            ReadError::corrupt(place.offset, format!("{error}, in the block"), "")
        }
        other => ReadError::internal(other.to_string()),
    }
}

impl UnitDecoder for BlockDecoder {
    fn decode(&mut self, unit: Unit, out: &mut [u8]) -> Result<usize, ReadError> {
        self.fragment_into(BlockPlace::of(unit), out)
    }

    fn load(&mut self, offset: u64, length: usize) -> Result<(), ReadError> {
        BlockDecoder::load(self, offset, length)
    }

    fn loaded(&self, at: usize, unit: Unit) -> &[u8] {
        let end = (at + unit.stored as usize).min(self.stored.len());
        &self.stored[at.min(end)..end]
    }

    fn decode_loaded(&mut self, unit: Unit, at: usize, out: &mut [u8]) -> Result<usize, ReadError> {
        self.unpack(BlockPlace::of(unit), at, out)
    }

    fn plain_part(&mut self, unit: Unit, start: usize, out: &mut [u8]) -> Result<(), ReadError> {
        self.stored_part(BlockPlace::of(unit), start, out)
    }
}
