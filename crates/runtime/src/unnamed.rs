//! Unnamed temporary files, for data that does not fit into memory. They disappear when they are closed.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::ScratchError;

/// Only the owner may read the file.
const MODE: u32 = 0o600;
/// Bytes of a stream that are stored at a time.
const STEP: usize = 256 << 10;

/// Creates an unnamed file in `directory`, to be written and read. On a file system without unnamed files it has a name for a
/// moment. The file can never get a name later.
pub fn unnamed_temp_file(directory: &Path) -> io::Result<File> {
    open_unnamed(directory, OFlags::EXCL, MODE).or_else(|_| make_named(directory))
}

/// Stores a stream of any length in an unnamed temporary file.
///
/// # Errors
/// An error of the file is a [`ScratchError`]; errors of the stream are returned unchanged.
pub fn store_stream(stream: &mut dyn Read, directory: &Path) -> io::Result<File> {
    let refused = |cause| ScratchError::wrap(directory, cause);
    let mut file = unnamed_temp_file(directory).map_err(refused)?;
    let mut bytes = vec![0; STEP];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(file),
            Ok(read) => file.write_all(&bytes[..read]).map_err(refused)?,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// Opens an `O_TMPFILE`; with [`OFlags::EXCL`] it can never get a name.
pub(crate) fn open_unnamed(directory: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let flags = flags | OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(directory, flags, Mode::from_raw_mode(mode))?.into())
}

fn make_named(directory: &Path) -> io::Result<File> {
    // The standard library's random keys give an unpredictable name.
    let name = directory.join(format!(".packline-{:016x}", RandomState::new().hash_one(0)));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(MODE).open(&name)?;
    fs::remove_file(&name)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_named_temporary_file_loses_its_name() {
        let place = tempfile::tempdir().unwrap();
        let file = make_named(place.path()).unwrap();
        file.write_all_at(b"x", 5).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
