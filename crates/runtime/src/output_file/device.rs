//! A block device as the output.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::Error;

/// Bytes cleared at the start of an output: more than the superblock of any container.
const CLEARED: usize = 4096;

/// Opens a device that is not mounted (`O_EXCL`).
pub fn open(display_path: &Path, device: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(OFlags::EXCL.bits() as i32);
    options.open(device).map_err(|cause| Error::output(display_path, "cannot open the device", cause))
}

/// Clears the bytes of a superblock from `origin` on. Returns the size of the device in bytes.
pub fn clear(display_path: &Path, file: &File, origin: u64) -> Result<u64, Error> {
    let size = size_of(file).map_err(|cause| Error::output(display_path, "cannot find the device's size", cause))?;
    let length = size.saturating_sub(origin).min(CLEARED as u64) as usize;
    file.write_all_at(&[0; CLEARED][..length], origin)
        .map_err(|cause| Error::output(display_path, "cannot clear the device's start", cause))?;
    Ok(size)
}

fn size_of(mut file: &File) -> std::io::Result<u64> {
    file.seek(SeekFrom::End(0))
}
