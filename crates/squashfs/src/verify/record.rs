//! The record behind an image: it is sound, and the data has the checksum in it.

use super::finding::Report;
use super::{VerifySettings, check_cancelled};
use crate::format::record::{RECORD_BYTES, Record};
use crate::read::{Image, ReadError};

/// Bytes that are read at a time.
const PIECE: u64 = 256 << 10;

/// Reads the record, if there is one. Returns its length, bytes.
pub(super) fn length(image: &Image, report: &mut Report<'_>) -> Result<u64, ReadError> {
    match Record::read(image) {
        Ok(None) => Ok(0),
        Ok(Some(_)) => Ok(RECORD_BYTES as u64),
        Err(error) => report.unread(None, error).map(|()| RECORD_BYTES as u64),
    }
}

/// Compares the data with the checksum, where nothing else found a fault: decoders do not look at each bit.
pub(super) fn data(image: &Image, settings: &VerifySettings, report: &mut Report<'_>) -> Result<(), ReadError> {
    let Ok(Some(record)) = Record::read(image) else { return Ok(()) };
    if report.totals.faults > 0 {
        return Ok(());
    }
    match checksum(image, settings) {
        Ok(found) if found == record.data => {}
        Ok(found) => {
            let what = format!("data with the checksum {found:#010x}");
            report.fault(
                image.data_start(),
                what,
                format!("{:#010x}, that of the record behind the image", record.data),
            );
        }
        Err(error) => report.unread(None, error)?,
    }
    Ok(())
}

fn checksum(image: &Image, settings: &VerifySettings) -> Result<u32, ReadError> {
    let mut checksum = crc32fast::Hasher::new();
    let (mut at, end) = (image.data_start(), image.superblock().inode_table);
    let mut piece = vec![0; PIECE as usize];
    while at < end {
        check_cancelled(settings)?;
        let bytes = &mut piece[..(end - at).min(PIECE) as usize];
        image.store().read(at, bytes)?;
        checksum.update(bytes);
        at += bytes.len() as u64;
    }
    Ok(checksum.finalize())
}
