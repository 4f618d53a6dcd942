//! The trailer, at the end of a file.

use packline_runtime::hex;

use super::head::number;
use super::{HEAD_BYTES, Index, PIECE_HEAD_BYTES, RECORDS_MOST, RecordSize, Root, Shape, Table, sum};
use crate::{Error, Part};

/// Size of the trailer in bytes.
pub(crate) const TRAILER_BYTES: usize = 72;
/// The first bytes of the trailer.
const MAGIC: [u8; 8] = [0x8B, b'p', b'l', b'n', 0x0D, 0x0A, 0x1A, 0x0A];
/// The number of bytes that the check covers.
const CHECKED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Offset of the index.
    pub(crate) index: u64,
    /// The number of records.
    pub(crate) records: u64,
    /// Bytes of the content.
    pub(crate) logical: u64,
    /// BLAKE3 of the content.
    pub(crate) root: Root,
}

impl Trailer {
    pub(crate) fn encode(&self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.index.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.records.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.logical.to_le_bytes());
        bytes[32..CHECKED].copy_from_slice(&self.root);
        let check: [u8; 8] = sum(&[&bytes[..CHECKED]]);
        bytes[CHECKED..].copy_from_slice(&check);
        bytes
    }

    /// Parses the trailer at byte `offset`, and checks that its values are possible in a file that ends after it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the trailer is malformed or its values are impossible.
    pub(crate) fn parse(bytes: &[u8; TRAILER_BYTES], size: RecordSize, offset: u64) -> Result<Trailer, Error> {
        let wrong = |what: String, expected: String| Err(Error::corrupt(Part::Trailer, offset, what, expected));
        if bytes[..8] != MAGIC {
            return wrong(format!("the trailer begins with {}", hex(&bytes[..8])), hex(&MAGIC));
        }
        let check: [u8; 8] = sum(&[&bytes[..CHECKED]]);
        if bytes[CHECKED..] != check {
            return wrong(format!("its check is {}", hex(&bytes[CHECKED..])), hex(&check));
        }
        let [index, records, logical] = [8, 16, 24].map(|at| number(&bytes[at..at + 8]));
        let trailer = Trailer { index, records, logical, root: std::array::from_fn(|at| bytes[32 + at]) };
        let shape = trailer.shape(size);
        if records != shape.records() || records > RECORDS_MOST {
            let most = RECORDS_MOST;
            return wrong(
                format!("{records} records"),
                format!("{} for {logical} bytes of content, and at most {most}", shape.records()),
            );
        }
        // Memory is never allocated for more entries than fit in the file.
        let least = least_before(shape);
        let end = index.checked_add(Index::physical(shape.groups()));
        if end != Some(offset) || index < least {
            let expected = format!("{}, and at least {least}", offset.saturating_sub(Index::physical(shape.groups())));
            return wrong(format!("the index of {records} records at byte {index}"), expected);
        }
        Ok(trailer)
    }

    /// Compares the root of the content.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the roots differ.
    pub(crate) fn check_root(&self, found: &Root, offset: u64) -> Result<(), Error> {
        if self.root == *found {
            return Ok(());
        }
        let what = format!("the hash of the content is {}", hex(&self.root));
        Err(Error::corrupt(Part::Trailer, offset, what, hex(found)))
    }

    /// Returns the division of the content into records and groups.
    pub(crate) fn shape(&self, record_size: RecordSize) -> Shape {
        Shape { record_size, logical: self.logical }
    }
}

/// Returns the minimum offset of the index.
fn least_before(shape: Shape) -> u64 {
    let tables = shape.groups() * Table::physical(0) + Table::physical(shape.records()) - PIECE_HEAD_BYTES as u64;
    HEAD_BYTES as u64 + shape.records() * PIECE_HEAD_BYTES as u64 + tables
}
