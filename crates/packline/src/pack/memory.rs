//! The memory of a pack: workers, and bytes for content in flight and for the tree.

use packline_runtime::Resources;
use packline_runtime::memory::{Demand, Grant, Limits, Shortage, fewest_workers, size_at_most};

use super::image_options::ImageOptions;
use crate::error::Error;

/// Minimum memory for the tree, in bytes: a few thousand entries, and 1 MiB of the last tail ends.
const TREE_LEAST: u64 = 2 << 20;
/// Lower bound, in bytes, of the default for content in flight.
const WINDOW_LEAST: u64 = 16 << 20;

/// Upper bounds for the plan of a pack.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackLimits {
    limits: Limits,
    /// Maximum bytes of content in flight; `None` for the default, which is never exceeded.
    window: Option<u64>,
    /// The size of a block of content in bytes.
    block_size: u32,
    /// The smallest window in bytes that occupies all workers.
    min_window: u64,
}

/// The workers and the memory of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Workers.
    pub(crate) workers: usize,
    /// Maximum bytes of content in flight.
    pub(crate) window: usize,
    /// Maximum bytes of content in flight and of the tree together.
    pub(crate) shared: usize,
}

impl Plan {
    /// Changes the memory of the source after the plan was made: from `granted` to `taken` bytes.
    pub(super) fn exchange(&mut self, granted: u64, taken: u64) {
        self.shared = to_usize((self.shared as u64).saturating_add(granted).saturating_sub(taken));
    }
}

impl PackLimits {
    /// Half of the spare memory is kept for content in flight and the tree.
    pub(super) fn new(resources: &Resources, options: &ImageOptions) -> PackLimits {
        let limits = Limits { keeps_half: true, ..resources.limits() };
        let min_window = options.min_window() as u64;
        PackLimits { limits, window: resources.window, block_size: options.block_size(), min_window }
    }

    /// Bytes beyond what the parties need with the fewest workers. `demand` returns the demand of all parties for a limit; the limit that an
    /// error names is enough for the demand that comes with that limit.
    ///
    /// # Errors
    /// [`Error::Memory`] if the limit is too small.
    pub(super) fn spare(&self, demand: impl Fn(Option<u64>) -> Demand) -> Result<u64, Error> {
        let spare = self.limits.spare(|limit| demand(limit) + self.in_flight());
        spare.map_err(|shortage| self.too_small(shortage))
    }

    /// Grants as many of the workers wanted as fit with enough content in flight to keep them busy, and then the default of content in
    /// flight, or what is left if that is less.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even one worker fits (none, if none is wanted).
    pub(super) fn plan(&self, demand: Demand) -> Result<Plan, Error> {
        let granted = self.limits.grant(demand + self.in_flight());
        let Grant { workers, left } = granted.map_err(|shortage| self.too_small(shortage))?;
        let window = self.window(workers).min(left.saturating_sub(TREE_LEAST));
        Ok(Plan { workers, window: to_usize(window), shared: to_usize(left) })
    }

    fn in_flight(&self) -> Demand {
        Demand { window: self.min_window + TREE_LEAST, ..Demand::default() }
    }

    fn too_small(&self, shortage: Shortage) -> Error {
        let workers = fewest_workers(self.limits.workers);
        let what = format!("{workers} and blocks of {}", size_at_most(self.block_size.into()));
        Error::memory(shortage, what)
    }

    /// Bytes of content in flight without a limit: each worker can have two slabs of blocks waiting and two done.
    fn window(&self, workers: usize) -> u64 {
        let slabs = 8 * workers as u64 * u64::from(self.block_size);
        let default = slabs.max(WINDOW_LEAST).max(2 * self.min_window);
        self.window.map_or(default, |window| window.min(default))
    }
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_codec::Spec;
    use packline_runtime::MemoryFault;
    use packline_squashfs::Options;

    const DEMAND: Demand = Demand { fixed: 1 << 20, per_worker: 2 << 20, window: 0, window_per_worker: 0 };

    fn limits(workers: usize, memory: Option<u64>) -> PackLimits {
        PackLimits::new(&Resources::new(workers).memory_limit(memory), &Options::new(Spec::None).into())
    }

    fn plan(workers: usize, memory: Option<u64>) -> Result<Plan, Error> {
        limits(workers, memory).plan(DEMAND)
    }

    #[test]
    fn without_a_limit_everything_is_granted() {
        assert_eq!(plan(2, None).unwrap(), Plan { workers: 2, window: 16 << 20, shared: usize::MAX });
        assert_eq!(plan(64, None).unwrap().window, 64 << 20);
    }

    #[test]
    fn two_workers_fit_far_below_128_megabytes() {
        let plan = plan(2, Some(64 << 20)).unwrap();
        assert_eq!((plan.workers, plan.window), (2, 16 << 20));
    }

    #[test]
    fn less_memory_means_fewer_workers_and_a_smaller_window() {
        let mut last = Plan { workers: usize::MAX, window: usize::MAX, shared: usize::MAX };
        for limit in (0..200u64).rev().map(|megabytes| megabytes << 20) {
            let Ok(plan) = plan(16, Some(limit)) else { continue };
            assert!(plan.workers <= last.workers, "{limit}: {plan:?} after {last:?}");
            assert!(plan.window <= plan.shared && plan.window as u64 >= limits(16, None).min_window);
            assert!(limits(16, None).limits.taken(DEMAND, plan.workers) + plan.shared as u64 <= limit);
            last = plan;
        }
        assert_eq!(last.workers, 1);
    }

    #[test]
    fn a_requested_window_is_an_upper_bound() {
        let asked = |window| PackLimits { window: Some(window), ..limits(2, None) }.plan(DEMAND).unwrap().window;
        assert_eq!(asked(1 << 20), 1 << 20);
        assert_eq!(asked(1 << 40), 16 << 20);
    }

    #[test]
    fn the_limit_named_is_enough_for_a_demand_that_grows_with_it() {
        let growing = |limit: Option<u64>| Demand { fixed: limit.unwrap_or(0) / 5 + 7, ..DEMAND };
        let spare = |limit| limits(2, Some(limit)).spare(growing);
        let Err(Error::Memory(MemoryFault { allowed: 0, needed, .. })) = spare(0) else { panic!("granted") };
        assert_eq!(spare(needed).unwrap(), 0);
        assert!(spare(needed - 1).is_err());
    }

    #[test]
    fn absurd_demands_do_not_overflow() {
        let absurd = Demand { fixed: u64::MAX, per_worker: u64::MAX, ..DEMAND };
        let with = |memory| limits(1 << 20, Some(memory));
        assert_eq!(with(u64::MAX).plan(absurd + absurd).unwrap().window, 0);
        assert!(with(u64::MAX - 1).plan(absurd).is_err());
    }
}
