//! State that the workers of a pool and the pipelines on it share.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Scheduling;
use crate::context::AnyStage;
use crate::histogram::Histogram;
use crate::job::JobRef;
use crate::scheduler::Scheduler;
use crate::scheduler::job_queues::{Entry, Owner};
use crate::scheduler::run_queue::Taken;
use crate::scheduler::worker_state::{Taking, WorkerState};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{self, Condvar, Mutex, Padded};
use crate::{QueueStats, StageName, Tracer, WorkerStats};

/// The scheduler, the workers' states, and the pipelines.
pub(crate) struct Core {
    pub(crate) scheduler: Scheduler<JobRef>,
    workers: Box<[Padded<WorkerState>]>,
    pipelines: Mutex<Pipelines>,
    /// Number of open pipelines: with one, virtual time needs no clock.
    count: AtomicUsize,
    /// Number of pipelines closed so far.
    closed_epoch: AtomicU64,
    /// Whether the workers are to end.
    closed: AtomicBool,
    /// Notified by a worker that has seen a closed pipeline.
    seen: (Mutex<()>, Condvar),
    tracer: Option<Arc<dyn Tracer>>,
    /// Number of the pool in events.
    number: u64,
}

pub(crate) type Stages = Vec<(StageName, Arc<dyn AnyStage>)>;

struct Pipelines {
    stages: BTreeMap<u64, Stages>,
    /// Number of the pipeline opened last; they begin with 1.
    last: u64,
}

impl Core {
    pub(crate) fn new(workers: usize, scheduling: &Scheduling, tracer: Option<Arc<dyn Tracer>>) -> Self {
        let queues = scheduling.queues(workers);
        let count = queues.iter().max().map_or(1, |last| last + 1);
        Self {
            scheduler: Scheduler::new(count, scheduling.policy),
            workers: queues.into_iter().map(|queue| Padded(WorkerState::new(queue))).collect(),
            pipelines: Mutex::new(Pipelines { stages: BTreeMap::new(), last: 0 }),
            count: AtomicUsize::new(0),
            closed_epoch: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            seen: (Mutex::new(()), Condvar::new()),
            number: tracer.as_ref().map_or(0, |tracer| tracer.pool()),
            tracer,
        }
    }

    /// The state of worker `number`, counted from 1.
    pub(crate) fn worker(&self, number: usize) -> &WorkerState {
        &self.workers[number - 1].0
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers.len()
    }

    pub(crate) fn tracer(&self) -> Option<&dyn Tracer> {
        self.tracer.as_deref()
    }

    /// Number of the pool in events; 0 without a tracer.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Now; 0 without a clock.
    pub(crate) fn now(&self) -> u64 {
        self.tracer().map_or(0, Tracer::now)
    }

    /// Adds a pipeline: its number, and the virtual time at which it begins.
    pub(crate) fn open_pipeline(&self, stages: Stages) -> (u64, u64) {
        let mut pipelines = sync::lock(&self.pipelines);
        pipelines.last += 1;
        let number = pipelines.last;
        pipelines.stages.insert(number, stages);
        drop(pipelines);
        self.count.fetch_add(1, Ordering::Relaxed);
        (number, self.scheduler.queues.present())
    }

    /// The stage of a job, if it has not ended.
    pub(crate) fn stage(&self, owner: Owner) -> Option<Arc<dyn AnyStage>> {
        let pipelines = sync::lock(&self.pipelines);
        let stages = pipelines.stages.get(&owner.pipeline)?;
        stages.iter().find(|(name, _)| *name == owner.name).map(|(_, stage)| Arc::clone(stage))
    }

    /// Drops the queued jobs of a pipeline whose stages are already marked as closed, and waits for those that run. Workers
    /// drop their tools for it, those that run jobs of other pipelines a little later.
    pub(crate) fn close_pipeline(&self, number: u64) {
        self.scheduler.queues.clear(number);
        let epoch = self.closed_epoch.fetch_add(1, Ordering::SeqCst) + 1;
        self.scheduler.wake_all();
        let mut guard = sync::lock(&self.seen.0);
        while self.workers.iter().any(|worker| worker.0.may_run(number, epoch)) {
            guard = self.seen.1.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(guard);
        self.count.fetch_sub(1, Ordering::Relaxed);
        let stages = sync::lock(&self.pipelines).stages.remove(&number);
        drop(stages);
    }

    /// The number of closed pipelines, if `worker` has not seen all of them.
    pub(crate) fn changed_since(&self, worker: &WorkerState) -> Option<u64> {
        Some(self.closed_epoch.load(Ordering::SeqCst)).filter(|&epoch| epoch != worker.seen_epoch())
    }

    /// Records that `worker` has dropped its tools for the first `epoch` closed pipelines.
    pub(crate) fn acknowledge(&self, worker: &WorkerState, epoch: u64) {
        worker.set_seen_epoch(epoch);
        let _ordered = sync::lock(&self.seen.0);
        self.seen.1.notify_all();
    }

    /// Behaves from now on as if every worker had seen all closed pipelines.
    #[cfg(test)]
    pub(crate) fn forget_workers(&self) {
        self.workers.iter().for_each(|worker| worker.0.set_seen_epoch(u64::MAX));
    }

    /// Whether the workers are to end.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Drops every job and ends the workers.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.scheduler.queues.clear_all();
        self.scheduler.wake_all();
    }

    pub(crate) fn push(&self, queue: usize, owner: Owner, entry: Entry<JobRef>) {
        self.scheduler.push(queue, owner, entry);
    }

    /// Takes the earliest queued job of `pipeline`, for its caller.
    pub(crate) fn take_of(&self, pipeline: u64, worker: &WorkerState) -> Option<Taken<JobRef>> {
        self.scheduler.queues.take_of(pipeline, &Taking { worker, clock: self.tracer() })
    }

    /// Whether several pipelines share the workers.
    pub(crate) fn is_shared(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 1
    }

    /// Counters of the queues, and how long all jobs waited.
    pub(crate) fn queue_stats(&self) -> (Vec<QueueStats>, Histogram) {
        self.scheduler.stats()
    }

    pub(crate) fn worker_stats(&self) -> Vec<WorkerStats> {
        self.workers.iter().map(|worker| worker.0.stats()).collect()
    }
}
