//! The head of a file.

use packline_runtime::{Unsupported, hex};

use super::{RecordSize, sum};
use crate::{Error, Part};

/// Size of the head in bytes.
pub(crate) const HEAD_BYTES: usize = 32;
/// The version of the format that is written. No other version is read.
pub(crate) const VERSION: u8 = 1;
/// The first 8 bytes of .pln files of every version. They contain bytes that a transfer in text mode would change.
pub const MAGIC: [u8; 8] = [0x8B, b'P', b'L', b'N', 0x0D, 0x0A, 0x1A, 0x0A];
/// The number of bytes that the check covers.
const CHECKED: usize = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) record_size: RecordSize,
}

impl Head {
    pub(crate) fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = VERSION;
        bytes[9] = self.record_size.log();
        let check: [u8; 8] = sum(&[&bytes[..CHECKED]]);
        bytes[CHECKED..].copy_from_slice(&check);
        bytes
    }

    /// Checks the first bytes of a file, up to eight.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they are not the magic's.
    pub(crate) fn check_magic(bytes: &[u8]) -> Result<(), Error> {
        if MAGIC.starts_with(bytes) {
            return Ok(());
        }
        let what = format!("is not a .pln file: it begins with {}", hex(bytes));
        Err(Error::corrupt(Part::Magic, 0, what, hex(&MAGIC)))
    }

    /// # Errors
    /// [`Error::Corrupt`] if the head is malformed; [`Error::Unsupported`] for an unknown version or mandatory flag.
    pub(crate) fn parse(bytes: &[u8; HEAD_BYTES]) -> Result<Head, Error> {
        Head::check_magic(&bytes[..8])?;
        let check: [u8; 8] = sum(&[&bytes[..CHECKED]]);
        if bytes[CHECKED..] != check {
            return Err(wrong(format!("its check is {}", hex(&bytes[CHECKED..])), hex(&check)));
        }
        // The check is valid, so the version is not damaged.
        if bytes[8] != VERSION {
            return Err(unsupported(format!("version {} of the format", bytes[8]), format!("version {VERSION}")));
        }
        let must = number(&bytes[12..16]);
        if must != 0 {
            return Err(unsupported(format!("mandatory flags {must:#010x}"), "no such flags".to_owned()));
        }
        if bytes[10..12] != [0; 2] || bytes[20..24] != [0; 4] {
            return Err(wrong("reserved bytes have a value".to_owned(), "zeros".to_owned()));
        }
        let size = RecordSize::from_log(bytes[9]);
        let record_size =
            size.ok_or_else(|| wrong(format!("records of 2^{} bytes", bytes[9]), "2^12 to 2^24".into()))?;
        Ok(Head { record_size })
    }
}

fn wrong(what: String, expected: String) -> Error {
    Error::corrupt(Part::Head, 0, what, expected)
}

fn unsupported(what: String, expected: String) -> Error {
    Unsupported { what, expected }.into()
}

/// Decodes a little-endian number of up to eight bytes.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
