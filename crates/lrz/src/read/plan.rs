//! Division of the memory limit.

use packline_runtime::MemoryFault;

use crate::{Error, Resources};

/// Bytes of plain data that are written at a time.
pub(super) const SLAB: usize = 1 << 20;
/// Upper bound for the slabs that wait for their checksums.
pub(super) const SUMS_AHEAD: usize = 8;
/// Lower bound for the slabs of history.
pub(super) const HISTORY_LEAST: usize = 2;
/// Minimum memory of the blocks of a stream, in bytes.
const BLOCKS_LEAST: usize = 1 << 20;
/// Memory of everything except blocks and history: slabs in flight, buffers, stacks of threads.
const FIXED: u64 = (SUMS_AHEAD as u64 + 6) << 20;
/// Memory of the blocks of each stream in flight if there is no limit, in bytes.
const BLOCKS_FREELY: u64 = 1 << 30;

/// Minimum memory of decompression, in bytes.
const LEAST: u64 = FIXED + 2 * BLOCKS_LEAST as u64 + (HISTORY_LEAST * SLAB) as u64;

/// The memory of each part, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// The complete limit.
    pub(super) allowed: u64,
    /// Memory of each stream's blocks that are being decoded or wait to be used.
    pub(super) blocks: [usize; 2],
    /// The number of slabs of plain data in memory, for matches.
    pub(super) history: usize,
}

impl Plan {
    /// Divides the allowed memory.
    ///
    /// # Errors
    /// [`Error::Memory`] if the limit is below the minimum.
    pub(super) fn new(resources: &Resources) -> Result<Plan, Error> {
        match resources.memory {
            None => Ok(Plan { allowed: u64::MAX, blocks: [BLOCKS_FREELY as usize; 2], history: usize::MAX }),
            Some(allowed) if allowed < LEAST => {
                Err(Error::Memory(MemoryFault { allowed, needed: LEAST, what: "decompression".into() }))
            }
            Some(allowed) => Ok(Plan::of(allowed)),
        }
    }

    fn of(allowed: u64) -> Plan {
        // Memory beyond the minimum of each part.
        let spare = allowed.saturating_sub(LEAST);
        let share = |eighths: u64| usize::try_from(spare / 8 * eighths).unwrap_or(usize::MAX);
        let blocks = [share(1), share(3)].map(|share| share.saturating_add(BLOCKS_LEAST));
        Plan { allowed, blocks, history: HISTORY_LEAST + share(4) / SLAB }
    }

    /// Returns the memory available to a block of a stream if the history is reduced, while a block of the other stream uses `other` bytes.
    fn available_for(&self, stream: usize, other: u64) -> u64 {
        let lent = other.saturating_sub(self.blocks[1 - stream] as u64);
        let history = (self.history - HISTORY_LEAST).saturating_mul(SLAB);
        (self.blocks[stream].saturating_add(history) as u64).saturating_sub(lent)
    }

    /// Returns the minimum limit for a block of a stream that needs `bytes`, while a block of the other stream uses `other` bytes.
    pub(super) fn allowed_for(stream: usize, bytes: u64, other: u64) -> u64 {
        // Bisection works because the parts grow with the limit. Each stream gets at least an eighth of the variable part.
        let mut less = LEAST - 1;
        let mut enough = LEAST.saturating_add(bytes.saturating_add(other).saturating_mul(8));
        while enough - less > 1 {
            let middle = less + (enough - less) / 2;
            if Plan::of(middle).available_for(stream, other) >= bytes { enough = middle } else { less = middle }
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(allowed: u64) -> Result<Plan, Error> {
        Plan::new(&Resources::new(0).memory_limit(allowed))
    }

    #[test]
    fn rejects_limits_below_the_minimum() {
        assert!(
            matches!(plan(LEAST - 1), Err(Error::Memory(MemoryFault { allowed, needed: LEAST, .. })) if allowed == LEAST - 1)
        );
        let plan = plan(LEAST).unwrap();
        let sum = FIXED + (plan.blocks[0] + plan.blocks[1] + plan.history * SLAB) as u64;
        assert_eq!(sum, LEAST);
    }

    #[test]
    fn shares_do_not_exceed_the_limit() {
        for allowed in [32 << 20, 100 << 20, 1 << 30, 1 << 40] {
            let plan = plan(allowed).unwrap();
            let sum = FIXED + (plan.blocks[0] + plan.blocks[1] + plan.history * SLAB) as u64;
            assert!(sum <= allowed && sum > allowed * 7 / 8, "{sum} of {allowed}");
        }
    }

    #[test]
    fn allowed_for_is_the_smallest_sufficient_limit() {
        for stream in 0..2 {
            for (bytes, other) in [(0, 0), (1 << 20, 0), (5 << 20, 9 << 20), (159 << 20, 159 << 20), ((3 << 30) + 1, 1)]
            {
                let needed = Plan::allowed_for(stream, bytes, other);
                assert!(plan(needed).unwrap().available_for(stream, other) >= bytes, "{stream} {bytes}");
                let less = plan(needed - 1);
                assert!(
                    !less.is_ok_and(|less| less.available_for(stream, other) >= bytes),
                    "{stream} {bytes}: {needed} is not the least"
                );
            }
        }
        assert_eq!(Plan::allowed_for(0, u64::MAX, 0), u64::MAX);
    }
}
