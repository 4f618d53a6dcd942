//! Contents of many files, decoded ahead on workers and handed out in the order they were asked for.

mod fragment_cache;
mod plan;
mod slot;
mod tail;
mod uses;
mod work;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use packline_engine::{CancelToken, Config, Consumer, OrderedMap, StatsSink};
use packline_runtime::of_fault;

use self::plan::{Order, Plan, Step};
use self::slot::{Decoded, Product, Slot, Stage};
pub use self::uses::FragmentUses;
use self::work::DecodeTask;
use super::{FileData, Image, ReadError};

/// What the machine gives. Nothing of it changes what is handed out.
#[derive(Debug, Clone, Default)]
pub struct ReadSettings {
    /// Worker threads; 0 decodes on the caller's thread.
    pub workers: usize,
    /// Bytes of decoded blocks on their way at once.
    pub window: usize,
    /// Bytes of fragment blocks that are kept for files still to come.
    pub fragments: usize,
    /// Where fragment blocks go, decoded, that are needed again and that memory has no room for: into a file without a name in
    /// this directory. It never holds more than is decoded and still needed, nor more than 64 MiB or 64 times the image's
    /// size. Without a directory, or if it takes no file, such a block is decoded again.
    pub scratch: Option<PathBuf>,
    /// Stops the reading when set.
    pub cancel: CancelToken,
    /// Scheduling, caller participation and tracing. `workers` and `budget` in here are ignored; the fields above apply.
    pub engine: Config,
}

/// One file to read, or something (a directory, a link) that only keeps its place in the order.
#[derive(Debug, Clone)]
pub struct Request<T> {
    /// Given back with [`Event::Begin`].
    pub tag: T,
    /// The content wanted.
    pub file: Option<FileData>,
    /// Bytes that the tag refers to (a path, attributes): memory that the window counts while the tag waits.
    pub weight: usize,
}

/// Results of the requests, in their order.
#[derive(Debug)]
pub enum Event<T> {
    /// A request begins; what follows up to the next `Begin` is its content, in order, [`FileData::size`] bytes in all.
    Begin(T),
    /// Bytes of content.
    Data(Chunk),
    /// So many zeros that are not stored.
    Hole(u64),
    /// So many bytes that could not be read, and why. What follows is read all the same.
    Failed {
        /// Bytes of content that are missing.
        length: u64,
        /// Why.
        error: ReadError,
    },
}

/// Decoded bytes. Holds its share of the memory budget until it is dropped: who keeps many for long makes the reading take more
/// memory than its window.
#[derive(Debug, Clone)]
pub struct Chunk {
    decoded: Arc<Decoded>,
    range: Range<usize>,
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.decoded.bytes()[self.range.clone()]
    }
}

/// How often fragment blocks were decoded so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FragmentCounts {
    /// Decoded, or on their way to it.
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
    /// Whether workers take what is planned ahead of what is asked for.
    ahead: bool,
    stats: Option<StatsSink>,
}

impl<T> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        if let Some(stats) = &self.stats {
            stats.add_budget(&self.plan.budget);
        }
    }
}

/// Where the products of the jobs in flight go, in the order of the jobs.
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

/// State of the next step.
enum Front {
    /// There is none.
    Nothing,
    /// It waits for a run that still gathers blocks.
    Open,
    /// It waits for a job in flight.
    Waiting,
    /// Its fragment block was spilled and cannot be read back.
    Lost,
    /// It can be handed out.
    Ready,
}

