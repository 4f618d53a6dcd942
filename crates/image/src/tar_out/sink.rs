//! The output of a tar: collected into large writes, or through a compressor, to a stream or to a file.

use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_codec::StreamSpec;
use packline_engine::{Fault, Pool};
use packline_runtime::Sink as _;
use packline_runtime::{MANY_WORKERS, OutputFile, WriteBehind, WriteThread, zeros};
use packline_volume::Chunk;

use super::Output;
use super::compress::{CompressError, Compressor};
use super::plan::compress_window;
use crate::{Error, Observer, Resources, Temporaries};

/// Bytes collected before they are written.
pub(super) const BATCH: usize = 256 << 10;
/// Pieces of at least this many bytes are written without a copy. A copy of fewer bytes costs less than one more slice.
const STRAIGHT: usize = 4 << 10;
/// The output of a tar.
pub(super) type TarWrite = Box<dyn Write + Send>;

/// The target of a tar.
pub struct TarDestination {
    display_path: PathBuf,
    output: Option<OutputFile>,
    /// The stream, or the writer of the file, until a [`TarSink`] takes it.
    out: Option<TarWrite>,
}

impl TarDestination {
    /// Opens the target.
    ///
    /// # Errors
    /// [`Error::Output`], [`Error::Target`] or [`Error::Exists`] for a file that cannot or must not be written.
    pub fn open(target: Output, temporaries: &Temporaries) -> Result<TarDestination, Error> {
        match target {
            Output::Stream(display_path, out) => Ok(TarDestination { display_path, output: None, out: Some(out) }),
            Output::File { path, force } => {
                let output = OutputFile::open(&path, force, temporaries)?;
                let out = Box::new(Sequential(output.sink()?));
                Ok(TarDestination { display_path: path, output: Some(output), out: Some(out) })
            }
        }
    }

    /// The final and temporary names of a file.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        self.output.iter().flat_map(OutputFile::names)
    }

    /// The number of bytes written so far to a file; always 0 for a stream.
    pub fn size_counter(&self) -> Arc<AtomicU64> {
        self.output.as_ref().map_or_else(Arc::default, OutputFile::size_counter)
    }

    /// Gives a file its name.
    ///
    /// # Errors
    /// [`Error::Output`] if a system call fails.
    pub fn finish(self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.output.map_or(Ok(()), |output| Ok(output.finish(observer)?))
    }
}

/// A file that is written from its start to its end.
struct Sequential(WriteBehind);

impl Write for Sequential {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes the bytes of a tar, plain, or compressed by workers.
pub struct TarSink {
    display_path: PathBuf,
    inner: Inner,
    /// Bytes added so far.
    taken: u64,
}

enum Inner {
    Plain(Box<Batch>),
    Compressed(Box<Compressor>),
}

/// How a tar is written.
#[derive(Clone, Copy)]
pub struct TarSinkSettings<'a> {
    /// The compression; `None` for an uncompressed tar.
    pub compression: Option<StreamSpec>,
    /// The workers that compress, and perhaps do other work.
    pub pool: &'a Pool,
    /// Number of workers. It decides the memory in flight.
    pub workers: usize,
    /// Maximum bytes that wait to be written uncompressed.
    pub waiting: usize,
    /// Counters, and the token that cancels the work.
    pub resources: &'a Resources,
}

impl TarSink {
    /// Writes to a destination. It must be called once for a destination.
    ///
    /// # Errors
    /// [`Error::Output`] if the start of the compressed stream cannot be written.
    pub fn new(destination: &mut TarDestination, settings: TarSinkSettings<'_>) -> Result<TarSink, Error> {
        let TarSinkSettings { compression, pool, workers, waiting, resources } = settings;
        let display_path = destination.display_path.clone();
        let out = destination.out.take().unwrap_or_else(|| Box::new(io::sink()));
        let inner = match compression {
            None => {
                let mut batch = Batch::new(out, waiting);
                if workers >= MANY_WORKERS {
                    batch.start_thread(resources);
                }
                Inner::Plain(Box::new(batch))
            }
            Some(spec) => {
                let window = compress_window(spec, workers) as usize;
                let compressor = Compressor::new(out, spec, pool, window, resources);
                Inner::Compressed(Box::new(compressor.map_err(|cause| refused(&display_path, cause))?))
            }
        };
        Ok(TarSink { display_path, inner, taken: 0 })
    }

