//! The checksum that the record at the end of an image has.

use packline_volume::{CheckScope, ReadError, Report, Volume as _};

use super::VerifySettings;
use crate::read::Image;
use crate::read::record::{read_lengths, read_record};

/// Compares the data and the metadata with the checksum, if no other fault was found: decoders do not check each bit. Counts the files of an image without a
/// record.
pub(super) fn check(image: &Image, settings: &VerifySettings, report: &mut Report<'_>) -> Result<(), ReadError> {
    // A damaged record was reported before.
    let Ok(Some(placed)) = read_record(image) else {
        report.totals.unchecked = report.totals.files;
        return Ok(());
    };
    if report.totals.faults > 0 {
        return Ok(());
    }
    if let Err(error) = read_lengths(image, placed) {
        report.unread(None, error)?;
    }
    let checked = image.with_check(CheckScope::Everything);
    if let Err(error) = checked.compare_data(&settings.reading.engine.cancel) {
        report.unread(None, error)?;
    }
    Ok(())
}
