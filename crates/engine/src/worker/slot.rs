//! A slot holds one job and then its result: a worker takes the job out and puts the result in, the caller takes the result.

use crate::Task;
use crate::caller::waker::CallerWaker;
use crate::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use crate::sync::{self, Mutex};
use crate::task::Outcome;

/// No result yet, and the caller does not wait for it.
const PENDING: u8 = 0;
/// No result yet, and the caller sleeps until there is one.
const WANTED: u8 = 1;
/// The slot has its result.
const DONE: u8 = 2;

/// The origin of a job. The jobs that a decision makes from the result inherit the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The item's ticket in the first stage; `None` for a job submitted between calls.
    pub(crate) item: Option<u64>,
    /// The item's virtual time.
    pub(crate) time: u64,
    /// The queue of the worker that ran the job before, whose cache may still hold the data.
    pub(crate) queue: usize,
}

/// One job, run once. Data that only the caller needs is in the lane, not here: each cache line of a slot moves to the
/// worker and back.
pub(crate) struct Slot<T: Task> {
    /// The caller changes `PENDING` to `WANTED`, the worker either of them to `DONE`. Separate from the content, so that the
    /// caller can check the head of a lane without a lock.
    state: AtomicU8,
    /// The queue of the worker that ran the job. Written by the worker before `DONE`, read by the caller after it.
    ran_at: AtomicU32,
    /// The worker holds the lock while it runs the job. The caller locks it only after `DONE`.
    content: Mutex<Content<T>>,
}

enum Content<T: Task> {
    Job(T::In),
    Result(Outcome<T>),
    /// The job is running, or its result has been taken.
    Nothing,
}

impl<T: Task> Slot<T> {
    pub(crate) fn new(job: T::In) -> Self {
        let content = Mutex::new(Content::Job(job));
        Self { state: AtomicU8::new(PENDING), ran_at: AtomicU32::new(0), content }
    }

    /// Runs the job with `run`, stores the result, and wakes the caller if it waits for this slot. `queue` is the worker's.
    /// Returns false if there was no job.
    ///
    /// The lock is held while the job runs: no other thread reads a slot that is not done, and locking twice would cost a
    /// tenth of the complete hand-over.
    pub(crate) fn run_job(&self, queue: usize, waker: &CallerWaker, run: impl FnOnce(T::In) -> Outcome<T>) -> bool {
        let mut content = sync::lock(&self.content);
        if !matches!(*content, Content::Job(_)) {
            return false;
        }
        let Content::Job(job) = std::mem::replace(&mut *content, Content::Nothing) else { return false };
        *content = Content::Result(run(job));
        drop(content);
        self.ran_at.store(queue as u32, Ordering::Relaxed);
        if self.state.swap(DONE, Ordering::SeqCst) == WANTED {
            waker.notify();
        }
        true
    }

    /// Stores a result without running the job.
    #[cfg(test)]
    pub(crate) fn fill(&self, made: Outcome<T>, queue: usize, waker: &CallerWaker) {
        self.run_job(queue, waker, |_| made);
    }

    /// Takes the result, if there is one.
    pub(crate) fn take(&self) -> Option<Outcome<T>> {
        if self.state.load(Ordering::Acquire) != DONE {
            return None;
        }
        match std::mem::replace(&mut *sync::lock(&self.content), Content::Nothing) {
            Content::Result(made) => Some(made),
            Content::Job(_) | Content::Nothing => None,
        }
    }

    /// Asks to wake the caller when the slot has its result; false if it has one already.
    pub(crate) fn wait_for(&self) -> bool {
        let now = self.state.compare_exchange(PENDING, WANTED, Ordering::SeqCst, Ordering::SeqCst);
        now != Err(DONE)
    }

    pub(crate) fn ran_at(&self) -> usize {
        self.ran_at.load(Ordering::Relaxed) as usize
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::CancelToken;
    use crate::task::tests::Echo;

    type Echoes = Slot<Echo>;

    fn slot(job: u32) -> Echoes {
        Slot::new(job)
    }

    #[test]
    fn a_job_and_its_result_are_each_taken_once() {
        let slot = slot(3);
        let waker = CallerWaker::default();
        assert!(slot.take().is_none());
        assert!(slot.run_job(2, &waker, |job| Ok(job + 4)) && !slot.run_job(1, &waker, Ok));
        assert!(!slot.wait_for());
        assert!(matches!(slot.take(), Some(Ok(7))));
        assert!(slot.take().is_none() && !slot.run_job(1, &waker, Ok));
        assert_eq!(slot.ran_at(), 2);
    }

    #[test]
    fn only_a_wanted_slot_wakes_the_caller() {
        let waker = CallerWaker::default();
        let quiet = slot(0);
        let wanted = slot(0);
        waker.prepare();
        assert!(wanted.wait_for() && wanted.wait_for());
        quiet.fill(Ok(1), 0, &waker);
        wanted.fill(Ok(2), 0, &waker);
        assert!(!waker.sleep(&CancelToken::new()));
    }
}
