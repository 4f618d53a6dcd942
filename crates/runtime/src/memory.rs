//! The number of workers for a limit on the memory of the whole process. It changes no byte of an output.

/// Resident bytes of a process before any work: code, the stacks of the caller and of readers, output buffers, the allocator's
/// slack. Measured, and rounded up.
pub const BASE: u64 = 12 << 20;
/// Bytes of a thread's stack and of the allocator's arena for it.
pub const THREAD: u64 = 1 << 20;

/// Bytes of memory that a kind of work needs besides [`BASE`].
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryPlan {
    /// Whatever the number of workers.
    pub extra: u64,
    /// Tools and buffers of one worker.
    pub per_worker: u64,
    /// Whether the caller has tools too, beside those of the workers.
    pub caller_works: bool,
    /// The least that is in flight.
    pub min_window: u64,
    /// The least that is in flight more for each worker.
    pub window_per_worker: u64,
    /// Whether workers beyond the first take at most half of what is spare, so that what is in flight can grow too.
    pub keeps_half: bool,
}

/// Workers and memory granted by a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Workers.
    pub workers: usize,
    /// Bytes that are left for what is in flight; `u64::MAX` without a limit.
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
    /// Smallest amount that works, bytes.
    pub needed: u64,
}

impl MemoryPlan {
    /// As many of the workers `wanted` as fit: one at least, or none if none is wanted.
    ///
    /// # Errors
    /// [`Shortage`] if the fewest do not fit.
    pub fn plan(&self, limit: Option<u64>, wanted: usize) -> Result<Grant, Shortage> {
        let fewest = wanted.min(1);
        let beyond = |workers| self.least(workers) - self.least(fewest);
        let times = if self.keeps_half { 2 } else { 1 };
        let needs = |workers| self.least(fewest).saturating_add(beyond(workers).saturating_mul(times));
        let workers = most_workers(limit, wanted, needs)?;
        Ok(Grant { workers, left: limit.map_or(u64::MAX, |limit| limit - self.fixed(workers)) })
    }

    /// Bytes beyond what the fewest workers need; `u64::MAX` without a limit.
    ///
    /// # Errors
    /// [`Shortage`] if not even they fit.
    pub fn spare(&self, limit: Option<u64>, wanted: usize) -> Result<u64, Shortage> {
        let (Some(allowed), needed) = (limit, self.least(wanted.min(1))) else { return Ok(u64::MAX) };
        allowed.checked_sub(needed).ok_or(Shortage { allowed, needed })
    }

    /// Bytes that so many workers take with nothing in flight.
    pub fn fixed(&self, workers: usize) -> u64 {
        let tools = (workers + usize::from(self.caller_works)).max(1) as u64;
        BASE.saturating_add(self.extra)
            .saturating_add(THREAD.saturating_mul(workers as u64))
            .saturating_add(self.per_worker.saturating_mul(tools))
    }

    /// The smallest limit with which so many workers have something to do.
    pub fn least(&self, workers: usize) -> u64 {
        let window = self.min_window.saturating_add(self.window_per_worker.saturating_mul(workers as u64));
        self.fixed(workers).saturating_add(window)
    }
}

/// The most of the workers `wanted` that need no more than `limit`, bytes: one at least, or none if none is wanted. `needs` must
/// not fall with the number of workers.
///
/// # Errors
/// [`Shortage`] if the fewest need more.
pub fn most_workers(limit: Option<u64>, wanted: usize, needs: impl Fn(usize) -> u64) -> Result<usize, Shortage> {
    let Some(allowed) = limit else { return Ok(wanted) };
    let fewest = wanted.min(1);
    let found = (fewest..=wanted).rev().find(|&workers| needs(workers) <= allowed);
    found.ok_or_else(|| Shortage { allowed, needed: needs(fewest) })
}

/// The warning for a user where a memory limit makes workers fewer.
#[must_use]
pub fn fewer_workers(granted: usize, wanted: usize, limit: Option<u64>) -> Option<String> {
    let limit = limit.unwrap_or(u64::MAX);
    let message =
        || format!("workers: {granted} instead of {wanted}: a memory limit of {limit} bytes has no room for more");
    (granted < wanted).then(message)
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const PLAN: MemoryPlan = MemoryPlan {
        extra: 1 << 20,
        per_worker: 3 << 20,
        caller_works: false,
        min_window: 2 << 20,
        window_per_worker: 2 << 20,
        keeps_half: false,
    };

    fn plans() -> impl Iterator<Item = MemoryPlan> {
        let of = |number: u8| MemoryPlan { caller_works: number & 1 != 0, keeps_half: number & 2 != 0, ..PLAN };
        (0..4).map(of)
    }

    #[test]
    fn without_a_limit_everything_is_granted() {
        assert!(plans().all(|plan| plan.plan(None, 64) == Ok(Grant { workers: 64, left: u64::MAX })));
        assert_eq!(PLAN.spare(None, 64), Ok(u64::MAX));
    }

    #[test]
    fn the_amount_named_is_enough_and_one_byte_less_is_not() {
        for (plan, wanted) in plans().flat_map(|plan| [0, 1, 7].map(|wanted| (plan, wanted))) {
            let Err(Shortage { allowed: 0, needed }) = plan.plan(Some(0), wanted) else { panic!("granted") };
            assert_eq!(plan.plan(Some(needed), wanted).unwrap().workers, wanted.min(1));
            assert_eq!((plan.spare(Some(needed), wanted), plan.spare(Some(needed + 5), wanted)), (Ok(0), Ok(5)));
            let short = Err(Shortage { allowed: needed - 1, needed });
            assert_eq!(
                (plan.plan(Some(needed - 1), wanted).err(), plan.spare(Some(needed - 1), wanted)),
                (short.err(), short)
            );
        }
    }

    #[test]
    fn nothing_goes_over_the_limit_and_less_memory_means_fewer_workers() {
        for plan in plans() {
            let mut last = usize::MAX;
            for limit in (0..200u64).rev().map(|megabytes| megabytes << 20) {
                let Ok(Grant { workers, left }) = plan.plan(Some(limit), 16) else { continue };
                assert!(workers <= last && plan.least(workers) <= limit && plan.fixed(workers) + left == limit);
                last = workers;
            }
            assert_eq!(last, 1);
        }
    }

    #[test]
    fn a_caller_that_works_has_tools_too() {
        let helped = MemoryPlan { caller_works: true, ..PLAN };
        assert_eq!(helped.least(2), PLAN.least(2) + PLAN.per_worker);
        assert_eq!(helped.least(0), PLAN.least(0));
    }

    #[test]
    fn absurd_demands_do_not_overflow() {
        let absurd = MemoryPlan {
            extra: u64::MAX,
            per_worker: u64::MAX,
            min_window: u64::MAX,
            window_per_worker: u64::MAX,
            ..PLAN
        };
        assert!(absurd.plan(Some(u64::MAX - 1), 9).is_err());
        assert_eq!(absurd.plan(Some(u64::MAX), 9).unwrap().left, 0);
    }

    #[test]
    fn a_user_is_warned_only_of_fewer_workers() {
        assert_eq!(fewer_workers(2, 2, None), None);
        assert!(
            fewer_workers(1, 2, Some(9)).unwrap().starts_with("workers: 1 instead of 2: a memory limit of 9 bytes")
        );
    }
}
