//! Decoding ahead: who reads in order is noticed, and workers decode what comes next.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::cache::Wanted;
use super::workshop::lock;
use super::{Core, OpenFile};

/// Requests of one reader may overtake each other by this many bytes, or twice their length, and are still in order.
const SLACK: u64 = 128 << 10;
/// Requests in order after which a reader is believed to go on so.
const BELIEVED: u32 = 2;

/// How one file is being read.
#[derive(Debug, Default)]
pub(super) struct Pattern {
    /// End of the furthest request.
    end: u64,
    /// Requests in order, up to the present one.
    streak: u32,
    /// The block up to which workers have been asked.
    asked: u64,
    /// How many readers are sequential, of whom this is one.
    among: Option<Share>,
}

/// One of a number of things, while it is.
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
        self.streak >= BELIEVED
    }

    #[cfg(test)]
    pub(super) fn asked(&self) -> u64 {
        self.asked
    }

    /// Notes a request. Whether it continues the sequence.
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

    /// The blocks to decode now, `most` or fewer ahead: the longer the streak, the more. Forgets them. Several at once, when
    /// half of what was asked for is used up: waking a worker for each block would cost more.
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

/// A block to decode before its reader comes to it.
struct Job {
    wanted: Wanted,
    block: u64,
    /// The file's reader is through with the blocks before this one.
    through: Arc<AtomicU64>,
}

impl Job {
    /// Whether the reader was faster, and has no more use for the block.
    fn is_passed(&self) -> bool {
        self.block < self.through.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

#[derive(Default)]
struct Desk {
    queue: Mutex<Queue>,
    work: Condvar,
}

/// The workers and their queue. Dropping it ends them.
pub(super) struct Ahead {
    desk: Arc<Desk>,
    core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
    /// Blocks ahead of all readers together.
    most: usize,
    /// Sequential readers.
    readers: Arc<AtomicUsize>,
    /// Whether they are served ahead.
    follows: AtomicBool,
}

impl Ahead {
    /// Starts `workers` threads, or as many as the system allows: without one, each reader decodes for itself.
    pub(super) fn start(core: &Arc<Core>, workers: usize, most: usize) -> Ahead {
        let desk = Arc::new(Desk::default());
        let spawn = |number| {
            let (desk, core) = (Arc::clone(&desk), Arc::clone(core));
            thread::Builder::new().name(format!("ahead-{number}")).spawn(move || desk.serve(&core)).ok()
        };
        let threads = (0..workers).map_while(spawn).collect();
        let (readers, follows) = (Arc::default(), AtomicBool::new(true));
        Ahead { desk, core: Arc::clone(core), threads, most, readers, follows }
    }

    /// Hands the further blocks of one request to the workers: they are needed at once.
    pub(super) fn help(&self, file: &OpenFile, blocks: Range<u64>) {
        if !blocks.is_empty() && !self.threads.is_empty() {
            let most = self.most.max(1) as u64;
            self.ask(file, blocks.start..blocks.end.min(blocks.start + most), true);
        }
    }

    /// Whether sequential readers are served ahead from now on.
    pub(super) fn set_follows(&self, follows: bool) {
        self.follows.store(follows, Ordering::Relaxed);
    }

    fn follows(&self) -> bool {
        !self.threads.is_empty() && self.most > 0 && self.follows.load(Ordering::Relaxed)
    }

    /// Notes a request, and has decoded what will follow it if it is one of a sequence.
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
        self.ask(file, due, false);
    }

    /// What cannot be found out about a block is left for its reader to find out.
    fn ask(&self, file: &OpenFile, blocks: Range<u64>, urgent: bool) {
        let job = |block| {
            let wanted = file.wanted(block).ok().flatten().filter(|&wanted| !self.core.cache.knows(wanted))?;
            Some(Job { wanted, block, through: Arc::clone(&file.through) })
        };
        let jobs: Vec<Job> = blocks.filter_map(job).collect();
        if !jobs.is_empty() {
            self.desk.put(jobs, urgent, self.most.max(1));
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        lock(&self.desk.queue).closed = true;
        self.desk.work.notify_all();
        for thread in self.threads.drain(..) {
            // A worker that panicked has said so to those who waited for it.
            let _: thread::Result<()> = thread.join();
        }
    }
}

impl Desk {
    /// No more than `most` jobs wait: what was asked for longest ago is needed least.
    fn put(&self, jobs: Vec<Job>, urgent: bool, most: usize) {
        let mut queue = lock(&self.queue);
        let count = jobs.len();
        if urgent {
            jobs.into_iter().rev().for_each(|job| queue.jobs.push_front(job));
            queue.jobs.truncate(most);
        } else {
            queue.jobs.extend(jobs);
            let surplus = queue.jobs.len().saturating_sub(most);
            queue.jobs.drain(..surplus);
        }
        drop(queue);
        (0..count).for_each(|_| self.work.notify_one());
    }

    fn take(&self) -> Option<Job> {
        let mut queue = lock(&self.queue);
        while !queue.closed {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn serve(&self, core: &Core) {
        while let Some(job) = self.take() {
            if let Some(flight) = core.cache.ask_ahead(job.wanted, || job.is_passed()) {
                // The outcome is in the cache, an error too.
                let _ = core.decode(job.wanted, flight);
            }
        }
    }
}

#[cfg(test)]
mod tests;
