//! Passes bytes from one thread to another in order, with a bounded number of chunks in flight.
//!
//! The engine does not do this: its jobs run to their end and have results of bounded size, while both ends of a pipe run at the
//! same time as long as there are bytes.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use packline_engine::{Event, EventKind, Tracer};
use packline_runtime::Spares;
use packline_tree::{Error, SharedContent, UnreadPart};

pub(crate) const CHUNK: usize = 256 << 10;
/// Maximum number of unused buffers that are kept.
const SPARES: usize = 8;
/// Chunks of a stream that wait for the reader.
const AHEAD: usize = 4;

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

/// Memory of [`read_ahead`] in bytes.
#[must_use]
pub const fn ahead_bytes(shared: usize) -> u64 {
    pipe_bytes(AHEAD + shared)
}

/// Reads `input` ahead in a thread of its own. At most `shared` chunks are used after [`PipeReader::lend`] when the reader has gone on.
/// The thread passes on what each read returns, so it does not delay a slow stream. It ends at the end of the input, after an error, or when
/// the reader is dropped and a pending read of the input returns. The tracer records the time of the thread.
///
/// # Errors
/// Returns the input if the system cannot start the thread.
pub(crate) fn read_ahead<R: Read + Send + 'static>(
    input: R,
    shared: usize,
    tracer: Option<Arc<dyn Tracer>>,
) -> Result<PipeReader, R> {
    let chunks = Chunks(Arc::new(Spares::up_to(AHEAD + shared + 2)));
    let (mut writer, reader) = chunks.pipe(AHEAD);
    let (start, started) = sync_channel::<R>(1);
    let reading = thread::Builder::new().name("read-ahead".into()).spawn(move || {
        if let Ok(input) = started.recv() {
            let result = traced(tracer.as_deref(), || writer.fill_from(input));
            writer.finish(result);
        }
    });
    match reading {
        // The thread waits for this value.
        Ok(_) => start.send(input).map_err(|unsent| unsent.0)?,
        Err(_) => return Err(input),
    }
    Ok(PipeReader { shared_most: shared, ..reader })
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
        let writer = PipeWriter { to, spares: self.clone(), bytes: Vec::new(), filled: 0 };
        let held = Arc::new(());
        let reader =
            PipeReader { from, spares: self.clone(), chunk: None, taken: 0, ended: false, held, shared_most: 0 };
        (writer, reader)
    }

    fn take(&self) -> Vec<u8> {
        self.0.take().unwrap_or_else(|| vec![0; CHUNK])
    }
}

/// Records the time of this thread.
fn traced<T>(tracer: Option<&dyn Tracer>, work: impl FnOnce() -> T) -> T {
    let Some(tracer) = tracer else { return work() };
    let begin = tracer.now();
    let result = work();
    tracer.record(Event {
        kind: EventKind::ReadAhead,
        pool: tracer.pool(),
        pipeline: 1,
        worker: 1,
        begin,
        end: tracer.now(),
        processor_ns: tracer.processor_time(),
        ticket: 0,
        bytes_in: 0,
        bytes_out: 0,
        job: None,
    });
    result
}

/// A filled buffer on its way through a pipe.
struct Sent {
    bytes: Vec<u8>,
    /// The bytes in use. 0 marks the end.
    filled: usize,
}

/// A chunk that arrived. Its buffer is filled again after the last use.
struct Chunk {
    sent: Sent,
    spares: Chunks,
    /// Counts the chunks that are in use.
    _held: Arc<()>,
}

impl Chunk {
    fn bytes(&self) -> &[u8] {
        &self.sent.bytes[..self.sent.filled]
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.spares.0.give(std::mem::take(&mut self.sent.bytes));
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("filled", &self.sent.filled).finish_non_exhaustive()
    }
}

impl SharedContent for Chunk {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.bytes().get(start..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// The writing end of a pipe. Writing fails with [`io::ErrorKind::BrokenPipe`] after the reader has been dropped.
pub struct PipeWriter {
    to: SyncSender<io::Result<Sent>>,
    spares: Chunks,
    /// The buffer that is being filled.
    bytes: Vec<u8>,
    filled: usize,
}

/// The reading end of a pipe. If the writer is dropped without [`PipeWriter::finish`], reading fails.
pub struct PipeReader {
    from: Receiver<io::Result<Sent>>,
    spares: Chunks,
    chunk: Option<Arc<Chunk>>,
    /// Bytes of the chunk that were read.
    taken: usize,
    ended: bool,
    /// Has a clone in each chunk that is in use.
    held: Arc<()>,
    /// Maximum number of chunks that are used after the reader has gone on.
    shared_most: usize,
}

impl PipeWriter {
    /// Ends the pipe. The reader gets all bytes written so far, and then the end or the error.
    pub fn finish(mut self, result: io::Result<()>) {
        // Sending fails only if the reader is gone, and then the result is not needed.
        let _ = self.flush().and_then(|()| self.send(result.map(|()| Sent { bytes: Vec::new(), filled: 0 })));
    }

    /// A part of the current chunk to fill. Never empty.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = self.spares.take();
        }
        &mut self.bytes[self.filled..]
    }

