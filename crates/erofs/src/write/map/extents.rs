//! Encoded extents: a record for each piece of a file, in the shortest form.

use packline_blocks::Error;
use packline_runtime::TaskError;

use super::{Buffered, Content, Piece, Stored, Tail, check_size, joined};
use crate::format::algorithms::DEFLATE;
use crate::format::extents::{POSITION_BYTES, Record};
use crate::format::map_header::{ExtentsHeader, HEADER_BYTES, MapHeader};
use crate::options::{BLOCK, BLOCK_BITS};
use crate::write::contents::Coded;

/// Most records of 4 bytes of a file: a reader adds up all records before one.
const SUMMED_MOST: u64 = 64;
/// Logarithm of the largest common size of extents.
const EXTENT_BITS_MOST: u8 = BLOCK_BITS + 15;
/// First number of stored bytes that a record cannot have.
const STORED_LIMIT: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtentsPlan {
    /// Bytes of a record.
    record_bytes: u8,
    /// Logarithm of the size of all extents but the last, for records of 4 and 8 bytes.
    extent_bits: u8,
    count: u64,
    pub(super) has_fragment: bool,
    /// Offset in the image of the first stored extent.
    first: u64,
    /// Stored bytes of all extents.
    pub(super) stored: u64,
}

/// What decides on the form of the records.
#[derive(Default)]
struct Survey {
    at: u64,
    /// Number of extents, if adjacent holes are one.
    joined: u64,
    stored: u64,
    /// Size of the first stored extent before the last one.
    common: Option<u64>,
    /// Whether another one has another size.
    differs: bool,
    /// The bits of the sizes of holes before the last extent.
    holes: u64,
    /// Size of the last extent, if it is not a hole.
    last: u64,
    /// Whether each extent is stored at the end of the one before.
    is_consecutive: bool,
    first: Option<u64>,
    /// Highest start in the image.
    highest: u64,
    /// End in the image of the last extent.
    next: Option<u64>,
}

impl Survey {
    fn new(content: Content, pieces: impl Iterator<Item = Piece>) -> Result<Survey, Error> {
        let mut survey = Survey { is_consecutive: true, ..Survey::default() };
        for piece in joined(pieces) {
            survey.add(piece, content.size)?;
        }
        check_size(content, survey.at)?;
        if let Tail::Packed(_) = content.tail {
            survey.joined += 1;
            survey.last = content.size - survey.at;
            survey.is_consecutive = false;
        }
        Ok(survey)
    }

    fn add(&mut self, piece: Piece, size: u64) -> Result<(), Error> {
        self.at += piece.length;
        self.joined += 1;
        let is_last = self.at == size;
        let Some((start, bytes)) = place_of(piece)? else {
            self.holes |= if is_last { 0 } else { piece.length };
            return Ok(());
        };
        if is_last {
            self.last = piece.length;
        } else {
            self.differs |= self.common.is_some_and(|common| common != piece.length);
            self.common = Some(piece.length);
        }
        self.is_consecutive &= self.next.is_none_or(|next| next == start);
        self.first = self.first.or(Some(start));
        self.next = Some(start + bytes);
        self.stored += bytes;
        self.highest = self.highest.max(start);
        Ok(())
    }

    /// Returns the logarithm of the size that all extents but the last have, if holes are cut.
    fn common_bits(&self, size: u64) -> Option<u8> {
        let common = match self.common {
            Some(common) => common,
            None if self.joined == 1 => size.next_power_of_two().max(BLOCK),
            // Only holes before the last extent.
            None => self.holes & self.holes.wrapping_neg(),
        };
        let bits = common.checked_ilog2()? as u8;
        let is_common =
            common.is_power_of_two() && !self.differs && self.holes.is_multiple_of(common) && self.last <= common;
        (is_common && (BLOCK_BITS..=EXTENT_BITS_MOST).contains(&bits)).then_some(bits)
    }
}

