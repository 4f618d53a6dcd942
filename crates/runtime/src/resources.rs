//! Workers, memory and temporary space.

use std::path::PathBuf;

use packline_engine::{CancelToken, Config, OrderedMap, Pool, Task};

use crate::memory::{Grant, MapPlan, MemoryPlan, Shortage, fewer_workers};
use crate::{Observer, WorkFault};

/// Limits on what the process may use, cancellation and scheduling. They change no byte of an output.
///
/// The default has a worker for each processor that this process may use, by its affinity and its cgroup's quota, and no limit of
/// memory: the limit of a cgroup is not read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Resources {
    /// Worker threads; 0 does everything on the caller's thread.
    pub workers: usize,
    /// Bytes that the process may have resident at most; `None` for no limit.
    pub memory: Option<u64>,
    /// Bytes of content in flight at most; `None` for the default.
    pub window: Option<u64>,
    /// Directory for unnamed temporary files, for data that memory has no room for; `None` for none: then such data is decoded
    /// again where that is possible, and an error elsewhere.
    pub scratch: Option<PathBuf>,
    /// Stops the work when set.
    pub cancel: CancelToken,
    /// Scheduling, caller participation and tracing. `workers` and `budget` in here are ignored; the fields above apply.
    pub engine: Config,
}

impl Resources {
    /// `workers` threads, without a limit on memory.
    #[must_use]
    pub fn new(workers: usize) -> Resources {
        let cancel = CancelToken::default();
        let engine = Config::default();
        Resources { workers, memory: None, window: None, scratch: None, cancel, engine }
    }

    /// Sets the limit on the memory that the process may have resident, bytes; `None` for no limit.
    #[must_use]
    pub fn memory_limit(self, bytes: impl Into<Option<u64>>) -> Resources {
        Resources { memory: bytes.into(), ..self }
    }

    /// As many workers as the limit on memory allows for such a demand. The observer is warned if there are fewer than wanted.
    ///
    /// # Errors
    /// Not even one worker fits.
    pub fn grant(&self, demand: &MemoryPlan, observer: &mut dyn Observer) -> Result<Grant, Shortage> {
        let granted = demand.plan(self.memory, self.workers)?;
        self.warn_of_fewer(granted.workers, observer);
        Ok(granted)
    }

    /// Warns the observer if `granted` workers are fewer than wanted.
    pub fn warn_of_fewer(&self, granted: usize, observer: &mut dyn Observer) {
        if let Some(message) = fewer_workers(granted, self.workers, self.memory) {
            observer.warning(&message);
        }
    }

    /// Workers that several maps share.
    ///
    /// # Errors
    /// [`WorkFault::Workers`].
    pub fn pool(&self, workers: usize) -> Result<Pool, WorkFault> {
        self.engine.sized(workers, 0, &self.cancel).pool().map_err(WorkFault::workers)
    }

    /// A parallel map with workers of its own.
    ///
    /// # Errors
    /// [`WorkFault::Workers`].
    pub fn map<T: Task>(&self, task: T, plan: MapPlan) -> Result<OrderedMap<T>, WorkFault> {
        OrderedMap::new(task, self.engine.sized(plan.workers, plan.window, &self.cancel)).map_err(WorkFault::workers)
    }

    /// A parallel map on `pool`, with `window` bytes in flight.
    pub fn map_on<T: Task>(&self, pool: &Pool, task: T, window: usize) -> OrderedMap<T> {
        OrderedMap::on(pool, task, self.engine.sized(pool.workers(), window, &self.cancel))
    }
}

impl Default for Resources {
    #[allow(
        clippy::disallowed_methods,
        reason = "a library's user expects all processors to be used; the output does not depend on it"
    )]
    fn default() -> Resources {
        Resources::new(std::thread::available_parallelism().map_or(1, usize::from))
    }
}
