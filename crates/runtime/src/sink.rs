//! Where an image goes: something that can be written and read at an offset.

use std::io;

/// The place an image is written to. Used only on the caller's thread.
pub trait Sink {
    /// Writes all of `bytes` at `offset`.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Reads exactly `buffer.len()` bytes, written before, at `offset`.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// An image in memory, for tests and small images.
impl Sink for Vec<u8> {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let start = offset as usize;
        let end = start + bytes.len();
        if self.len() < end {
            self.resize(end, 0);
        }
        self[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = offset as usize;
        let range = start..start + buffer.len();
        let found = self.get(range).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        buffer.copy_from_slice(found);
        Ok(())
    }
}
