//! The plain queue: jobs and sleepers under one lock, each lane in the order it was fed. What the scheduler is measured
//! against; a pool has it only if it asks for it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::QueueStats;
use crate::hand::Taker;
use crate::histogram::Histogram;
use crate::rows::{Entry, LaneName, Owner};
use crate::run_queue::Taken;
use crate::seat::{Call, Seat};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{self, Mutex, MutexGuard, Padded};

/// One queue for all workers of a pool.
#[derive(Debug)]
pub(crate) struct PlainQueue<J> {
    state: Mutex<State<J>>,
    /// Jobs in the queue, for a searcher to watch without the lock.
    hint: Padded<AtomicUsize>,
}

#[derive(Debug)]
struct State<J> {
    commit: VecDeque<(Owner, Entry<J>)>,
    hash: VecDeque<(Owner, Entry<J>)>,
    idle: Vec<Arc<Seat>>,
    /// Workers that are awake, have no job and will look at the queue again before they sleep.
    searching: bool,
    begun: u64,
    counts: QueueStats,
    waits: Histogram,
}

impl<J> PlainQueue<J> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        let state = State {
            commit: VecDeque::new(),
            hash: VecDeque::new(),
            idle: Vec::new(),
            searching: false,
            begun: 0,
            counts: QueueStats::default(),
            waits: Histogram::default(),
        };
        Self { state: Mutex::new(state), hint: Padded::default() }
    }

    /// Adds a job and wakes a worker if one is needed.
    pub(crate) fn push(&self, owner: Owner, entry: Entry<J>) {
        let mut state = self.lock();
        state.lane(owner.lane).push_back((owner, entry));
        self.publish(&state);
        let sleeper = state.sleeper();
        drop(state);
        wake(sleeper);
    }

    /// The next job; sleeps until there is one. `None` when something else has changed.
    pub(crate) fn next(&self, taker: &Taker<'_>, seat: &Arc<Seat>, changed: &dyn Fn() -> bool) -> Option<Taken<J>> {
        let mut state = self.lock();
        if let Some(taken) = self.pop(&mut state, taker, |_| true) {
            return Some(taken);
        }
        let since = taker.now();
        while !changed() {
            let (locked, searcher) = self.search(state, taker, seat, changed);
            state = locked;
            state.searching &= !searcher;
            if let Some(taken) = self.pop(&mut state, taker, |_| true) {
                let sleeper = state.sleeper();
                drop(state);
                taker.hand.was_idle(taker.now().saturating_sub(since));
                wake(sleeper);
                return Some(taken);
            }
        }
        None
    }

    /// Watches the queue for a moment, or sleeps; whether it comes back as the searcher.
    fn search<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<J>>,
        taker: &Taker<'_>,
        seat: &Arc<Seat>,
        changed: &dyn Fn() -> bool,
    ) -> (MutexGuard<'a, State<J>>, bool) {
        if !state.searching {
            state.searching = true;
            drop(state);
            self.watch();
            state = self.lock();
            if !state.is_empty() || changed() {
                return (state, true);
            }
            state.searching = false;
        }
        state.idle.push(Arc::clone(seat));
        taker.hand.parks();
        drop(state);
        let searcher = seat.sleep() == Call::Search;
        (self.lock(), searcher)
    }

    fn watch(&self) {
        for _ in 0..sync::SPINS {
            if self.hint.0.load(Ordering::Relaxed) > 0 {
                return;
            }
            sync::hint::spin_loop();
        }
    }

    /// The next job of `line`, for its caller.
    pub(crate) fn take_of(&self, line: u64, taker: &Taker<'_>) -> Option<Taken<J>> {
        self.pop(&mut self.lock(), taker, |owner| owner.line == line)
    }

    fn pop(&self, state: &mut State<J>, taker: &Taker<'_>, wanted: impl Fn(&Owner) -> bool) -> Option<Taken<J>> {
        let (owner, entry) = state.next(wanted)?;
        let now = taker.now();
        state.begun = state.begun.max(entry.key.time());
        state.counts.jobs += 1;
        if taker.clock.is_some() {
            state.waits.add(now.saturating_sub(entry.queued));
        }
        taker.hand.begins_for(owner.line);
        self.publish(state);
        Some(Taken { owner, entry, queue: 0, now })
    }

    /// The latest virtual time of a job that was taken.
    pub(crate) fn present(&self) -> u64 {
        self.lock().begun
    }

    /// Drops every job of `line`, or every job.
    pub(crate) fn clear(&self, line: Option<u64>) {
        let mut state = self.lock();
        let lanes = [std::mem::take(&mut state.commit), std::mem::take(&mut state.hash)];
        let keep = |(owner, _): &(Owner, Entry<J>)| line.is_some_and(|line| owner.line != line);
        let [(commit, gone), (hash, gone_too)] = lanes.map(|lane| lane.into_iter().partition(keep));
        (state.commit, state.hash) = (commit, hash);
        self.publish(&state);
        drop(state);
        let gone: [VecDeque<(Owner, Entry<J>)>; 2] = [gone, gone_too];
        // Outside the lock: a job's own drop may take long, or give back memory.
        drop(gone);
    }

    /// Wakes everybody, to see what has changed.
    pub(crate) fn wake_all(&self) {
        let idle = std::mem::take(&mut self.lock().idle);
        idle.iter().for_each(|seat| seat.wake(Call::LookUp));
    }

    /// What it counted, with how long jobs waited.
    pub(crate) fn stats(&self) -> (QueueStats, Histogram) {
        let state = self.lock();
        let times = (state.waits.longest(), state.waits.p999());
        (QueueStats { longest_wait_ns: times.0, p999_wait_ns: times.1, ..state.counts }, state.waits.clone())
    }

    fn publish(&self, state: &State<J>) {
        self.hint.0.store(state.commit.len() + state.hash.len(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        let (mut state, contended) = match sync::try_lock(&self.state) {
            Some(state) => (state, false),
            None => (sync::lock(&self.state), true),
        };
        state.counts.locks += 1;
        state.counts.contended += u64::from(contended);
        state
    }
}

impl<J> State<J> {
    fn lane(&mut self, lane: LaneName) -> &mut VecDeque<(Owner, Entry<J>)> {
        match lane {
            LaneName::Commit => &mut self.commit,
            LaneName::Hash => &mut self.hash,
        }
    }

    fn next(&mut self, wanted: impl Fn(&Owner) -> bool) -> Option<(Owner, Entry<J>)> {
        let lane = [&mut self.commit, &mut self.hash];
        lane.into_iter().find_map(|lane| {
            let at = lane.iter().position(|(owner, _)| wanted(owner))?;
            lane.remove(at)
        })
    }

    fn is_empty(&self) -> bool {
        self.commit.is_empty() && self.hash.is_empty()
    }

    /// Takes a sleeper to wake, if there is a job nobody is about to take.
    fn sleeper(&mut self) -> Option<Arc<Seat>> {
        if self.searching || self.is_empty() {
            return None;
        }
        let seat = self.idle.pop()?;
        self.searching = true;
        self.counts.wakes += 1;
        Some(seat)
    }
}

fn wake(seat: Option<Arc<Seat>>) {
    if let Some(seat) = seat {
        seat.wake(Call::Search);
    }
}
