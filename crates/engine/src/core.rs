//! State that the workers of a pool and the pipelines on it share.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Scheduling;
use crate::scheduler::Scheduler;
use crate::scheduler::job_queues::{Owner, QueuedJob};
use crate::scheduler::run_queue::TakenJob;
use crate::scheduler::worker_state::{Taker, WorkerState};
use crate::stats::histogram::Histogram;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{self, Condvar, Mutex, Padded};
use crate::worker::context::AnyStage;
use crate::worker::job::JobRef;
use crate::{QueueStats, StageName, Tracer, WorkerStats};

/// Every caller and every worker of the pool holds a reference, so each field says who may touch it.
pub(crate) struct Core {
    /// Callers push jobs, workers (and callers that help out) take them; it locks inside.
    pub(crate) scheduler: Scheduler<JobRef>,
    /// Each state is written by its own worker alone; callers read it.
    workers: Box<[Padded<WorkerState>]>,
    /// Changed by callers that open or close a pipeline; workers look stages up.
    pipelines: Mutex<Pipelines>,
    /// Number of open pipelines: with one, virtual time needs no clock. Changed and read by callers.
    count: AtomicUsize,
    /// Number of pipelines closed so far. Raised by callers, read by workers.
    closed_epoch: AtomicU64,
    /// Whether the workers must end. Set once, by the thread that drops the pool.
    closed: AtomicBool,
    /// A worker that has seen a closed pipeline notifies the caller that closes it.
    seen: (Mutex<()>, Condvar),
    /// Never changes.
    tracer: Option<Arc<dyn Tracer>>,
    /// The number of the pool in events. Never changes.
    number: u64,
}

pub(crate) type StageList = Vec<(StageName, Arc<dyn AnyStage>)>;

struct Pipelines {
    stages: BTreeMap<u64, StageList>,
    /// Number of the pipeline opened last. The first is 1.
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

    /// The time of the tracer's clock; 0 without one.
    pub(crate) fn now(&self) -> u64 {
        self.tracer().map_or(0, Tracer::now)
    }

    /// Adds a pipeline. Returns its number and the virtual time at which it begins.
    pub(crate) fn open_pipeline(&self, stages: StageList) -> (u64, u64) {
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

    /// Drops the queued jobs of a pipeline whose stages are already marked as closed, and waits for its running jobs. Workers
    /// then drop their tools for it; a worker that runs a job of another pipeline does so after that job.
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

    /// Treats all pipelines, closed now or later, as seen by every worker.
    #[cfg(test)]
    pub(crate) fn forget_workers(&self) {
        self.workers.iter().for_each(|worker| worker.0.set_seen_epoch(u64::MAX));
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Drops every job and ends the workers.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.scheduler.queues.clear_all();
        self.scheduler.wake_all();
    }

    pub(crate) fn push(&self, queue: usize, owner: Owner, entry: QueuedJob<JobRef>) {
        self.scheduler.push(queue, owner, entry);
    }

    /// Takes the earliest queued job of `pipeline`, for its caller.
    pub(crate) fn take_of(&self, pipeline: u64, worker: &WorkerState) -> Option<TakenJob<JobRef>> {
        self.scheduler.queues.take_of(pipeline, &Taker { worker, clock: self.tracer() })
    }

    /// Whether several pipelines share the workers.
    pub(crate) fn is_shared(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 1
    }

    /// Counters of the queues, and the waiting times of all jobs.
    pub(crate) fn queue_stats(&self) -> (Vec<QueueStats>, Histogram) {
        self.scheduler.stats()
    }

    pub(crate) fn worker_stats(&self) -> Vec<WorkerStats> {
        self.workers.iter().map(|worker| worker.0.stats()).collect()
    }
}
