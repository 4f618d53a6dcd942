//! The configuration of a pipeline.

use std::io;
use std::sync::Arc;

use crate::{CancelToken, Policy, Pool, QueueDomain, StatsSink, Topology, Tracer};

/// The configuration of an [`OrderedMap`](crate::OrderedMap) or a [`Pipeline`](crate::Pipeline). No field changes the results.
///
/// Start from [`Config::new`] and use struct update syntax, so that a new field breaks no caller.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Worker threads, started at once and kept. With 0, every job runs on the caller's thread when it is submitted, without
    /// queues; this is the serial reference. Ignored when `pool` is set.
    pub workers: usize,
    /// Memory budget in bytes. Any value works: 0 admits one item at a time.
    pub budget: usize,
    /// Stops the pipeline when set.
    pub cancel: CancelToken,
    /// How the workers find their jobs. Ignored when `pool` is set.
    pub scheduling: Scheduling,
    /// Workers shared with other pipelines, instead of new ones.
    pub pool: Option<Pool>,
    /// Whether the caller runs jobs of its own pipeline while it would otherwise sleep. The caller's own steps (decide, commit)
    /// still run on its thread, and never inside a job.
    pub help_out: bool,
    /// Records timing events of this pipeline. When `pool` is set, the pool's own tracer records the workers' events.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Receives the counters when the pipeline ends.
    pub stats: Option<StatsSink>,
}

impl Config {
    /// `workers` threads, about `budget` bytes in flight, and a new cancel token.
    #[must_use]
    pub fn new(workers: usize, budget: usize) -> Self {
        Self { workers, budget, ..Self::default() }
    }

    #[must_use]
    pub fn sized(&self, workers: usize, budget: usize, cancel: &CancelToken) -> Self {
        Self { workers, budget, cancel: cancel.clone(), ..self.clone() }
    }

    /// Number of threads that may have a tool: `workers`, and the caller if it helps out or there are no workers.
    #[must_use]
    pub fn tool_count(&self, workers: usize) -> usize {
        (workers + usize::from(self.help_out)).max(1)
    }

    /// Returns `pool`, or starts a new pool.
    ///
    /// # Errors
    /// See [`Pool::new`].
    pub fn pool(&self) -> io::Result<Pool> {
        match &self.pool {
            Some(pool) => Ok(pool.clone()),
            None => Pool::new(self.workers, &self.scheduling, self.tracer.clone()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Which workers share a run queue.
    pub queue_per: QueueDomain,
    /// Which queue a worker takes from.
    pub policy: Policy,
    /// Locations of the workers' processors.
    pub topology: Topology,
}

impl Scheduling {
    pub(crate) fn queues(&self, workers: usize) -> Vec<usize> {
        self.topology.queues(self.queue_per, workers)
    }
}
