//! Verifies an image: divides the memory, reads every byte, and reports faults.

use packline_squashfs::verify::{Examiner, Verified, VerifySettings};

use crate::read_plan::read_settings;
use crate::{Error, OpenedImage, Resources};

/// Memory for an inode in bytes, rounded up: its record, its use of tables, its entry in the set of visited files, the uses of its tail end.
const NOTED: u64 = 40;
/// Memory in bytes of the walks over the tree for each directory.
const WALKED: u64 = 32;
/// Minimum memory in bytes for records of inodes.
const RECORDS_LEAST: u64 = 1 << 20;

/// Reads every byte of an image and checks every rule of the format; reports faults to `examiner`.
///
/// # Errors
/// Errors that are not faults of the image: [`Error::Memory`] if the memory does not suffice for the number of inodes, [`Error::Read`] if
/// cancelled.
pub fn verify(image: &OpenedImage, resources: &Resources, examiner: &mut dyn Examiner) -> Result<Verified, Error> {
    let facts = image.volume.facts();
    // The image's size bounds the stated number of inodes before memory is allocated for it.
    let inodes = facts.inodes.min(facts.bytes);
    let reading = read_settings(&image.volume, resources, inodes * (NOTED + WALKED))?;
    let records = (inodes * NOTED).max(RECORDS_LEAST) as usize;
    let settings = VerifySettings { reading, records };
    packline_squashfs::verify::verify(&image.image, &settings, examiner).map_err(|cause| image.fault(cause))
}
