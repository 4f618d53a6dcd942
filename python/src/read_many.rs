//! Contents of many files, or of ranges of files, read by several threads and returned in order.
//!
//! The requests of a batch are processed in the order of their paths, in which contents usually follow one another in an image: neighbours
//! share a decoded block. The batch is bounded by a number of files and of bytes, so the memory depends on neither the number of files nor their
//! sizes, except the size of the largest.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::{io, mem, process};

use packline::{Image, ImageFile, Resources};
use packline_engine::{Config, Fault, OrderedMap, Pool, Task};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::arguments::PathArgument;
use crate::failure::{internal, invalid, not_started};
use crate::file::{ContentFault, bytes, check_limit, content};

/// Files that are opened at a time, each with about 1 KiB of memory. In a random order a block is decoded once for all its files of a batch.
const BATCH: usize = 16_384;
/// Bytes of content that are read at a time, unless one file has more.
const BATCH_BYTES: u64 = 64 << 20;
/// Files of one job.
const RUN: usize = 32;
/// Bytes of content of one job, unless one file has more.
const RUN_BYTES: u64 = 1 << 20;

/// A file, or a range of it, that is to be read.
pub struct Request {
    /// The object of the caller, which is returned with the content.
    item: Py<PyAny>,
    range: Range,
}

/// A range of a file.
#[derive(Clone)]
struct Range {
    path: Vec<u8>,
    start: u64,
    end: Option<u64>,
    /// Size of the file at most.
    limit: Option<u64>,
}

impl Request {
    /// A whole file.
    pub fn whole(item: Bound<'_, PyAny>, limit: Option<u64>) -> PyResult<Request> {
        let PathArgument(path) = item.extract()?;
        Ok(Request { item: item.unbind(), range: Range { path, start: 0, end: None, limit } })
    }

    /// A tuple `(path, start, stop)`.
    pub fn range(item: Bound<'_, PyAny>) -> PyResult<Request> {
        let (PathArgument(path), start, end): (PathArgument, u64, Option<u64>) = item.extract()?;
        Ok(Request { item: item.unbind(), range: Range { path, start, end, limit: None } })
    }
}

/// An open file with its range.
struct OpenedRange {
    file: ImageFile,
    start: u64,
    length: u64,
}

/// Opens files.
struct Open(Image);

impl Task for Open {
    type In = Vec<Range>;
    type Out = Vec<Result<OpenedRange, ContentFault>>;
    type Error = Infallible;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), ranges: Self::In) -> Result<Self::Out, Infallible> {
        Ok(ranges.into_iter().map(|range| open(&self.0, &range)).collect())
    }
}

fn open(image: &Image, range: &Range) -> Result<OpenedRange, ContentFault> {
    let file = image.open_file(&range.path).map_err(ContentFault::Library)?;
    let size = file.size();
    check_limit(size, range.limit)?;
    let end = range.end.map_or(size, |end| end.min(size));
    Ok(OpenedRange { file, start: range.start, length: end.saturating_sub(range.start) })
}

/// Reads contents.
struct Read;

impl Task for Read {
    type In = Vec<Result<OpenedRange, ContentFault>>;
    type Out = Vec<Result<Vec<u8>, ContentFault>>;
    type Error = Infallible;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), opened: Self::In) -> Result<Self::Out, Infallible> {
        let read = |opened: OpenedRange| content(&opened.file, opened.start, opened.length);
        Ok(opened.into_iter().map(|opened| read(opened?)).collect())
    }
}

/// Threads that read.
struct Workers {
    pool: Pool,
    threads: usize,
    /// The process that started the threads.
    process: u32,
}

impl Workers {
    fn start(threads: usize) -> io::Result<Workers> {
        Ok(Workers { pool: Config::new(threads, 0).pool()?, threads, process: process::id() })
    }

    /// Starts the threads again in a process that was forked, because it has no threads of its parent.
    fn renew(&mut self) -> io::Result<()> {
        if self.process != process::id() {
            *self = Workers::start(self.threads)?;
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if self.process != process::id() {
            // The end of the pool would wait for threads that this process does not have.
            mem::forget(self.pool.clone());
        }
    }
}

/// Requests in the order in which they are returned.
struct Reader {
    image: Image,
    workers: Workers,
    /// Not opened yet.
    pending: VecDeque<Request>,
    opened: VecDeque<Opened>,
    ready: VecDeque<Ready>,
}

/// A request whose content was read, or cannot be read.
struct Ready {
    item: Py<PyAny>,
    content: Result<Vec<u8>, ContentFault>,
}

/// A request whose file is open, or cannot be opened.
struct Opened {
    item: Py<PyAny>,
    path: Vec<u8>,
    range: Result<OpenedRange, ContentFault>,
}

impl Reader {
    /// Reads the next batch, unless contents are ready.
    fn fill(&mut self) -> Result<(), Fault<Infallible>> {
        if !self.ready.is_empty() {
            return Ok(());
        }
        if self.opened.is_empty() {
            self.open_batch()?;
        }
        self.read_batch()
    }

    fn open_batch(&mut self) -> Result<(), Fault<Infallible>> {
        let batch: Vec<Request> = self.pending.drain(..self.pending.len().min(BATCH)).collect();
        let ranges: Vec<Range> = batch.iter().map(|request| request.range.clone()).collect();
        let order = sorted(ranges.iter().map(|range| range.path.as_slice()));
        let mut runs = order.chunks(RUN).map(|run| run.iter().map(|index| ranges[*index].clone()).collect::<Vec<_>>());
        let task = Open(self.image.clone());
        let opened = unsorted(&order, map(&self.workers.pool, task, &mut runs)?);
        let paths = ranges.into_iter().map(|range| range.path);
        let items = batch.into_iter().map(|request| request.item);
        self.opened.extend(items.zip(paths).zip(opened).map(|((item, path), range)| Opened { item, path, range }));
        Ok(())
    }

