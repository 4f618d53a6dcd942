//! Contents of many files, decoded ahead on workers and returned in the order of requests.

mod plan;
mod shared_cache;
mod slot;
mod tail;
#[cfg(feature = "testing")]
mod testing;
mod uses;
mod work;

use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use packline_engine::{CancelToken, Config, Consumer, OrderedMap, StatsSink};
use packline_runtime::{WorkFault, of_fault, unless_cancelled};

use self::plan::{Plan, PlannedJob, Step};
use self::slot::{Decoded, Product, Slot, Stage};
pub use self::uses::SharedUses;
pub use self::work::BlockListener;
use self::work::DecodeTask;
use crate::{FileData, ReadError, SharedVolume, ToVolume};

/// Resources for reading; they do not affect the result.
#[derive(Debug, Clone, Default)]
pub struct ReadSettings {
    /// Memory in bytes of shared units cached for later files.
    pub shared: usize,
    /// Directory of an unnamed temporary file for decoded shared units that are needed again and exceed the memory. The file holds only units
    /// that are still needed, and never more than 64 MiB or 64 times the image's size. Without a directory, or if the file fails, such a unit is
    /// decoded again.
    pub scratch: Option<PathBuf>,
    /// Workers, cancellation and scheduling; the budget limits decoded bytes in flight.
    pub engine: Config,
    /// Receives each unit that is decoded.
    pub listener: Option<Arc<dyn BlockListener>>,
}

/// One file to read, or an entry without content (a directory, a link) that only keeps its place in the order.
#[derive(Debug, Clone)]
pub struct Request<T> {
    /// Returned with [`Event::Begin`].
    pub tag: T,
    /// The content to read.
    pub file: Option<FileData>,
    /// Memory in bytes of the tag's data (a path, attributes). It counts in the window while the tag waits.
    pub weight: usize,
}

/// Results of the requests, in their order.
#[derive(Debug)]
pub enum Event<T> {
    /// A request begins. Its content follows in order until the next `Begin`, [`FileData::size`] bytes in all.
    Begin(T),
    /// Bytes of content.
    Data(Chunk),
    /// This number of zeros that are not stored.
    Hole(u64),
    /// Content that could not be read. The content after it is still read.
    Failed {
        /// Bytes of content that are missing.
        length: u64,
        error: ReadError,
    },
}

/// Decoded bytes. A chunk holds its share of the memory budget until it is dropped: keeping many chunks makes the reading exceed its window.
#[derive(Debug, Clone)]
pub struct Chunk {
    decoded: Arc<Decoded>,
    range: Range<usize>,
}

impl Chunk {
    /// Returns a part of the bytes, which shares their memory.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Chunk {
        let start = self.range.start + range.start;
        let end = self.range.start + range.end.min(self.range.len());
        Chunk { decoded: Arc::clone(&self.decoded), range: start..end }
    }

    /// Returns the number of bytes in memory until the chunk is dropped, which other chunks may share.
    pub fn memory(&self) -> usize {
        self.decoded.bytes().len()
    }

    /// Whether both chunks share their memory.
    pub fn shares_memory(&self, other: &Chunk) -> bool {
        Arc::ptr_eq(&self.decoded, &other.decoded)
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.decoded.bytes()[self.range.clone()]
    }
}

/// Counters of shared units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharedCounts {
    /// Decoded, or in flight.
    pub decoded: u64,
    /// Written to the scratch file.
    pub spilled: u64,
}

/// Reads the contents of files in order.
pub struct Reading<'r, T> {
    plan: Plan<'r, T>,
    map: OrderedMap<DecodeTask>,
    promises: Promises,
    cancel: CancelToken,
    /// Whether workers start planned jobs before their results are needed.
    ahead: bool,
    /// Whether the window was full, and not enough of it is free again.
    full: bool,
    stats: Option<StatsSink>,
}

impl<T> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        if let Some(stats) = &self.stats {
            stats.add_budget(&self.plan.budget);
        }
    }
}

/// Destinations of the results of jobs in flight, in the order of the jobs.
#[derive(Default)]
struct Promises(VecDeque<Rc<Slot>>);

impl Consumer<DecodeTask> for Promises {
    fn consume(&mut self, product: Product) -> Result<(), ReadError> {
        if let Some(slot) = self.0.pop_front() {
            slot.fill(product);
        }
        Ok(())
    }
}

enum FrontStep {
    /// No step is planned.
    Nothing,
    /// It waits for an incomplete run.
    Open,
    /// It waits for a job in flight.
    Waiting,
    /// Its shared unit was spilled and cannot be read back.
    Lost,
    /// Its result is available.
    Ready,
}

