//! Files that no rename can replace: a mount point, a file in a directory that cannot be written, a file of another owner in a
//! sticky directory. They are overwritten in place once the complete output is in another file.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;

use crate::{ScratchError, unnamed_temp_file};

/// Whether overwriting the old file may work after this error of creating or renaming a file.
pub(super) fn is_reason(cause: &io::Error) -> bool {
    let reasons = [Errno::BUSY, Errno::XDEV, Errno::ACCESS, Errno::PERM, Errno::ROFS];
    cause.raw_os_error().is_some_and(|number| reasons.iter().any(|reason| reason.raw_os_error() == number))
}

/// Opens an existing regular file for reading and writing.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = options.read(true).write(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// Copies `output` over the file at `path`. An unnamed file in `scratch` keeps the old content, which is restored after an
/// error, unless the file cannot be written any more.
pub(super) fn overwrite(output: &File, path: &Path, scratch: &Path) -> io::Result<()> {
    let file = open(path)?;
    let old = copied(&file, scratch)?;
    let size = output.metadata()?.len();
    // A full file system fails here, before any byte is lost.
    match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, size.max(1)) {
        Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => {}
        Err(errno) => {
            // Frees the space that was allocated after the end.
            let _: io::Result<()> = file.set_len(old.metadata()?.len());
            return Err(errno.into());
        }
    }
    copy_over(output, &file).inspect_err(|_| {
        // The caller reports the error that led here.
        let _: io::Result<()> = copy_over(&old, &file);
    })
}

/// Copies the content of an open file into an unnamed file in `scratch`.
pub(super) fn copied(file: &File, scratch: &Path) -> io::Result<File> {
    let copy = unnamed_temp_file(scratch).and_then(|copy| copy_over(file, &copy).map(|()| copy));
    copy.map_err(|cause| ScratchError::wrap(scratch, cause))
}

/// Gives `to` the content of `from` and syncs it.
pub(super) fn copy_over(from: &File, to: &File) -> io::Result<()> {
    let mut source = from;
    let mut target = to;
    source.seek(SeekFrom::Start(0))?;
    target.seek(SeekFrom::Start(0))?;
    let size = io::copy(&mut source, &mut target)?;
    to.set_len(size)?;
    to.sync_all()
}
