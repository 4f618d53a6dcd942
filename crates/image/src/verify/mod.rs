//! Verifies an image: divides the memory, reads every byte, and reports faults.

mod part;

use packline_erofs::verify::INODE_BYTES;
use packline_volume::{Examiner, Finding, Report, Severity, Verified};

use crate::read_plan::read_settings;
use crate::{Error, FileSystem, OpenedImage, Resources};

pub use part::{PartScope, Sha256Hash};

/// Memory for an inode in bytes, rounded up: its record, its use of tables, its entry in the set of visited files, the uses of its tail end.
const NOTED: u64 = 40;
/// Memory in bytes of the walks over the tree for each directory.
const WALKED: u64 = 32;
/// Minimum memory in bytes for records of inodes.
const RECORDS_LEAST: u64 = 1 << 20;
/// Memory in bytes for the positions of parts of an EROFS image: a share of the size of the image, which has a part in each few blocks, and limits.
const SPACE_SHARE: u64 = 64;
const SPACE_LEAST: u64 = 256 << 10;
const SPACE_MOST: u64 = 64 << 20;
/// Inverse of the share of a memory limit that is for positions of parts.
const LIMIT_SHARE: u64 = 16;

/// Reads every byte of an image and checks every rule of the format; reports faults to `examiner`.
///
/// # Errors
/// Errors that are not faults of the image: [`Error::Memory`] if the memory does not suffice for the number of inodes, [`Error::Read`] if
/// cancelled, or if devices of the image are missing.
pub fn verify(image: &OpenedImage, resources: &Resources, examiner: &mut dyn Examiner) -> Result<Verified, Error> {
    let facts = image.volume.facts();
    let inodes = stated_inodes(image);
    let verified = match &image.file_system {
        FileSystem::SquashFs(opened) => {
            let reading = read_settings(&image.volume, resources, inodes.saturating_mul(NOTED + WALKED))?;
            let records = inodes.saturating_mul(NOTED).max(RECORDS_LEAST) as usize;
            let settings = packline_squashfs::verify::VerifySettings { reading, records };
            let verified = packline_squashfs::verify::verify(opened, &settings, examiner);
            verified.map(|totals| note_other(image, totals, examiner))
        }
        FileSystem::Erofs(opened) => {
            let most = resources.limits().memory.map_or(SPACE_MOST, |limit| limit / LIMIT_SHARE);
            let space = (facts.bytes / SPACE_SHARE).min(most).clamp(SPACE_LEAST, SPACE_MOST);
            let besides = inodes.saturating_mul(INODE_BYTES + WALKED).saturating_add(space);
            let reading = read_settings(&image.volume, resources, besides)?;
            let inodes = inodes.max(RECORDS_LEAST / INODE_BYTES) as usize;
            let settings = packline_erofs::verify::VerifySettings { reading, inodes, space: space as usize };
            packline_erofs::verify::verify(opened, &settings, examiner)
        }
    };
    verified.map_err(|cause| image.fault(cause))
}

/// Returns the number of inodes as the image states it. The image's size bounds the number before memory is allocated for it.
fn stated_inodes(image: &OpenedImage) -> u64 {
    let facts = image.volume.facts();
    facts.inodes.min(facts.bytes)
}

/// Checks a part of an image: names, link counts, extended attributes, and either contents or their positions. Reports faults to `examiner`.
///
/// # Errors
/// As for [`verify`].
pub fn verify_part(
    image: &OpenedImage,
    scope: PartScope<'_>,
    resources: &Resources,
    examiner: &mut dyn Examiner,
) -> Result<Verified, Error> {
    let inodes = stated_inodes(image);
    let reading = read_settings(&image.volume, resources, inodes.saturating_mul(INODE_BYTES + WALKED))?;
    let most = inodes.max(RECORDS_LEAST / INODE_BYTES) as usize;
    let mut report = Report { totals: Verified::default(), examiner };
    let checked = part::check(&image.volume, scope, &reading, most, &mut report);
    checked.map(|()| report.totals).map_err(|cause| image.fault(cause))
}

/// Notes a superblock of EROFS in a SquashFS image. Other programs may read the file as an EROFS image.
fn note_other(image: &OpenedImage, totals: Verified, examiner: &mut dyn Examiner) -> Verified {
    if !image.has_erofs_superblock() {
        return totals;
    }
    examiner.found(Finding {
        severity: Severity::Note,
        path: None,
        offset: packline_erofs::read::SUPERBLOCK_START,
        what: "superblock of EROFS in an image that is read as SquashFS".into(),
        expected: "one file system".into(),
    });
    Verified { notes: totals.notes + 1, ..totals }
}
