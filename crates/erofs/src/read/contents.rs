//! The content of any inode: as pieces for readers of files, and at any offset for readers of metadata.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use packline_runtime::{Spares, TaskError};
use packline_volume::{DataCheck, Missing, Piece, Pieces, ReadError, Unit, UnitDecoder};

use super::chunks::Chunks;
use super::compressed_pieces::CompressedPieces;
use super::data::DataPlace;
use super::decoder::ClusterDecoder;
use super::flat::Flat;
use super::map::window::ReadBytes;
use super::map::{Map, MapImage, MapInode};
use super::packed::Packed;
use super::span::{Cursor, ReadSpans, Span};
use super::store::{Metadata, Store};
use crate::format::corrupt;
use crate::format::inode::Layout;

/// Decoders that are kept for metadata.
const SPARE_DECODERS: usize = 16;

/// Part of a hole.
static ZEROS: LazyLock<Arc<Vec<u8>>> = LazyLock::new(|| Arc::new(vec![0; 4096]));

/// Reads contents of inodes. Used by all threads.
pub(crate) struct Contents {
    store: Arc<Store>,
    image: MapImage,
    packed: Option<Arc<dyn Packed>>,
    decoders: Spares<ClusterDecoder>,
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Bytes of an image, which a check gets too.
#[derive(Debug)]
struct CheckedBytes {
    store: Arc<Store>,
    check: Arc<DataCheck>,
}

impl ReadBytes for CheckedBytes {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), ReadError> {
        self.store.read(address, out)?;
        self.check.add(address, out);
        Ok(())
    }
}

impl Contents {
    /// `packed`: the packed inode, in which files may end.
    pub(super) fn new(store: &Arc<Store>, image: &MapImage, packed: Option<Arc<dyn Packed>>) -> Contents {
        let decoders = Spares::up_to(SPARE_DECODERS);
        Contents { store: Arc::clone(store), image: *image, packed, decoders }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn image(&self) -> &MapImage {
        &self.image
    }

    pub(crate) fn packed(&self) -> Option<&Arc<dyn Packed>> {
        self.packed.as_ref()
    }

    /// Returns the pieces of content, from the one with byte `from` on or from an earlier one.
    pub(crate) fn pieces(&self, place: &DataPlace, from: u64) -> Box<dyn Pieces> {
        self.try_pieces(place, from).unwrap_or_else(|error| Box::new(NoPieces { size: place.size, error: Some(error) }))
    }

    fn try_pieces(&self, place: &DataPlace, from: u64) -> Result<Box<dyn Pieces>, ReadError> {
        let block_bits = self.image.block_bits;
        let pieces: Box<dyn Pieces> = match place.layout {
            _ if place.size == 0 => Box::new(NoPieces { size: 0, error: None }),
            Layout::Plain | Layout::Inline => Box::new(Flat::pieces(&self.store, block_bits, place, from)),
            Layout::Chunks => Box::new(Chunks::pieces(&self.store, block_bits, place, from)?),
            Layout::CompressedFull | Layout::CompressedCompact => {
                let map = Arc::new(self.map(place)?);
                Box::new(CompressedPieces::new(&map, self.packed.clone(), from))
            }
        };
        Ok(pieces)
    }

    /// Opens the map of compressed content.
    pub(crate) fn map(&self, place: &DataPlace) -> Result<Map, ReadError> {
        let metadata = Arc::new(Metadata(Arc::clone(&self.store)));
        let compact = place.layout == Layout::CompressedCompact;
        Map::open(metadata, &self.image, MapInode { compact, size: place.size, end: place.end })
    }

    /// Returns the content of a unit, which is then cached.
    fn unit(&self, unit: Unit) -> Result<Arc<Vec<u8>>, ReadError> {
        if let Some(bytes) = self.store.cache().get(unit) {
            return Ok(bytes);
        }
        if !self.store.cache().may_decode(unit.length) {
            let what = "metadata in large clusters that were decoded too often";
            return Err(ReadError::corrupt(unit.offset, what, "metadata that the cache holds, or smaller clusters"));
        }
        let mut decoder = self.decoders.take().unwrap_or_else(|| self.decoder());
        let mut bytes = Vec::new();
        let decoded = decoder.shared(unit, &mut bytes);
        self.decoders.give(decoder);
        decoded?;
        let bytes = Arc::new(bytes);
        self.store.cache().put(unit, &bytes);
        Ok(bytes)
    }

    /// Returns a decoder, for one thread.
    pub(super) fn decoder(&self) -> ClusterDecoder {
        let store: Arc<Store> = Arc::clone(&self.store);
        ClusterDecoder::new(store, &self.image)
    }

    /// As [`Contents::decoder`]; `check` gets the stored bytes that are read.
    pub(super) fn checked_decoder(&self, check: &Arc<DataCheck>) -> ClusterDecoder {
        let input = CheckedBytes { store: Arc::clone(&self.store), check: Arc::clone(check) };
        ClusterDecoder::new(Arc::new(input), &self.image)
    }

    /// Returns the part of a piece from byte `skip` of it on, as a span at offset `at`.
    fn span_of(&self, piece: Piece, skip: u64, at: u64) -> Result<Span, ReadError> {
        let (unit, first, length) = match piece {
            Piece::Hole { length } => {
                let length = (length - skip).min(ZEROS.len() as u64) as usize;
                return Ok(Span::new(Arc::clone(&ZEROS), 0..length, at));
            }
            Piece::Own { unit, start, length } => (unit, u64::from(start) + skip, u64::from(length) - skip),
            Piece::Shared { place, length } => {
                let packed = self.packed.as_ref();
                let packed =
                    packed.ok_or_else(|| ReadError::internal("a shared piece without a packed inode".into()))?;
                (packed.unit(place.unit)?, u64::from(place.offset) + skip, u64::from(length) - skip)
            }
        };
        if unit.is_plain() {
            let address = unit.offset.saturating_add(first);
            return Ok(self.store.span(address)?.moved(address, length, at));
        }
        let bytes = self.unit(unit)?;
        let range = first as usize..(first + length) as usize;
        if bytes.len() < range.end {
            let what = format!("block of {} bytes", bytes.len());
            return Err(ReadError::corrupt(unit.offset, what, format!("at least {}", range.end)));
        }
        Ok(Span::new(bytes, range, at))
    }
}

/// Missing content, or none.
#[derive(Debug, Clone)]
struct NoPieces {
    size: u64,
    error: Option<ReadError>,
}

impl Pieces for NoPieces {
    fn next_piece(&mut self) -> Option<Result<Piece, Missing>> {
        let error = self.error.take()?;
        Some(Err(Missing { length: self.size, error }))
    }

