//! Reads .pln files: decompression of all or a part, a summary, verification, salvage.

mod consumer;
mod content_reader;
mod decode;
mod decoders;
mod indexed;
mod part_reader;
mod reader;
mod streaming;

use std::io;
use std::sync::Arc;

pub use content_reader::ContentReader;
pub use reader::{Info, Reader, RecordKind};

use packline_runtime::memory::Demand;
use packline_runtime::{InputStream, of_fault};

use crate::format::{Head, RecordSize, Root};
use crate::memory::plan;
use crate::record_buffer::RecordPool;
use crate::{Error, Observer, Resources, Sink, Source};
use consumer::{Bounds, Goal, RecordConsumer};
use decode::DecodeTask;
use indexed::IndexedReader;
use part_reader::PartReader;
use streaming::StreamingReader;

/// Memory of a table and of the entries compared with it, in bytes.
const TABLES: u64 = 256 << 10;

/// A range of the content. The default is the complete content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// The number of bytes; `None` for all bytes up to the end.
    pub length: Option<u64>,
}

impl Span {
    /// The complete content.
    pub const ALL: Span = Span { start: 0, length: None };
}

/// The result of decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// The bytes of content that were written.
    pub bytes: u64,
    /// The number of records that were decompressed.
    pub records: u64,
    /// BLAKE3 of the content, if the complete content was read.
    pub blake3: Option<[u8; 32]>,
}

/// The result of salvaging a damaged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salvaged {
    /// The bytes of content that were written.
    pub bytes: u64,
    /// The bytes of content that are lost. Zeros were written for them.
    pub lost: u64,
    /// The number of faults.
    pub findings: u64,
}

/// The result of verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The number of faults; 0 if the file is complete and valid.
    pub findings: u64,
    /// The number of valid records.
    pub records: u64,
    /// The bytes of content of the valid records.
    pub bytes: u64,
    /// The bytes of the file that were read.
    pub physical: u64,
    /// BLAKE3 of the content, if there are no faults.
    pub blake3: Option<[u8; 32]>,
}

