//! Splits the input into pieces of complete streams in a thread of its own. The engine's workers decode the pieces.

use std::convert::Infallible;
use std::io::{self, Cursor, Read, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use packline_engine::{Config, OrderedMap, Task};
use packline_runtime::threads::{refused, startable};
use rustix::io::Errno;

use super::bzip2;
use super::fault::abandoned;
use super::members::drive;
use super::ordered::Ordered;
use super::scan::{Event, Scanner};
use super::{Format, Limits};
use crate::pipe::{CHUNK, Chunks, PipeReader, PipeWriter};

/// Small streams are decoded together, up to this many compressed bytes. The number does not depend on the number of threads,
/// because errors count from the start of a piece.
const PIECE: usize = 1 << 20;

/// Starts the threads. The returned reader yields the decoded bytes. The threads end when all bytes are decoded, or when the
/// reader is dropped and a pending read of the input returns.
///
/// # Errors
/// The system cannot start the first two threads. With fewer threads than requested, decoding takes longer.
pub(super) fn start(input: Box<dyn Read + Send>, format: Format, limits: &Limits) -> io::Result<Ordered> {
    let limits = Limits { threads: threads(format, limits.threads.clamp(1, 1024)), ..*limits };
    let workers = if is_splittable(format) { limits.threads } else { 1 };
    let (pipes, ordered) = sync_channel(workers);
    let (start, started) = sync_channel(1);
    let share = share(&limits, workers);
    // Started before the workers, which may take all threads that the system allows.
    let splitting = thread::Builder::new().name("decompress".into()).spawn(move || {
        if let Ok(decoding) = started.recv() {
            split(input, format, &mut Dispatcher { pipes, decoding, spares: Chunks::default(), share });
        }
    });
    splitting.map_err(|cause| refused(&cause))?;
    let decoding = OrderedMap::new(Decode { format, limits }, Config::new(workers, usize::MAX));
    let decoding = decoding.map_err(|cause| refused(&cause))?;
    if decoding.workers() == 0 {
        return Err(refused(&Errno::AGAIN.into()));
    }
    // The thread waits for this value.
    let _ = start.send(decoding);
    Ok(Ordered::new(format, ordered))
}

/// Number of threads that may decode. liblzma fails if it cannot start all of its threads, even later, after others have started
/// theirs. It gets several threads only if twice as many, and the threads used here, could be started.
fn threads(format: Format, wanted: usize) -> usize {
    let needed = 2 * wanted + 4;
    if format == Format::Xz && wanted > 1 && startable(needed) < needed { 1 } else { wanted }
}

fn is_splittable(format: Format) -> bool {
    format == Format::Bzip2 || Scanner::new(format).is_some()
}

/// Bytes in flight before the decoder of one piece, and after it.
fn share(limits: &Limits, workers: usize) -> usize {
    let each = limits.buffers.max(4 << 20) / (4 * workers as u64);
    each.clamp(1 << 20, 16 << 20) as usize
}

struct Decode {
    format: Format,
    limits: Limits,
}

/// A piece, and the pipe for its output.
struct Job {
    /// Offset of the piece in the compressed input.
    base: u64,
    input: Box<dyn Read + Send>,
    output: PipeWriter,
}

impl Task for Decode {
    type In = Job;
    type Out = ();
    type Error = Infallible;
    type Tool = ();

    fn tool(&self) {}

    /// Waits for the reader of the output. The reader reads the pipes in the order of the jobs, and the jobs begin in this order.
    fn run(&self, (): &mut (), mut job: Job) -> Result<(), Infallible> {
        let result = drive(self.format, &self.limits, &mut job.input, job.base, &mut job.output);
        job.output.finish(result);
        Ok(())
    }
}

/// Submits pieces to the decoders, and their pipes to the reader.
pub(super) struct Dispatcher {
    pipes: SyncSender<Option<PipeReader>>,
    decoding: OrderedMap<Decode>,
    spares: Chunks,
    share: usize,
}

impl Dispatcher {
    /// Submits a complete piece. Fails if the reader has been dropped.
    pub fn whole(&mut self, base: u64, bytes: Vec<u8>) -> io::Result<()> {
        self.dispatch(base, Box::new(Cursor::new(bytes)))
    }

    /// Submits the start of a piece; the rest goes through the pipe.
    fn stream(&mut self, base: u64, head: Vec<u8>) -> io::Result<PipeWriter> {
        let (writer, rest) = self.spares.pipe(self.share / CHUNK);
        self.dispatch(base, Box::new(Cursor::new(head).chain(rest)))?;
        Ok(writer)
    }

    fn dispatch(&mut self, base: u64, input: Box<dyn Read + Send>) -> io::Result<()> {
        let (output, reader) = self.spares.pipe(self.share / CHUNK);
        self.announce(Some(reader))?;
        // Only a panic stops the map. The reader finds the panic in the pipe of that job.
        self.decoding.submit(Job { base, input, output }, &mut |()| Ok(())).map_err(|_| abandoned())
    }

    /// Delivers an error after all earlier output.
    pub fn fail(&mut self, error: io::Error) -> io::Result<()> {
        let (output, reader) = self.spares.pipe(1);
        output.finish(Err(error));
        self.announce(Some(reader))
    }

    /// Waits while the reader has not begun to read as many pipes as there are workers.
    fn announce(&self, pipe: Option<PipeReader>) -> io::Result<()> {
        self.pipes.send(pipe).map_err(|_| abandoned())
    }
}

fn split(mut input: Box<dyn Read + Send>, format: Format, dispatcher: &mut Dispatcher) {
    let result = match format {
        Format::Bzip2 => bzip2::split(&mut input, dispatcher),
        _ => split_streams(&mut input, format, dispatcher),
    };
    // The only possible errors are of sending to a dropped reader.
    if result.and_then(|()| dispatcher.announce(None)).is_ok() {
        let _ = dispatcher.decoding.drain(&mut |()| Ok(()));
    }
}

fn split_streams(input: &mut dyn Read, format: Format, dispatcher: &mut Dispatcher) -> io::Result<()> {
    let mut scanner = Scanner::new(format);
    let mut piece = StreamPiece { dispatcher, base: 0, head: Vec::new(), sent: 0, rest: None };
    let mut buffer = vec![0; CHUNK];
    loop {
        let bytes = match read_some(input, &mut buffer) {
            Ok(0) => return piece.close(),
            Ok(count) => &buffer[..count],
            Err(error) => return piece.fail(error),
        };
        let scanned = match &mut scanner {
            Some(running) => piece.scan(running, bytes)?,
            None => Scanned::Lost(0),
        };
        if let Scanned::Lost(at) = scanned {
            scanner = None;
            piece.stream(&bytes[at..])?;
        }
    }
}

/// Reads once, and retries after interruptions.
pub(super) fn read_some(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

enum Scanned {
    All,
    /// Nothing is known from this byte on.
    Lost(usize),
}

/// The piece that is being collected. A piece that grows too large is decoded while it still arrives.
struct StreamPiece<'a> {
    dispatcher: &'a mut Dispatcher,
    base: u64,
    head: Vec<u8>,
    sent: u64,
    rest: Option<PipeWriter>,
}

impl StreamPiece<'_> {
    fn scan(&mut self, scanner: &mut Scanner, bytes: &[u8]) -> io::Result<Scanned> {
        let mut at = 0;
        while at < bytes.len() {
            let (count, event) = scanner.advance(&bytes[at..]);
            self.push(&bytes[at..at + count])?;
            at += count;
            match event {
                Event::More => {}
                Event::Boundary if self.length() >= PIECE as u64 => self.close()?,
                Event::Boundary => {}
                Event::Lost => return Ok(Scanned::Lost(at)),
            }
        }
        Ok(Scanned::All)
    }

    fn length(&self) -> u64 {
        self.sent + self.head.len() as u64
    }

    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.rest.is_some() || self.head.len() + bytes.len() > self.dispatcher.share {
            return self.stream(bytes);
        }
        self.head.extend_from_slice(bytes);
        Ok(())
    }

    /// Passes bytes to the decoder, which starts with the first. A decoder that has found an error reads no further, and the rest
    /// of the input is then not needed.
    fn stream(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent += bytes.len() as u64;
        let rest = self.rest()?;
        rest.write_all(bytes)?;
        rest.flush()
    }

    fn rest(&mut self) -> io::Result<&mut PipeWriter> {
        let rest = match self.rest.take() {
            Some(rest) => rest,
            None => {
                self.sent += self.head.len() as u64;
                self.dispatcher.stream(self.base, std::mem::take(&mut self.head))?
            }
        };
        Ok(self.rest.insert(rest))
    }

    fn close(&mut self) -> io::Result<()> {
        let length = self.length();
        match self.rest.take() {
            Some(rest) => rest.finish(Ok(())),
            None if length > 0 => self.dispatcher.whole(self.base, std::mem::take(&mut self.head))?,
            None => {}
        }
        self.base += length;
        self.sent = 0;
        Ok(())
    }

    /// The input failed. The decoder gets the error instead of data, and passes it on.
    fn fail(&mut self, error: io::Error) -> io::Result<()> {
        self.rest()?;
        if let Some(rest) = self.rest.take() {
            rest.finish(Err(error));
        }
        Ok(())
    }
}
