//! The run queue: how a worker finds its next job, and who is woken for it. The one seam of the scheduler.

use std::collections::VecDeque;
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use crate::bell::SPINS;

/// A job's place in the output. The earliest is run first.
///
/// A job of the commit lane belongs to an item that is decided, a job of the hash lane to one that is not, and items
/// are decided in order: so every commit job stands before every hash job. Running it first also drains memory: it
/// lets go of a block, where hashing a later one only brings nearer the next block that has to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Ticket of the commit lane.
    Commit(u64),
    /// Ticket of the hash lane.
    Hash(u64),
}

/// Where one worker sleeps.
#[derive(Debug)]
pub(crate) struct Seat {
    woken: AtomicBool,
    thread: Thread,
}

impl Seat {
    /// A seat for the current thread.
    pub(crate) fn here() -> Arc<Self> {
        Arc::new(Self { woken: AtomicBool::new(false), thread: thread::current() })
    }

    fn wake(&self) {
        self.woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }

    fn sleep(&self) {
        while !self.woken.swap(false, Ordering::SeqCst) {
            thread::park();
        }
    }
}

/// What the queue counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueCounts {
    /// Workers woken for a job; at most one a job.
    pub(crate) wakes: u64,
    /// Times a worker went to sleep.
    pub(crate) parks: u64,
}

/// One queue for all workers, under one lock.
///
/// Its rule of waking: whoever adds a job wakes one sleeping worker, unless one is already searching, and a searcher
/// that finds a job with more behind it wakes the next. So while there are jobs and sleepers there is a searcher, and
/// there are never more wake-ups than jobs: each one woken since the queue was last empty has taken a job before the
/// next is woken.
#[derive(Debug)]
pub(crate) struct RunQueue<J> {
    state: Mutex<State<J>>,
    /// Jobs in the queue, for a searcher to watch without the lock.
    hint: Padded<AtomicUsize>,
}

/// On cache lines of its own, so that watching it does not slow down whoever holds the lock.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

#[derive(Debug)]
struct State<J> {
    /// Both lanes only grow at the end, so two queues are the order of [`Place`] with no heap.
    commit: VecDeque<J>,
    hash: VecDeque<J>,
    /// Sleeping workers; the last to fall asleep is woken first, its cache is the warmest.
    idle: Vec<Arc<Seat>>,
    /// Workers that are awake, have no job and will look at the queue again before they sleep.
    searching: usize,
    closed: bool,
    counts: QueueCounts,
}

