//! Outputs: bytes in order, and optional operations.

use std::io::{self, Write};

use crate::SharedBytes;

/// Receives the bytes of an output, only on the caller's thread. A stream can only append.
pub trait Sink {
    /// Appends all of `bytes`.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, over existing bytes or beyond the end. Returns `false`, without writing, if the output
    /// can only append.
    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    /// Does what [`Sink::write_at`] does. The sink may write the bytes later, on a thread of its own; a later call then returns the
    /// error.
    fn write_shared(&mut self, offset: u64, bytes: SharedBytes) -> io::Result<bool> {
        self.write_at(offset, bytes.bytes())
    }

    /// Waits until the bytes of all earlier calls of [`Sink::write_shared`] are written.
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether [`Sink::read_at`] works.
    fn reads_back(&self) -> bool {
        false
    }

    /// Reads exactly `buffer.len()` bytes at `offset` that were written before.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if the output can only append.
    fn read_at(&mut self, _offset: u64, _buffer: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes all bytes to the medium, and makes later reads come from the medium, as far as the system allows.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Appends `count` zeros without writing them, as in a file with holes. Returns `false`, without a change, if the output has
    /// no holes.
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

impl<S: Sink + ?Sized> Sink for &mut S {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).append(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        (**self).write_at(offset, bytes)
    }

    fn write_shared(&mut self, offset: u64, bytes: SharedBytes) -> io::Result<bool> {
        (**self).write_shared(offset, bytes)
    }

    fn settle(&mut self) -> io::Result<()> {
        (**self).settle()
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

/// A stream as an output, for example standard output, a socket or [`io::sink`].
#[derive(Debug)]
pub struct Stream<W>(pub W);

impl<W: Write> Sink for Stream<W> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}

/// `count` zeros, in slices of up to 64 KiB.
pub fn zeros(count: u64) -> impl Iterator<Item = &'static [u8]> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let step = ZEROS.len() as u64;
    (0..count.div_ceil(step)).map(move |number| &ZEROS[..(count - number * step).min(step) as usize])
}

/// Whether all bytes are zero. Compares the bytes with themselves, shifted by one, by the C library's memcmp, which is vectorised and stops at the
/// first difference.
pub fn is_zero(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        Some((0, rest)) => rest == &bytes[..rest.len()],
        Some(_) => false,
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_zero, zeros};

    #[test]
    fn zeros_are_distinguished() {
        let mut bytes = vec![0; 5000];
        assert!(is_zero(&bytes));
        for at in [0, 1, 2499, 4999] {
            bytes[at] = 1;
            assert!(!is_zero(&bytes), "a one at {at}");
            bytes[at] = 0;
        }
        assert!(is_zero(&[]));
    }

    #[test]
    fn pieces_have_the_requested_length_together() {
        for (count, pieces) in [(0, 0), (1, 1), (65_536, 1), (65_537, 2), (1 << 20, 16)] {
            let lengths: Vec<u64> = zeros(count).map(|piece| piece.len() as u64).collect();
            assert_eq!((lengths.len(), lengths.iter().sum()), (pieces, count));
            assert!(zeros(count).flatten().all(|&byte| byte == 0));
        }
    }
}
