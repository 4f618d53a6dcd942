//! Inputs that are read at offsets and are not files: bytes in memory, streams that can seek, parts of other inputs.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use packline_runtime::{FileStamp, Input as ReadAt, InputChange};

/// Bytes in memory.
pub(super) struct Bytes<B>(pub(super) B);

impl<B: AsRef<[u8]> + Send + Sync> ReadAt for Bytes<B> {
    fn size(&self) -> u64 {
        self.0.as_ref().len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.0.as_ref().get(start..)?.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A stream that can seek. One thread reads at a time.
pub(super) struct Seekable<R> {
    stream: Mutex<R>,
    size: u64,
}

impl<R: Read + Seek> Seekable<R> {
    /// # Errors
    /// The stream cannot seek to its end.
    pub(super) fn new(mut stream: R) -> io::Result<Seekable<R>> {
        let size = stream.seek(SeekFrom::End(0))?;
        Ok(Seekable { stream: Mutex::new(stream), size })
    }
}

impl<R: Read + Seek + Send> ReadAt for Seekable<R> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        // Each read seeks first, so that the position after a panic does not matter.
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.seek(SeekFrom::Start(offset))?;
        stream.read_exact(buffer)
    }
}

/// A part of another input.
pub(super) struct Part {
    input: Arc<dyn ReadAt>,
    range: Range<u64>,
}

impl Part {
    /// `range` must be within the input.
    pub(super) fn new(input: Arc<dyn ReadAt>, range: Range<u64>) -> Part {
        Part { input, range }
    }
}

impl ReadAt for Part {
    fn size(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > self.size()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.input.read_at(self.range.start + offset, buffer)
    }

    fn will_read(&self, offset: u64, length: u64) {
        self.input.will_read(self.range.start.saturating_add(offset), length);
    }

    fn change(&self) -> io::Result<InputChange> {
        self.input.change()
    }

    fn stamp(&self) -> Option<FileStamp> {
        self.input.stamp()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn all_inputs_have_the_same_bytes_and_ends() {
        let seekable = Seekable::new(Cursor::new(b"packline")).unwrap();
        let part = Part::new(Arc::new(Bytes(b"..packline..")), 2..10);
        let inputs: [&dyn ReadAt; 3] = [&Bytes("packline"), &seekable, &part];
        for input in inputs {
            let mut buffer = [0; 4];
            input.read_at(4, &mut buffer).unwrap();
            assert_eq!((&buffer, input.size()), (b"line", 8));
            for offset in [5, 9, u64::MAX] {
                assert_eq!(input.read_at(offset, &mut buffer).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            }
        }
    }
}
