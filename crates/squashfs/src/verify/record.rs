//! The record after an image is sound, and the data has the record's checksum.

use packline_codec::Spec;
use packline_volume::Report;

use super::VerifySettings;
use crate::format::record::{RECORD_BYTES, Record};
use crate::read::{BlockPlace, Image, ReadError};

/// Reads the record, if the image has one. Returns its length in bytes.
pub(super) fn length(image: &Image, report: &mut Report<'_>) -> Result<u64, ReadError> {
    match Record::read(image) {
        Ok(None) => Ok(0),
        Ok(Some(_)) => Ok(RECORD_BYTES as u64),
        Err(error) => report.unread(None, error).map(|()| RECORD_BYTES as u64),
    }
}

/// Whether the image has a record, which has a checksum of all data.
pub(super) fn is_there(image: &Image) -> bool {
    matches!(Record::read(image), Ok(Some(_)))
}

/// Whether the codec puts a checksum into the block.
pub(super) fn has_checksum(image: &Image, block: &BlockPlace) -> bool {
    block.compressed && matches!(image.codec(), Spec::Gzip(_) | Spec::Xz(_))
}

/// Compares the data with the checksum, if no other fault was found: decoders do not check each bit.
pub(super) fn data(image: &Image, settings: &VerifySettings, report: &mut Report<'_>) -> Result<(), ReadError> {
    if report.totals.faults > 0 {
        return Ok(());
    }
    image.compare_data(&settings.reading.engine.cancel).or_else(|error| report.unread(None, error))
}
