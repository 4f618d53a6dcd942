//! How a pipeline is set up.

use std::io;
use std::sync::Arc;

use crate::{CancelToken, Policy, Pool, QueueDomain, StatsSink, Topology, Tracer};

/// How an [`OrderedMap`](crate::OrderedMap) or a [`Pipeline`](crate::Pipeline) is set up. None of it changes its results.
///
/// Made with [`Config::new`] and changed with struct update syntax, so that a further field breaks no caller.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Worker threads, started at once and kept. 0 starts none: every job runs on the caller's thread when it is submitted,
    /// without queues; this is the serial reference. Ignored when `pool` is set.
    pub workers: usize,
    /// Memory budget in bytes, any value: 0 lets one item through at a time.
    pub budget: usize,
    /// Stops the pipeline when set.
    pub cancel: CancelToken,
    /// How the workers find their jobs. Ignored when `pool` is set.
    pub scheduling: Scheduling,
    /// Workers shared with other pipelines, instead of new ones.
    pub pool: Option<Pool>,
    /// Whether the caller runs jobs of its own pipeline while it would otherwise sleep. Its steps still all run on its thread,
    /// and never inside a job.
    pub help_out: bool,
    /// Records timing events for this pipeline. Ignored for worker events when `pool` is set; the pool has its own tracer.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Receives the counters when the pipeline ends.
    pub stats: Option<StatsSink>,
}

impl Config {
    /// A pipeline of `workers` threads that keeps about `budget` bytes in flight, with a cancel token of its own.
    #[must_use]
    pub fn new(workers: usize, budget: usize) -> Self {
        Self { workers, budget, ..Self::default() }
    }

    /// The same with other workers, budget and cancel token.
    #[must_use]
    pub fn sized(&self, workers: usize, budget: usize, cancel: &CancelToken) -> Self {
        Self { workers, budget, cancel: cancel.clone(), ..self.clone() }
    }

    /// Threads that run jobs where there are `workers` of them, and so may each have a tool: the caller too, if it helps out or
    /// there are no workers.
    #[must_use]
    pub fn tool_count(&self, workers: usize) -> usize {
        (workers + usize::from(self.help_out)).max(1)
    }

    /// The pool that is set, or a new one.
    ///
    /// # Errors
    /// The system refuses to start a thread; none is left running then.
    pub fn pool(&self) -> io::Result<Pool> {
        match &self.pool {
            Some(pool) => Ok(pool.clone()),
            None => Pool::new(self.workers, &self.scheduling, self.tracer.clone()),
        }
    }
}

/// How workers find their jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Which workers share a run queue.
    pub queue_per: QueueDomain,
    /// Which queue a worker takes from.
    pub policy: Policy,
    /// Where the workers' processors are.
    pub topology: Topology,
}

impl Scheduling {
    /// The queue of each of `workers` workers.
    pub(crate) fn queues(&self, workers: usize) -> Vec<usize> {
        self.topology.queues(self.queue_per, workers)
    }
}
