//! A worker thread: takes jobs and runs them, with a context for each stage it has worked for.

pub(crate) mod context;
pub(crate) mod job;
pub(crate) mod slot;

use std::any::Any;
use std::sync::Arc;

use crate::core::Core;
use crate::scheduler::idle_workers::WorkerParker;
use crate::scheduler::job_queues::Owner;
use crate::scheduler::run_queue::TakenJob;
use crate::scheduler::worker_state::{Taker, WorkerState};
use crate::worker::context::{AnyStage, discard};
use crate::worker::job::{JobContext, JobRef};

pub(crate) struct Worker<'a> {
    core: &'a Core,
    state: &'a WorkerState,
    /// Counted from 1.
    number: usize,
    /// One for each stage the worker has worked for; the stage of its last job comes first.
    contexts: Vec<StageContext>,
}

struct StageContext {
    owner: Owner,
    stage: Arc<dyn AnyStage>,
    context: Box<dyn Any>,
}

impl<'a> Worker<'a> {
    /// Worker `number`, counted from 1.
    pub(crate) fn new(core: &'a Core, number: usize) -> Self {
        Self { core, state: core.worker(number), number, contexts: Vec::new() }
    }

    /// Works until the pool is closed. Must be called on the worker's own thread.
    pub(crate) fn run(mut self) {
        let parker = WorkerParker::current(self.state.queue);
        let core = self.core;
        let worker = self.state;
        let taker = Taker { worker, clock: core.tracer() };
        let changed = || core.is_closed() || core.changed_since(worker).is_some();
        while !core.is_closed() {
            self.drop_closed();
            if let Some(taken) = core.scheduler.next(&taker, &parker, &changed) {
                self.run_job(taken);
            }
        }
    }

    /// Drops the tools of stages that have ended.
    pub(crate) fn drop_closed(&mut self) {
        if let Some(epoch) = self.core.changed_since(self.state) {
            let closed = self.contexts.extract_if(.., |context| context.stage.is_closed());
            closed.for_each(discard);
            self.core.acknowledge(self.state, epoch);
        }
    }

    pub(crate) fn run_job(&mut self, taken: TakenJob<JobRef>) {
        let (job, context) = JobContext::new(self.core, self.number, self.state.queue, taken);
        match self.context(context.owner) {
            Some(stage) => job.run(stage.context.as_mut(), &context),
            None => discard(job),
        }
    }

    fn context(&mut self, owner: Owner) -> Option<&mut StageContext> {
        match self.contexts.iter().position(|context| context.owner == owner) {
            Some(at) => self.contexts.swap(0, at),
            None => {
                let stage = self.core.stage(owner)?;
                let context = Arc::clone(&stage).context();
                self.contexts.insert(0, StageContext { owner, stage, context });
            }
        }
        self.contexts.first_mut()
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.contexts.drain(..).for_each(discard);
    }
}
