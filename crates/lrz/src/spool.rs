//! A spill buffer: in memory up to a limit, then in an unnamed temporary file.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use packline_runtime::{MemoryFault, TaskError, unless_cancelled, unnamed_temp_file};

use crate::{Error, Input, Resources};

/// Minimum growth of the memory in bytes.
const STEP: usize = 64 << 10;
/// Bytes of the input that are read at a time.
const READ_STEP: usize = 1 << 20;
/// The input may take one part of the memory in this many.
const INPUT_SHARE: u64 = 4;

/// Bytes that are appended, and read again at any offset. When they exceed the limit, all bytes move to an unnamed temporary file, which
/// disappears with the process.
#[derive(Debug)]
pub(crate) struct Spool {
    memory: Vec<u8>,
    /// Memory limit in bytes.
    limit: usize,
    directory: Option<PathBuf>,
    file: Option<File>,
    /// Bytes in the file, 0 while all are in memory.
    in_file: u64,
}

impl Spool {
    /// Returns an empty buffer. `limit`: memory in bytes; `directory`: where the file is created when the limit is exceeded.
    pub(crate) fn new(limit: u64, directory: Option<&Path>) -> Spool {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Spool { memory: Vec::new(), limit, directory: directory.map(Into::into), file: None, in_file: 0 }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`Error::Scratch`] if the file cannot be created or written; [`Error::Memory`] if the limit is exceeded and there is no directory.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.file.is_none() && self.memory.len().saturating_add(bytes.len()) <= self.limit {
            self.grow(bytes.len());
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        self.settle_in_file(bytes.len())?;
        let file = self.file.as_ref().ok_or_else(|| Error::internal("a temporary file is missing".into()))?;
        file.write_all_at(bytes, self.in_file).map_err(Error::Scratch)?;
        self.in_file += bytes.len() as u64;
        Ok(())
    }

    /// Reserves space for `more` bytes by doubling, within the limit.
    fn grow(&mut self, more: usize) {
        let needed = self.memory.len() + more;
        if needed > self.memory.capacity() {
            let wanted = needed.max(self.memory.capacity().saturating_mul(2)).max(STEP).min(self.limit);
            self.memory.reserve_exact(wanted - self.memory.len());
        }
    }

    /// Moves everything to the file.
    fn settle_in_file(&mut self, more: usize) -> Result<(), Error> {
        if self.file.is_some() {
            return Ok(());
        }
        let Some(directory) = &self.directory else { return Err(self.no_place(more)) };
        let file = unnamed_temp_file(directory).map_err(Error::Scratch)?;
        file.write_all_at(&self.memory, 0).map_err(Error::Scratch)?;
        self.in_file = self.memory.len() as u64;
        self.memory = Vec::new();
        self.file = Some(file);
        Ok(())
    }

    fn no_place(&self, more: usize) -> Error {
        let needed = self.memory.len().saturating_add(more) as u64;
        let what = "buffering data without a directory for temporary files".into();
        Error::Memory(MemoryFault { allowed: self.limit as u64, needed, what })
    }

    /// Removes all bytes but keeps the memory or the file.
    pub(crate) fn clear(&mut self) -> Result<(), Error> {
        self.memory.clear();
        self.in_file = 0;
        self.file.as_ref().map_or(Ok(()), |file| file.set_len(0)).map_err(Error::Scratch)
    }

    /// Returns all bytes, if they are in memory.
    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        self.file.is_none().then_some(&self.memory)
    }
}

impl Input for Spool {
    fn size(&self) -> u64 {
        self.in_memory().map_or(self.in_file, |bytes| bytes.len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match &self.file {
            Some(file) => file.read_exact_at(into, at),
            None => self.memory.read_at(at, into),
        }
    }
}

/// Reads the complete input, because .lrz files need random access. It goes to a quarter of the memory, or to an unnamed temporary file.
///
/// # Errors
/// [`Error::Input`], [`Error::Scratch`], [`Error::Work`]; [`Error::Memory`] if there is no directory for the file.
pub fn spooled(from: &mut dyn Read, resources: &Resources) -> Result<impl Input + 'static, Error> {
    let limit = resources.memory.map_or(u64::MAX, |bytes| bytes / INPUT_SHARE);
    let mut spool = Spool::new(limit, resources.scratch.as_deref());
    let mut piece = vec![0; READ_STEP];
    loop {
        unless_cancelled(&resources.cancel)?;
        match from.read(&mut piece) {
            Ok(0) => return Ok(spool),
            Ok(size) => spool.append(&piece[..size])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Input(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn all(spool: &Spool) -> Vec<u8> {
        let mut bytes = vec![0; spool.size() as usize];
        spool.read_at(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn bytes_move_to_an_unnamed_file_past_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(10, Some(directory.path()));
        spool.append(b"0123456789").unwrap();
        assert_eq!(spool.in_memory(), Some(b"0123456789".as_slice()));
        assert!(spool.memory.capacity() <= 10, "no more memory than was allowed");
        spool.append(b"ab").unwrap();
        assert_eq!((spool.in_memory(), all(&spool)), (None, b"0123456789ab".to_vec()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "it has no name");
        assert!(spool.read_at(5, &mut [0; 8]).is_err(), "past the end");
        spool.clear().unwrap();
        spool.append(b"new").unwrap();
        assert_eq!(all(&spool), b"new");
    }

    #[test]
    fn fails_past_the_limit_without_a_directory() {
        let mut spool = Spool::new(3, None);
        spool.append(b"abc").unwrap();
        assert!(matches!(spool.append(b"d"), Err(Error::Memory(MemoryFault { needed: 4, .. }))));
        assert_eq!(all(&spool), b"abc");
    }
}
