//! Plans: each party of an operation states a [`Demand`], and [`Limits`] turns the sum of the demands into workers and bytes in flight, within
//! a limit on the memory of the process. A plan changes no byte of an output.

use std::iter::Sum;
use std::ops::Add;

/// Resident bytes of a process before any work: code, the stacks of the caller and of readers, output buffers, the allocator's
/// slack. Measured, and rounded up.
pub const BASE: u64 = 12 << 20;
/// Bytes of a thread's stack and of the allocator's arena for it.
pub const THREAD: u64 = 1 << 20;

/// Memory in bytes that one party of an operation needs in addition to [`BASE`]. The demands of parties that run at the same time are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// Memory that does not depend on the number of workers.
    pub fixed: u64,
    /// Tools and buffers of one worker, and of a caller that works too.
    pub per_worker: u64,
    /// Minimum in flight.
    pub window: u64,
    /// Minimum in flight for each worker, besides `window`.
    pub window_per_worker: u64,
}

impl Demand {
    /// The demand of a party that does nothing on the workers.
    pub fn fixed(bytes: u64) -> Demand {
        Demand { fixed: bytes, ..Demand::default() }
    }
}

impl Add for Demand {
    type Output = Demand;

    fn add(self, other: Demand) -> Demand {
        Demand {
            fixed: self.fixed.saturating_add(other.fixed),
            per_worker: self.per_worker.saturating_add(other.per_worker),
            window: self.window.saturating_add(other.window),
            window_per_worker: self.window_per_worker.saturating_add(other.window_per_worker),
        }
    }
}

impl Sum for Demand {
    fn sum<I: Iterator<Item = Demand>>(demands: I) -> Demand {
        demands.fold(Demand::default(), Add::add)
    }
}

/// Upper bounds of an operation, and how workers share the memory with content in flight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Workers wanted; 0 for none.
    pub workers: usize,
    /// Maximum resident bytes of the process; `None` for no limit.
    pub memory: Option<u64>,
    /// Whether the caller has tools too, besides those of the workers.
    pub caller_works: bool,
    /// Whether workers beyond the first take at most half of the spare memory, so that content in flight can grow too.
    pub keeps_half: bool,
}

/// Workers and memory granted by a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Workers.
    pub workers: usize,
    /// Bytes that are left for content in flight; `u64::MAX` without a limit.
    pub left: u64,
}

/// Workers of a parallel map, and what may be in flight in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapPlan {
    /// Workers.
    pub workers: usize,
    /// Bytes in flight.
    pub window: usize,
}

impl Grant {
    /// All workers granted, with `window` bytes in flight or what is left.
    #[must_use]
    pub fn in_flight(self, window: u64) -> MapPlan {
        MapPlan { workers: self.workers, window: usize::try_from(window.min(self.left)).unwrap_or(usize::MAX) }
    }
}

/// A limit is too small for the fewest workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes allowed.
    pub allowed: u64,
    /// The smallest amount that is enough, in bytes.
    pub needed: u64,
}

impl Limits {
    /// As many workers as fit: at least one, or none if none is wanted.
    ///
    /// # Errors
    /// [`Shortage`] if not even one worker fits.
    pub fn grant(&self, demand: Demand) -> Result<Grant, Shortage> {
        let fewest = self.needed(demand, self.workers.min(1));
        let times = if self.keeps_half { 2 } else { 1 };
        let workers = self.most_workers(|workers| {
            fewest.saturating_add((self.needed(demand, workers) - fewest).saturating_mul(times))
        })?;
        let grant = Grant { workers, left: self.memory.map_or(u64::MAX, |limit| limit - self.taken(demand, workers)) };
        self.log_grant(demand, grant);
        Ok(grant)
    }

    fn log_grant(&self, demand: Demand, grant: Grant) {
        log::debug!(
            "memory: {} of {} workers granted: limit {}; needed are {} for the process, {} for data structures, {} for each worker, {} in \
             flight; left are {}",
            grant.workers,
            self.workers,
            self.memory.map_or_else(|| "none".to_string(), in_mib),
            in_mib(BASE),
            in_mib(demand.fixed),
            in_mib(THREAD.saturating_add(demand.per_worker)),
            in_mib(demand.window.saturating_add(demand.window_per_worker.saturating_mul(grant.workers as u64))),
            if grant.left == u64::MAX { "no limit".to_string() } else { in_mib(grant.left) },
        );
    }

