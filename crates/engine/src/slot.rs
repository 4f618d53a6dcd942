//! The place of one job and then of its result: a worker takes the one out and puts the other in, the caller takes it.

use crate::Fault;
use crate::bell::Bell;
use crate::stage::{Made, Stage};
use crate::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use crate::sync::{self, Mutex};

/// What a job came to.
pub(crate) type Outcome<T, E> = Result<T, Fault<E>>;

/// No result yet, and nobody waits for it.
const PENDING: u8 = 0;
/// No result yet, and the caller sleeps until it is here.
const WANTED: u8 = 1;
/// The result is here.
const DONE: u8 = 2;

/// Where a job comes from, and what it hands down to the jobs that are made of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The item's ticket in the hash lane; `None` for what was handed on between calls.
    pub(crate) item: Option<u64>,
    /// The item's virtual time.
    pub(crate) time: u64,
    /// The queue of the worker that ran the job before, whose cache may still hold the data.
    pub(crate) queue: usize,
}

/// One job, run once. What only the caller needs is not here but in the lane: each line of the processor's cache that a
/// slot fills crosses over to the worker and back.
pub(crate) struct Slot<S: Stage> {
    /// Told apart from the content so that the caller can look at the head of a lane without taking a lock.
    state: AtomicU8,
    /// The queue of the worker that ran the job.
    ran_at: AtomicU32,
    content: Mutex<Content<S>>,
}

enum Content<S: Stage> {
    Job(S::In),
    Result(Made<S>),
    /// The job is running, or its result has been taken.
    Nothing,
}

impl<S: Stage> Slot<S> {
    /// A slot with a job in it.
    pub(crate) fn new(job: S::In) -> Self {
        let content = Mutex::new(Content::Job(job));
        Self { state: AtomicU8::new(PENDING), ran_at: AtomicU32::new(0), content }
    }

    /// Runs the job with `run`, puts the result in, and rings if the caller waits for this very slot. `queue` is the
    /// worker's. False if there was no job.
    ///
    /// The lock is held meanwhile: nobody looks into a slot that is not done, and taking it twice would cost a tenth of
    /// what handing over costs.
    pub(crate) fn work_off(&self, queue: usize, bell: &Bell, run: impl FnOnce(S::In) -> Made<S>) -> bool {
        let mut content = sync::lock(&self.content);
        if !matches!(*content, Content::Job(_)) {
            return false;
        }
        let Content::Job(job) = std::mem::replace(&mut *content, Content::Nothing) else { return false };
        *content = Content::Result(run(job));
        drop(content);
        self.ran_at.store(queue as u32, Ordering::Relaxed);
        if self.state.swap(DONE, Ordering::SeqCst) == WANTED {
            bell.ring();
        }
        true
    }

    /// Puts a result in whatever the job.
    #[cfg(test)]
    pub(crate) fn fill(&self, made: Made<S>, queue: usize, bell: &Bell) {
        self.work_off(queue, bell, |_| made);
    }

    /// Takes the result out, if it is here.
    pub(crate) fn take(&self) -> Option<Made<S>> {
        if self.state.load(Ordering::Acquire) != DONE {
            return None;
        }
        match std::mem::replace(&mut *sync::lock(&self.content), Content::Nothing) {
            Content::Result(made) => Some(made),
            Content::Job(_) | Content::Nothing => None,
        }
    }

    /// Asks for a ring when the result is here; false if it is here already.
    pub(crate) fn want(&self) -> bool {
        let now = self.state.compare_exchange(PENDING, WANTED, Ordering::SeqCst, Ordering::SeqCst);
        now != Err(DONE)
    }

    /// The queue of the worker that ran the job.
    pub(crate) fn ran_at(&self) -> usize {
        self.ran_at.load(Ordering::Relaxed) as usize
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::CancelToken;
    use crate::stage::HashStage;
    use crate::task::tests::Echo;

    type Row = Slot<HashStage<Echo>>;

    fn slot(job: u32) -> Row {
        Slot::new(job)
    }

    #[test]
    fn a_job_and_its_result_are_each_taken_once() {
        let (slot, bell) = (slot(3), Bell::default());
        assert!(slot.take().is_none());
        assert!(slot.work_off(2, &bell, |job| Ok(job + 4)) && !slot.work_off(1, &bell, Ok));
        assert!(!slot.want());
        assert!(matches!(slot.take(), Some(Ok(7))));
        assert!(slot.take().is_none() && !slot.work_off(1, &bell, Ok));
        assert_eq!(slot.ran_at(), 2);
    }

    #[test]
    fn only_a_wanted_slot_rings() {
        let bell = Bell::default();
        let (quiet, wanted) = (slot(0), slot(0));
        bell.arm();
        assert!(wanted.want() && wanted.want());
        quiet.fill(Ok(1), 0, &bell);
        wanted.fill(Ok(2), 0, &bell);
        assert!(!bell.sleep(&CancelToken::new()));
    }
}
