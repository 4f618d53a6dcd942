//! The head of every piece: a record, a table or the index.

use packline_runtime::hex;

use super::head::number;
use super::{CodecId, ENTRY_BYTES, sum};
use crate::{Error, Part};

/// Size of the head in bytes.
pub(crate) const PIECE_HEAD_BYTES: usize = 24;
/// The number of bytes that the check covers.
const CHECKED: usize = 20;
/// The flag of records whose trailing zeros are not stored.
const SLACK: u8 = 1;

/// The kind of a piece. Any two numbers differ in at least three bits, so a kind is recognised despite one wrong bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Record = 0x52,
    Table = 0x74,
    Index = 0x69,
}

impl Kind {
    /// Returns the kind that is nearest to the head. The check decides whether the head is valid.
    pub(crate) fn nearest(bytes: &[u8; PIECE_HEAD_BYTES]) -> Kind {
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
    /// The number of stored bytes.
    pub(crate) size: u32,
}

impl Stored {
    /// Whether the content itself is stored.
    pub(crate) fn is_plain(&self) -> bool {
        self.codec == CodecId::None && !self.slack
    }

    /// Describes the storage, for a message.
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
    /// Returns the invalid value, and the expected one.
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

/// The head of a record, a table or the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PieceHead {
    pub(crate) kind: Kind,
    /// 0, except for records.
    codec: u8,
    flags: u8,
    /// The bytes of content of a record; the number of entries of a table or index.
    pub(crate) logical: u32,
    /// The number of bytes that follow the head.
    pub(crate) size: u32,
    /// The checksum of the bytes that follow the head.
    pub(crate) sum: [u8; 8],
}

impl PieceHead {
    /// Returns the head of a record.
    pub(crate) fn record(stored: Stored, logical: u32, sum: [u8; 8]) -> PieceHead {
        PieceHead {
            kind: Kind::Record,
            codec: stored.codec as u8,
            flags: stored.flags(),
            logical,
            size: stored.size,
            sum,
        }
    }

    /// Returns the head of a table or index of `count` entries with these bytes.
    pub(super) fn entries(kind: Kind, count: u32, bytes: &[u8]) -> PieceHead {
        PieceHead { kind, codec: 0, flags: 0, logical: count, size: bytes.len() as u32, sum: sum(&[bytes]) }
    }

    /// Encodes the head. `number` is the number of the record or the group; for an index it is the number of records.
    pub(crate) fn encode(&self, number: u64) -> [u8; PIECE_HEAD_BYTES] {
        let mut bytes = [0; PIECE_HEAD_BYTES];
        bytes[..4].copy_from_slice(&[self.kind as u8, self.codec, self.flags, 0]);
        bytes[4..8].copy_from_slice(&self.logical.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.size.to_le_bytes());
        bytes[12..CHECKED].copy_from_slice(&self.sum);
        let check = check(&bytes, number);
        bytes[CHECKED..].copy_from_slice(&check);
        bytes
    }

    /// Parses the head of the piece of kind `wanted`, and with the number `of` in its check.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the head is malformed, or has another kind or number.
    pub(crate) fn parse(
        bytes: &[u8; PIECE_HEAD_BYTES],
        wanted: Kind,
        of: u64,
        part: Part,
        offset: u64,
    ) -> Result<PieceHead, Error> {
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
        Ok(PieceHead { kind: wanted, codec: bytes[1], flags: bytes[2], logical: field(4), size: field(8), sum })
    }

    /// Returns how a record of at most `most` bytes of content is stored.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the fields are impossible.
    pub(crate) fn stored(&self, most: usize, part: Part, offset: u64) -> Result<Stored, Error> {
        if self.logical == 0 || self.logical as usize > most {
            let what = format!("{} bytes of content", self.logical);
            return Err(Error::corrupt(part, offset, what, format!("1 to {most}")));
        }
        let stored = Stored::parse(self.codec, self.flags, self.size, self.logical);
        stored.map_err(|(what, expected)| Error::corrupt(part, offset, what, expected))
    }

    /// Returns the size of the entries, of which there must be `count`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the number or the size differs.
    pub(crate) fn entry_bytes(&self, count: u64, part: Part, offset: u64) -> Result<usize, Error> {
        let bytes = count * ENTRY_BYTES as u64;
        if u64::from(self.logical) == count && u64::from(self.size) == bytes {
            return Ok(bytes as usize);
        }
        let what = format!("{} entries in {} bytes", self.logical, self.size);
        Err(Error::corrupt(part, offset, what, format!("{count} entries in {bytes} bytes")))
    }

    /// Checks the checksum of the entries.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the checksum differs.
    pub(super) fn check_entries(&self, bytes: &[u8], part: Part, offset: u64) -> Result<(), Error> {
        self.check_sum(sum(&[bytes]), part, offset)
    }

    /// Compares the checksum of the bytes that follow the head.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the checksums differ.
    pub(crate) fn check_sum(&self, found: [u8; 8], part: Part, offset: u64) -> Result<(), Error> {
        if found == self.sum {
            return Ok(());
        }
        let what = format!("the checksum of the stored bytes is {}", hex(&found));
        Err(Error::corrupt(part, offset, what, hex(&self.sum)))
    }
}

/// Returns the check of a head. It covers the number of the piece, so that pieces cannot be exchanged.
fn check(bytes: &[u8; PIECE_HEAD_BYTES], number: u64) -> [u8; 4] {
    sum(&[&number.to_le_bytes(), &bytes[..CHECKED]])
}
