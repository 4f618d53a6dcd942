//! Workers without a job. Each sleeps until it is woken, with the reason for the wake-up. A new job wakes at most one of them, and none
//! while another worker is already searching.

use crate::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use crate::sync::{self, Mutex, MutexGuard, Padded, Parker};
use std::sync::Arc;

/// The sleeping workers and the searching one (an eventcount).
///
/// A new job wakes one sleeper, unless a worker is already searching. A searcher that finds a job and sees another one wakes
/// the next sleeper. While there are jobs and sleepers, there is therefore a searcher. There are never more wake-ups than jobs,
/// because a job is taken between two wake-ups.
///
/// No wake-up is lost. A thread that adds a job publishes the job first and then reads `state_word`. A worker that falls asleep
/// or stops searching first publishes this in `state_word` and then looks for jobs. One of the two sees the other.
#[derive(Debug)]
pub(crate) struct IdleWorkers {
    /// Twice the number of sleepers, plus one while a worker searches. Written under the lock of `state`, read without it.
    state_word: Padded<AtomicUsize>,
    state: Mutex<IdleState>,
}

#[derive(Debug)]
struct IdleState {
    /// The last to fall asleep is woken first, because its cache is the warmest.
    sleepers: Vec<Arc<WorkerParker>>,
    /// Whether a worker is awake without a job. It looks at all queues before it sleeps.
    searching: bool,
    /// For each queue, the number of workers woken for a job in it.
    wakes: Vec<u64>,
    /// Times the state was locked, and times another thread held the lock.
    locks: u64,
    contended: u64,
}

impl IdleWorkers {
    pub(crate) fn new(queues: usize) -> Self {
        let state =
            IdleState { sleepers: Vec::new(), searching: false, wakes: vec![0; queues], locks: 0, contended: 0 };
        Self { state_word: Padded::default(), state: Mutex::new(state) }
    }

    /// Wakes a worker for a job that was just added to `queue`, if one is needed. If not, it costs a single load.
    pub(crate) fn notify(&self, queue: usize) {
        sync::store_then_load();
        if needs_wake(self.state_word.0.load(Ordering::SeqCst)) {
            let mut state = self.lock();
            let parker = if state.searching { None } else { state.take_sleeper(queue) };
            self.publish(state);
            wake(parker);
        }
    }

    /// Becomes the searcher, unless there is one. Two searchers would spend twice the time to take the same job.
    pub(crate) fn search(&self) -> bool {
        if is_searching(self.state_word.0.load(Ordering::SeqCst)) {
            return false;
        }
        let mut state = self.lock();
        let free = !state.searching;
        state.searching = true;
        self.publish(state);
        free
    }

    /// The searcher has a job. It wakes the next worker if `any` returns a queue with another job.
    pub(crate) fn end_search(&self, any: impl Fn() -> Option<usize>) {
        let mut state = self.lock();
        state.searching = false;
        let parker = any().and_then(|queue| state.take_sleeper(queue));
        let woken = parker.is_some();
        self.publish(state);
        wake(parker);
        if !woken {
            // A thread that still saw a searcher may have added a job and woken no worker.
            sync::store_then_load();
            if let Some(queue) = any() {
                self.notify(queue);
            }
        }
    }

    /// Sleeps, unless `ready` returns true: there is a job, or a pipeline or the pool was closed. `was_searcher` says whether
    /// this worker is the searcher; the result says whether it is the searcher afterwards.
    pub(crate) fn sleep(&self, parker: &Arc<WorkerParker>, was_searcher: bool, ready: impl Fn() -> bool) -> bool {
        let mut state = self.lock();
        state.searching &= !was_searcher;
        state.sleepers.push(Arc::clone(parker));
        self.publish(state);
        sync::store_then_load();
        if ready() && self.remove_sleeper(parker) {
            return false;
        }
        parker.sleep() == WakeReason::Search
    }

