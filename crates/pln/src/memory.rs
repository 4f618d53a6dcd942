//! Distributes a limit on the whole process's memory among workers and records in flight. It does not affect the output.

use packline_runtime::memory::{MapPlan, MemoryPlan};

use crate::{Error, Observer, Resources};

/// Minimum useful memory in flight if the limit allows it.
const WINDOW_LEAST: u64 = 8 << 20;

/// Memory that an operation needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    /// Memory of one worker's tools, bytes.
    pub(crate) tool: u64,
    /// Memory of a record in flight, bytes.
    pub(crate) record: u64,
    /// Memory of the index, bytes.
    pub(crate) besides: u64,
    /// What needs the memory, for a message.
    pub(crate) what: &'static str,
}

impl Demand {
    /// As many of the workers wanted as fit, each with a record, and memory for more records in flight if there is some left.
    /// The observer is warned if workers are fewer than wanted.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even one worker fits (none, if none is wanted).
    pub(crate) fn plan(&self, resources: &Resources, observer: &mut dyn Observer) -> Result<MapPlan, Error> {
        let granted = resources.grant(&self.memory(resources), observer);
        let granted = granted
            .map_err(|shortage| shortage.of(format!("{} with {} worker", self.what, resources.workers.min(1))))?;
        Ok(granted.in_flight(self.record.saturating_mul(4 * granted.workers as u64 + 1).max(WINDOW_LEAST)))
    }

    /// Each worker has a record, and one more is read or written at the same time.
    fn memory(&self, resources: &Resources) -> MemoryPlan {
        MemoryPlan {
            extra: self.besides,
            per_worker: self.tool,
            caller_works: resources.engine.help_out,
            min_window: self.record,
            window_per_worker: self.record,
            keeps_half: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;

    const DEMAND: Demand = Demand { tool: 3 << 20, record: 2 << 20, besides: 1 << 20, what: "a test" };

    fn plan(workers: usize, memory: Option<u64>) -> Result<MapPlan, Error> {
        DEMAND.plan(&Resources::new(workers).memory_limit(memory), &mut Unobserved)
    }

    #[test]
    fn without_a_limit_everything_is_granted() {
        assert_eq!(plan(64, None).unwrap(), MapPlan { workers: 64, window: (257 * 2) << 20 });
    }

    #[test]
    fn nothing_goes_over_the_limit_and_each_worker_has_a_record() {
        let memory = DEMAND.memory(&Resources::new(0));
        for workers in [0, 1, 7] {
            for limit in (0..100).map(|step| memory.least(workers.min(1)) + (step << 20)) {
                let plan = plan(workers, Some(limit)).unwrap();
                assert!(memory.fixed(plan.workers) + plan.window as u64 <= limit);
                assert!(plan.window as u64 >= DEMAND.record * (plan.workers as u64 + 1));
            }
        }
    }
}