    /// Adds `count` bytes that were written to the start of the space.
    pub(crate) fn commit(&mut self, count: usize) -> io::Result<()> {
        self.filled += count;
        if self.filled > 0 && self.filled == self.bytes.len() { self.flush() } else { Ok(()) }
    }

    /// Passes on all bytes of an input, each time after one read.
    fn fill_from(&mut self, mut input: impl Read) -> io::Result<()> {
        loop {
            match input.read(self.space()) {
                Ok(0) => return Ok(()),
                Ok(count) => self.commit(count).and_then(|()| self.flush())?,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
    }

    fn send(&self, message: io::Result<Sent>) -> io::Result<()> {
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
        if self.filled == 0 {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes);
        let filled = std::mem::take(&mut self.filled);
        self.send(Ok(Sent { bytes, filled }))
    }
}

impl PipeReader {
    /// The bytes that have arrived, possibly after a wait. Empty at the end.
    fn arrived(&mut self) -> io::Result<&[u8]> {
        if self.chunk.as_ref().is_none_or(|chunk| self.taken == chunk.sent.filled) {
            self.receive()?;
        }
        Ok(self.chunk.as_ref().map_or(&[], |chunk| &chunk.bytes()[self.taken..]))
    }

    fn receive(&mut self) -> io::Result<()> {
        self.chunk = None;
        self.taken = 0;
        if self.ended {
            return Ok(());
        }
        let sent =
            self.from.recv().map_err(|_| io::Error::other("the thread that writes to the pipe has panicked"))??;
        self.ended = sent.filled == 0;
        if !self.ended {
            let chunk = Chunk { sent, spares: self.spares.clone(), _held: Arc::clone(&self.held) };
            self.chunk = Some(Arc::new(chunk));
        }
        Ok(())
    }

    /// Takes at least `least` and at most `most` bytes without a copy. `None` if fewer have arrived, and while too many chunks are in use:
    /// the caller must then copy, so that it waits only for the input.
    pub(crate) fn lend(&mut self, least: usize, most: usize) -> io::Result<Option<UnreadPart>> {
        let bytes = self.arrived()?.len().min(most);
        let too_many = Arc::strong_count(&self.held) - 1 > self.shared_most;
        let Some(chunk) = self.chunk.as_ref().filter(|_| bytes >= least && !too_many) else { return Ok(None) };
        let part = UnreadPart { content: Arc::<Chunk>::clone(chunk), offset: self.taken as u64, bytes };
        self.taken += bytes;
        Ok(Some(part))
    }
}

impl Read for PipeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let rest = self.arrived()?;
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
    fn a_slow_stream_arrives_read_by_read() {
        let (input, mut stream) = io::pipe().unwrap();
        let mut reader = read_ahead(input, 2, None).unwrap();
        let mut got = [0; 100];
        for length in [1, 10, 100] {
            stream.write_all(&vec![length as u8; length]).unwrap();
            assert_eq!(reader.read(&mut got).unwrap(), length);
            assert_eq!(got[..length], vec![length as u8; length]);
        }
        drop(stream);
        assert_eq!(reader.read(&mut got).unwrap(), 0);
    }

    #[test]
    fn copies_while_too_many_chunks_are_in_use() {
        let mut reader = read_ahead(&[7; 5 * CHUNK][..], 2, None).unwrap();
        let mut lent: Vec<UnreadPart> = (0..2).map(|_| reader.lend(1, CHUNK).unwrap().unwrap()).collect();
        assert!(reader.lend(1, CHUNK).unwrap().is_none());
        let mut copied = vec![0; CHUNK];
        reader.read_exact(&mut copied).unwrap();
        lent.pop();
        lent.push(reader.lend(CHUNK, CHUNK).unwrap().unwrap());
        for part in lent {
            assert_eq!(part.content.read_at(part.offset, &mut copied).unwrap(), CHUNK);
            assert!(copied == [7; CHUNK]);
        }
        assert!(reader.lend(CHUNK + 1, usize::MAX).unwrap().is_none());
    }

    #[test]
    fn nobody_waits_for_a_reader_that_went() {
        let (mut writer, reader) = pipe(4);
        drop(reader);
        let written = writer.write_all(&vec![0; CHUNK]);
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
