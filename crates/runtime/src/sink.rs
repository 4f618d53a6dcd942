//! Outputs: bytes in order, and optional operations.

use std::io::{self, Write};

/// Takes the bytes of an output. Used only on the caller's thread. An output that is a stream can only append.
pub trait Sink {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// Those of the operating system.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, over what is there or beyond the end. `false` if the output cannot: then nothing was
    /// done.
    ///
    /// # Errors
    /// Those of the operating system.
    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    /// Whether [`Sink::read_at`] works.
    fn reads_back(&self) -> bool {
        false
    }

    /// Reads exactly `buffer.len()` bytes at `offset` that were written before.
    ///
    /// # Errors
    /// Those of the operating system; [`io::ErrorKind::Unsupported`] if the output only takes bytes.
    fn read_at(&mut self, _offset: u64, _buffer: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Takes all that was written to the medium, and lets what is read afterwards come from there, as far as the system allows.
    ///
    /// # Errors
    /// Those of the operating system.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Appends `count` zeros without writing them, as a file with holes can. `false` if the output cannot: then nothing was done.
    ///
    /// # Errors
    /// Those of the operating system.
    fn skip_zeros(&mut self, _count: u64) -> io::Result<bool> {
        Ok(false)
    }
}

/// An output in memory, for tests and small outputs.
impl Sink for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        let start = offset as usize;
        let end = start + bytes.len();
        if self.len() < end {
            self.resize(end, 0);
        }
        self[start..end].copy_from_slice(bytes);
        Ok(true)
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        crate::Input::read_at(self, offset, buffer)
    }
}

/// An output that its writer borrows.
impl<S: Sink + ?Sized> Sink for &mut S {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).append(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        (**self).write_at(offset, bytes)
    }

    fn reads_back(&self) -> bool {
        (**self).reads_back()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, buffer)
    }

    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }

    fn skip_zeros(&mut self, count: u64) -> io::Result<bool> {
        (**self).skip_zeros(count)
    }
}

/// A stream as an output: standard output, a socket, [`io::sink`].
#[derive(Debug)]
pub struct Stream<W>(pub W);

impl<W: Write> Sink for Stream<W> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}
