//! A job of any stage, as workers see it.

use std::any::Any;
use std::sync::Arc;

use crate::core::Core;
use crate::scheduler::job_queues::{Owner, QueuedJob};
use crate::scheduler::key::Key;
use crate::scheduler::run_queue::TakenJob;
use crate::task::Outcome;
use crate::trace::Moment;
use crate::worker::context::{WorkerContext, discard};
use crate::worker::slot::Slot;
use crate::{Event, EventKind, JobFacts, Task, Tracer, sync};

pub(crate) trait Job: Send + Sync {
    /// Runs the job in a context of its stage, and fills its slot even if the job panics.
    fn run(self: Arc<Self>, context: &mut dyn Any, job: &JobContext<'_>);
}

/// A job that can be queued.
pub(crate) type JobRef = Arc<dyn Job>;

/// Which worker runs a job, and the queue's record of the job.
pub(crate) struct JobContext<'a> {
    pub(crate) core: &'a Core,
    /// 0 is the caller; the workers begin with 1.
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

impl<'a> JobContext<'a> {
    /// Splits a taken job into the job itself and its context.
    pub(crate) fn new(core: &'a Core, worker: usize, home: usize, taken: TakenJob<JobRef>) -> (JobRef, Self) {
        let TakenJob { owner, entry, queue, now } = taken;
        let QueuedJob { key, ticket, item, queued, job } = entry;
        (job, Self { core, worker, home, owner, key, ticket, item, queue, queued, begin: now })
    }

    fn event(&self, end: u64, processor_ns: u64, bytes: (u64, u64)) -> Event {
        let job = JobFacts {
            stage: self.owner.name,
            class: self.key.class(),
            queue: self.queue,
            queue_wait: self.begin.saturating_sub(self.queued),
            item: self.item,
        };
        Event {
            kind: EventKind::Job(self.owner.name),
            pool: self.core.number(),
            pipeline: self.owner.pipeline,
            worker: self.worker,
            begin: self.begin,
            end,
            processor_ns,
            ticket: self.ticket,
            bytes_in: bytes.0,
            bytes_out: bytes.1,
            job: Some(job),
        }
    }
}

impl<T: Task> Job for Slot<T> {
    fn run(self: Arc<Self>, context: &mut dyn Any, job: &JobContext<'_>) {
        let context = context.downcast_mut::<WorkerContext<T>>();
        debug_assert!(context.is_some(), "a job in the context of another stage");
        let Some(context) = context else { return };
        let waker = Arc::clone(&context.shared.waker);
        self.run_job(job.home, &waker, |input| match job.core.tracer() {
            None => context.run(input),
            Some(tracer) => run_traced(context, input, job, tracer),
        });
        sync::before_drop(&*self);
        // If the caller has dropped the slot meanwhile, the result is dropped here, and its drop may panic.
        discard(self);
    }
}

fn run_traced<T: Task>(
    context: &mut WorkerContext<T>,
    input: T::In,
    job: &JobContext<'_>,
    tracer: &dyn Tracer,
) -> Outcome<T> {
    let bytes_in = context.shared.task.bytes_in(&input);
    let before = tracer.processor_time();
    let outcome = context.run(input);
    let bytes_out = outcome.as_ref().map_or(0, |out| context.shared.task.bytes_out(out));
    // Recorded before the slot is filled, so that a caller that has seen the last result has the complete trace.
    let end = Moment::now(tracer);
    tracer.record(job.event(end.wall, end.processor.saturating_sub(before), (bytes_in, bytes_out)));
    outcome
}
