//! Division of a limit on the memory of the whole process: workers, and bytes for content in flight and for the tree.

use packline_engine::Config;
use packline_runtime::memory::{Grant, MemoryPlan, Shortage};
use packline_squashfs::min_window;

use crate::Error;

/// Minimum memory for the tree, bytes: a few thousand entries, and 1 MiB of the last tail ends.
const TREE_LEAST: u64 = 2 << 20;
/// Minimum default of content in flight, bytes.
const WINDOW_LEAST: u64 = 16 << 20;

/// Memory demands of a pack.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// Workers wanted; 0 for none.
    pub workers: usize,
    /// Whether the caller compresses besides the workers.
    pub engine: &'a Config,
    /// Bytes that the process may have resident, at most; `None` for no limit.
    pub limit: Option<u64>,
    /// Maximum bytes of content in flight; `None` for the default, which is never exceeded.
    pub window: Option<u64>,
    /// Block size, bytes.
    pub block_size: u32,
    /// Bytes that the tools of one worker take: encoders and scratch.
    pub tool: u64,
    /// Bytes that the source takes: read-ahead, decompressors.
    pub source: u64,
}

/// Bytes beyond what the fewest workers need, where the demand depends on the limit: the error names a limit that is enough.
///
/// # Errors
/// [`Error::Memory`] if not even they fit.
pub fn spare<'a>(demand: impl Fn(Option<u64>) -> Demand<'a>, limit: Option<u64>) -> Result<u64, Error> {
    demand(limit).spare().map_err(|mut error| {
        while let Error::Memory { needed, .. } = &mut error
            && let Err(Error::Memory { needed: more, .. }) = demand(Some(*needed)).spare()
            && more > *needed
        {
            *needed = more;
        }
        error
    })
}

/// What a limit grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Workers.
    pub workers: usize,
    /// Maximum bytes of content in flight.
    pub window: usize,
    /// Maximum bytes of content in flight and of the tree together.
    pub shared: usize,
}

impl Plan {
    /// Changes the memory of the source after the plan was made: from `granted` bytes to what it takes.
    pub fn exchange(&mut self, granted: u64, taken: u64) {
        self.shared = to_usize((self.shared as u64).saturating_add(granted).saturating_sub(taken));
    }
}

impl Demand<'_> {
    /// Grants as many of the workers wanted as fit with enough content in flight to keep them busy, and then the default of content in
    /// flight, or what is left if that is less.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even one worker fits (none, if none is wanted).
    pub fn plan(&self) -> Result<Plan, Error> {
        let Grant { workers, left } =
            self.memory().plan(self.limit, self.workers).map_err(|shortage| self.refused(shortage))?;
        let window = self.window(workers).min(left.saturating_sub(TREE_LEAST));
        Ok(Plan { workers, window: to_usize(window), shared: to_usize(left) })
    }

    /// Bytes beyond what the fewest workers need; all there are without a limit.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even they fit.
    pub fn spare(&self) -> Result<u64, Error> {
        self.memory().spare(self.limit, self.workers).map_err(|shortage| self.refused(shortage))
    }

    /// Half of the spare memory is kept for content in flight and the tree.
    fn memory(&self) -> MemoryPlan {
        MemoryPlan {
            extra: self.source,
            per_worker: self.tool,
            caller_works: self.engine.help_out,
            min_window: min_window(self.block_size) as u64 + TREE_LEAST,
            window_per_worker: 0,
            keeps_half: true,
        }
    }

    fn refused(&self, shortage: Shortage) -> Error {
        Error::memory(shortage, format!("{} worker and blocks of {} bytes", self.workers.min(1), self.block_size))
    }

    /// Bytes of content in flight without a limit: each worker can have two slabs of blocks waiting and two done.
    fn window(&self, workers: usize) -> u64 {
        let default = (8 * workers as u64 * u64::from(self.block_size)).max(WINDOW_LEAST);
        let default = default.max(2 * min_window(self.block_size) as u64);
        self.window.map_or(default, |window| window.min(default))
    }
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    static ALONE: LazyLock<Config> = LazyLock::new(Config::default);

    fn demand(workers: usize, limit: Option<u64>) -> Demand<'static> {
        Demand { workers, engine: &ALONE, limit, window: None, block_size: 128 << 10, tool: 2 << 20, source: 1 << 20 }
    }

    #[test]
    fn without_a_limit_everything_is_granted() {
        let plan = demand(2, None).plan().unwrap();
        assert_eq!(plan, Plan { workers: 2, window: 16 << 20, shared: usize::MAX });
        assert_eq!(demand(64, None).plan().unwrap().window, 64 << 20);
    }

    #[test]
    fn two_workers_fit_far_below_128_megabytes() {
        let plan = demand(2, Some(64 << 20)).plan().unwrap();
        assert_eq!((plan.workers, plan.window), (2, 16 << 20));
    }

    #[test]
    fn less_memory_means_fewer_workers_and_a_smaller_window() {
        let mut last = Plan { workers: usize::MAX, window: usize::MAX, shared: usize::MAX };
        for limit in (0..200u64).rev().map(|megabytes| megabytes << 20) {
            let Ok(plan) = demand(16, Some(limit)).plan() else { continue };
            assert!(plan.workers <= last.workers, "{limit}: {plan:?} after {last:?}");
            assert!(plan.window <= plan.shared && plan.window >= min_window(128 << 10));
            assert!(demand(16, None).memory().fixed(plan.workers) + plan.shared as u64 <= limit);
            last = plan;
        }
        assert_eq!(last.workers, 1);
    }

    #[test]
    fn a_window_that_is_asked_for_is_a_bound() {
        let asked = |window| Demand { window: Some(window), ..demand(2, None) }.plan().unwrap().window;
        assert_eq!(asked(1 << 20), 1 << 20);
        assert_eq!(asked(1 << 40), 16 << 20);
    }

    #[test]
    fn the_limit_named_is_enough_for_a_demand_that_grows_with_it() {
        let growing = |limit: Option<u64>| Demand { source: limit.unwrap_or(0) / 5 + 7, ..demand(2, limit) };
        let Err(Error::Memory { allowed: 0, needed, .. }) = spare(growing, Some(0)) else { panic!("granted") };
        assert_eq!(spare(growing, Some(needed)).unwrap(), 0);
        assert!(spare(growing, Some(needed - 1)).is_err());
    }

    #[test]
    fn absurd_demands_do_not_overflow() {
        let absurd = Demand { tool: u64::MAX, source: u64::MAX, ..demand(1 << 20, Some(u64::MAX)) };
        assert_eq!(absurd.plan().unwrap().window, 0);
        assert!(Demand { limit: Some(u64::MAX - 1), ..absurd }.plan().is_err());
    }
}
