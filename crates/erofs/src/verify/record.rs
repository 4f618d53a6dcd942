//! The checksum that the record at the end of an image has.

use packline_volume::{ReadError, Report};

use super::VerifySettings;
use crate::options::BLOCK;
use crate::read::Image;
use crate::read::record::{checksum, read_lengths, read_record};

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
    match checksum(image, placed, &settings.reading.engine.cancel) {
        Ok(found) if found == placed.record.checksum => {}
        Ok(found) => {
            // The offset follows: the start of the data, because nothing says where the change is.
            let what = if placed.record.has_metadata {
                format!("changed content or metadata, of an unknown entry: checksum {found:#010x} of the data, which begins")
            } else {
                format!("changed content, in an unknown file: checksum {found:#010x} of the data, which begins")
            };
            report.fault(BLOCK, what, format!("{:#010x}, the checksum that pack stored", placed.record.checksum));
        }
        Err(error) => report.unread(None, error)?,
    }
    Ok(())
}
