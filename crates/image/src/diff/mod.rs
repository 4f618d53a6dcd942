//! Compares two trees, each in an image or a directory: names, attributes, contents.
//!
//! Both trees are walked in parallel, a directory at a time, in the order of the names. Contents are compared only if sizes are equal; workers
//! decode both sides ahead.
//!
//! Memory holds the directories above the current entry (for a directory of the file system with all names), a window for each side, and about
//! 16 bytes for each directory and each file with several names: 40 MB for a million of them. If an image's fragment blocks do not all fit
//! into memory, both trees are first walked once to learn when each block is needed. This takes 4 bytes for each file.

mod attributes;
mod contents;
mod difference;
mod extract;
mod links;
mod merge;
mod planner;
mod side;
mod stream;

use std::io;
use std::path::PathBuf;

use packline_volume::SharedCounts;

pub use difference::{Difference, What};

use crate::{Error, OpenedImage, Resources};
use contents::Comparison;
use planner::Planner;
use side::Side;

/// Bytes of metadata to cache when an image is opened for a comparison.
pub const DIFF_METADATA: usize = 4 << 20;

/// One of the two trees.
#[derive(Debug, Clone)]
pub enum DiffPlace {
    /// A tree in an image.
    Image(OpenedImage),
    /// A directory of the file system.
    Directory(PathBuf),
}

/// Attributes to compare in addition to names, types, link targets, device numbers and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compared {
    /// Contents of regular files.
    pub contents: bool,
    /// Owners and groups.
    pub owners: bool,
    /// Permission bits.
    pub permissions: bool,
    /// Modification times: to the nanosecond, if all images have nanoseconds and not both trees are directories; otherwise to the second.
    pub times: bool,
    /// Extended attributes.
    pub xattrs: bool,
    /// Whether the same names belong to one file.
    pub links: bool,
    /// Inode numbers; both trees must be images.
    pub numbers: bool,
    /// Basic or extended form of the inodes; both trees must be images.
    pub forms: bool,
}

impl Compared {
    /// All attributes of the trees, except how an image stores them.
    pub fn tree() -> Compared {
        Compared {
            contents: true,
            owners: true,
            permissions: true,
            times: true,
            xattrs: true,
            links: true,
            numbers: false,
            forms: false,
        }
    }
}

/// The order in which differences are found. Directories are visited in the same order, depth first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffOrder {
    /// The order of the names.
    Names,
    /// First the names of a directory that only one side has, then the common names, as sqfsdiff does.
    MissingFirst,
}

/// A comparison.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiffRequest {
    /// The first tree.
    pub old: DiffPlace,
    /// The second tree.
    pub new: DiffPlace,
    /// Attributes to compare.
    pub compared: Compared,
    /// The order of the differences.
    pub order: DiffOrder,
    /// Directory for extracted files: regular files that only one side has, or that differ in content, below `old` and `new`.
    pub extract: Option<PathBuf>,
    /// Workers and memory.
    pub resources: Resources,
}

impl DiffRequest {
    /// Compares everything of the trees in the order of the names and extracts nothing, with all processors and no memory limit.
    pub fn new(old: DiffPlace, new: DiffPlace) -> DiffRequest {
        let compared = Compared::tree();
        let order = DiffOrder::Names;
        DiffRequest { old, new, compared, order, extract: None, resources: Resources::default() }
    }
}

/// Result of a comparison.
#[derive(Debug, Clone)]
pub struct DiffSummary {
    /// Number of differences.
    pub differences: u64,
    /// Names that both trees have.
    pub common: u64,
    /// Bytes of content compared on one side, holes included.
    pub compared_bytes: u64,
    /// Shared units decoded, of the old and of the new tree.
    pub fragments: [SharedCounts; 2],
}

/// Compares two trees and passes each difference to `found`, which returns whether to continue.
///
/// # Errors
/// [`Error::Read`] and [`Error::Source`] if a tree cannot be read or, after the last difference, if the data of a compared image does not match
/// its record; [`Error::Memory`]; [`Error::Request`] for inode numbers or forms of a directory; [`Error::Output`] if `found` fails or a file
/// cannot be extracted.
pub fn diff(
    request: &DiffRequest,
    found: &mut dyn FnMut(&Difference) -> io::Result<bool>,
) -> Result<DiffSummary, Error> {
    let [old, new] = [Side::of(&request.old, request), Side::of(&request.new, request)];
    if (request.compared.numbers || request.compared.forms) && (old.image().is_none() || new.image().is_none()) {
        return Err(Error::Request {
            what: "inode numbers cannot be compared with those of a directory".to_string(),
            expected: "two images".to_string(),
        });
    }
    let planner = Planner::new(&old, &new, request)?;
    let comparison = Comparison::new(&old, &new, request, planner)?;
    let mut stopped = false;
    let summary = comparison.run(&mut |difference| {
        let more = found(difference)?;
        stopped |= !more;
        Ok(more)
    })?;
    if !stopped {
        [&old, &new]
            .into_iter()
            .filter_map(Side::image)
            .try_for_each(|image| image.compare_data(&request.resources))?;
    }
    Ok(summary)
}