impl<'r, T> Reading<'r, T> {
    /// Starts to read. `requests` is asked a window ahead of what is handed out.
    ///
    /// # Errors
    /// [`ReadError::Internal`] if the system refuses to start threads.
    pub fn new(
        image: &Image,
        requests: Box<dyn Iterator<Item = Result<Request<T>, ReadError>> + 'r>,
        uses: FragmentUses,
        settings: &ReadSettings,
    ) -> Result<Reading<'r, T>, ReadError> {
        let map = map(image, settings)?;
        Ok(Reading {
            plan: Plan::new(image, requests, uses, settings),
            ahead: map.workers() > 0,
            map,
            promises: Promises::default(),
            cancel: settings.cancel.clone(),
            stats: settings.engine.stats.clone(),
        })
    }

    /// The next event; `None` after the last.
    ///
    /// # Errors
    /// An error that `requests` gave, in its place, after which reading may go on; [`ReadError::Cancelled`]. What cannot be
    /// decoded is [`Event::Failed`], no error.
    pub fn next_event(&mut self) -> Result<Option<Event<T>>, ReadError> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(ReadError::Cancelled);
            }
            self.plan_ahead()?;
            match self.front() {
                Front::Ready => {
                    if let Some(event) = self.take() {
                        return event.map(Some);
                    }
                }
                Front::Lost => {
                    let order = self.plan.decode_again();
                    self.feed(order)?;
                }
                Front::Waiting => self.map.advance(&mut self.promises).map_err(of_fault)?,
                Front::Open => self.fill_run()?,
                Front::Nothing if self.plan.is_ended() => return Ok(None),
                Front::Nothing => {
                    self.plan.force_space();
                    self.plan_one()?;
                }
            }
        }
    }

    /// Gives the workers all that there is memory for.
    fn plan_ahead(&mut self) -> Result<(), ReadError> {
        while self.ahead && !self.plan.is_ended() && self.plan.has_space() && !self.cancel.is_cancelled() {
            self.plan_one()?;
        }
        Ok(())
    }

    /// Goes on gathering blocks for the run that is waited for, or sends it off.
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

    fn feed(&mut self, order: Option<Order>) -> Result<(), ReadError> {
        let Some((job, slot)) = order else { return Ok(()) };
        self.promises.0.push_back(slot);
        self.map.submit(job, &mut self.promises).map_err(of_fault)
    }

    fn front(&self) -> Front {
        let slot = match self.plan.steps.front() {
            None => return Front::Nothing,
            Some(Step::Blocks { run, .. }) => run,
            Some(Step::Tail(tail)) => &tail.slot,
            Some(_) => return Front::Ready,
        };
        match slot.stage() {
            Stage::Filled => Front::Ready,
            Stage::Lost => Front::Lost,
            Stage::Promised if self.plan.is_open(slot) => Front::Open,
            Stage::Promised => Front::Waiting,
        }
    }

    /// Takes the next step, or a part of it; `None` if it cannot be had after all.
    fn take(&mut self) -> Option<Result<Event<T>, ReadError>> {
        let event = match self.plan.steps.front_mut()? {
            Step::Blocks { run, pieces } => {
                let event = blocks_event(&*run.product()?, pieces);
                if pieces.start < pieces.end {
                    return Some(Ok(event));
                }
                Some(event)
            }
            Step::Tail(tail) => Some(tail.event(&self.plan.image, &self.plan.budget)?),
            _ => None,
        };
        let step = self.plan.steps.pop_front()?;
        Some(match step {
            Step::Begin { tag, .. } => Ok(Event::Begin(tag)),
            Step::Hole(length) => Ok(Event::Hole(length)),
            Step::Failed { length, error } => Ok(Event::Failed { length, error }),
            Step::Refused(error) => Err(error),
            Step::Blocks { .. } | Step::Tail(_) => Ok(event?),
        })
    }

    /// How many workers there are: fewer than asked for where the system starts no more.
    pub fn workers(&self) -> usize {
        self.map.workers()
    }

    /// How often fragment blocks were decoded so far.
    pub fn fragment_counts(&self) -> FragmentCounts {
        FragmentCounts { decoded: self.plan.decoded, spilled: self.plan.scratch.written() }
    }
}

/// The blocks of a run up to the first that failed, or that one.
fn blocks_event<T>(product: &Product, pieces: &mut Range<usize>) -> Event<T> {
    let all = &product.pieces[pieces.clone()];
    let sound = all.iter().take_while(|piece| piece.error.is_none()).count();
    if let (0, Some(error)) = (sound, &all[0].error) {
        pieces.start += 1;
        return Event::Failed { length: all[0].range.len() as u64, error: error.clone() };
    }
    pieces.start += sound;
    let range = all[0].range.start..all[sound - 1].range.end;
    Event::Data(Chunk { decoded: Arc::clone(&product.decoded), range })
}

fn map(image: &Image, settings: &ReadSettings) -> Result<OrderedMap<DecodeTask>, ReadError> {
    let task = DecodeTask { image: image.clone() };
    // The plan takes memory from a budget of its own, before it makes a job; the map need not count it again.
    let config = settings.engine.sized(settings.workers, usize::MAX, &settings.cancel);
    let map = OrderedMap::new(task, config);
    map.map_err(|error| ReadError::Internal(format!("cannot start the workers: {error}")))
}
