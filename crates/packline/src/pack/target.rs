//! The destination of an image: an output, or a stream of the caller that is written at offsets.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use packline_image::Output;
use packline_runtime::{Sink, zeros};

/// A stream that is written and read at offsets: a block that repeats in a file is read back to be written again.
pub(crate) trait SeekableStream: Read + Write + Seek {}

impl<S: Read + Write + Seek + ?Sized> SeekableStream for S {}

pub(crate) enum PackTarget<'w> {
    Output(Output),
    /// A stream of the caller, with its name in messages. The image begins at its position.
    Seekable(PathBuf, &'w mut dyn SeekableStream),
}

impl PackTarget<'_> {
    /// The name in messages.
    pub(crate) fn display_path(&self) -> &Path {
        match self {
            PackTarget::Output(Output::File { path, .. } | Output::Stream(path, _)) => path,
            PackTarget::Seekable(path, _) => path,
        }
    }
}

/// Writes an image to a stream at offsets.
pub(crate) struct SeekableSink<'w> {
    out: &'w mut dyn SeekableStream,
    /// The position of the stream at which the output begins.
    start: u64,
    /// Bytes before the image.
    offset: u64,
    /// Bytes of the image so far.
    length: u64,
    /// The offset of the stream's position in the image; `None` if it is unknown.
    position: Option<u64>,
    /// Bytes of the output so far.
    size: Arc<AtomicU64>,
}

impl<'w> SeekableSink<'w> {
    /// # Errors
    /// The stream cannot tell its position.
    pub(crate) fn new(out: &'w mut dyn SeekableStream) -> io::Result<SeekableSink<'w>> {
        let start = out.stream_position()?;
        Ok(SeekableSink { out, start, offset: 0, length: 0, position: Some(0), size: Arc::default() })
    }

    pub(crate) fn size_counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.size)
    }

    /// Writes zeros before the image.
    pub(crate) fn begin_at(&mut self, offset: u64) -> io::Result<()> {
        zeros(offset).try_for_each(|piece| self.out.write_all(piece))?;
        self.offset = offset;
        Ok(())
    }

    /// Writes the next bytes before the image.
    pub(crate) fn write_before(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Goes to the end of the image.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.go_to(self.length)?;
        self.out.flush()
    }

    fn go_to(&mut self, position: u64) -> io::Result<()> {
        if self.position != Some(position) {
            self.position = None;
            self.out.seek(SeekFrom::Start(self.start + self.offset + position))?;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.go_to(offset)?;
        self.position = None;
        self.out.write_all(bytes)?;
        let end = offset + bytes.len() as u64;
        self.position = Some(end);
        self.length = self.length.max(end);
        self.size.store(self.offset + self.length, Ordering::Relaxed);
        Ok(())
    }
}

impl Sink for SeekableSink<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(self.length, bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        self.write(offset, bytes).map(|()| true)
    }

    fn reads_back(&self) -> bool {
        true
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.go_to(offset)?;
        self.position = None;
        self.out.read_exact(buffer)?;
        self.position = Some(offset + buffer.len() as u64);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn writes_after_what_the_stream_has() {
        let mut out = Cursor::new(b"runtime".to_vec());
        out.set_position(7);
        let mut sink = SeekableSink::new(&mut out).unwrap();
        sink.begin_at(2).unwrap();
        sink.append(b"....").unwrap();
        assert!(sink.write_at(0, b"he").unwrap());
        sink.append(b"end").unwrap();
        assert!(sink.write_at(8, b"!").unwrap());
        let mut read = [0; 3];
        sink.read_at(4, &mut read).unwrap();
        assert_eq!(&read, b"end");
        sink.finish().unwrap();
        assert_eq!(sink.size_counter().load(Ordering::Relaxed), 11);
        assert_eq!((out.position(), out.get_ref().as_slice()), (18, &b"runtime\0\0he..end\0!"[..]));
    }
}
