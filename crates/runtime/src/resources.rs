//! Workers, memory and temporary space.

use std::fs;
use std::path::PathBuf;

use packline_engine::{CancelToken, Config, OrderedMap, Pool, Task};

use crate::memory::{Demand, Limits, MapPlan, fewer_workers};
use crate::{MemoryFault, Observer, WorkFault};

/// From this number of workers on, threads of their own read a stream and write the output. With fewer workers they would only take turns
/// with the workers.
pub const MANY_WORKERS: usize = 3;

/// Returns a limit of this process by its name in `/proc/self/limits`, such as `Max open files`; `None` without this limit or without /proc.
/// getrlimit(2) would end the program where a filter of system calls forbids it.
#[must_use]
pub fn process_limit(name: &str) -> Option<u64> {
    limit_in(&fs::read_to_string("/proc/self/limits").ok()?, name)
}

/// A line has the name, the limit, the limit of the limit, and often a unit.
fn limit_in(limits: &str, name: &str) -> Option<u64> {
    let values = limits.lines().find_map(|line| line.strip_prefix(name))?;
    values.split_whitespace().next()?.parse().ok()
}

/// Limits on what the process may use, cancellation and scheduling. They change no byte of an output.
///
/// The default has one worker for each processor that this process may use (by its affinity and its cgroup's quota), and no
/// memory limit: the limit of a cgroup is not read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Resources {
    /// Worker threads; 0 does everything on the caller's thread.
    pub workers: usize,
    /// Bytes that the process may have resident at most; `None` for no limit.
    pub memory: Option<u64>,
    /// Bytes of content in flight at most; `None` for the default.
    pub window: Option<u64>,
    /// Directory for unnamed temporary files, for data that does not fit into memory. With `None`, such data is decoded again if
    /// possible; otherwise the operation fails.
    pub scratch: Option<PathBuf>,
    /// Stops the work when set.
    pub cancel: CancelToken,
    /// Scheduling, caller participation and tracing. Its `workers` and `budget` are ignored; the fields above apply.
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

    /// Sets the limit in bytes of the resident memory of the process; `None` for no limit.
    #[must_use]
    pub fn memory_limit(self, bytes: impl Into<Option<u64>>) -> Resources {
        Resources { memory: bytes.into(), ..self }
    }

    /// Sets the directory for unnamed temporary files.
    #[must_use]
    pub fn scratch_in(self, directory: impl Into<PathBuf>) -> Resources {
        Resources { scratch: Some(directory.into()), ..self }
    }

    /// Stops the work when the token, or a clone of it, is set.
    #[must_use]
    pub fn cancelled_by(self, token: &CancelToken) -> Resources {
        Resources { cancel: token.clone(), ..self }
    }

    /// The same resources with `bytes` less memory, which another party needs.
    #[must_use]
    pub fn with_less_memory(&self, bytes: u64) -> Resources {
        self.clone().memory_limit(self.memory.map(|limit| limit.saturating_sub(bytes)))
    }

    /// The limits that decide a plan.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { workers: self.workers, memory: self.memory, caller_works: self.engine.help_out, keeps_half: false }
    }

    /// Plans a map for a demand: as many workers as fit, and `window` bytes in flight for that number of workers, or what is left. The
    /// observer is warned if there are fewer workers than wanted.
    ///
    /// # Errors
    /// [`MemoryFault`] of `what` if not even one worker fits.
    pub fn plan(
        &self,
        demand: Demand,
        window: impl Fn(u64) -> u64,
        what: &str,
        observer: &mut dyn Observer,
    ) -> Result<MapPlan, MemoryFault> {
        let granted = self.limits().grant(demand).map_err(|shortage| shortage.of(what))?;
        self.warn_of_fewer(granted.workers, observer);
        Ok(granted.in_flight(window(granted.workers as u64)))
    }

    /// Warns the observer if `granted` workers are fewer than wanted. Returns whether it did.
    pub fn warn_of_fewer(&self, granted: usize, observer: &mut dyn Observer) -> bool {
        let message = fewer_workers(granted, self.workers, self.memory);
        if let Some(message) = &message {
            observer.warning(message);
        }
        message.is_some()
    }

    /// The configuration of a pipeline with `workers` and `window` bytes in flight.
    #[must_use]
    pub fn config(&self, workers: usize, window: usize) -> Config {
        self.engine.sized(workers, window, &self.cancel)
    }

    /// Workers that several maps share: the pool that is set, or a new one.
    pub fn pool(&self, workers: usize) -> Result<Pool, WorkFault> {
        self.config(workers, 0).pool().map_err(WorkFault::workers)
    }

    /// A parallel map with workers of its own.
    pub fn map<T: Task>(&self, task: T, plan: MapPlan) -> Result<OrderedMap<T>, WorkFault> {
        OrderedMap::new(task, self.config(plan.workers, plan.window)).map_err(WorkFault::workers)
    }

    /// A parallel map on `pool`, with `window` bytes in flight.
    pub fn map_on<T: Task>(&self, pool: &Pool, task: T, window: usize) -> OrderedMap<T> {
        OrderedMap::on(pool, task, self.config(pool.workers(), window))
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

#[cfg(test)]
mod tests {
    use super::{limit_in, process_limit};

    #[test]
    fn limits_are_found_by_their_names() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 524288               files\n\
                      Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(limit_in(limits, "Max open files"), Some(1024));
        assert_eq!(limit_in(limits, "Max address space"), None);
        assert_eq!(limit_in(limits, "Max of nothing"), None);
        assert!(process_limit("Max open files").is_none_or(|files| files > 8));
    }
}
