//! Divides a limit on the whole process's memory among workers and the columns that they work on. It does not affect the output.

use packline_runtime::memory::{MapPlan, MemoryPlan};
use packline_runtime::{Observer, Resources};

use crate::Error;
use crate::shape::UNIT;

/// Bytes of a column that are worth a read of their own; columns are not made narrower for the sake of more workers.
const NARROW: u64 = 4 << 10;

/// Workers and memory for a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) map: MapPlan,
    /// Bytes of a column.
    pub(crate) width: u64,
}

/// Memory of a pass over columns of one width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    /// Whatever the number of workers, bytes.
    pub(crate) besides: u64,
    /// Of one worker's tools.
    pub(crate) tool: u64,
    /// Of what a job makes.
    pub(crate) item: u64,
}

impl Demand {
    fn memory(&self, resources: &Resources) -> MemoryPlan {
        MemoryPlan {
            extra: self.besides,
            per_worker: self.tool,
            caller_works: resources.engine.help_out,
            min_window: self.item,
            window_per_worker: self.item,
            keeps_half: false,
        }
    }
}

/// The widest columns, of at most `widest` bytes, a multiple of [`UNIT`], with which all workers fit; narrow ones with fewer workers if
/// that is not possible.
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
    let limit = resources.memory;
    let wanted = resources.workers;
    let mut width = widest;
    loop {
        let demanded = demand(width);
        let memory = demanded.memory(resources);
        let all = limit.is_none_or(|limit| memory.least(wanted) <= limit);
        match memory.plan(limit, wanted) {
            Ok(granted) if all || width <= NARROW => {
                resources.warn_of_fewer(granted.workers, observer);
                let window = demanded.item.saturating_mul(2 * granted.workers as u64 + 1);
                return Ok(Plan { map: granted.in_flight(window), width });
            }
            Err(shortage) if width == UNIT => {
                return Err(shortage.of(what).into());
            }
            _ => width = (width / 2).next_multiple_of(UNIT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_runtime::Unobserved;

    fn planned(limit: u64, workers: usize) -> Result<Plan, Error> {
        let demand = |width| Demand { besides: 1 << 20, tool: 1000 * width, item: 100 * width };
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