impl<J> RunQueue<J> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        let state = State {
            commit: VecDeque::new(),
            hash: VecDeque::new(),
            idle: Vec::new(),
            searching: 0,
            closed: false,
            counts: QueueCounts::default(),
        };
        Self { state: Mutex::new(state), hint: Padded::default() }
    }

    /// Adds a job. Places of one lane come in growing order.
    pub(crate) fn push(&self, place: Place, job: J) {
        let mut state = self.lock();
        state.lane(place).push_back(job);
        self.publish(&state);
        let sleeper = state.sleeper();
        drop(state);
        wake(sleeper);
    }

    /// The next job, without waiting for one.
    pub(crate) fn try_take(&self) -> Option<J> {
        let mut state = self.lock();
        let job = state.next();
        self.publish(&state);
        job
    }

    /// The next job; sleeps until there is one. `None` once the queue is closed.
    pub(crate) fn take(&self, seat: &Arc<Seat>) -> Option<J> {
        let mut state = self.lock();
        if let Some(job) = state.next() {
            self.publish(&state);
            return Some(job);
        }
        while !state.closed {
            state = self.search(state, seat);
            state.searching -= 1;
            if let Some(job) = state.next() {
                self.publish(&state);
                let sleeper = state.sleeper();
                drop(state);
                wake(sleeper);
                return Some(job);
            }
        }
        None
    }

    /// Watches the queue for a moment, or sleeps; comes back as a searcher. One worker watches at a time: two would
    /// burn twice the time to catch the same job.
    fn search<'a>(&'a self, mut state: MutexGuard<'a, State<J>>, seat: &Arc<Seat>) -> MutexGuard<'a, State<J>> {
        if state.searching == 0 {
            state.searching = 1;
            drop(state);
            self.watch();
            state = self.lock();
            if !state.is_empty() || state.closed {
                return state;
            }
            state.searching -= 1;
        }
        state.idle.push(Arc::clone(seat));
        state.counts.parks += 1;
        drop(state);
        // Whoever wakes this worker has counted it as a searcher already.
        seat.sleep();
        self.lock()
    }

    fn watch(&self) {
        for _ in 0..SPINS {
            if self.hint.0.load(Ordering::Relaxed) > 0 {
                return;
            }
            hint::spin_loop();
        }
    }

    /// Drops every job in the queue.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        let jobs = (std::mem::take(&mut state.commit), std::mem::take(&mut state.hash));
        self.publish(&state);
        drop(state);
        // Outside the lock: a job's own drop may take long, or give back memory.
        drop(jobs);
    }

    /// Drops every job and sends every worker home.
    pub(crate) fn close(&self) {
        self.clear();
        let mut state = self.lock();
        state.closed = true;
        let idle = std::mem::take(&mut state.idle);
        state.searching += idle.len();
        drop(state);
        idle.iter().for_each(|seat| seat.wake());
    }

    /// The counters so far.
    pub(crate) fn counts(&self) -> QueueCounts {
        self.lock().counts
    }

    fn publish(&self, state: &State<J>) {
        self.hint.0.store(state.commit.len() + state.hash.len(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    fn lane(&mut self, place: Place) -> &mut VecDeque<J> {
        match place {
            Place::Commit(_) => &mut self.commit,
            Place::Hash(_) => &mut self.hash,
        }
    }

    fn next(&mut self) -> Option<J> {
        self.commit.pop_front().or_else(|| self.hash.pop_front())
    }

    fn is_empty(&self) -> bool {
        self.commit.is_empty() && self.hash.is_empty()
    }

    /// Takes a sleeper to wake, if there is a job nobody is about to take.
    fn sleeper(&mut self) -> Option<Arc<Seat>> {
        if self.searching > 0 || self.is_empty() {
            return None;
        }
        let seat = self.idle.pop()?;
        self.searching = 1;
        self.counts.wakes += 1;
        Some(seat)
    }
}

fn wake(seat: Option<Arc<Seat>>) {
    if let Some(seat) = seat {
        seat.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn commit_jobs_first_and_each_lane_in_order() {
        let queue = RunQueue::new();
        let places = [Place::Hash(0), Place::Hash(1), Place::Commit(0), Place::Hash(2), Place::Commit(1)];
        places.iter().for_each(|&place| queue.push(place, place));
        let taken: Vec<Place> = std::iter::from_fn(|| queue.try_take()).collect();
        let mut sorted = places.to_vec();
        sorted.sort_unstable();
        assert_eq!(taken, sorted);
    }

    #[test]
    fn nobody_is_woken_when_nobody_sleeps() {
        let queue = RunQueue::new();
        (0..10).for_each(|n| queue.push(Place::Hash(n), n));
        assert_eq!(queue.counts().wakes, 0);
        queue.clear();
        assert_eq!(queue.try_take(), None);
    }

    /// Waits until `count` workers sleep.
    fn asleep<J>(queue: &RunQueue<J>, count: usize) {
        while queue.lock().idle.len() < count {
            thread::yield_now();
        }
    }

    #[test]
    fn one_wake_a_job_and_the_rest_sleep_on() {
        let queue = RunQueue::new();
        let (send, taken) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..4 {
                let (queue, send) = (&queue, send.clone());
                scope.spawn(move || {
                    let seat = Seat::here();
                    while let Some(job) = queue.take(&seat) {
                        send.send(job).unwrap();
                    }
                });
            }
            for job in 0..20 {
                asleep(&queue, 4);
                queue.push(Place::Commit(job), job);
                assert_eq!(taken.recv().unwrap(), job);
                assert_eq!(queue.counts().wakes, job + 1);
            }
            queue.close();
        });
    }

    #[test]
    fn a_burst_reaches_every_sleeper() {
        let queue = RunQueue::new();
        let meeting = std::sync::Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let seat = Seat::here();
                    // Each job ends only when four run at a time: a sleeper that is not woken would hold up all.
                    while queue.take(&seat).is_some() {
                        meeting.wait();
                    }
                });
            }
            asleep(&queue, 4);
            (0..40).for_each(|n| queue.push(Place::Hash(n), ()));
            asleep(&queue, 4);
            queue.close();
        });
        assert!((4..=40).contains(&queue.counts().wakes));
    }

    #[test]
    fn a_closed_queue_gives_nothing() {
        let queue = RunQueue::new();
        queue.push(Place::Hash(0), 0);
        queue.close();
        assert_eq!(queue.take(&Seat::here()), None);
    }
}