    /// Bytes beyond what the fewest workers need; `u64::MAX` without a limit. `demand` returns the demand for a limit, with which the demand
    /// may grow.
    ///
    /// # Errors
    /// [`Shortage`] if not even one worker fits. The limit that it names is enough for the demand that comes with that limit.
    pub fn spare(&self, demand: impl Fn(Option<u64>) -> Demand) -> Result<u64, Shortage> {
        let needs = |limit| self.needed(demand(limit), self.workers.min(1));
        let Some(allowed) = self.memory else { return Ok(u64::MAX) };
        let needed = needs(self.memory);
        allowed
            .checked_sub(needed)
            .ok_or_else(|| Shortage { allowed, needed: enough(needed, |limit| needs(Some(limit))) })
    }

    /// As many workers as need at most the limit: at least one, or none if none is wanted. `needs` returns bytes, which must not fall with the
    /// number of workers.
    ///
    /// # Errors
    /// [`Shortage`] if not even one worker fits.
    pub fn most_workers(&self, needs: impl Fn(usize) -> u64) -> Result<usize, Shortage> {
        let Some(allowed) = self.memory else { return Ok(self.workers) };
        let fewest = self.workers.min(1);
        let found = (fewest..=self.workers).rev().find(|&workers| needs(workers) <= allowed);
        found.ok_or_else(|| Shortage { allowed, needed: needs(fewest) })
    }

    /// Threads that have tools where `workers` run.
    pub fn tools(&self, workers: usize) -> u64 {
        (workers + usize::from(self.caller_works)).max(1) as u64
    }

    /// Bytes that `workers` take with nothing in flight.
    pub fn taken(&self, demand: Demand, workers: usize) -> u64 {
        BASE.saturating_add(demand.fixed)
            .saturating_add(THREAD.saturating_mul(workers as u64))
            .saturating_add(demand.per_worker.saturating_mul(self.tools(workers)))
    }

    /// The smallest limit in bytes at which all `workers` have work.
    pub fn needed(&self, demand: Demand, workers: usize) -> u64 {
        let window = demand.window.saturating_add(demand.window_per_worker.saturating_mul(workers as u64));
        self.taken(demand, workers).saturating_add(window)
    }
}

/// Returns a number of bytes as text for log messages.
#[must_use]
pub fn in_mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Returns the fewest workers that do the work of `wanted` workers, as text: `1 worker`, or `0 workers` if none is wanted.
#[must_use]
pub fn fewest_workers(wanted: usize) -> &'static str {
    if wanted == 0 { "0 workers" } else { "1 worker" }
}

/// Returns a size as people type it, rounded up: `29M`.
#[must_use]
pub fn size_at_least(bytes: u64) -> String {
    let (shift, unit) = unit_of(bytes);
    format!("{}{unit}", bytes.div_ceil(1 << shift))
}

/// Returns a size as people type it, rounded down.
#[must_use]
pub fn size_at_most(bytes: u64) -> String {
    let (shift, unit) = unit_of(bytes);
    format!("{}{unit}", bytes >> shift)
}

/// Returns the largest unit that divides the size or is at most a tenth of it, so that rounding adds at most 10 %.
fn unit_of(bytes: u64) -> (u32, char) {
    let units = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
    let fits = |shift: u32| bytes >> shift >= 10 || bytes != 0 && bytes.trailing_zeros() >= shift;
    units.into_iter().find(|&(shift, _)| fits(shift)).unwrap_or((0, 'B'))
}

/// The smallest limit, at least `least` bytes, that is enough for a need that grows with the limit. `needs` must grow more slowly than the
/// limit.
pub fn enough(least: u64, needs: impl Fn(u64) -> u64) -> u64 {
    let mut limit = least;
    loop {
        let needed = needs(limit);
        if needed <= limit {
            return limit;
        }
        limit = needed;
    }
}

