//! The caller's side of every pipeline: memory, waiting, counters, cancellation.

pub(crate) mod lane;
pub(crate) mod outbox;
pub(crate) mod stage;
pub(crate) mod submitter;
pub(crate) mod waker;

use std::sync::Arc;

use crate::caller::submitter::Submitter;
use crate::caller::waker::CallerWaker;
use crate::core::{Core, StageList};
use crate::scheduler::job_queues::Owner;
use crate::scheduler::run_queue::TakenJob;
use crate::scheduler::worker_state::WorkerState;
use crate::stats::run_stats::limit_of;
use crate::trace::CallerTrace;
use crate::worker::job::JobRef;
use crate::{
    Budget, CancelToken, Config, EventKind, Fault, Permit, Pool, QueueStats, RunStats, Stats, StatsSink, WorkerStats,
};

/// Only the caller's thread touches it, except the parts that are shared: `pool`, `waker`, `budget`, `cancel` and `sink`.
pub(crate) struct Caller {
    pool: Pool,
    pipeline: u64,
    waker: Arc<CallerWaker>,
    /// The caller's state as a thread that takes jobs.
    state: WorkerState,
    help_out: bool,
    pub(crate) budget: Budget,
    cancel: CancelToken,
    pub(crate) trace: CallerTrace,
    sink: Option<StatsSink>,
    /// The caller's own counters. Counters of the pool and the budget are added when the counters are read.
    pub(crate) counts: Stats,
    /// Set by an error, and while the user's code runs: if that code unwinds, the pipeline has stopped.
    pub(crate) stopped: bool,
}

/// The stages that a caller waits for.
pub(crate) trait Waiting {
    /// Asks the workers to wake the caller; false if a result that it waits for is done already.
    fn wait_for(&self, busy: usize) -> bool;
    /// The first job whose result has not been taken.
    fn head(&self, pipeline: u64) -> Option<(Owner, u64)>;
    /// Runs a job on the caller's thread.
    fn run(&mut self, core: &Core, home: usize, taken: TakenJob<JobRef>);
    /// Bytes of the engine's structures for the jobs in flight; 0 if none is. Without this count a million jobs of a few bytes
    /// each would take many times the memory they reserved.
    fn overhead(&self) -> usize;
}

impl Caller {
    /// Opens a pipeline of `stages` on `pool`. Returns its caller, and the caller's access to the queues.
    pub(crate) fn new(pool: &Pool, waker: Arc<CallerWaker>, stages: StageList, config: Config) -> (Self, Submitter) {
        let budget = Budget::with_waker(config.budget, Arc::clone(&waker));
        let (pipeline, time) = pool.core().open_pipeline(stages);
        let submitter = Submitter::new(pool.clone(), pipeline, time);
        let caller = Self {
            pool: pool.clone(),
            pipeline,
            waker,
            state: WorkerState::new(0),
            help_out: config.help_out,
            budget,
            cancel: config.cancel,
            trace: CallerTrace::new(config.tracer, pool.core().number(), pipeline),
            sink: config.stats,
            counts: Stats::default(),
            stopped: false,
        };
        (caller, submitter)
    }

    pub(crate) fn core(&self) -> &Core {
        self.pool.core()
    }

    /// Fails if the pipeline has stopped or is cancelled.
    pub(crate) fn check<E>(&self) -> Result<(), Fault<E>> {
        match (self.stopped, self.cancel.is_cancelled()) {
            (true, _) => Err(Fault::Stopped),
            (false, true) => Err(Fault::Cancelled),
            (false, false) => Ok(()),
        }
    }

    /// Runs the user's code; if it unwinds, the pipeline stays stopped.
    pub(crate) fn guarded<T, E>(&mut self, step: impl FnOnce() -> Result<T, E>) -> Result<T, Fault<E>> {
        self.stopped = true;
        let result = step();
        self.stopped = false;
        result.map_err(Fault::Work)
    }

    /// Takes memory if it fits. With nothing in flight only the user holds memory, so waiting would never end; the request is
    /// then granted.
    pub(crate) fn admit(&self, bytes: usize, stages: &dyn Waiting) -> Option<Permit> {
        match stages.overhead() {
            0 => Some(self.budget.take(bytes)),
            overhead => self.budget.try_take_beside(bytes, overhead),
        }
    }

