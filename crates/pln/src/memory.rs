//! How memory is shared out: a limit on the whole process becomes workers and room in flight. None of it changes a byte.

use crate::{Error, Observer, Resources};

/// What the process takes before it does anything, and what nobody accounts for.
const BASE: u64 = 12 << 20;
/// A thread's stack and the allocator's arena for it.
const THREAD: u64 = 1 << 20;
/// The least that is worth having in flight where there is memory for it.
const WINDOW_LEAST: u64 = 8 << 20;

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    /// Bytes that the tools of one worker take.
    pub(crate) tool: u64,
    /// Bytes that a record takes in flight.
    pub(crate) record: u64,
    /// Bytes that are held besides: the index.
    pub(crate) besides: u64,
    /// For what, in a message.
    pub(crate) what: &'static str,
}

/// What there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) workers: usize,
    /// Bytes in flight.
    pub(crate) window: usize,
}

impl Demand {
    /// As many of the workers wanted as fit, each with a record, and room for more records in flight if there is some left.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even one worker fits (none, if none is wanted).
    pub(crate) fn plan(&self, resources: &Resources) -> Result<Plan, Error> {
        let wanted = resources.workers;
        let Some(allowed) = resources.memory else {
            return Ok(Plan { workers: wanted, window: to_usize(self.window(wanted)) });
        };
        let least = wanted.min(1);
        let granted = (least..=wanted).rev().find(|&workers| self.needed(workers, resources) <= allowed);
        let workers = granted.ok_or_else(|| Error::Memory {
            allowed,
            needed: self.needed(least, resources),
            what: format!("{} with {least} worker", self.what),
        })?;
        let left = allowed - self.fixed(workers, resources);
        Ok(Plan { workers, window: to_usize(self.window(workers).min(left)) })
    }

    /// The plan; who asked for more workers is told.
    ///
    /// # Errors
    /// As [`Demand::plan`].
    pub(crate) fn told(&self, resources: &Resources, observer: &mut dyn Observer) -> Result<Plan, Error> {
        let (plan, wanted) = (self.plan(resources)?, resources.workers);
        if let Some(limit) = resources.memory.filter(|_| plan.workers < wanted) {
            observer.warning(&format!(
                "workers: {} instead of {wanted}: a memory limit of {limit} bytes has no room for more",
                plan.workers
            ));
        }
        Ok(plan)
    }

    fn fixed(&self, workers: usize, resources: &Resources) -> u64 {
        let tools = self.tool.saturating_mul(resources.engine.tool_count(workers) as u64);
        BASE.saturating_add(self.besides).saturating_add(THREAD * workers as u64).saturating_add(tools)
    }

    /// Each worker has a record, and one more is read or written meanwhile.
    fn needed(&self, workers: usize, resources: &Resources) -> u64 {
        self.fixed(workers, resources).saturating_add(self.record.saturating_mul(workers as u64 + 1))
    }

    fn window(&self, workers: usize) -> u64 {
        self.record.saturating_mul(4 * workers as u64 + 1).max(WINDOW_LEAST)
    }
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand { tool: 3 << 20, record: 2 << 20, besides: 1 << 20, what: "a test" };

    fn resources(workers: usize, memory: Option<u64>) -> Resources {
        Resources { workers, memory, ..Resources::default() }
    }

    #[test]
    fn without_a_limit_everything_is_granted() {
        assert_eq!(DEMAND.plan(&resources(64, None)).unwrap(), Plan { workers: 64, window: (257 * 2) << 20 });
    }

    #[test]
    fn nothing_goes_over_the_limit_and_the_least_named_is_enough() {
        for workers in [0, 1, 7] {
            let Err(Error::Memory { needed, .. }) = DEMAND.plan(&resources(workers, Some(0))) else {
                panic!("granted")
            };
            assert!(DEMAND.plan(&resources(workers, Some(needed - 1))).is_err());
            assert_eq!(DEMAND.plan(&resources(workers, Some(needed))).unwrap().workers, workers.min(1));
            for limit in (0..100).map(|step| needed + (step << 20)) {
                let plan = DEMAND.plan(&resources(workers, Some(limit))).unwrap();
                assert!(DEMAND.fixed(plan.workers, &resources(0, None)) + plan.window as u64 <= limit);
                assert!(plan.window as u64 >= DEMAND.record * (plan.workers as u64 + 1));
            }
        }
    }

    #[test]
    fn absurd_demands_do_not_overflow() {
        let absurd = Demand { tool: u64::MAX, record: u64::MAX, besides: u64::MAX, what: "a test" };
        assert!(absurd.plan(&resources(9, Some(u64::MAX - 1))).is_err());
    }
}
