//! The parallel map that records go through.

use packline_engine::{Consumer, Fault, OrderedMap, Task};
use packline_runtime::of_fault;

use crate::memory::Plan;
use crate::{Error, Resources};

/// A map with the plan's workers and memory.
///
/// # Errors
/// [`Error::Internal`] if threads cannot be started.
pub(crate) fn map<T: Task<Error = Error>>(task: T, plan: Plan, resources: &Resources) -> Result<OrderedMap<T>, Error> {
    let map = OrderedMap::new(task, resources.engine.sized(plan.workers, plan.window, &resources.cancel));
    map.map_err(|cause| Error::Internal(format!("cannot start the workers: {cause}")))
}

/// The earlier error: that of a job in flight, or `error`, which is of the source of the jobs or has stopped the map.
pub(crate) fn first<T: Task<Error = Error>>(
    map: &mut OrderedMap<T>,
    consumer: &mut dyn Consumer<T>,
    error: Error,
) -> Error {
    match map.drain(consumer) {
        Ok(()) | Err(Fault::Stopped) => error,
        Err(earlier) => of_fault(earlier),
    }
}
