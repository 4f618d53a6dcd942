//! The parts of a delta. A part has a head of 20 bytes with a checksum, and bytes that are stored or compressed.

use packline_codec::{Outcome, ReferenceDecoder, ReferenceEncoder};
use packline_runtime::Input;

use super::head::check;
use super::{LITERALS_MOST, NUMBERS_MOST};
use crate::{Error, Side};

/// Size of a part's head in bytes.
pub(crate) const PART_HEAD: u64 = 20;
/// The bytes of the head before the checksum.
const FIELDS: usize = 12;
const STORED: u8 = 0;
const LZMA: u8 = 1;

/// The kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// The codec that encodes blocks.
    Codec,
    /// The lengths of blocks of the old image that differ from its inodes.
    Lengths,
    /// The steps that convert the plain form of the new file to the file.
    Recipe,
    /// The copies of a group.
    Copies,
    /// The literals of a group.
    Literals,
    /// The end of the delta.
    End,
}

impl PartKind {
    const ALL: [PartKind; 6] =
        [PartKind::Codec, PartKind::Lengths, PartKind::Recipe, PartKind::Copies, PartKind::Literals, PartKind::End];

    fn byte(self) -> u8 {
        match self {
            PartKind::Codec => b'c',
            PartKind::Lengths => b'o',
            PartKind::Recipe => b'r',
            PartKind::Copies => b'g',
            PartKind::Literals => b'l',
            PartKind::End => b'e',
        }
    }

    /// Upper bound for the plain bytes of the part.
    fn max_plain(self) -> usize {
        match self {
            PartKind::Codec => 1 << 10,
            PartKind::Lengths | PartKind::Recipe | PartKind::Copies => NUMBERS_MOST,
            PartKind::Literals => LITERALS_MOST,
            PartKind::End => 0,
        }
    }
}

/// A part as it is stored.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    /// Offset of the part in the delta.
    pub(crate) offset: u64,
    /// Length of the plain bytes.
    pub(crate) plain: usize,
    coding: u8,
    payload: Vec<u8>,
}

/// Appends a part that holds `plain`. The bytes are compressed with a reference if that makes them smaller.
pub(crate) fn put_part(
    out: &mut Vec<u8>,
    encoder: &mut ReferenceEncoder,
    kind: PartKind,
    reference: &[u8],
    plain: &[u8],
) -> Result<(), Error> {
    let mut packed = vec![0; plain.len()];
    let (coding, payload) = match encoder.compress(reference, plain, &mut packed)? {
        Outcome::Smaller(size) => (LZMA, &packed[..size]),
        Outcome::NotSmaller => (STORED, plain),
    };
    let mut fields = vec![kind.byte(), coding, 0, 0];
    fields.extend((plain.len() as u32).to_le_bytes());
    fields.extend((payload.len() as u32).to_le_bytes());
    out.extend(&fields);
    out.extend(check(&[&fields, payload]));
    out.extend(payload);
    Ok(())
}

impl Part {
    /// Reads the part at byte `offset`.
    pub(crate) fn read(delta: &dyn Input, offset: u64) -> Result<Part, Error> {
        let left = delta.size().saturating_sub(offset);
        let cut = || Error::corrupt(offset, format!("a part is cut off at byte {}", delta.size()), "");
        let mut head = [0; PART_HEAD as usize];
        if left < PART_HEAD {
            return Err(cut());
        }
        delta.read_at(offset, &mut head).map_err(Error::input(Side::Delta))?;
        let (fields, sum) = head.split_at(FIELDS);
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let plain = word(4);
        let stored = word(8);
        let damaged = || Error::corrupt(offset, "a part is damaged", "a part that matches its checksum");
        let kind = PartKind::ALL.into_iter().find(|kind| kind.byte() == head[0]).ok_or_else(damaged)?;
        if plain > kind.max_plain() || stored > plain || head[1] > LZMA || head[2..4] != [0, 0] {
            return Err(damaged());
        }
        if left - PART_HEAD < stored as u64 {
            return Err(cut());
        }
        let mut payload = vec![0; stored];
        delta.read_at(offset + PART_HEAD, &mut payload).map_err(Error::input(Side::Delta))?;
        if sum != check(&[fields, &payload]) || head[1] == STORED && stored != plain {
            return Err(damaged());
        }
        Ok(Part { kind, offset, plain, coding: head[1], payload })
    }

    /// Offset of the next part.
    pub(crate) fn end(&self) -> u64 {
        self.offset + PART_HEAD + self.payload.len() as u64
    }

    /// The memory of the part and of its plain bytes.
    pub(crate) fn memory(&self) -> usize {
        self.payload.len() + self.plain
    }

    /// Returns the plain bytes.
    pub(crate) fn content(self, decoder: &mut ReferenceDecoder, reference: &[u8]) -> Result<Vec<u8>, Error> {
        if self.coding == STORED {
            return Ok(self.payload);
        }
        let mut plain = vec![0; self.plain];
        let decoded = decoder.decompress(reference, &self.payload, &mut plain);
        decoded.map_err(|cause| Error::corrupt(self.offset, cause.to_string(), ""))?;
        Ok(plain)
    }

    /// Returns the error for a fault in the numbers of the part at byte `offset`.
    pub(crate) fn fault(offset: u64, (what, expected): super::numbers::Fault) -> Error {
        Error::corrupt(offset, what, expected)
    }
}
