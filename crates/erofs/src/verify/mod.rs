//! Verification: reads every byte of an image that belongs to something, and checks every rule of the format.
//!
//! Faults are reported, and verification continues as far as possible. The order of the report follows the image: superblock, the tree with the
//! inode, the attributes and the index of each entry, the areas of the image, contents in the order of the tree.
//!
//! EROFS has no checksum of data except in the record of this program, and no table of its parts. Which bytes belong to something is only known when every inode has been visited
//! (`space.rs`).

mod areas;
mod attributes;
mod content;
mod inode;
mod layout;
mod listing;
mod record;
mod space;
mod superblock;
mod tree;

pub use packline_volume::{Examiner, Finding, Severity, Verified};

use packline_runtime::unless_cancelled;
use packline_volume::{ReadError, ReadSettings, Report};

use self::layout::Layouts;
use self::space::Space;
use self::tree::Tree;
use crate::read::Image;

/// Memory for an inode in bytes, rounded up: its record, its entry in the set of visited directories, the use of its tail end.
pub const INODE_BYTES: u64 = 64;

#[derive(Debug, Clone)]
pub struct VerifySettings {
    /// Settings for reading contents.
    pub reading: ReadSettings,
    /// Maximum number of inodes to record, each [`INODE_BYTES`].
    pub inodes: usize,
    /// Memory in bytes for the positions of stored parts. With less memory, the metadata is read more often.
    pub space: usize,
}

/// Reads the complete image and reports faults to `examiner`.
///
/// # Errors
/// Errors that are not faults of the image: [`ReadError::Work`], and [`ReadError::Unsupported`] for devices that are missing.
pub fn verify(image: &Image, settings: &VerifySettings, examiner: &mut dyn Examiner) -> Result<Verified, ReadError> {
    let mut report = Report { totals: Verified::default(), examiner };
    superblock::check(image, &mut report)?;
    let mut layouts = Layouts::new(image, Space::new(settings.space), settings);
    layouts.add_image(&mut report)?;
    let mut tree = Tree::new(image, settings);
    if !tree.walk(&mut layouts, &mut report)? {
        return Ok(report.totals);
    }
    tree.check_names(&mut report);
    superblock::features(image, layouts.features, &mut report);
    superblock::inodes(image, &mut report);
    let areas = areas::check(image, layouts, settings, &mut report)?;
    content::check(image, tree, &areas, settings, &mut report)?;
    record::check(image, settings, &mut report)?;
    Ok(report.totals)
}

/// Returns an error if the cancel token is set.
fn check_cancelled(settings: &VerifySettings) -> Result<(), ReadError> {
    Ok(unless_cancelled(&settings.reading.engine.cancel)?)
}

/// Ignores findings, where they were reported before.
struct Silent;

impl Examiner for Silent {
    fn found(&mut self, _: Finding) {}
}