    fn offset(&self) -> u64 {
        if self.error.is_some() { 0 } else { self.size }
    }

    fn boxed_clone(&self) -> Box<dyn Pieces> {
        Box::new(self.clone())
    }
}

/// The content of one inode at any offset.
pub(super) struct Content {
    contents: Arc<Contents>,
    place: DataPlace,
    /// Whether content may be missing in the image. A hole has any length, so that it does not bound readers of metadata.
    has_holes: bool,
    /// The pieces after the last span, for sequential readers.
    ahead: Mutex<Option<Box<dyn Pieces>>>,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Content {
    pub(super) fn new(contents: &Arc<Contents>, place: DataPlace) -> Content {
        Content { contents: Arc::clone(contents), place, has_holes: true, ahead: Mutex::new(None) }
    }

    /// Rejects holes.
    pub(super) fn without_holes(self) -> Content {
        Content { has_holes: false, ..self }
    }

    /// Returns a cursor at an offset of the content.
    pub(super) fn cursor(contents: &Arc<Contents>, place: DataPlace, at: u64) -> Cursor {
        Cursor::new(Arc::new(Content::new(contents, place)), at)
    }

    /// Returns the piece with a byte of the content, and the offset of the piece.
    fn piece(&self, at: u64) -> Result<(u64, Piece), ReadError> {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ahead = ahead.filter(|pieces| pieces.offset() == at);
        let mut pieces = ahead.unwrap_or_else(|| self.contents.pieces(&self.place, at));
        loop {
            let start = pieces.offset();
            match pieces.next_piece() {
                Some(Ok(piece)) if at - start < piece.length() => {
                    *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) = Some(pieces);
                    return Ok((start, piece));
                }
                Some(Err(Missing { length, error })) if at - start < length => return Err(error),
                Some(_) => {}
                None => {
                    return Err(ReadError::internal(format!("content of {} bytes without byte {at}", self.place.size)));
                }
            }
        }
    }
}

impl ReadSpans for Content {
    fn span(&self, at: u64) -> Result<Span, ReadError> {
        if at >= self.place.size {
            let what = format!("byte {at} of content of {} bytes", self.place.size);
            return Err(corrupt(self.place.end, what, "an offset in the content"));
        }
        let (start, piece) = self.piece(at)?;
        if let (Piece::Hole { length }, false) = (&piece, self.has_holes) {
            let what = format!("hole of {length} bytes in the metabox");
            return Err(corrupt(self.place.end, what, "metadata that is stored"));
        }
        self.contents.span_of(piece, at - start, at)
    }
}
