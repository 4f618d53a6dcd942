//! Verifies an image: memory is shared out, every byte is read, and what is wrong is told.

use packline_squashfs::verify::{Examiner, Verified, VerifySettings};

use crate::read_plan::read_settings;
use crate::{Error, OpenedImage, Resources};

/// What is noted of one inode, bytes, rounded up: its record, its use of tables, its place among the files that were seen, the
/// uses of its tail end.
const NOTED: u64 = 40;
/// What the walks over the tree take for each directory, bytes.
const WALKED: u64 = 32;
/// Bytes that may be noted of inodes in any case.
const RECORDS_LEAST: u64 = 1 << 20;

/// Reads every byte of an image and checks every rule of the format; tells `examiner` what is wrong.
///
/// # Errors
/// Not what is wrong with the image: [`Error::Memory`] if there is not enough for so many inodes, [`Error::Read`] if cancelled.
pub fn verify(image: &OpenedImage, resources: &Resources, examiner: &mut dyn Examiner) -> Result<Verified, Error> {
    let superblock = image.image.superblock();
    // An image that says it has more inodes than it has room for is caught before memory is taken for them.
    let inodes = u64::from(superblock.inodes).min(superblock.bytes_used);
    let reading = read_settings(&image.image, resources, inodes * (NOTED + WALKED))?;
    let records = (inodes * NOTED).max(RECORDS_LEAST) as usize;
    let settings = VerifySettings { reading, records };
    packline_squashfs::verify::verify(&image.image, &settings, examiner).map_err(|cause| image.fault(cause))
}