    /// Removes the current worker from the sleepers; false if another thread has removed it to wake it.
    fn remove_sleeper(&self, parker: &Arc<WorkerParker>) -> bool {
        let mut state = self.lock();
        let at = state.sleepers.iter().rposition(|sleeper| Arc::ptr_eq(sleeper, parker));
        at.map(|at| state.sleepers.remove(at));
        self.publish(state);
        at.is_some()
    }

    /// Wakes every sleeper, to check for a change.
    pub(crate) fn wake_all(&self) {
        let mut state = self.lock();
        let sleepers = std::mem::take(&mut state.sleepers);
        self.publish(state);
        sleepers.iter().for_each(|parker| parker.wake(WakeReason::Recheck));
    }

    pub(crate) fn wakes(&self) -> Vec<u64> {
        self.lock().wakes.clone()
    }

    /// Times the list of sleepers was locked, and times another thread held the lock.
    pub(crate) fn lock_counts(&self) -> (u64, u64) {
        let state = sync::lock(&self.state);
        (state.locks, state.contended)
    }

    fn lock(&self) -> MutexGuard<'_, IdleState> {
        let (mut state, contended) = sync::lock_counted(&self.state);
        state.locks += 1;
        state.contended += u64::from(contended);
        state
    }

    /// Updates `state_word` and releases the lock.
    fn publish(&self, state: MutexGuard<'_, IdleState>) {
        self.state_word.0.store(state.sleepers.len() * 2 + usize::from(state.searching), Ordering::SeqCst);
    }

    #[cfg(test)]
    pub(crate) fn sleepers(&self) -> usize {
        self.lock().sleepers.len()
    }
}

/// Whether there are sleepers and no searcher.
fn needs_wake(state_word: usize) -> bool {
    state_word >= 2 && !is_searching(state_word)
}

fn is_searching(state_word: usize) -> bool {
    state_word % 2 == 1
}

impl IdleState {
    /// Removes a sleeper to wake it, and makes it the searcher. Prefers a worker whose own queue is `queue`.
    fn take_sleeper(&mut self, queue: usize) -> Option<Arc<WorkerParker>> {
        let near = self.sleepers.iter().rposition(|parker| parker.queue() == queue);
        let parker = match near {
            Some(at) => self.sleepers.remove(at),
            None => self.sleepers.pop()?,
        };
        self.searching = true;
        self.wakes[queue] += 1;
        Some(parker)
    }
}

fn wake(parker: Option<Arc<WorkerParker>>) {
    if let Some(parker) = parker {
        parker.wake(WakeReason::Search);
    }
}

/// Why a sleeping worker is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeReason {
    /// To look for a job. The woken worker is the searcher.
    Search,
    /// To check for a change (a closed pipeline, the end).
    Recheck,
}

#[derive(Debug)]
pub(crate) struct WorkerParker {
    /// Set by the thread that wakes the worker, cleared by the worker.
    reason: AtomicU8,
    parker: Parker,
    queue: usize,
}

const NONE: u8 = 0;
const SEARCH: u8 = 1;
const RECHECK: u8 = 2;

impl WorkerParker {
    /// The parker of the current thread.
    pub(crate) fn current(queue: usize) -> Arc<Self> {
        Arc::new(Self { reason: AtomicU8::new(NONE), parker: Parker::here(), queue })
    }

    pub(crate) fn queue(&self) -> usize {
        self.queue
    }

    /// Wakes the worker: once per sleep, by the thread that removed it from the list of sleepers.
    pub(crate) fn wake(&self, reason: WakeReason) {
        let reason = if reason == WakeReason::Search { SEARCH } else { RECHECK };
        // A store would be enough, but loom does not know that it is ordered after the swap of a sleeper that missed it.
        self.reason.swap(reason, Ordering::SeqCst);
        self.parker.unpark();
    }

    /// Sleeps until another thread wakes the worker.
    pub(crate) fn sleep(&self) -> WakeReason {
        loop {
            match self.reason.swap(NONE, Ordering::SeqCst) {
                NONE => self.parker.park(),
                SEARCH => return WakeReason::Search,
                _ => return WakeReason::Recheck,
            }
        }
    }
}
