//! A stream that gets its bytes when all of them are in an unnamed file, because no byte of a stream can be written twice.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::{Error, ScratchError, unnamed_temp_file};

/// Bytes copied at a time.
const STEP: usize = 128 << 10;

/// An unnamed file, and the stream that it is copied to.
pub struct Spool {
    file: File,
    directory: PathBuf,
    out: Box<dyn Write + Send>,
}

impl Spool {
    /// A file in `directory`; errors name it `display_path`.
    pub fn create(display_path: &Path, out: Box<dyn Write + Send>, directory: &Path) -> Result<Spool, Error> {
        let refused = |cause| Error::output(display_path, "cannot create", ScratchError::wrap(directory, cause));
        let file = unnamed_temp_file(directory).map_err(refused)?;
        Ok(Spool { file, directory: directory.to_path_buf(), out })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Copies the file to the stream. A closed pipe is an error, because its reader has only a part.
    pub fn finish(mut self, display_path: &Path) -> Result<(), Error> {
        let refused = |action, cause| Error::output(display_path, action, cause);
        let of_file = |cause| refused("cannot read back", ScratchError::wrap(&self.directory, cause));
        let size = self.file.metadata().map_err(of_file)?.len();
        let mut at = 0;
        let mut bytes = vec![0; STEP];
        while at < size {
            let step = &mut bytes[..(size - at).min(STEP as u64) as usize];
            self.file.read_exact_at(step, at).map_err(of_file)?;
            self.out.write_all(step).map_err(|cause| refused("cannot write", cut_short(cause, size)))?;
            at += step.len() as u64;
        }
        self.out.flush().map_err(|cause| refused("cannot write", cut_short(cause, size)))
    }
}

/// A closed pipe gets a different kind: programs treat [`io::ErrorKind::BrokenPipe`] as a reader that needs no more data.
fn cut_short(cause: io::Error, size: u64) -> io::Error {
    match cause.kind() {
        io::ErrorKind::BrokenPipe => {
            io::Error::other(format!("the reader closed the stream before the end ({size} bytes): {cause}"))
        }
        _ => cause,
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").field("file", &self.file).field("directory", &self.directory).finish_non_exhaustive()
    }
}