    fn read_batch(&mut self) -> Result<(), Fault<Infallible>> {
        let mut total = 0;
        let fitting = self.opened.iter().take_while(|opened| {
            let bytes = length(&opened.range);
            let fits = total == 0 || bytes <= BATCH_BYTES.saturating_sub(total);
            total = total.saturating_add(bytes);
            fits
        });
        let count = fitting.count();
        let batch: Vec<Opened> = self.opened.drain(..count).collect();
        let order = sorted(batch.iter().map(|opened| opened.path.as_slice()));
        let (items, mut ranges): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|opened| (opened.item, Some(opened.range))).unzip();
        let mut runs = runs(order.iter().filter_map(|index| ranges[*index].take()));
        let contents = unsorted(&order, map(&self.workers.pool, Read, &mut runs)?);
        self.ready.extend(items.into_iter().zip(contents).map(|(item, content)| Ready { item, content }));
        Ok(())
    }
}

fn length(opened: &Result<OpenedRange, ContentFault>) -> u64 {
    opened.as_ref().map_or(0, |opened| opened.length)
}

/// Divides files into jobs.
fn runs(
    opened: impl Iterator<Item = Result<OpenedRange, ContentFault>>,
) -> impl Iterator<Item = Vec<Result<OpenedRange, ContentFault>>> {
    let mut opened = opened.peekable();
    std::iter::from_fn(move || {
        let mut run = vec![opened.next()?];
        let mut bytes = length(&run[0]);
        while run.len() < RUN
            && let Some(next) = opened.next_if(|next| bytes.saturating_add(length(next)) <= RUN_BYTES)
        {
            bytes += length(&next);
            run.push(next);
        }
        Some(run)
    })
}

/// The indexes of paths in the order of an image: a directory before its entries, names by their bytes.
fn sorted<'p>(paths: impl Iterator<Item = &'p [u8]>) -> Vec<usize> {
    let mut keyed: Vec<(&[u8], usize)> = paths.enumerate().map(|(index, path)| (path, index)).collect();
    keyed.sort_by(|(one, at), (other, other_at)| {
        let in_order = |path: &'p [u8]| path.iter().map(|byte| if *byte == b'/' { 0 } else { *byte });
        in_order(one).cmp(in_order(other)).then(at.cmp(other_at))
    });
    keyed.into_iter().map(|(_, index)| index).collect()
}

/// Undoes [`sorted`].
fn unsorted<T>(order: &[usize], results: Vec<T>) -> Vec<T> {
    let mut keyed: Vec<(usize, T)> = order.iter().copied().zip(results).collect();
    keyed.sort_by_key(|(index, _)| *index);
    keyed.into_iter().map(|(_, result)| result).collect()
}

/// Runs a task on all inputs. Returns the concatenated results, in order.
fn map<T, O>(pool: &Pool, task: T, inputs: &mut dyn Iterator<Item = T::In>) -> Result<Vec<O>, Fault<Infallible>>
where
    T: Task<Out = Vec<O>, Error = Infallible>,
{
    let mut results = Vec::new();
    let mut consume = |result: Vec<O>| {
        results.extend(result);
        Ok::<(), Infallible>(())
    };
    let mut map = OrderedMap::on(pool, task, Config::default());
    for input in inputs {
        map.submit(input, &mut consume)?;
    }
    map.drain(&mut consume)?;
    drop(map);
    Ok(results)
}

/// An iterator over pairs of an item and its content.
#[pyclass(name = "ReadMany", module = "packline._native", frozen)]
pub struct PyReadMany {
    reader: Mutex<Reader>,
    /// Whether an exception is returned in place of a content.
    returns_errors: bool,
}

impl PyReadMany {
    pub fn new(
        py: Python<'_>,
        image: Image,
        requests: Vec<Request>,
        workers: Option<usize>,
        on_error: Option<&str>,
    ) -> PyResult<PyReadMany> {
        let returns_errors = match on_error {
            None | Some("raise") => false,
            Some("return") => true,
            Some(other) => return Err(invalid(py, &format!("unknown on_error '{other}' (expected raise or return)"))),
        };
        let workers = workers.unwrap_or_else(|| Resources::default().workers).min(requests.len());
        // One thread is the caller's own.
        let workers = Workers::start(if workers < 2 { 0 } else { workers }).map_err(not_started)?;
        let opened = VecDeque::new();
        let ready = VecDeque::new();
        let reader = Reader { image, workers, pending: requests.into(), opened, ready };
        Ok(PyReadMany { reader: Mutex::new(reader), returns_errors })
    }
}

#[pymethods]
impl PyReadMany {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(Py<PyAny>, Py<PyAny>)>> {
        let mut reader = self.reader.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if reader.ready.is_empty() {
            py.check_signals()?;
            let reader = &mut *reader;
            py.detach(|| reader.workers.renew()).map_err(not_started)?;
            py.detach(|| reader.fill()).map_err(|fault| internal(py, &fault.to_string()))?;
        }
        let Some(Ready { item, content }) = reader.ready.pop_front() else { return Ok(None) };
        drop(reader);
        match content {
            Ok(content) => Ok(Some((item, bytes(py, &content)?.into_any().unbind()))),
            Err(fault) if self.returns_errors => Ok(Some((item, fault.raise(py).into_value(py).into_any()))),
            Err(fault) => Err(fault.raise(py)),
        }
    }
}
