//! Parallel maps with the errors of this crate.

use packline_engine::{Consumer, OrderedMap, Pool, Task};
use packline_runtime::memory::{Grant, MemoryPlan, Shortage, fewer_workers};
use packline_runtime::of_fault;

use crate::Error;
use packline_runtime::{Observer, Resources};

/// Granted workers and memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) workers: usize,
    /// Bytes in flight.
    pub(crate) window: usize,
}

/// As many workers as fit, and `window` bytes in flight for each, or what is left.
///
/// # Errors
/// [`Error::Memory`] if not even one worker fits.
pub(crate) fn plan(
    demand: &MemoryPlan,
    window: u64,
    what: &str,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Plan, Error> {
    let wanted = resources.workers;
    let granted = demand.plan(resources.memory, wanted);
    let Grant { workers, left } =
        granted.map_err(|Shortage { allowed, needed }| Error::Memory { allowed, needed, what: what.to_string() })?;
    if let Some(message) = fewer_workers(workers, wanted, resources.memory) {
        observer.warning(&message);
    }
    let window = window.saturating_mul(workers.max(1) as u64).min(left);
    Ok(Plan { workers, window: usize::try_from(window).unwrap_or(usize::MAX) })
}

/// Threads for maps.
///
/// # Errors
/// [`Error::Internal`] if threads cannot be started.
pub(crate) fn pool(workers: usize, resources: &Resources) -> Result<Pool, Error> {
    let config = resources.engine.sized(workers, 0, &resources.cancel);
    config.pool().map_err(|cause| Error::Internal(format!("cannot start the workers: {cause}")))
}

/// A map on these threads.
pub(crate) fn map<T: Task<Error = Error>>(pool: &Pool, task: T, window: usize, resources: &Resources) -> OrderedMap<T> {
    OrderedMap::on(pool, task, resources.engine.sized(pool.workers(), window, &resources.cancel))
}

/// The earlier error: that of a job in flight, or `error`, which is of the source of the jobs or has stopped the map.
pub(crate) fn first<T: Task<Error = Error>>(
    map: &mut OrderedMap<T>,
    consumer: &mut dyn Consumer<T>,
    error: Error,
) -> Error {
    match map.drain(consumer) {
        Ok(()) | Err(packline_engine::Fault::Stopped) => error,
        Err(earlier) => of_fault(earlier),
    }
}