/// The warning for a user if a memory limit reduces the number of workers.
#[must_use]
pub(crate) fn fewer_workers(granted: usize, wanted: usize, limit: Option<u64>) -> Option<String> {
    let limit = limit.unwrap_or(u64::MAX);
    let limit = size_at_most(limit);
    let message =
        || format!("workers: {granted} instead of {wanted}: more do not fit into the memory limit of {limit}");
    (granted < wanted).then(message)
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand { fixed: 1 << 20, per_worker: 3 << 20, window: 2 << 20, window_per_worker: 2 << 20 };

    fn limits(workers: usize, memory: Option<u64>) -> impl Iterator<Item = Limits> {
        let of =
            move |number: u8| Limits { workers, memory, caller_works: number & 1 != 0, keeps_half: number & 2 != 0 };
        (0..4).map(of)
    }

    fn spare(limits: Limits) -> Result<u64, Shortage> {
        limits.spare(|_| DEMAND)
    }

    #[test]
    fn without_a_limit_everything_is_granted() {
        for limits in limits(64, None) {
            assert_eq!(limits.grant(DEMAND), Ok(Grant { workers: 64, left: u64::MAX }));
            assert_eq!(spare(limits), Ok(u64::MAX));
        }
    }

    #[test]
    fn the_amount_named_is_enough_and_one_byte_less_is_not() {
        for limits in [0, 1, 7].into_iter().flat_map(|wanted| limits(wanted, Some(0))) {
            let with = |memory| Limits { memory: Some(memory), ..limits };
            let Err(Shortage { allowed: 0, needed }) = limits.grant(DEMAND) else { panic!("granted") };
            assert_eq!(with(needed).grant(DEMAND).unwrap().workers, limits.workers.min(1));
            assert_eq!((spare(with(needed)), spare(with(needed + 5))), (Ok(0), Ok(5)));
            let short = Shortage { allowed: needed - 1, needed };
            assert_eq!((with(needed - 1).grant(DEMAND), spare(with(needed - 1))), (Err(short), Err(short)));
        }
    }

    #[test]
    fn the_limit_named_is_enough_for_a_demand_that_grows_with_it() {
        let growing = |limit: Option<u64>| Demand { fixed: limit.unwrap_or(0) / 5 + 7, ..DEMAND };
        let spare = |limit| Limits { workers: 2, memory: Some(limit), ..Limits::default() }.spare(growing);
        let Err(Shortage { allowed: 0, needed }) = spare(0) else { panic!("granted") };
        assert_eq!(spare(needed).unwrap(), 0);
        assert!(spare(needed - 1).is_err());
    }

    #[test]
    fn nothing_goes_over_the_limit_and_less_memory_means_fewer_workers() {
        for unlimited in limits(16, None) {
            let mut last = usize::MAX;
            for limit in (0..200u64).rev().map(|megabytes| megabytes << 20) {
                let limits = Limits { memory: Some(limit), ..unlimited };
                let Ok(Grant { workers, left }) = limits.grant(DEMAND) else { continue };
                assert!(workers <= last && limits.needed(DEMAND, workers) <= limit);
                assert_eq!(limits.taken(DEMAND, workers) + left, limit);
                last = workers;
            }
            assert_eq!(last, 1);
        }
    }

    #[test]
    fn a_caller_that_works_has_tools_too() {
        let alone = Limits::default();
        let helped = Limits { caller_works: true, ..alone };
        assert_eq!(helped.needed(DEMAND, 2), alone.needed(DEMAND, 2) + DEMAND.per_worker);
        assert_eq!(helped.needed(DEMAND, 0), alone.needed(DEMAND, 0));
    }

    #[test]
    fn absurd_demands_do_not_overflow() {
        let absurd = Demand { fixed: u64::MAX, per_worker: u64::MAX, window: u64::MAX, window_per_worker: u64::MAX };
        let limits = Limits { workers: 9, memory: Some(u64::MAX - 1), ..Limits::default() };
        assert!(limits.grant(absurd).is_err());
        assert_eq!(Limits { memory: Some(u64::MAX), ..limits }.grant(absurd + absurd).unwrap().left, 0);
    }

    #[test]
    fn a_user_is_warned_only_of_fewer_workers() {
        assert_eq!(fewer_workers(2, 2, None), None);
        assert!(
            fewer_workers(1, 2, Some(64 << 20))
                .unwrap()
                .starts_with("workers: 1 instead of 2: more do not fit into the memory limit of 64M")
        );
    }

    #[test]
    fn sizes_are_rounded_to_a_unit_of_at_most_a_tenth() {
        for (bytes, least, most) in [
            (0, "0B", "0B"),
            (1, "1B", "1B"),
            (1000, "1000B", "1000B"),
            (1 << 10, "1K", "1K"),
            (10_241, "11K", "10K"),
            (131_072, "128K", "128K"),
            (1 << 20, "1M", "1M"),
            ((1 << 20) + 1, "1025K", "1024K"),
            (30_133_064, "29M", "28M"),
            (3 << 40, "3T", "3T"),
            (u64::MAX, "16777216T", "16777215T"),
        ] {
            assert_eq!((size_at_least(bytes), size_at_most(bytes)), (least.to_string(), most.to_string()));
        }
    }
}
