//! A job as workers see it: something of some line that can be run.

use std::any::Any;
use std::sync::Arc;

use crate::core::Core;
use crate::desk::{Bench, Desk, Shared, discard};
use crate::key::Key;
use crate::rows::{Entry, Owner};
use crate::run_queue::Taken;
use crate::slot::Slot;
use crate::stage::{Made, Stage};
use crate::{Event, JobFacts, Tracer, sync};

/// A job of any line.
pub(crate) trait Task: Send + Sync {
    /// Runs it at a desk of its line, and fills its slot, whatever happens.
    fn run(self: Arc<Self>, desk: &mut dyn Any, errand: &Errand<'_>);
}

/// A job that can be queued.
pub(crate) type Job = Arc<dyn Task>;

/// Who runs a job, and what is known of the job from the queue.
pub(crate) struct Errand<'a> {
    pub(crate) core: &'a Core,
    /// 0 is the line's caller, the workers follow.
    pub(crate) worker: usize,
    /// The worker's own queue.
    pub(crate) home: usize,
    pub(crate) owner: Owner,
    key: Key,
    ticket: u64,
    item: Option<u64>,
    queue: usize,
    queued: u64,
    begin: u64,
}

impl<'a> Errand<'a> {
    /// Splits what was taken from a queue into the job and what is known of it.
    pub(crate) fn new(core: &'a Core, worker: usize, home: usize, taken: Taken<Job>) -> (Job, Self) {
        let Taken { owner, entry, queue, now } = taken;
        let Entry { key, ticket, item, queued, job } = entry;
        (job, Self { core, worker, home, owner, key, ticket, item, queue, queued, begin: now })
    }

    fn event<S: Stage>(&self, end: u64, bytes: (u64, u64)) -> Event {
        let job = JobFacts {
            lane: self.owner.lane,
            class: self.key.class(),
            queue: self.queue,
            queue_wait: self.begin.saturating_sub(self.queued),
            item: self.item,
        };
        Event {
            deed: S::DEED,
            pool: self.core.number(),
            line: self.owner.line,
            worker: self.worker,
            begin: self.begin,
            end,
            ticket: self.ticket,
            bytes_in: bytes.0,
            bytes_out: bytes.1,
            job: Some(job),
        }
    }
}

impl<S: Stage> Task for Slot<S> {
    fn run(self: Arc<Self>, desk: &mut dyn Any, errand: &Errand<'_>) {
        let desk = desk.downcast_mut::<Desk<S::Work>>();
        debug_assert!(desk.is_some(), "a job at a desk of another line");
        let Some(Desk { shared, bench }) = desk else { return };
        self.work_off(errand.home, &shared.bell, |job| match errand.core.tracer() {
            None => S::run(bench, &shared.work, job),
            Some(tracer) => run_traced::<S>(bench, shared, job, errand, tracer),
        });
        sync::lets_go(&*self);
        // If the caller has given the slot up meanwhile, the result ends here, whatever its drop does.
        discard(self);
    }
}

fn run_traced<S: Stage>(
    bench: &mut Bench<S::Work>,
    shared: &Shared<S::Work>,
    job: S::In,
    errand: &Errand<'_>,
    tracer: &dyn Tracer,
) -> Made<S> {
    let bytes_in = S::bytes_in(&shared.work, &job);
    let made = S::run(bench, &shared.work, job);
    let bytes_out = made.as_ref().map_or(0, |out| S::bytes_out(&shared.work, out));
    // Before the slot is filled: who has seen the last result has the whole trace.
    tracer.record(errand.event::<S>(tracer.now(), (bytes_in, bytes_out)));
    made
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::Work;

    /// Work on numbers: both stages give back what they get.
    #[derive(Default)]
    pub(crate) struct Echo;

    impl Work for Echo {
        type Raw = u32;
        type Hashed = u32;
        type Job = u32;
        type Packed = u32;
        type Error = ();
        type Tool = ();

        fn tool(&self) {}

        fn hash(&self, (): &mut (), raw: u32) -> Result<u32, ()> {
            Ok(raw)
        }

        fn compress(&self, (): &mut (), job: u32) -> Result<u32, ()> {
            Ok(job)
        }
    }
}