impl ExtentsPlan {
    /// Chooses the shortest records.
    pub(super) fn new(content: Content, pieces: impl Iterator<Item = Piece>) -> Result<ExtentsPlan, Error> {
        let survey = Survey::new(content, pieces)?;
        let has_fragment = matches!(content.tail, Tail::Packed(_));
        let plan = |record_bytes, extent_bits, count| ExtentsPlan {
            record_bytes,
            extent_bits,
            count,
            has_fragment,
            first: survey.first.unwrap_or(0),
            stored: survey.stored,
        };
        // The start of the last extent must fit.
        let long = plan(if content.size > u64::from(u32::MAX) { 32 } else { 16 }, BLOCK_BITS, survey.joined);
        let Some(bits) = survey.common_bits(content.size) else { return Ok(long) };
        let count = content.size.div_ceil(1 << bits);
        let mut shortest = long;
        if survey.highest <= u32::MAX.into() {
            shortest = plan(8, bits, count).shorter(shortest);
        }
        if survey.is_consecutive && count <= SUMMED_MOST {
            shortest = plan(4, bits, count).shorter(shortest);
        }
        Ok(shortest)
    }

    fn shorter(self, other: ExtentsPlan) -> ExtentsPlan {
        if self.end(0) < other.end(0) { self } else { other }
    }

    /// Returns the offset of the first record. `header`: offset of the map header.
    fn records(self, header: u64) -> u64 {
        (header + HEADER_BYTES as u64).next_multiple_of(self.record_bytes.into()) + self.position_bytes()
    }

    /// Returns the bytes of the position before the records.
    fn position_bytes(self) -> u64 {
        if self.record_bytes == 4 { POSITION_BYTES } else { 0 }
    }

    pub(super) fn end(self, header: u64) -> u64 {
        self.records(header) + self.count * u64::from(self.record_bytes)
    }

    pub(super) fn write(
        self,
        algorithm: u8,
        header: u64,
        content: Content,
        pieces: impl Iterator<Item = Piece>,
        out: &mut Buffered<'_>,
    ) -> Result<(), Error> {
        let ExtentsPlan { record_bytes, extent_bits, count, has_fragment, .. } = self;
        let head = ExtentsHeader { record_bytes, extent_bits, count, is_interlaced: false, has_fragment };
        out.add(&MapHeader::Extents(head).encode(BLOCK_BITS))?;
        out.zeros(self.records(header) - self.position_bytes() - header - HEADER_BYTES as u64)?;
        if self.position_bytes() > 0 {
            out.add(&self.first.to_le_bytes())?;
        }
        let mut at = 0;
        for piece in joined(pieces) {
            for record in self.records_of(at, piece, algorithm) {
                out.add(&record.encode()[..record_bytes.into()])?;
            }
            at += piece.length;
        }
        if let Tail::Packed(offset) = content.tail {
            out.add(&Record::in_packed(at, offset).encode()[..record_bytes.into()])?;
        }
        Ok(())
    }

    /// Returns the records of a piece at an offset of the file.
    fn records_of(self, at: u64, piece: Piece, algorithm: u8) -> impl Iterator<Item = Record> {
        let is_cut = piece.is_hole() && self.record_bytes <= 8;
        let step = if is_cut { 1 << self.extent_bits } else { piece.length };
        (at..at + piece.length).step_by(step.max(1) as usize).map(move |start| match piece.stored {
            Stored::Hole => Record::hole(start),
            Stored::Plain { start: position } => Record::plain(start, position, piece.length as u32),
            Stored::Coded(Coded { start: position, bytes, is_partial }) => {
                // Linux takes a whole cluster of deflate for damaged if its last page has the end mark alone.
                Record::coded(start, position, bytes, (algorithm, is_partial || algorithm == DEFLATE))
            }
        })
    }
}

/// Returns where a piece is stored, and its stored bytes; `None` for a hole.
fn place_of(piece: Piece) -> Result<Option<(u64, u64)>, Error> {
    let (start, bytes) = match piece.stored {
        Stored::Hole => return Ok(None),
        Stored::Plain { start } => (start, piece.length),
        Stored::Coded(Coded { start, bytes, .. }) => (start, bytes.into()),
    };
    if (1..=STORED_LIMIT).contains(&bytes) {
        return Ok(Some((start, bytes)));
    }
    Err(Error::internal(format!("an extent of {} bytes in {bytes} at byte {start}", piece.length)))
}
