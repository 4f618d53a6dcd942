//! Verification: every byte of an image is read, and every rule of the format checked.
//!
//! Faults are reported and worked around as far as possible. The order of the report follows the image: superblock and tables,
//! the tree, contents in the order of the tree.

mod content;
mod fields;
mod finding;
mod inodes;
mod links;
mod listings;
mod metadata;
mod tables;
#[cfg(test)]
mod tests;

pub use finding::{Examiner, Finding, Severity, Verified};

use self::finding::Report;
use self::inodes::Inodes;
use crate::read::{Image, ReadError, ReadSettings};

/// Resources of verification.
#[derive(Debug, Clone)]
pub struct VerifySettings {
    /// For reading contents.
    pub reading: ReadSettings,
    /// Bytes for what is noted of inodes, at most: about 17 for each inode.
    pub records: usize,
}

/// Reads all of an image and tells `examiner` what is wrong with it.
///
/// # Errors
/// Those that are not the image's fault: [`ReadError::Cancelled`], [`ReadError::Unsupported`] if there is no decoder or the image
/// has more inodes than `settings` have room for, [`ReadError::Internal`].
pub fn verify(image: &Image, settings: &VerifySettings, examiner: &mut dyn Examiner) -> Result<Verified, ReadError> {
    let mut report = Report { totals: Verified::default(), examiner };
    tables::superblock(image, &mut report)?;
    let listed = metadata::all(image, settings, &mut report)?;
    let mut inodes = Inodes::read(image, settings, &mut report)?;
    tables::used(image, &inodes.uses, settings, &mut report)?;
    tables::exports(image, &inodes, settings, &mut report)?;
    if listings::check(image, &mut inodes, listed, settings, &mut report)? {
        links::check(image, &inodes, &mut report);
        content::check(image, &inodes, settings, &mut report)?;
    }
    Ok(report.totals)
}

/// Fails if the cancel token is set.
fn check_cancelled(settings: &VerifySettings) -> Result<(), ReadError> {
    if settings.reading.cancel.is_cancelled() { Err(ReadError::Cancelled) } else { Ok(()) }
}
