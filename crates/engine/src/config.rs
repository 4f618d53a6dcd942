//! What a parallel line is made with.

use std::sync::Arc;

use crate::{CancelToken, Policy, Pool, Share, Tally, Topology, Tracer};

/// How a [`ParallelLine`](crate::ParallelLine) is set up. None of it changes what comes out of the line.
///
/// Made with [`Config::new`] and changed with struct update syntax, so that a field more breaks nobody.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Worker threads, started at once and kept. 0 starts none: jobs wait until the caller needs a result and then run
    /// on its own thread, always in the same order. A `pool` has its own number.
    pub workers: usize,
    /// Memory budget in bytes, any value: 0 lets one item through at a time.
    pub budget: usize,
    /// Stops the line when set.
    pub cancel: CancelToken,
    /// How the workers find their jobs. A `pool` has its own way.
    pub scheduling: Scheduling,
    /// Workers that other lines use too, instead of workers of its own.
    pub pool: Option<Pool>,
    /// Whether the caller runs jobs of its own line while it would otherwise sleep. Its steps still all run on its
    /// thread, and never inside a job.
    pub help_out: bool,
    /// A clock and a book for the line, and for the workers if they are its own; a `pool` has its own.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Gets what the line has counted when it ends.
    pub tally: Option<Tally>,
}

impl Config {
    /// A line of `workers` threads that keeps about `budget` bytes in flight, with a cancel token of its own.
    #[must_use]
    pub fn new(workers: usize, budget: usize) -> Self {
        Self { workers, budget, ..Self::default() }
    }

    /// The same for a line of so many workers and bytes, which `cancel` stops.
    #[must_use]
    pub fn sized(&self, workers: usize, budget: usize, cancel: &CancelToken) -> Self {
        Self { workers, budget, cancel: cancel.clone(), ..self.clone() }
    }

    /// Threads that run jobs where there are `workers` of them, and so may each have a tool: the caller too, if it helps out or
    /// there is nobody else.
    #[must_use]
    pub fn hands(&self, workers: usize) -> usize {
        (workers + usize::from(self.help_out)).max(1)
    }
}

/// How workers find their jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Whose workers share a run queue.
    pub share: Share,
    /// Which queue a worker takes from.
    pub policy: Policy,
    /// Where the workers are.
    pub topology: Topology,
    /// One plain queue instead of all this: the baseline of measurements.
    #[doc(hidden)]
    pub plain: bool,
}

impl Scheduling {
    /// The queue of each of `workers` workers.
    pub(crate) fn queues(&self, workers: usize) -> Vec<usize> {
        match self.plain {
            true => vec![0; workers],
            false => self.topology.queues(self.share, workers),
        }
    }
}
