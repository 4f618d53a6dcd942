//! Tail ends that are not part of the data area, because the container stores them in its metadata.
//!
//! They are in memory or, if there are many, in an unnamed temporary file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use packline_runtime::{ScratchError, TaskError, unnamed_temp_file};

use crate::{Error, TailPlace};

/// Most bytes in memory, if there is a directory for a file.
const MEMORY: usize = 1 << 20;

/// How tail ends are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeepTails {
    /// Directory of a temporary file. Without it, all tail ends stay in memory.
    pub scratch: Option<PathBuf>,
}

/// The tail ends of all files.
#[derive(Debug, Default)]
pub struct KeptTails {
    scratch: Option<PathBuf>,
    file: Option<File>,
    /// The bytes after those in the file.
    memory: Vec<u8>,
    /// Bytes in the file.
    in_file: u64,
    /// The start of each fragment block.
    starts: Vec<u64>,
}

impl KeptTails {
    pub(crate) fn new(options: &KeepTails) -> KeptTails {
        KeptTails { scratch: options.scratch.clone(), ..KeptTails::default() }
    }

    /// Adds a fragment block.
    ///
    /// # Errors
    /// [`Error::Sink`] if the temporary file cannot be written.
    pub(crate) fn push(&mut self, index: u32, bytes: &[u8]) -> Result<(), Error> {
        let index = index as usize;
        self.starts.resize(self.starts.len().max(index + 1), 0);
        self.starts[index] = self.in_file + self.memory.len() as u64;
        if let Some(directory) = self.scratch.clone()
            && self.memory.len() + bytes.len() > MEMORY
        {
            self.spill(&directory).map_err(|cause| failed(Some(&directory), "write", self.in_file, cause))?;
        }
        self.memory.extend_from_slice(bytes);
        Ok(())
    }

    fn spill(&mut self, directory: &Path) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(unnamed_temp_file(directory)?),
        };
        file.write_all_at(&self.memory, self.in_file)?;
        self.in_file += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// Reads the first bytes of a tail end, as many as `to` has.
    ///
    /// # Errors
    /// [`Error::Sink`] if the temporary file cannot be read; [`Error::Work`] if there are fewer bytes.
    pub fn read(&self, place: TailPlace, to: &mut [u8]) -> Result<(), Error> {
        let missing = || Error::internal(format!("{place:?} has no kept tail end"));
        let start = self.starts.get(place.fragment as usize).ok_or_else(missing)? + u64::from(place.offset);
        match (&self.file, start.checked_sub(self.in_file)) {
            (Some(file), None) => {
                let read = file.read_exact_at(to, start);
                read.map_err(|cause| failed(self.scratch.as_deref(), "read back", start, cause))
            }
            (_, at) => {
                let rest = at.and_then(|at| self.memory.get(usize::try_from(at).ok()?..));
                to.copy_from_slice(rest.and_then(|rest| rest.get(..to.len())).ok_or_else(missing)?);
                Ok(())
            }
        }
    }

    /// Memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.memory.capacity() + self.starts.capacity() * size_of::<u64>()
    }
}

fn failed(directory: Option<&Path>, action: &'static str, offset: u64, cause: std::io::Error) -> Error {
    let directory = directory.unwrap_or_else(|| Path::new(""));
    Error::Sink { action, offset, cause: ScratchError::wrap(directory, cause) }
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;

    use super::*;

    #[test]
    fn tail_ends_are_read_from_memory_and_from_the_file() {
        let directory = tempfile::tempdir().unwrap();
        for scratch in [None, Some(directory.path().to_path_buf())] {
            let mut kept = KeptTails::new(&KeepTails { scratch: scratch.clone() });
            let mut random = Random::new(1);
            let blocks: Vec<Vec<u8>> = (0..40).map(|_| random.noise(100_000)).collect();
            // Blocks of several sets become full in any order.
            let order = |number: u32| number ^ 1;
            for (number, bytes) in (0..).zip(&blocks) {
                kept.push(order(number), bytes).unwrap();
            }
            assert_eq!(kept.file.is_some(), scratch.is_some());
            assert!(scratch.is_none() || kept.memory() < 2 * MEMORY);
            for (number, bytes) in (0..).zip(&blocks) {
                for (offset, length) in [(0, 4000), (99_000, 1000), (50_000, 0)] {
                    let mut found = vec![0; length];
                    kept.read(TailPlace { fragment: order(number), offset }, &mut found).unwrap();
                    assert!(bytes[offset as usize..].starts_with(&found), "{number} at {offset}");
                }
            }
            assert!(kept.read(TailPlace { fragment: 40, offset: 0 }, &mut [0]).is_err());
            assert!(kept.read(TailPlace { fragment: order(39), offset: 99_999 }, &mut [0; 2]).is_err());
        }
    }
}
