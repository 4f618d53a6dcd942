//! One stage of a pipeline on the caller's side: submits jobs and takes their results in order.

use std::sync::Arc;

use crate::caller::Waiting;
use crate::caller::lane::Lane;
use crate::caller::submitter::Submitter;
use crate::caller::waker::CallerWaker;
use crate::core::Core;
use crate::scheduler::job_queues::Owner;
use crate::scheduler::run_queue::TakenJob;
use crate::sync::atomic::Ordering;
use crate::task::Outcome;
use crate::worker::context::{SharedStage, WorkerContext};
use crate::worker::job::{JobContext, JobRef};
use crate::worker::slot::Origin;
use crate::{Class, StageName, Task};

/// The results of a task in the order in which its inputs were submitted.
pub(crate) struct Stage<T: Task> {
    pub(crate) name: StageName,
    pub(crate) lane: Lane<T>,
    /// The caller's own context, for all jobs of a pool without workers and for jobs that the caller runs while it waits.
    context: WorkerContext<T>,
}

impl<T: Task> Stage<T> {
    pub(crate) fn new(name: StageName, task: T, waker: &Arc<CallerWaker>) -> Self {
        let context = WorkerContext::new(SharedStage::new(task, Arc::clone(waker)));
        Self { name, lane: Lane::new(), context }
    }

    pub(crate) fn shared(&self) -> &Arc<SharedStage<T>> {
        &self.context.shared
    }

    /// Submits a job. On a pool without workers the job runs here.
    pub(crate) fn submit(&mut self, submitter: &Submitter, class: Class, origin: Origin, input: T::In) {
        if submitter.pool.workers() == 0 {
            let outcome = self.context.run(input);
            self.lane.put(outcome);
            return;
        }
        let (ticket, slot) = self.lane.open(input, origin);
        submitter.push(self.name, class, origin, ticket, slot);
    }

    pub(crate) fn take_ready(&mut self) -> Option<Outcome<T>> {
        self.lane.take_ready()
    }

    /// Makes workers run no further job of this stage.
    pub(crate) fn close(&self) {
        self.shared().closed.store(true, Ordering::SeqCst);
    }
}

impl<T: Task> Waiting for Stage<T> {
    fn wait_for(&self, busy: usize) -> bool {
        self.lane.is_empty() || self.lane.wait_for(busy)
    }

    fn head(&self, pipeline: u64) -> Option<(Owner, u64)> {
        (!self.lane.is_empty()).then(|| (Owner { pipeline, name: self.name }, self.lane.head_ticket()))
    }

    fn run(&mut self, core: &Core, home: usize, taken: TakenJob<JobRef>) {
        let (job, context) = JobContext::new(core, 0, home, taken);
        job.run(&mut self.context, &context);
    }

    fn overhead(&self) -> usize {
        self.lane.len() * (size_of::<T::In>() + size_of::<T::Out>() + ENTRY_BYTES)
    }
}

/// Bytes of a slot, its entries in a lane and a queue, and the allocator's overhead.
const ENTRY_BYTES: usize = 128;
