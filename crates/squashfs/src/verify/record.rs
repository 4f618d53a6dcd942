//! The record behind an image: it is sound, and the data has the checksum in it.

use super::VerifySettings;
use super::finding::Report;
use crate::format::record::{RECORD_BYTES, Record, data_checksum};
use crate::read::{Image, ReadError};

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
    match data_checksum(image, &settings.reading.engine.cancel) {
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