    /// Returns the number of bytes added so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// [`Error::Output`] if bytes that were added before, or these, cannot be compressed or written.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.taken += bytes.len() as u64;
        match &mut self.inner {
            Inner::Plain(batch) => batch.put(bytes).map_err(|cause| refused(&self.display_path, cause)),
            Inner::Compressed(compressor) => compressor.put(bytes).map_err(|fault| broken(&self.display_path, fault)),
        }
    }

    /// Adds decoded bytes.
    pub(super) fn put_chunk(&mut self, chunk: Chunk) -> Result<(), Error> {
        let Inner::Plain(batch) = &mut self.inner else { return self.put(&chunk) };
        self.taken += chunk.len() as u64;
        batch.put_chunk(chunk).map_err(|cause| refused(&self.display_path, cause))
    }

    /// Adds zeros.
    ///
    /// # Errors
    /// As [`TarSink::put`].
    pub fn zeros(&mut self, count: u64) -> Result<(), Error> {
        zeros(count).try_for_each(|piece| self.put(piece))
    }

    /// Waits until all bytes that were handed over are written, unless an error was returned before. The error of a write comes before an
    /// error that was found later.
    ///
    /// # Errors
    /// As [`TarSink::put`].
    pub fn settle(&mut self) -> Result<(), Error> {
        match &mut self.inner {
            Inner::Plain(batch) => batch.settle().map_err(|cause| refused(&self.display_path, cause)),
            Inner::Compressed(_) => Ok(()),
        }
    }

    /// Writes the rest; returns the total number of bytes written.
    ///
    /// # Errors
    /// As [`TarSink::put`].
    pub fn finish(self) -> Result<u64, Error> {
        match self.inner {
            Inner::Plain(mut batch) => {
                batch.flush().map(|()| self.taken).map_err(|cause| refused(&self.display_path, cause))
            }
            Inner::Compressed(compressor) => compressor.finish().map_err(|fault| broken(&self.display_path, fault)),
        }
    }
}

fn refused(display_path: &Path, cause: io::Error) -> Error {
    Error::Output { path: display_path.to_path_buf(), action: "cannot write", cause }
}

fn broken(display_path: &Path, fault: Fault<CompressError>) -> Error {
    match fault {
        Fault::Work(CompressError::Output(cause)) => refused(display_path, cause),
        Fault::Work(CompressError::Codec(error)) => compression(display_path, &error),
        other => compression(display_path, &other_text(&other)),
    }
}

fn other_text(fault: &Fault<CompressError>) -> String {
    match fault {
        Fault::Panic(message) => format!("internal error: a worker panicked: {message}"),
        Fault::Cancelled => "cancelled".to_string(),
        _ => "internal error: the map has already stopped".to_string(),
    }
}

fn compression(display_path: &Path, what: &dyn std::fmt::Display) -> Error {
    Error::Output {
        path: display_path.to_path_buf(),
        action: "cannot compress",
        cause: io::Error::other(what.to_string()),
    }
}

/// Collects headers, padding and decoded bytes, and writes them with few calls. Only small pieces are copied.
struct Batch {
    out: Arc<Mutex<TarWrite>>,
    collected: Collected,
    /// Limit of the memory in bytes that the chunks keep.
    kept_most: usize,
    /// The thread that writes, if it is not the caller's.
    thread: Option<WriteThread<Collected>>,
}

/// Pieces in the order of the output.
#[derive(Default)]
struct Collected {
    /// Copied pieces, joined.
    copied: Vec<u8>,
    chunks: Vec<KeptChunk>,
    /// Bytes of copied pieces and chunks.
    bytes: usize,
    /// Memory that the chunks keep, in bytes.
    kept: usize,
}

/// A chunk that is written from its own memory.
struct KeptChunk {
    /// Number of copied bytes before the chunk.
    copied: usize,
    chunk: Chunk,
}

impl Batch {
    fn new(out: TarWrite, kept_most: usize) -> Batch {
        let collected = Collected { copied: Vec::with_capacity(BATCH), ..Collected::default() };
        Batch { out: Arc::new(Mutex::new(out)), collected, kept_most, thread: None }
    }

    /// Starts a thread that writes. If it cannot be started, the caller's thread writes.
    fn start_thread(&mut self, resources: &Resources) {
        let out = Arc::clone(&self.out);
        let write = move |collected: Collected| collected.write(&out, &[]);
        let queued = self.kept_most.saturating_mul(2);
        self.thread = WriteThread::start(write, queued, resources.engine.tracer.clone()).ok();
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() >= STRAIGHT || self.collected.bytes + bytes.len() > BATCH {
            return self.write(bytes);
        }
        self.collected.copy(bytes);
        Ok(())
    }

    fn put_chunk(&mut self, chunk: Chunk) -> io::Result<()> {
        if chunk.len() < STRAIGHT {
            return self.put(&chunk);
        }
        self.collected.keep(chunk);
        if self.collected.bytes < BATCH && self.collected.kept < self.kept_most { Ok(()) } else { self.write(&[]) }
    }

    /// Writes everything, then `last`, or hands it over.
    fn write(&mut self, last: &[u8]) -> io::Result<()> {
        let Some(thread) = &mut self.thread else {
            let written = self.collected.write(&self.out, last);
            self.collected.clear();
            return written;
        };
        self.collected.copy(last);
        let collected = std::mem::take(&mut self.collected);
        thread.write(collected.copied.len() + collected.kept, collected)
    }

