//! Verification: reads every byte of an image, and checks every rule of the format.
//!
//! Faults are reported, and verification continues as far as possible. The order of the report follows the image: superblock and tables,
//! the tree, contents in the order of the tree.

mod content;
mod inodes;
mod links;
mod listings;
mod metadata;
mod old;
mod paths;
mod record;
mod tables;
#[cfg(test)]
mod tests;

pub use packline_volume::{Examiner, Finding, Severity, Verified};

use packline_runtime::unless_cancelled;
use packline_volume::{Inode, Report};

use self::inodes::Inodes;
use crate::read::{CheckScope, Image, ReadError, ReadSettings};

#[derive(Debug, Clone)]
pub struct VerifySettings {
    /// Settings for reading contents.
    pub reading: ReadSettings,
    /// Memory for records of inodes, bytes: about 17 for each inode.
    pub records: usize,
}

/// Reads the complete image and reports faults to `examiner`.
///
/// # Errors
/// Errors that are not faults of the image: [`ReadError::Work`], and [`ReadError::Unsupported`] without a decoder or if the image has more inodes
/// than `settings` allow.
pub fn verify(image: &Image, settings: &VerifySettings, examiner: &mut dyn Examiner) -> Result<Verified, ReadError> {
    let image = &image.checked(CheckScope::Everything).strict();
    let mut report = Report { totals: Verified::default(), examiner };
    tables::superblock(image, &mut report)?;
    if image.layout().is_old() {
        old::check(image, settings, &mut report)?;
        return Ok(report.totals);
    }
    let listed = metadata::all(image, settings, &mut report)?;
    let mut inodes = Inodes::read(image, settings, &mut report)?;
    tables::used(image, &inodes.uses, settings, &mut report)?;
    tables::exports(image, &inodes, settings, &mut report)?;
    if listings::check(image, &mut inodes, listed, settings, &mut report)? {
        links::check(image, &inodes, &mut report);
        let slot = |inode: &Inode| inodes.get(inode.number as u32).map(|_| inode.number as usize);
        let slots = content::Slots { count: inodes.records.len() + 1, of: &slot };
        content::check(image, slots, settings, &mut report)?;
        record::data(image, settings, &mut report)?;
    }
    if record::is_there(image) {
        report.totals.unchecked = 0;
    }
    Ok(report.totals)
}

/// Returns an error if the cancel token is set.
fn check_cancelled(settings: &VerifySettings) -> Result<(), ReadError> {
    Ok(unless_cancelled(&settings.reading.engine.cancel)?)
}
