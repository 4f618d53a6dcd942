//! Reads the record at the end of an image.

use std::ops::Range;

use packline_engine::CancelToken;
use packline_volume::{Covered, ReadError};

use super::Image;
use super::map::window::ReadBytes;
use crate::format::corrupt;
use crate::format::record::{LENGTH_BYTES, RECORD_BYTES, Record};
use crate::format::recorded_options::RecordedOptions;
use crate::options::BLOCK;

/// A record, and its address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlacedRecord {
    pub(crate) at: u64,
    pub(crate) record: Record,
}

impl PlacedRecord {
    /// The bytes of the record, and of the lengths and the text before it.
    pub(crate) fn bytes(self) -> Range<u64> {
        self.at.saturating_sub(self.record.tail_bytes() as u64)..self.at + RECORD_BYTES as u64
    }

    /// The bytes whose checksum the record has.
    pub(crate) fn covered(self) -> Covered {
        let record = self.record;
        let (end, changed) = if record.has_metadata {
            (self.bytes().start, "changed content or metadata, of an unknown entry")
        } else {
            (record.data_end, "changed content, in an unknown file")
        };
        Covered { start: BLOCK, end, contents_end: record.data_end, crc: record.checksum, changed }
    }
}

/// Returns the record of an image; `None` if the image has none that this version knows.
///
/// # Errors
/// [`ReadError::Corrupt`] if the record is damaged, [`ReadError::Input`].
pub(crate) fn read_record(image: &Image) -> Result<Option<PlacedRecord>, ReadError> {
    let superblock = image.superblock();
    let end = superblock.blocks.saturating_mul(superblock.block_size());
    let store = image.contents().store();
    let Some(at) = end.checked_sub(RECORD_BYTES as u64).filter(|_| end <= store.regions().size()) else {
        return Ok(None);
    };
    let mut bytes = [0; RECORD_BYTES];
    store.read(at, &mut bytes)?;
    let Some(record) = Record::decode(&bytes, at)? else { return Ok(None) };
    let data_most = at.saturating_sub(record.tail_bytes() as u64);
    if !(BLOCK..=data_most).contains(&record.data_end) {
        let what = format!("a data area up to byte {}", record.data_end);
        return Err(corrupt(at, what, format!("an end from {BLOCK} to {data_most}")));
    }
    Ok(Some(PlacedRecord { at, record }))
}

/// Returns the lengths of the segments of the packed inode.
///
/// # Errors
/// [`ReadError::Corrupt`] if they do not match their checksum, [`ReadError::Input`].
pub(crate) fn read_lengths(image: &Image, placed: PlacedRecord) -> Result<Vec<u32>, ReadError> {
    let bytes = read_tail(image, placed)?;
    let lengths = &bytes[..placed.record.lengths_bytes()];
    Ok(lengths.as_chunks::<LENGTH_BYTES>().0.iter().map(|length| u32::from_le_bytes(*length)).collect())
}

/// Returns the options that the record has. `None` for a version without them, and if this version does not know a value.
///
/// # Errors
/// [`ReadError::Corrupt`] if they do not match their checksum, [`ReadError::Input`].
pub(crate) fn read_options(image: &Image, placed: PlacedRecord) -> Result<Option<RecordedOptions>, ReadError> {
    if placed.record.text_bytes == 0 {
        return Ok(None);
    }
    let bytes = read_tail(image, placed)?;
    Ok(RecordedOptions::parse(&bytes[placed.record.lengths_bytes()..]))
}

/// Reads the lengths and the text before a record.
fn read_tail(image: &Image, placed: PlacedRecord) -> Result<Vec<u8>, ReadError> {
    let record = placed.record;
    let mut bytes = vec![0; record.tail_bytes()];
    let start = placed.bytes().start;
    image.contents().store().read(start, &mut bytes)?;
    if crc32fast::hash(&bytes) != record.tail_sum {
        return Err(corrupt(start, "lengths or options that do not match their checksum", "those of the record"));
    }
    Ok(bytes)
}

/// Returns the CRC-32 of the bytes whose checksum the record has.
///
/// # Errors
/// [`ReadError::Input`]; [`ReadError::Work`].
pub(crate) fn checksum(image: &Image, placed: PlacedRecord, cancel: &CancelToken) -> Result<u32, ReadError> {
    let read = |at, buffer: &mut [u8]| image.contents().store().read(at, buffer);
    packline_volume::checksum(BLOCK, placed.covered().end, &read, cancel)
}