    /// Waits until a result may be ready or `memory` bytes may fit.
    pub(crate) fn wait<E>(&mut self, stages: &mut dyn Waiting, memory: Option<usize>) -> Result<(), Fault<E>> {
        self.check()?;
        let begin = self.trace.now();
        let before = self.counts.waits;
        self.counts.waits += 1;
        if self.help_out && self.run_one(stages) {
            self.counts.helped += 1;
        } else {
            self.sleep(stages, memory);
            self.trace.record(EventKind::Wait, begin, before, 0);
        }
        self.check()
    }

    /// Runs the earliest queued job of the pipeline on the caller's thread. Returns false if none is queued.
    pub(crate) fn run_one(&mut self, stages: &mut dyn Waiting) -> bool {
        let Some(taken) = self.core().take_of(self.pipeline, &self.state) else { return false };
        stages.run(self.pool.core(), self.state.queue, taken);
        true
    }

    /// Sleeps until a worker wakes the caller. See [`CallerWaker`] for why the order of these steps loses no wake-up.
    fn sleep(&mut self, stages: &dyn Waiting, memory: Option<usize>) {
        self.waker.prepare();
        let busy = self.core().workers() * 2;
        let missing =
            stages.wait_for(busy) && memory.is_none_or(|bytes| self.budget.wait_for(bytes, stages.overhead()));
        if missing {
            self.counts.promoted += u64::from(self.promote_head(stages));
            self.counts.sleeps += u64::from(self.waker.sleep(&self.cancel));
        }
        self.waker.cancel();
        self.budget.cancel_wait();
    }

    /// Moves the job that the caller waits for ahead of the jobs of other pipelines.
    pub(crate) fn promote_head(&self, stages: &dyn Waiting) -> bool {
        let head = if self.core().is_shared() { stages.head(self.pipeline) } else { None };
        head.is_some_and(|(owner, ticket)| self.core().scheduler.queues.promote(owner, ticket).is_some())
    }

    /// Drops the queued jobs of the pipeline.
    pub(crate) fn clear(&self) {
        self.core().scheduler.queues.clear(self.pipeline);
    }

    /// All counters: `counts`, the pool's and the budget's.
    pub(crate) fn stats(&self, counts: &Stats) -> Stats {
        let (queues, waits) = self.core().queue_stats();
        let sum = |count: fn(&QueueStats) -> u64| queues.iter().map(count).sum();
        let workers = self.core().worker_stats();
        let (sleeper_locks, sleeper_contended) = self.core().scheduler.sleeper_locks();
        Stats {
            sleeper_locks,
            sleeper_contended,
            wakes: sum(|queue| queue.wakes),
            parks: workers.iter().map(|worker| worker.parks).sum(),
            locks: sum(|queue| queue.locks),
            contended: sum(|queue| queue.contended),
            steals: sum(|queue| queue.steals),
            longest_wait_ns: waits.longest(),
            p999_wait_ns: waits.p999(),
            idle_ns: workers.iter().map(|worker| worker.idle_ns).sum(),
            ..self.own_stats(counts)
        }
    }

    /// All counters except the pool's.
    fn own_stats(&self, counts: &Stats) -> Stats {
        Stats {
            stall_ns: self.trace.times.waited,
            reading_ns: self.trace.times.reading,
            deciding_ns: self.trace.times.deciding,
            committing_ns: self.trace.times.committing,
            bytes_in_flight: self.budget.used(),
            peak_bytes: self.budget.peak(),
            ..*counts
        }
    }

    pub(crate) fn queue_stats(&self) -> Vec<QueueStats> {
        self.core().queue_stats().0
    }

    pub(crate) fn worker_stats(&self) -> Vec<WorkerStats> {
        self.core().worker_stats()
    }

    /// Ends the pipeline, whose stages are closed: delivers the counters and waits for the jobs that run. The pool's counters
    /// are delivered once, by the last pipeline on it.
    pub(crate) fn close(&self, counts: &Stats) {
        if let Some(sink) = &self.sink {
            let budget = limit_of(&self.budget);
            sink.add(&if self.core().is_shared() {
                RunStats { pipeline: self.own_stats(counts), budget, ..RunStats::default() }
            } else {
                RunStats {
                    pipeline: self.stats(counts),
                    queues: self.queue_stats(),
                    workers: self.worker_stats(),
                    budget,
                }
            });
        }
        self.core().close_pipeline(self.pipeline);
    }
}
