//! Passes bytes from one thread to another in order, with a bounded number of chunks in flight.
//!
//! The engine does not do this: its jobs run to their end and have results of bounded size, while both ends of a pipe run at the
//! same time as long as there are bytes.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use packline_runtime::Spares;

pub(crate) const CHUNK: usize = 256 << 10;
/// Maximum number of unused buffers that are kept.
const SPARES: usize = 8;

/// Memory of a [`pipe`] of `chunks` chunks in bytes: the chunks in flight, and one at each end.
#[must_use]
pub const fn pipe_bytes(chunks: usize) -> u64 {
    (chunks as u64 + 2) * CHUNK as u64
}

/// A pipe of at most `chunks` chunks of 256 KiB.
#[must_use]
pub fn pipe(chunks: usize) -> (PipeWriter, PipeReader) {
    Chunks::default().pipe(chunks)
}

/// Buffers of one or several pipes that have been read and can be filled again.
#[derive(Clone)]
pub(crate) struct Chunks(Arc<Spares<Vec<u8>>>);

impl Default for Chunks {
    fn default() -> Chunks {
        Chunks(Arc::new(Spares::up_to(SPARES)))
    }
}

impl Chunks {
    pub fn pipe(&self, chunks: usize) -> (PipeWriter, PipeReader) {
        let (to, from) = sync_channel(chunks.max(1));
        let writer = PipeWriter { to, spares: self.clone(), chunk: Vec::new(), filled: 0 };
        (writer, PipeReader { from, spares: self.clone(), chunk: Vec::new(), taken: 0, ended: false })
    }

    fn take(&self) -> Vec<u8> {
        let Some(mut buffer) = self.0.take() else { return vec![0; CHUNK] };
        buffer.resize(CHUNK, 0);
        buffer
    }

    fn give(&self, buffer: Vec<u8>) {
        self.0.give(buffer);
    }
}

/// The writing end of a pipe. Writing fails with [`io::ErrorKind::BrokenPipe`] after the reader has been dropped.
pub struct PipeWriter {
    /// An empty chunk marks the end.
    to: SyncSender<io::Result<Vec<u8>>>,
    spares: Chunks,
    chunk: Vec<u8>,
    filled: usize,
}

/// The reading end of a pipe. If the writer is dropped without [`PipeWriter::finish`], reading fails.
pub struct PipeReader {
    from: Receiver<io::Result<Vec<u8>>>,
    spares: Chunks,
    chunk: Vec<u8>,
    taken: usize,
    ended: bool,
}

impl PipeWriter {
    /// Ends the pipe. The reader gets all bytes written so far, and then the end or the error.
    pub fn finish(mut self, result: io::Result<()>) {
        // Sending fails only if the reader is gone, and then the result is not needed.
        let _ = self.flush().and_then(|()| self.send(result.map(|()| Vec::new())));
    }

    /// A part of the current chunk to fill. Never empty.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.chunk.is_empty() {
            self.chunk = self.spares.take();
        }
        &mut self.chunk[self.filled..]
    }

    /// Adds `count` bytes that were written to the start of the space.
    pub(crate) fn commit(&mut self, count: usize) -> io::Result<()> {
        self.filled += count;
        if self.filled > 0 && self.filled == self.chunk.len() { self.flush() } else { Ok(()) }
    }

    fn send(&self, message: io::Result<Vec<u8>>) -> io::Result<()> {
        self.to.send(message).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let space = self.space();
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        self.commit(count).map(|()| count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut chunk = std::mem::take(&mut self.chunk);
        chunk.truncate(std::mem::take(&mut self.filled));
        if chunk.is_empty() { Ok(()) } else { self.send(Ok(chunk)) }
    }
}

impl PipeReader {
    /// Receives the next chunk. Returns false at the end.
    fn receive(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let chunk =
            self.from.recv().map_err(|_| io::Error::other("the thread that writes to the pipe has panicked"))??;
        self.taken = 0;
        let old = std::mem::replace(&mut self.chunk, chunk);
        if old.capacity() >= CHUNK {
            self.spares.give(old);
        }
        self.ended = self.chunk.is_empty();
        Ok(!self.ended)
    }
}

impl Read for PipeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() || (self.taken == self.chunk.len() && !self.receive()?) {
            return Ok(0);
        }
        let rest = &self.chunk[self.taken..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(end: impl FnOnce(PipeWriter) + Send) -> io::Result<Vec<u8>> {
        let (mut writer, mut reader) = pipe(4);
        std::thread::scope(|scope| {
            let write = move || {
                (0..40).for_each(|number: u8| writer.write_all(&vec![number; 70_001]).unwrap());
                writer.flush().unwrap();
                end(writer);
            };
            std::thread::Builder::new().spawn_scoped(scope, write).unwrap();
            let mut got = Vec::new();
            reader.read_to_end(&mut got).map(|_| got)
        })
    }

    #[test]
    fn keeps_the_order_and_reports_a_missing_end() {
        let expected: Vec<u8> = (0..40u8).flat_map(|number| vec![number; 70_001]).collect();
        assert!(sent(|writer| writer.finish(Ok(()))).unwrap() == expected);
        assert!(sent(|writer| writer.finish(Err(io::ErrorKind::Other.into()))).is_err());
        assert!(sent(drop).is_err());
    }

    #[test]
    fn nobody_waits_for_a_reader_that_went() {
        let (mut writer, reader) = pipe(4);
        drop(reader);
        let written = writer.write_all(&vec![0; CHUNK]);
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
