//! Where plain data comes from, and where a .lrz file goes.

use std::io;
use std::sync::Arc;

use crate::Input;

/// What is compressed.
pub enum Source<'a> {
    /// Something that can be read at any offset, more than once.
    At(Arc<dyn Input>),
    /// A pipe: read once, from the beginning to the end, and put by a chunk at a time.
    Stream(&'a mut (dyn io::Read + Send)),
}

/// Where the file goes. It belongs to the caller's thread.
pub trait Sink {
    /// Appends bytes.
    ///
    /// # Errors
    /// What the operating system says.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Puts bytes in the place of others that were written at byte `at` of the file; false if it cannot, as a pipe.
    ///
    /// # Errors
    /// What the operating system says.
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<bool>;
}

impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<bool> {
        let start = usize::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
        let place = start.checked_add(bytes.len()).and_then(|end| self.get_mut(start..end));
        place.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(bytes);
        Ok(true)
    }
}
