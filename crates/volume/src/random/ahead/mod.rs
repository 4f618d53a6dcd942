//! Decoding ahead: detects sequential readers, whose next blocks are decoded on workers.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use packline_engine::{Class, Config, OrderedMap, Task};

use super::cache::UnitKey;
use super::decoder_pool::lock;
use super::{Core, OpenFile};

/// Requests of one reader count as in order if they overtake each other by at most this many bytes, or twice their length.
const SLACK: u64 = 128 << 10;
/// Number of requests in order after which a reader counts as sequential.
const SEQUENTIAL_FROM: u32 = 2;

/// The pattern of the requests for one file.
#[derive(Debug, Default)]
pub(super) struct Pattern {
    /// End of the furthest request.
    end: u64,
    /// Requests in order, up to the current one.
    streak: u32,
    /// First block that workers have not been asked for.
    asked: u64,
    /// Counts this reader among the sequential readers.
    among: Option<Share>,
}

/// Counts one reader while it exists.
#[derive(Debug)]
struct Share(Arc<AtomicUsize>);

impl Share {
    fn of(all: &Arc<AtomicUsize>) -> Share {
        all.fetch_add(1, Ordering::Relaxed);
        Share(Arc::clone(all))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pattern {
    pub(super) fn is_sequential(&self) -> bool {
        self.streak >= SEQUENTIAL_FROM
    }

    #[cfg(any(test, feature = "testing"))]
    pub(super) fn asked(&self) -> u64 {
        self.asked
    }

    /// Records a request. Returns whether it continues the sequence.
    fn note(&mut self, offset: u64, length: u64) -> bool {
        let slack = SLACK.max(2 * length);
        let end = offset + length;
        let continues = offset <= self.end.saturating_add(slack) && offset.saturating_add(slack) >= self.end;
        if continues {
            self.streak = self.streak.saturating_add(1);
            self.end = self.end.max(end);
        } else {
            *self = Pattern { end, ..Pattern::default() };
        }
        continues
    }

    /// Returns the blocks to decode now, at most `most` ahead of the reader: the longer the streak, the more. No block is returned twice. Several
    /// blocks are returned at once, when half of the blocks asked for are used up: waking a worker for each block would cost more.
    fn due(&mut self, most: u64, block_size: u64, blocks: u64) -> Range<u64> {
        let next = self.end.div_ceil(block_size);
        let window = most.min(1 << self.streak.min(32));
        if self.asked > next + window / 2 {
            return self.asked..self.asked;
        }
        let until = (next + window).min(blocks);
        let from = next.max(self.asked).min(until);
        self.asked = self.asked.max(until);
        from..until
    }
}

/// A block to decode before its reader asks for it.
struct Job {
    wanted: UnitKey,
    block: u64,
    /// First block that the file's reader has not passed.
    through: Arc<AtomicU64>,
    /// [`Class::Now`] for a block that a request waits for.
    class: Class,
    /// Number of jobs that were submitted before.
    number: u64,
}

impl Job {
    /// Whether the reader has passed the block already.
    fn is_passed(&self) -> bool {
        self.block < self.through.load(Ordering::Relaxed)
    }

    /// Whether more than `most` jobs were submitted later: the oldest job is needed least.
    fn is_surplus(&self, submitted: u64, most: u64) -> bool {
        self.class != Class::Now && submitted - self.number > most
    }
}

/// Decodes blocks into the cache.
struct DecodeAhead {
    core: Arc<Core>,
    most: u64,
    submitted: Arc<AtomicU64>,
}

impl Task for DecodeAhead {
    type In = Job;
    type Out = ();
    type Error = Infallible;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), job: Job) -> Result<(), Infallible> {
        if !job.is_surplus(self.submitted.load(Ordering::Relaxed), self.most)
            && let Some(in_flight) = self.core.cache.ask_ahead(job.wanted, || job.is_passed())
        {
            // The cache has the outcome, even an error.
            let _ = self.core.decode(job.wanted, in_flight);
        }
        Ok(())
    }
}

/// The workers, which end when this is dropped.
pub(super) struct Ahead {
    /// `None` without workers.
    map: Option<Mutex<OrderedMap<DecodeAhead>>>,
    core: Arc<Core>,
    /// Maximum number of blocks ahead of all readers together.
    most: usize,
    submitted: Arc<AtomicU64>,
    /// Number of sequential readers.
    readers: Arc<AtomicUsize>,
    /// Whether blocks are decoded ahead of sequential readers.
    follows: AtomicBool,
}

impl Ahead {
    /// Starts `workers` threads, or as many as the system allows. Without a thread, each reader decodes for itself.
    pub(super) fn start(core: &Arc<Core>, workers: usize, most: usize) -> Ahead {
        let submitted = Arc::<AtomicU64>::default();
        let task = DecodeAhead { core: Arc::clone(core), most: most.max(1) as u64, submitted: Arc::clone(&submitted) };
        let map = OrderedMap::new(task, Config::new(workers, usize::MAX)).ok();
        let map = map.filter(|map| map.workers() > 0).map(Mutex::new);
        let readers = Arc::default();
        let follows = AtomicBool::new(true);
        Ahead { map, core: Arc::clone(core), most, submitted, readers, follows }
    }

    /// Lets workers decode the further blocks of one request, before blocks that no request waits for.
    pub(super) fn help(&self, file: &OpenFile, blocks: Range<u64>) {
        let most = self.most.max(1) as u64;
        self.ask(file, blocks.start..blocks.end.min(blocks.start + most), Class::Now);
    }

    /// Sets whether blocks are decoded ahead of sequential readers.
    pub(super) fn set_follows(&self, follows: bool) {
        self.follows.store(follows, Ordering::Relaxed);
    }

    fn follows(&self) -> bool {
        self.map.is_some() && self.most > 0 && self.follows.load(Ordering::Relaxed)
    }

    /// Records a request, and submits the blocks that follow it if it continues a sequence.
    pub(super) fn follow(&self, file: &OpenFile, offset: u64, length: usize) {
        let mut pattern = lock(&file.pattern);
        if !pattern.note(offset, length as u64) {
            file.through.store(0, Ordering::Relaxed);
        }
        if !pattern.is_sequential() || !self.follows() {
            return;
        }
        pattern.among.get_or_insert_with(|| Share::of(&self.readers));
        let most = (self.most / self.readers.load(Ordering::Relaxed).max(1)).max(1);
        let due = pattern.due(most as u64, file.block_size(), file.blocks());
        drop(pattern);
        self.ask(file, due, Class::Normal);
    }

    /// Ignores errors in the block list: the reader will get them.
    fn ask(&self, file: &OpenFile, blocks: Range<u64>, class: Class) {
        let Some(map) = &self.map else { return };
        for block in blocks {
            let wanted = file.wanted(block).ok().flatten().filter(|&wanted| !self.core.cache.knows(wanted));
            if let Some(wanted) = wanted {
                let number = self.submitted.fetch_add(1, Ordering::Relaxed);
                let job = Job { wanted, block, through: Arc::clone(&file.through), class, number };
                // Submitting fails after a job has panicked. From then on each reader decodes for itself.
                let _ = lock(map).submit_as(class, job, &mut |()| Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests;