    /// Waits for the thread, if it has not failed.
    fn settle(&mut self) -> io::Result<()> {
        match &mut self.thread {
            Some(thread) if !thread.has_failed() => thread.drain(),
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write(&[])?;
        self.settle()?;
        lock(&self.out).flush()
    }
}

impl Collected {
    fn copy(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
        self.bytes += bytes.len();
    }

    fn keep(&mut self, chunk: Chunk) {
        if !self.chunks.last().is_some_and(|last| last.chunk.shares_memory(&chunk)) {
            self.kept += chunk.memory();
        }
        self.bytes += chunk.len();
        self.chunks.push(KeptChunk { copied: self.copied.len(), chunk });
    }

    /// Writes everything, then `last`.
    fn write(&self, out: &Mutex<TarWrite>, last: &[u8]) -> io::Result<()> {
        let mut slices = Vec::with_capacity(2 * self.chunks.len() + 2);
        let mut start = 0;
        for KeptChunk { copied, chunk } in &self.chunks {
            slices.push(IoSlice::new(&self.copied[start..*copied]));
            slices.push(IoSlice::new(chunk));
            start = *copied;
        }
        slices.push(IoSlice::new(&self.copied[start..]));
        slices.push(IoSlice::new(last));
        write_slices(&mut *lock(out), &mut slices)
    }

    fn clear(&mut self) {
        self.copied.clear();
        self.chunks.clear();
        self.bytes = 0;
        self.kept = 0;
    }
}

/// The output stays as it is after a panic in another thread, which ends the conversion.
fn lock(out: &Mutex<TarWrite>) -> MutexGuard<'_, TarWrite> {
    out.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes all slices with as few calls as possible.
fn write_slices(out: &mut dyn Write, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match out.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resources;

    /// Accepts at most this number of bytes at once.
    struct Slow(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.1);
            self.0.lock().unwrap().extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Puts pieces with different bytes, each also as a chunk; returns whether the output has them in order.
    fn in_order(kept_most: usize, at_once: usize, threaded: bool, lengths: &[usize]) -> bool {
        let out = Arc::new(Mutex::new(Vec::new()));
        let mut batch = Batch::new(Box::new(Slow(out.clone(), at_once)), kept_most);
        if threaded {
            batch.start_thread(&Resources::new(0));
        }
        let mut expected = Vec::new();
        for (index, &length) in lengths.iter().enumerate() {
            let piece: Vec<u8> = (0..length).map(|at| (at / 7 + index) as u8).collect();
            batch.put(&piece).unwrap();
            batch.put_chunk(Chunk::from(piece.clone())).unwrap();
            batch.put_chunk(Chunk::from(piece.clone()).part(length / 3..length)).unwrap();
            expected.extend_from_slice(&piece);
            expected.extend_from_slice(&piece);
            expected.extend_from_slice(&piece[length / 3..]);
        }
        batch.flush().unwrap();
        *out.lock().unwrap() == expected
    }

    #[test]
    fn pieces_of_any_size_come_out_in_order() {
        let lengths = [1, 512, 40_000, 0, 31_999, 4096, 4095, 32_000, 200_000, 300_000, 30_000, 30_000, 700];
        for at_once in [1, 1000, usize::MAX] {
            for kept_most in [0, 50_000, usize::MAX] {
                assert!(in_order(kept_most, at_once, false, &lengths), "{at_once} {kept_most}");
                assert!(in_order(kept_most, at_once, true, &lengths), "{at_once} {kept_most} with a thread");
            }
        }
    }

    #[test]
    fn collected_chunks_keep_little_memory() {
        let kept = |kept_most| {
            let mut batch = Batch::new(Box::new(io::sink()), kept_most);
            let kept_after = |_| {
                batch.put_chunk(Chunk::from(vec![0; 5000])).unwrap();
                batch.collected.kept
            };
            (0..200).map(kept_after).max()
        };
        assert_eq!((kept(0), kept(12_000)), (Some(0), Some(10_000)));
        assert_eq!(kept(usize::MAX), Some(BATCH / 5000 * 5000));
    }

    #[test]
    fn content_is_not_copied() {
        let mut batch = Batch::new(Box::new(io::sink()), usize::MAX);
        batch.put(&[1; 512]).unwrap();
        batch.put_chunk(Chunk::from(vec![2; 100_000])).unwrap();
        batch.put_chunk(Chunk::from(vec![3; 100])).unwrap();
        let Collected { copied, bytes, chunks, .. } = &batch.collected;
        assert_eq!((copied.len(), *bytes, chunks.len()), (612, 100_612, 1));
    }

    /// Fails from the second call on.
    struct Full(bool);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_thread_returns_its_error_once() {
        let mut batch = Batch::new(Box::new(Full(false)), usize::MAX);
        batch.start_thread(&Resources::new(0));
        let failed = (0..100).find_map(|_| batch.put(&[1; 100_000]).err());
        let failed = failed.or_else(|| batch.settle().err());
        assert_eq!(failed.map(|cause| cause.kind()), Some(io::ErrorKind::StorageFull));
        batch.settle().unwrap();
    }
}
