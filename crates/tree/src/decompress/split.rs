//! The threads: one reads the input and cuts it into pieces of whole streams, others decode the pieces.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::bzip2;
use super::fault::abandoned;
use super::members::drive;
use super::ordered::{CHUNK, Item, LaneWriter, Ordered, Spares};
use super::scan::{Event, Scanner};
use super::{Format, Limits};
use crate::threads::{refused, startable};

/// Bytes read from the input at a time.
const READ: usize = 128 << 10;
/// Small streams are decoded together up to so many compressed bytes. The same for any number of threads, as errors count from
/// the start of a piece.
const PIECE: usize = 1 << 20;

/// One piece for a decoder, and where its output goes.
struct Job {
    base: u64,
    head: Vec<u8>,
    rest: Option<Receiver<io::Result<Vec<u8>>>>,
    lane: LaneWriter,
}

/// Starts the threads; the reader gives what they decode. They end when all is decoded, or when the reader is dropped and a
/// pending read of the input returns.
///
/// # Errors
/// The system refuses the first two threads. With fewer than asked for it takes longer.
pub(super) fn start(input: Box<dyn Read + Send>, format: Format, limits: &Limits) -> io::Result<Ordered> {
    let limits = Limits { threads: threads(format, limits.threads.clamp(1, 1024)), ..*limits };
    let workers = if is_splittable(format) { limits.threads } else { 1 };
    let (items, ordered) = sync_channel(workers);
    let (jobs, queue) = sync_channel(workers);
    let spares = Spares::default();
    let queue = Arc::new(Mutex::new(queue));
    start_worker(format, &limits, &queue)?;
    let dispatcher = Dispatcher { items, jobs, spares: spares.clone(), share: share(&limits, workers) };
    spawn(move || split(input, format, dispatcher))?;
    // One decodes already.
    let _: io::Result<()> = (1..workers).try_for_each(|_| start_worker(format, &limits, &queue));
    Ok(Ordered::new(format, ordered, spares))
}

/// How many threads may decode. liblzma fails if it cannot start all of its own, also later, when others have started theirs:
/// it gets several only where there is room for as many again, and for those here and beside them.
fn threads(format: Format, wanted: usize) -> usize {
    let room = 2 * wanted + 4;
    if format == Format::Xz && wanted > 1 && startable(room) < room { 1 } else { wanted }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("decompress".into()).spawn(work).map(drop).map_err(|cause| refused(&cause))
}

fn is_splittable(format: Format) -> bool {
    format == Format::Bzip2 || Scanner::new(format).is_some()
}

/// Bytes that one piece may hold before it, and behind it.
fn share(limits: &Limits, workers: usize) -> usize {
    let each = limits.buffers.max(4 << 20) / (4 * workers as u64);
    each.clamp(1 << 20, 16 << 20) as usize
}

fn start_worker(format: Format, limits: &Limits, queue: &Arc<Mutex<Receiver<Job>>>) -> io::Result<()> {
    let (queue, limits) = (Arc::clone(queue), *limits);
    spawn(move || {
        while let Some(job) = next_job(&queue) {
            job.run(format, &limits);
        }
    })
}

