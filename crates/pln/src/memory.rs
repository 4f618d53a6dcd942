//! Plans the workers and the records in flight.

use packline_runtime::memory::{Demand, MapPlan, fewest_workers};

use crate::{Error, Observer, Resources};

/// Useful minimum for the bytes in flight, if the limit allows it.
const WINDOW_LEAST: u64 = 8 << 20;

/// Plans as many of the requested workers as fit, each with a record, and uses remaining memory for more records in flight. Warns the
/// observer if there are fewer workers than requested.
///
/// # Errors
/// [`Error::Memory`] if workers are requested and not even one fits.
pub(crate) fn plan(
    demand: Demand,
    what: &str,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<MapPlan, Error> {
    let what = format!("{what} with {}", fewest_workers(resources.workers));
    let window = |workers| demand.window.saturating_mul(4 * workers + 1).max(WINDOW_LEAST);
    Ok(resources.plan(demand, window, &what, observer)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;

    const RECORD: u64 = 2 << 20;
    const DEMAND: Demand = Demand { fixed: 1 << 20, per_worker: 3 << 20, window: RECORD, window_per_worker: RECORD };

    fn planned(workers: usize, memory: Option<u64>) -> Result<MapPlan, Error> {
        plan(DEMAND, "a test", &Resources::new(workers).memory_limit(memory), &mut Unobserved)
    }

    #[test]
    fn grants_all_workers_without_a_limit() {
        assert_eq!(planned(64, None).unwrap(), MapPlan { workers: 64, window: (257 * 2) << 20 });
    }

    #[test]
    fn never_exceeds_the_limit_and_each_worker_has_a_record() {
        let limits = Resources::new(0).limits();
        for workers in [0, 1, 7] {
            for limit in (0..100).map(|step| limits.needed(DEMAND, workers.min(1)) + (step << 20)) {
                let plan = planned(workers, Some(limit)).unwrap();
                assert!(limits.taken(DEMAND, plan.workers) + plan.window as u64 <= limit);
                assert!(plan.window as u64 >= RECORD * (plan.workers as u64 + 1));
            }
        }
    }
}
