//! A block device as the output.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::refused;
use crate::Error;

/// Bytes cleared at the start: more than the superblock of any container of ours.
const CLEARED: usize = 4096;

/// Opens a device that nobody has mounted (`O_EXCL`), and clears its start.
pub fn open(shown: &Path, device: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(OFlags::EXCL.bits() as i32);
    let file = options.open(device).map_err(|cause| refused(shown, "cannot open the device", cause))?;
    let room = size_of(shown, &file)?.min(CLEARED as u64) as usize;
    file.write_all_at(&[0; CLEARED][..room], 0)
        .map_err(|cause| refused(shown, "cannot clear the device's start", cause))?;
    Ok(file)
}

/// Size of a device, bytes.
pub fn size_of(shown: &Path, mut file: &File) -> Result<u64, Error> {
    file.seek(SeekFrom::End(0)).map_err(|cause| refused(shown, "cannot find the device's size", cause))
}
