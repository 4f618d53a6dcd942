//! A pass over a file or over columns of its shards: its memory, its parallel map, and the columns that it puts out.

use crate::format::shape::UNIT;
use crate::{Error, Shape};
use packline_engine::{Permit, Task};
use packline_runtime::memory::{Demand, MapPlan};
use packline_runtime::{Observer, Resources, Sink, TaskError, of_fault};

/// Bytes of a column that justify a separate read. Columns are not made narrower than this to allow more workers.
const NARROW: u64 = 4 << 10;

/// Workers and memory of a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    map: MapPlan,
    /// Bytes of a column.
    pub(crate) width: u64,
    /// Bytes of the result of a job.
    item: u64,
}

/// Returns the demand of a pass with `tool` bytes for each worker and jobs that return `item` bytes.
pub(crate) fn demand(fixed: u64, tool: u64, item: u64) -> Demand {
    Demand { fixed, per_worker: tool, window: item, window_per_worker: item }
}

/// Plans a pass with the widest columns, at most `widest` bytes and a multiple of [`UNIT`], that leave memory for all workers. If there are
/// none, narrow columns with fewer workers are planned. `demand` returns the memory for columns of a width.
///
/// # Errors
/// [`Error::Memory`] if not even one worker with the narrowest columns fits.
pub(crate) fn plan(
    demand: impl Fn(u64) -> Demand,
    widest: u64,
    what: &'static str,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Plan, Error> {
    let limits = resources.limits();
    let mut width = widest;
    loop {
        let demanded = demand(width);
        let all = limits.memory.is_none_or(|limit| limits.needed(demanded, limits.workers) <= limit);
        match limits.grant(demanded) {
            Ok(granted) if all || width <= NARROW => {
                resources.warn_of_fewer(granted.workers, observer);
                let item = demanded.window;
                let window = item.saturating_mul(2 * granted.workers as u64 + 1);
                return Ok(Plan { map: granted.in_flight(window), width, item });
            }
            Err(shortage) if width == UNIT => {
                return Err(shortage.of(what).into());
            }
            _ => width = (width / 2).next_multiple_of(UNIT),
        }
    }
}

/// Runs a task for each of `inputs`, and consumes the results in order. The memory of each input is reserved from its submission until its
/// [`Permit`] is dropped.
///
/// # Errors
/// Returns the first error of the task or of `consume`, or [`Error::Work`] if threads cannot be started.
pub(crate) fn for_each<I, T: Task<In = (I, Permit), Error = Error>>(
    task: T,
    plan: &Plan,
    resources: &Resources,
    inputs: impl Iterator<Item = I>,
    consume: &mut dyn FnMut(T::Out) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut map = resources.map(task, plan.map)?;
    let mut consumer = |out| consume(out);
    for input in inputs {
        let permit = map.reserve(plan.item as usize, &mut consumer).map_err(of_fault)?;
        map.submit((input, permit), &mut consumer).map_err(of_fault)?;
    }
    map.drain(&mut consumer).map_err(of_fault)
}

/// Columns of several shards, one after another.
pub(crate) struct Columns {
    /// Byte of a shard at which the columns begin.
    pub(crate) start: u64,
    /// Bytes of one column.
    pub(crate) width: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) _permit: Permit,
}

impl Columns {
    pub(crate) fn each(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.width as usize)
    }
}

/// Returns the start and width of each column of a recovery shard.
pub(crate) fn ranges(shape: &Shape, width: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
    let end = shape.parity_bytes();
    (0..end).step_by(width as usize).map(move |start| (start, width.min(end - start)))
}

/// Writes bytes at an offset of the sink.
///
/// # Errors
/// Returns [`Error::Output`] if the write fails.
pub(crate) fn put(sink: &mut dyn Sink, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    match sink.write_at(offset, bytes) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::internal("recovery data needs an output that is written at any offset".into())),
        Err(cause) => Err(Error::Output(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_runtime::Unobserved;

    fn planned(limit: u64, workers: usize) -> Result<Plan, Error> {
        let demand = |width| demand(1 << 20, 1000 * width, 100 * width);
        let resources = Resources::new(workers).memory_limit(limit);
        plan(demand, 32 << 10, "a test", &resources, &mut Unobserved)
    }

    #[test]
    fn columns_are_narrower_before_workers_are_fewer() {
        let of = |limit: u64| planned(limit << 20, 4).map(|plan| (plan.map.workers, plan.width)).unwrap();
        assert_eq!(of(1000), (4, 32 << 10));
        assert_eq!(of(100), (4, 16 << 10));
        assert_eq!(of(40), (4, 4 << 10));
        assert_eq!(of(25), (2, 4 << 10));
        assert!(of(15).1 < 4 << 10);
        assert!(matches!(planned(5 << 20, 4), Err(Error::Memory { .. })));
    }
}
