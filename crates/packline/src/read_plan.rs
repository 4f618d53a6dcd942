//! How memory is shared out when an image is read: a limit on the whole process becomes workers, a window and caches.

use crate::Error;

/// What the process takes before it does anything: code, stacks, the allocator's slack. Measured, and rounded up.
const BASE: u64 = 10 << 20;
/// A worker's stack and the allocator's arena of its thread.
const THREAD: u64 = 1 << 20;
/// Blocks that each worker can have before it and behind it, by default.
const BLOCKS_A_WORKER: u64 = 8;
/// The least window by default: small blocks are many.
const WINDOW_LEAST: u64 = 8 << 20;
/// Fragment blocks that are kept by default, where nothing limits memory.
const FRAGMENTS: u64 = 256 << 20;
/// Metadata that is kept by default.
const METADATA: u64 = 16 << 20;
/// The least metadata cache.
const METADATA_LEAST: u64 = 256 << 10;

/// Bytes of metadata to keep when an image is opened, before its block size and so the rest of the plan is known: what
/// [`ReadPlan::metadata`] comes to at most, and a sixteenth of the memory that is allowed.
pub fn metadata_cache(limit: Option<u64>) -> usize {
    limit.map_or(METADATA, |limit| (limit / 16).clamp(METADATA_LEAST, METADATA)) as usize
}

/// What reading would like to have.
#[derive(Debug, Clone, Copy)]
pub struct ReadDemand {
    /// Workers wanted; 0 for none.
    pub workers: usize,
    /// Bytes that the process may have resident, at most; `None` for no limit.
    pub limit: Option<u64>,
    /// Block size, bytes.
    pub block_size: u32,
    /// Bytes that the decoder of one worker takes.
    pub decoder: u64,
    /// Bytes that the command holds besides (a plan of the tree, output buffers).
    pub besides: u64,
}

/// What it gets, bytes but for `workers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadPlan {
    /// Workers.
    pub workers: usize,
    /// Decoded blocks on their way at once.
    pub window: usize,
    /// Fragment blocks kept for files to come.
    pub fragments: usize,
    /// Decompressed metadata kept.
    pub metadata: usize,
}

impl ReadDemand {
    /// Shares the memory out: as many of the workers wanted as fit into half of what is spare; of the rest a quarter at most
    /// each for window and metadata, what is left for fragment blocks.
    ///
    /// # Errors
    /// [`Error::Memory`] if not even one worker (none, if none is wanted) and two blocks fit.
    pub fn plan(&self) -> Result<ReadPlan, Error> {
        let fewest = self.workers.min(1);
        let Some(limit) = self.limit else { return Ok(self.share(self.workers, u64::MAX)) };
        let needed = self.fixed(fewest).saturating_add(self.least());
        let spare = limit.checked_sub(needed).ok_or_else(|| Error::Memory {
            allowed: limit,
            needed,
            what: format!("{fewest} worker and blocks of {} bytes", self.block_size),
        })?;
        let fits = |workers: usize| self.fixed(workers) - self.fixed(fewest) <= spare / 2;
        let workers = (fewest..=self.workers).rev().find(|&workers| fits(workers)).unwrap_or(fewest);
        Ok(self.share(workers, limit - self.fixed(workers)))
    }

    /// Two blocks on their way, one kept, and some metadata.
    fn least(&self) -> u64 {
        3 * u64::from(self.block_size) + METADATA_LEAST
    }

    fn fixed(&self, workers: usize) -> u64 {
        // A worker holds a block as it is stored beside the one it makes.
        let tool = self.decoder.saturating_add(u64::from(self.block_size));
        let workers = workers as u64;
        BASE.saturating_add(self.besides)
            .saturating_add(THREAD.saturating_mul(workers))
            .saturating_add(tool.saturating_mul(workers.max(1)))
    }

    fn share(&self, workers: usize, left: u64) -> ReadPlan {
        let block = u64::from(self.block_size);
        let wanted = (BLOCKS_A_WORKER * block * workers.max(1) as u64).max(WINDOW_LEAST);
        let window = wanted.min(left / 4).max(2 * block);
        let metadata = METADATA.min(left / 4).max(METADATA_LEAST);
        let fragments = FRAGMENTS.min(left.saturating_sub(window + metadata)).max(block);
        ReadPlan { workers, window: window as usize, fragments: fragments as usize, metadata: metadata as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(workers: usize, limit: Option<u64>) -> ReadDemand {
        ReadDemand { workers, limit, block_size: 128 << 10, decoder: 1 << 20, besides: 1 << 20 }
    }

    #[test]
    fn nothing_is_shared_out_twice() {
        for megabytes in 12..400u64 {
            let Ok(plan) = demand(16, Some(megabytes << 20)).plan() else { continue };
            let taken = demand(16, None).fixed(plan.workers) + (plan.window + plan.fragments + plan.metadata) as u64;
            assert!(taken <= megabytes << 20, "{megabytes}: {plan:?}");
        }
    }

    #[test]
    fn the_amount_named_is_enough_and_one_byte_less_is_not() {
        for workers in [0, 1, 7] {
            let Err(Error::Memory { needed, .. }) = demand(workers, Some(0)).plan() else { panic!("granted") };
            assert_eq!(demand(workers, Some(needed)).plan().unwrap().workers, workers.min(1));
            assert!(demand(workers, Some(needed - 1)).plan().is_err());
        }
    }

    #[test]
    fn without_a_limit_all_workers_come() {
        let plan = demand(64, None).plan().unwrap();
        assert_eq!((plan.workers, plan.window, plan.fragments), (64, 64 << 20, 256 << 20));
    }
}
