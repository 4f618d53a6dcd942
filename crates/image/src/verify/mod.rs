//! Verifies an image: divides the memory, reads every byte, and reports faults.

mod tree;

use packline_squashfs::verify::VerifySettings;
use packline_volume::{Examiner, Report, Verified};

use crate::read_plan::read_settings;
use crate::{Error, FileSystem, OpenedImage, Resources};

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
    let facts = image.volume.facts();
    // The image's size bounds the stated number of inodes before memory is allocated for it.
    let inodes = facts.inodes.min(facts.bytes);
    let noted = match &image.file_system {
        FileSystem::SquashFs(_) => NOTED,
        FileSystem::Erofs(_) => tree::NOTED,
    };
    let reading = read_settings(&image.volume, resources, inodes.saturating_mul(noted + WALKED))?;
    let records = inodes.saturating_mul(noted).max(RECORDS_LEAST);
    let verified = match &image.file_system {
        FileSystem::SquashFs(image) => {
            let settings = VerifySettings { reading, records: records as usize };
            packline_squashfs::verify::verify(image, &settings, examiner)
        }
        FileSystem::Erofs(_) => {
            let mut report = Report { totals: Verified::default(), examiner };
            let checked = tree::check(&image.volume, &reading, (records / noted) as usize, &mut report);
            checked.map(|()| report.totals)
        }
    };
    verified.map_err(|cause| image.fault(cause))
}
