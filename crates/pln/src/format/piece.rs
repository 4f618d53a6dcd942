//! The head of every record, table and index.

use packline_runtime::hex;

use super::head::number;
use super::{CodecId, ENTRY_BYTES, sum};
use crate::{Error, Part};

/// Size of the header.
pub(crate) const PIECE_BYTES: usize = 24;
/// Number of its bytes covered by the check.
const CHECKED: usize = 20;
/// The flag of records whose trailing zeros are not stored.
const SLACK: u8 = 1;

/// Kind of the data after the head. Any two numbers differ in at least three bits, so a kind is recognised despite one wrong bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Record = 0x52,
    Table = 0x74,
    Index = 0x69,
}

impl Kind {
    /// The nearest kind of a piece; its check decides whether it is valid.
    pub(crate) fn nearest(bytes: &[u8; PIECE_BYTES]) -> Kind {
        let wrong = |kind: &Kind| (*kind as u8 ^ bytes[0]).count_ones();
        [Kind::Record, Kind::Table, Kind::Index].into_iter().min_by_key(wrong).unwrap_or(Kind::Record)
    }
}

/// How a record is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) codec: CodecId,
    /// Whether trailing zeros are omitted.
    pub(crate) slack: bool,
    /// Bytes stored.
    pub(crate) size: u32,
}

impl Stored {
    /// Whether the content itself is stored.
    pub(crate) fn is_plain(&self) -> bool {
        self.codec == CodecId::None && !self.slack
    }

    /// For a message.
    pub(crate) fn describe(&self) -> String {
        let slack = if self.slack { "slack and " } else { "" };
        format!("{} stored with {slack}{}", self.size, self.codec.name())
    }

    pub(super) fn flags(&self) -> u8 {
        if self.slack { SLACK } else { 0 }
    }

    /// Parses the fields for a record of `logical` bytes.
    ///
    /// # Errors
    /// The value found, and the expected one.
    pub(super) fn parse(codec: u8, flags: u8, size: u32, logical: u32) -> Result<Stored, (String, String)> {
        let known = || CodecId::ALL.map(|codec| format!("{} ({})", codec as u8, codec.name())).join(", ");
        let codec = CodecId::from_number(codec).ok_or_else(|| (format!("codec {codec}"), known()))?;
        if flags & !SLACK != 0 {
            return Err((format!("flags {flags:#04x}"), "0x00 or 0x01 (slack)".to_owned()));
        }
        let stored = Stored { codec, slack: flags & SLACK != 0, size };
        let range = match (codec, stored.slack) {
            (CodecId::None, false) => logical..=logical,
            (CodecId::None, true) => 0..=logical,
            _ => 1..=logical,
        };
        if !range.contains(&size) {
            let expected = format!("{} to {} for {logical} bytes of content", range.start(), range.end());
            return Err((format!("{size} bytes stored"), expected));
        }
        Ok(stored)
    }
}

/// The head of a record, a table or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    /// Zero except for records.
    codec: u8,
    flags: u8,
    /// Bytes of content of a record; number of entries of the others.
    pub(crate) logical: u32,
    /// Bytes that follow.
    pub(crate) size: u32,
    /// Checksum of them.
    pub(crate) sum: [u8; 8],
}

impl Piece {
    /// The header of a record.
    pub(crate) fn record(stored: Stored, logical: u32, sum: [u8; 8]) -> Piece {
        Piece { kind: Kind::Record, codec: stored.codec as u8, flags: stored.flags(), logical, size: stored.size, sum }
    }

    /// The header of `count` entries with these bytes.
    pub(super) fn entries(kind: Kind, count: u32, bytes: &[u8]) -> Piece {
        Piece { kind, codec: 0, flags: 0, logical: count, size: bytes.len() as u32, sum: sum(&[bytes]) }
    }

    /// Its bytes. `number`: of the record or the group; for an index the number of records.
    pub(crate) fn encode(&self, number: u64) -> [u8; PIECE_BYTES] {
        let mut bytes = [0; PIECE_BYTES];
        bytes[..4].copy_from_slice(&[self.kind as u8, self.codec, self.flags, 0]);
        bytes[4..8].copy_from_slice(&self.logical.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.size.to_le_bytes());
        bytes[12..CHECKED].copy_from_slice(&self.sum);
        let check = check(&bytes, number);
        bytes[CHECKED..].copy_from_slice(&check);
        bytes
    }

    /// # Errors
    /// [`Error::Corrupt`] if it is not of this kind and number.
    pub(crate) fn parse(
        bytes: &[u8; PIECE_BYTES],
        (wanted, of): (Kind, u64),
        part: Part,
        offset: u64,
    ) -> Result<Piece, Error> {
        let wrong = |what, expected| Err(Error::corrupt(part, offset, what, expected));
        let check = check(bytes, of);
        if bytes[CHECKED..] != check {
            return wrong(format!("the check of its head is {}", hex(&bytes[CHECKED..])), hex(&check));
        }
        if bytes[0] != wanted as u8 {
            return wrong(format!("a piece of kind {}", bytes[0]), format!("kind {}", wanted as u8));
        }
        if bytes[3] != 0 || (wanted != Kind::Record && bytes[1..3] != [0; 2]) {
            return wrong("reserved bytes have a value".to_owned(), "zeros".to_owned());
        }
        let field = |at: usize| number(&bytes[at..at + 4]) as u32;
        let sum = std::array::from_fn(|at| bytes[12 + at]);
        Ok(Piece { kind: wanted, codec: bytes[1], flags: bytes[2], logical: field(4), size: field(8), sum })
    }

    /// How a record is stored, of at most `most` bytes of content.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(crate) fn stored(&self, most: usize, part: Part, offset: u64) -> Result<Stored, Error> {
        if self.logical == 0 || self.logical as usize > most {
            let what = format!("{} bytes of content", self.logical);
            return Err(Error::corrupt(part, offset, what, format!("1 to {most}")));
        }
        let stored = Stored::parse(self.codec, self.flags, self.size, self.logical);
        stored.map_err(|(what, expected)| Error::corrupt(part, offset, what, expected))
    }

    /// Size of its entries, of which there must be `count`.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(crate) fn entry_bytes(&self, count: u64, part: Part, offset: u64) -> Result<usize, Error> {
        let bytes = count * ENTRY_BYTES as u64;
        if u64::from(self.logical) == count && u64::from(self.size) == bytes {
            return Ok(bytes as usize);
        }
        let what = format!("{} entries in {} bytes", self.logical, self.size);
        Err(Error::corrupt(part, offset, what, format!("{count} entries in {bytes} bytes")))
    }

    /// Checks the checksum of its entries.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(super) fn check_entries(&self, bytes: &[u8], part: Part, offset: u64) -> Result<(), Error> {
        self.check_sum(sum(&[bytes]), part, offset)
    }

    /// Compares the checksum of the following bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(crate) fn check_sum(&self, found: [u8; 8], part: Part, offset: u64) -> Result<(), Error> {
        if found == self.sum {
            return Ok(());
        }
        let what = format!("the sum of what is stored is {}", hex(&found));
        Err(Error::corrupt(part, offset, what, hex(&self.sum)))
    }
}

/// The check of a header: it covers the piece's number, so that pieces cannot be exchanged.
fn check(bytes: &[u8; PIECE_BYTES], number: u64) -> [u8; 4] {
    sum(&[&number.to_le_bytes(), &bytes[..CHECKED]])
}