fn next_job(queue: &Mutex<Receiver<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Job {
    fn run(mut self, format: Format, limits: &Limits) {
        let mut reader = PieceReader { chunk: self.head, given: 0, rest: self.rest };
        let result = drive(format, limits, &mut reader, self.base, &mut self.lane);
        self.lane.close(result);
    }
}

/// Reads a piece: its head, and then what the splitter still sends.
struct PieceReader {
    chunk: Vec<u8>,
    given: usize,
    rest: Option<Receiver<io::Result<Vec<u8>>>>,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.chunk.len() {
            match self.rest.as_ref().map(Receiver::recv) {
                Some(Ok(chunk)) => (self.chunk, self.given) = (chunk?, 0),
                Some(Err(_)) | None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.chunk.len() - self.given);
        buffer[..count].copy_from_slice(&self.chunk[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// Hands pieces to the decoders and their lanes to the reader.
pub(super) struct Dispatcher {
    items: SyncSender<Item>,
    jobs: SyncSender<Job>,
    spares: Spares,
    share: usize,
}

impl Dispatcher {
    /// Gives a whole piece to a decoder. Fails when nobody reads any more.
    pub fn whole(&self, base: u64, bytes: Vec<u8>) -> io::Result<()> {
        self.dispatch(base, bytes, None)
    }

    /// Gives the start of a piece to a decoder; the rest goes through the sender.
    fn stream(&self, base: u64, head: Vec<u8>) -> io::Result<SyncSender<io::Result<Vec<u8>>>> {
        let (sender, receiver) = sync_channel((self.share / READ).max(2));
        self.dispatch(base, head, Some(receiver))?;
        Ok(sender)
    }

    fn dispatch(&self, base: u64, head: Vec<u8>, rest: Option<Receiver<io::Result<Vec<u8>>>>) -> io::Result<()> {
        let (lane, receiver) = LaneWriter::new(self.share / CHUNK, &self.spares);
        self.items.send(Item::Lane(receiver)).map_err(|_| abandoned())?;
        self.jobs.send(Job { base, head, rest, lane }).map_err(|_| abandoned())
    }

    /// An error in its place, after all that came before.
    pub fn fail(&self, error: io::Error) -> io::Result<()> {
        let (lane, receiver) = LaneWriter::new(1, &self.spares);
        lane.close(Err(error));
        self.items.send(Item::Lane(receiver)).map_err(|_| abandoned())
    }
}

fn split(mut input: Box<dyn Read + Send>, format: Format, dispatcher: Dispatcher) {
    let result = match format {
        Format::Bzip2 => bzip2::split(&mut input, &dispatcher),
        _ => split_streams(&mut input, format, &dispatcher),
    };
    // The only errors left are those of sending, when nobody reads.
    if result.is_ok() {
        let _ = dispatcher.items.send(Item::End);
    }
}

fn split_streams(input: &mut dyn Read, format: Format, dispatcher: &Dispatcher) -> io::Result<()> {
    let mut scanner = Scanner::new(format);
    let mut piece = Piece { dispatcher, base: 0, head: Vec::new(), sent: 0, rest: None };
    let mut buffer = vec![0; READ];
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

/// Reads once, over interruptions.
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
    /// From this byte on nothing is known.
    Lost(usize),
}

/// The piece that is being gathered; one that grows too large is decoded while it still arrives.
struct Piece<'a> {
    dispatcher: &'a Dispatcher,
    base: u64,
    head: Vec<u8>,
    sent: u64,
    rest: Option<SyncSender<io::Result<Vec<u8>>>>,
}

impl Piece<'_> {
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

    /// Sends bytes on to the decoder, which gets to work at the first.
    fn stream(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent += bytes.len() as u64;
        self.sender()?.send(Ok(bytes.to_vec())).map_err(|_| abandoned()).or_else(|_| self.decoder_stopped())
    }

    /// A decoder that found an error reads no more; the rest of the input is not wanted then.
    fn decoder_stopped(&self) -> io::Result<()> {
        Err(abandoned())
    }

    fn sender(&mut self) -> io::Result<&SyncSender<io::Result<Vec<u8>>>> {
        if self.rest.is_none() {
            let head = std::mem::take(&mut self.head);
            self.sent += head.len() as u64;
            self.rest = Some(self.dispatcher.stream(self.base, head)?);
        }
        self.rest.as_ref().ok_or_else(abandoned)
    }

    fn close(&mut self) -> io::Result<()> {
        let length = self.length();
        if self.rest.take().is_none() && length > 0 {
            self.dispatcher.whole(self.base, std::mem::take(&mut self.head))?;
        }
        self.base += length;
        self.sent = 0;
        Ok(())
    }

    /// The input failed: the decoder gets the error in place of data, and passes it on.
    fn fail(&mut self, error: io::Error) -> io::Result<()> {
        self.sender()?.send(Err(error)).map_err(|_| abandoned())
    }
}