impl<'r, T> Reading<'r, T> {
    /// Starts to read. `requests` is consumed a window ahead of the results.
    ///
    /// # Errors
    /// [`ReadError::Work`] if the system refuses to start threads.
    pub fn new(
        volume: &impl ToVolume,
        requests: Box<dyn Iterator<Item = Result<Request<T>, ReadError>> + 'r>,
        uses: SharedUses,
        settings: &ReadSettings,
    ) -> Result<Reading<'r, T>, ReadError> {
        let volume = &volume.to_volume();
        let map = map(volume, settings)?;
        Ok(Reading {
            plan: Plan::new(volume, requests, uses, settings),
            ahead: map.workers() > 0,
            full: false,
            map,
            promises: Promises::default(),
            cancel: settings.engine.cancel.clone(),
            stats: settings.engine.stats.clone(),
        })
    }

    /// Returns the next event; `None` after the last one.
    ///
    /// # Errors
    /// An error of `requests` in its place in the order, after which reading may continue; [`ReadError::Work`]. Content that cannot be decoded is
    /// [`Event::Failed`], not an error.
    pub fn next_event(&mut self) -> Result<Option<Event<T>>, ReadError> {
        loop {
            unless_cancelled(&self.cancel)?;
            self.plan_ahead()?;
            match self.front() {
                FrontStep::Ready => {
                    if let Some(event) = self.take() {
                        return event.map(Some);
                    }
                }
                FrontStep::Lost => {
                    let order = self.plan.decode_again();
                    self.feed(order)?;
                }
                FrontStep::Waiting => self.map.advance(&mut self.promises).map_err(of_fault)?,
                FrontStep::Open => self.fill_run()?,
                FrontStep::Nothing if self.plan.is_ended() => return Ok(None),
                FrontStep::Nothing => {
                    self.plan.force_space();
                    self.plan_one()?;
                }
            }
        }
    }

    /// Submits as many jobs as memory allows. Once the window is full, waits until several jobs fit: a worker that sleeps is then woken once for
    /// all of them.
    fn plan_ahead(&mut self) -> Result<(), ReadError> {
        if !self.ahead || (self.full && !self.plan.has_ample_space()) {
            return Ok(());
        }
        while !self.plan.is_ended() && !self.cancel.is_cancelled() {
            self.full = !self.plan.has_space();
            if self.full {
                break;
            }
            self.plan_one()?;
        }
        Ok(())
    }

    /// Adds units to the run that the next step waits for, or submits the run.
    fn fill_run(&mut self) -> Result<(), ReadError> {
        if !self.plan.is_ended() && self.plan.has_space() {
            return self.plan_one();
        }
        let run = self.plan.close_run();
        self.feed(run)
    }

    fn plan_one(&mut self) -> Result<(), ReadError> {
        let order = self.plan.advance();
        self.feed(order)
    }

    fn feed(&mut self, order: Option<PlannedJob>) -> Result<(), ReadError> {
        let Some((job, slot)) = order else { return Ok(()) };
        self.promises.0.push_back(slot);
        self.map.submit(job, &mut self.promises).map_err(of_fault)
    }

    fn front(&self) -> FrontStep {
        let slot = match self.plan.steps.front() {
            None => return FrontStep::Nothing,
            Some(Step::Units { run, .. } | Step::Again { run, .. }) => run,
            Some(Step::Tail(tail)) => &tail.slot,
            Some(_) => return FrontStep::Ready,
        };
        match slot.stage() {
            Stage::Filled => FrontStep::Ready,
            Stage::Lost => FrontStep::Lost,
            Stage::Promised if self.plan.is_open(slot) => FrontStep::Open,
            Stage::Promised => FrontStep::Waiting,
        }
    }

    /// Returns the next step, or a part of it; `None` if it is lost.
    fn take(&mut self) -> Option<Result<Event<T>, ReadError>> {
        let event = match self.plan.steps.front_mut()? {
            Step::Units { run, pieces } => {
                let event = units_event(&*run.product()?, pieces);
                if pieces.start < pieces.end {
                    return Some(Ok(event));
                }
                Some(event)
            }
            Step::Again { run, piece, times } => {
                let event = units_event(&*run.product()?, &mut (*piece..*piece + 1));
                *times -= 1;
                if *times > 0 {
                    return Some(Ok(event));
                }
                Some(event)
            }
            Step::Tail(tail) => Some(tail.event(self.plan.volume.as_ref(), &self.plan.budget)?),
            _ => None,
        };
        let step = self.plan.steps.pop_front()?;
        Some(match step {
            Step::Begin { tag, .. } => Ok(Event::Begin(tag)),
            Step::Hole(length) => Ok(Event::Hole(length)),
            Step::Failed { length, error } => Ok(Event::Failed { length, error }),
            Step::Refused(error) => Err(error),
            Step::Units { .. } | Step::Again { .. } | Step::Tail(_) => Ok(event?),
        })
    }

    /// Returns the number of workers: fewer than requested if the system does not start all of them.
    pub fn workers(&self) -> usize {
        self.map.workers()
    }

    /// Returns the numbers of shared units decoded and spilled so far.
    pub fn shared_counts(&self) -> SharedCounts {
        SharedCounts { decoded: self.plan.decoded, spilled: self.plan.scratch.written() }
    }
}

/// Returns the pieces of a run up to the first one that failed or is elsewhere in the buffer. If the first piece failed, returns its failure.
fn units_event<T>(product: &Product, pieces: &mut Range<usize>) -> Event<T> {
    let all = &product.pieces[pieces.clone()];
    let mut end = all[0].range.start;
    let follows = |piece: &&slot::DecodedPart| {
        let follows = piece.error.is_none() && piece.range.start == end;
        end = piece.range.end;
        follows
    };
    let sound = all.iter().take_while(follows).count();
    if let (0, Some(error)) = (sound, &all[0].error) {
        pieces.start += 1;
        return Event::Failed { length: all[0].range.len() as u64, error: error.clone() };
    }
    pieces.start += sound;
    let range = all[0].range.start..all[sound - 1].range.end;
    Event::Data(Chunk { decoded: Arc::clone(&product.decoded), range })
}

fn map(volume: &SharedVolume, settings: &ReadSettings) -> Result<OrderedMap<DecodeTask>, ReadError> {
    let task = DecodeTask { volume: SharedVolume::clone(volume), listener: settings.listener.clone() };
    // The plan reserves memory from its own budget before it creates a job, so the map need not count the memory again.
    let map = OrderedMap::new(task, Config { budget: usize::MAX, ..settings.engine.clone() });
    Ok(map.map_err(WorkFault::workers)?)
}