/// Decompresses a file, or a span of its content, into a sink, which is not flushed. Each byte is verified before it is written. Long runs of
/// trailing zeros of a record, which are not stored, are skipped if the sink supports it. From an input, workers read the requested records
/// by means of the index. A stream is read sequentially.
///
/// A damaged or truncated file is decompressed up to the last complete record before the damage. Then the error is returned.
///
/// # Errors
/// [`Error::Corrupt`] and [`Error::Cut`] with the part and its offset, [`Error::Unsupported`], [`Error::Range`] for a span that is not in the
/// content, [`Error::Memory`] if not even one worker fits, [`Error::Input`], [`Error::Output`], [`Error::Work`].
pub fn decompress(
    source: Source<'_>,
    span: Span,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Unpacked, Error> {
    let bounds = Bounds::new(span);
    let input = match source {
        Source::Stream(stream) => {
            return read_stream(stream, Goal::Content(sink), bounds, resources, observer)?.unpacked();
        }
        Source::At(input) => input,
    };
    match Reader::open(Arc::clone(&input)) {
        Ok(reader) => {
            bounds.check(reader.size())?;
            read_indexed(&reader, Goal::Content(sink), bounds, resources, observer)?.unpacked()
        }
        Err(error) if error.is_of_file() => {
            // Records before the damage can be read.
            let read =
                read_stream(&mut InputStream::new(&*input, 0), Goal::Content(sink), bounds, resources, observer)?;
            if read.ended {
                return Err(error);
            }
            observer.warning(&format!("the file is damaged outside of the requested part: {error}"));
            read.unpacked()
        }
        Err(error) => Err(error),
    }
}

/// Reads and checks a complete file. Each fault ([`Error::Corrupt`] or [`Error::Cut`]) is passed to `found`, in the order of the file.
/// Reading then continues where possible.
///
/// # Errors
/// Returns errors that are not faults of the file, and [`Error::Unsupported`].
pub fn verify(
    source: Source<'_>,
    found: &mut dyn FnMut(&Error),
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Verified, Error> {
    let bounds = Bounds::new(Span::ALL);
    let input = match source {
        Source::Stream(stream) => {
            return Ok(read_stream(stream, Goal::Findings(found), bounds, resources, observer)?.verified());
        }
        Source::At(input) => input,
    };
    match Reader::open(Arc::clone(&input)) {
        Ok(reader) => Ok(read_indexed(&reader, Goal::Findings(found), bounds, resources, observer)?.verified()),
        Err(error) if error.is_of_file() => {
            let mut stream = InputStream::new(&*input, 0);
            let mut read = read_stream(&mut stream, Goal::Findings(&mut *found), bounds, resources, observer)?;
            if read.findings == 0 {
                found(&error);
                read.findings = 1;
            }
            Ok(read.verified())
        }
        Err(error) => Err(error),
    }
}

/// Decompresses the valid records of a damaged file into a sink. Each fault is passed to `found`, and reading continues where possible. Zeros
/// are written for lost records, so that each byte keeps its offset.
///
/// # Errors
/// Returns the errors of [`verify`], and faults of the head, without which no record can be read.
pub fn salvage(
    source: Source<'_>,
    sink: &mut dyn Sink,
    found: &mut dyn FnMut(&Error),
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Salvaged, Error> {
    let bounds = Bounds::new(Span::ALL);
    let goal = Goal::Salvage { sink, found };
    let read = match source {
        Source::Stream(stream) => read_stream(stream, goal, bounds, resources, observer)?,
        Source::At(input) => match Reader::open(Arc::clone(&input)) {
            Ok(reader) => read_indexed(&reader, goal, bounds, resources, observer)?,
            Err(error) if error.is_of_file() => {
                read_stream(&mut InputStream::new(&*input, 0), goal, bounds, resources, observer)?
            }
            Err(error) => return Err(error),
        },
    };
    Ok(Salvaged { bytes: read.written, lost: read.filled, findings: read.findings })
}

/// The result of reading.
#[derive(Default)]
struct ReadOutcome {
    records: u64,
    /// The bytes of content of the valid records.
    valid_bytes: u64,
    /// The bytes of content that were written.
    written: u64,
    findings: u64,
    filled: u64,
    physical: u64,
    root: Option<Root>,
    /// Whether the complete file was read.
    ended: bool,
}

impl ReadOutcome {
    fn new(consumer: &RecordConsumer<'_>, physical: u64, root: Option<Root>, ended: bool) -> ReadOutcome {
        let RecordConsumer { records, valid_bytes, written, findings, filled, .. } = *consumer;
        let root = root.filter(|_| findings == 0);
        ReadOutcome { records, valid_bytes, written, findings, filled, physical, root, ended }
    }

    fn unpacked(self) -> Result<Unpacked, Error> {
        Ok(Unpacked { bytes: self.written, records: self.records, blake3: self.root })
    }

    fn verified(self) -> Verified {
        let ReadOutcome { records, valid_bytes, findings, physical, root, .. } = self;
        Verified { findings, records, bytes: valid_bytes, physical, blake3: root }
    }
}

/// Reads a file by means of its index.
fn read_indexed<'a>(
    reader: &Reader,
    goal: Goal<'a>,
    bounds: Bounds,
    resources: &Resources,
    observer: &'a mut dyn Observer,
) -> Result<ReadOutcome, Error> {
    let size = reader.record_size();
    let plan = plan(demand(size, reader.index_bytes())?, "decompressing records", resources, observer)?;
    let pool = RecordPool::new(size, plan.window);
    let mut map = resources.map(DecodeTask { record_size: size, pool: pool.clone() }, plan)?;
    let mut consumer = RecordConsumer::new(goal, observer, size, bounds, Some(reader.size()));
    let cancel = resources.cancel.clone();
    let read = IndexedReader { reader, map: &mut map, consumer: &mut consumer, pool, cancel }.run();
    read.map_err(|error| of_fault(map.earlier_error(&mut consumer, error)))?;
    consumer.fill_lost(reader.size())?;
    let root = bounds.are_all().then(|| reader.blake3());
    Ok(ReadOutcome::new(&consumer, reader.input.size(), root, true))
}

/// Reads a file from front to back.
fn read_stream<'a>(
    stream: &mut dyn io::Read,
    mut goal: Goal<'a>,
    bounds: Bounds,
    resources: &Resources,
    observer: &'a mut dyn Observer,
) -> Result<ReadOutcome, Error> {
    let mut parts = PartReader::new(stream, 0);
    let head = parts.head().and_then(|bytes| Head::parse(&bytes));
    let size = match (head, &mut goal) {
        (Ok(head), _) => head.record_size,
        (Err(error), Goal::Findings(found)) if error.is_of_file() => {
            found(&error);
            return Ok(ReadOutcome { findings: 1, physical: parts.at, ended: true, ..ReadOutcome::default() });
        }
        (Err(error), _) => return Err(error),
    };
    let plan = plan(demand(size, 0)?, "decompressing records", resources, observer)?;
    let pool = RecordPool::new(size, plan.window);
    let mut map = resources.map(DecodeTask { record_size: size, pool: pool.clone() }, plan)?;
    let mut consumer = RecordConsumer::new(goal, observer, size, bounds, None);
    let mut streaming = StreamingReader::new(parts, &mut map, &mut consumer, pool, size, resources.cancel.clone());
    let read = streaming.run();
    let physical = streaming.parts.at;
    // A fault of a record in flight precedes the fault that was just read.
    let read = match read {
        Ok(read) => map.drain(&mut consumer).map(|()| read).map_err(of_fault),
        Err(error) => Err(of_fault(map.earlier_error(&mut consumer, error))),
    };
    let (root, ended) = read.or_else(|error| consumer.damage(error).map(|()| (None, true)))?;
    Ok(ReadOutcome::new(&consumer, physical, root, ended))
}

/// The memory for reading.
fn demand(size: RecordSize, index: u64) -> Result<Demand, Error> {
    let record = 2 * RecordPool::bytes(size) as u64;
    let tool = decode::tool(size)?;
    Ok(Demand { fixed: TABLES + 2 * index, per_worker: tool, window: record, window_per_worker: record })
}
