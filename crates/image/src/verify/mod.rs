//! Verifies an image: divides the memory, reads every byte, and reports faults.

mod part;

use packline_squashfs::verify::VerifySettings;
use packline_volume::{Examiner, Report, Verified};

use crate::read_plan::read_settings;
use crate::{Error, FileSystem, OpenedImage, Resources};

pub use part::{PartScope, Sha256Hash};

/// Memory for an inode in bytes, rounded up: its record, its use of tables, its entry in the set of visited files, the uses of its tail end.
const NOTED: u64 = 40;
/// Memory in bytes of the walks over the tree for each directory.
const WALKED: u64 = 32;
/// Minimum memory in bytes for records of inodes.
const RECORDS_LEAST: u64 = 1 << 20;

/// Reads every byte of an image and checks every rule of the format; reports faults to `examiner`. Of an EROFS image, all that names lead to is
/// read; nothing else is.
///
/// # Errors
/// Errors that are not faults of the image: [`Error::Memory`] if the memory does not suffice for the number of inodes, [`Error::Read`] if
/// cancelled.
pub fn verify(image: &OpenedImage, resources: &Resources, examiner: &mut dyn Examiner) -> Result<Verified, Error> {
    let FileSystem::SquashFs(squashfs) = &image.file_system else {
        let scope = PartScope { from: image.volume.root(), contents: true, hashes: None };
        return verify_part(image, scope, resources, examiner);
    };
    let inodes = stated_inodes(image);
    let reading = read_settings(&image.volume, resources, inodes.saturating_mul(NOTED + WALKED))?;
    let records = inodes.saturating_mul(NOTED).max(RECORDS_LEAST);
    let settings = VerifySettings { reading, records: records as usize };
    packline_squashfs::verify::verify(squashfs, &settings, examiner).map_err(|cause| image.fault(cause))
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
    let reading = read_settings(&image.volume, resources, inodes.saturating_mul(part::NOTED + WALKED))?;
    let records = inodes.saturating_mul(part::NOTED).max(RECORDS_LEAST);
    let mut report = Report { totals: Verified::default(), examiner };
    let checked = part::check(&image.volume, scope, &reading, (records / part::NOTED) as usize, &mut report);
    checked.map(|()| report.totals).map_err(|cause| image.fault(cause))
}
