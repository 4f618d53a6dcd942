//! Divides a memory limit of the process when an image is read: workers, a window and caches.

use packline_engine::Config;
use packline_runtime::memory::{Demand, Grant, Limits, Shortage, enough, fewest_workers, size_at_most};
use packline_volume::{ReadSettings, SharedVolume};

use crate::largest_unit::largest_unit;
use crate::{Error, Resources};

/// Blocks in flight for each worker by default.
const BLOCKS_A_WORKER: u64 = 8;
/// Minimum default window: small blocks are many.
const WINDOW_LEAST: u64 = 8 << 20;
/// Fragment blocks to cache by default without a memory limit.
const FRAGMENTS: u64 = 256 << 20;
/// Metadata to cache by default.
const METADATA: u64 = 16 << 20;
/// Maximum bytes of small blocks that are decoded together; their stored bytes are read together.
const RUN: u64 = 256 << 10;
/// Minimum metadata cache.
const METADATA_LEAST: u64 = 256 << 10;

/// Returns the bytes of metadata to cache when an image is opened, before its block size and therefore the rest of the plan is known. This is the
/// maximum of [`ReadPlan::metadata`], and at most a sixteenth of the memory limit.
pub fn metadata_cache(limit: Option<u64>) -> usize {
    limit.map_or(METADATA, |limit| (limit / 16).clamp(METADATA_LEAST, METADATA)) as usize
}

/// Memory demands of reading.
#[derive(Debug, Clone, Copy)]
pub struct ReadDemand {
    /// Workers and memory of the process.
    pub limits: Limits,
    /// Size of the largest unit in bytes.
    pub block_size: u32,
    /// Size of most units in bytes.
    pub usual_size: u32,
    /// Memory of one worker's decoder in bytes.
    pub decoder: u64,
    /// Memory in bytes of the command itself (a plan of the tree, output buffers).
    pub besides: u64,
}

/// Shares of a memory limit in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadPlan {
    /// Number of workers.
    pub workers: usize,
    /// Decoded blocks in flight.
    pub window: usize,
    /// Cache of fragment blocks.
    pub fragments: usize,
    /// Cache of decompressed metadata.
    pub metadata: usize,
}

impl ReadDemand {
    /// Returns the memory to read this volume. `besides` is the memory of the command itself in bytes. If the memory limit is too small for the
    /// largest unit that the format allows, the units of the volume are measured.
    pub fn new(volume: &SharedVolume, limits: Limits, besides: u64) -> ReadDemand {
        let allowed = ReadDemand::of_format(volume, limits, besides);
        let suffices = |plan: ReadPlan| plan.workers == limits.workers;
        let is_enough = limits.memory.is_none() || allowed.plan().is_ok_and(suffices);
        if is_enough { allowed } else { allowed.measured(volume) }
    }

    /// Returns the memory to read units as large as the format allows.
    pub(crate) fn of_format(volume: &SharedVolume, limits: Limits, besides: u64) -> ReadDemand {
        let facts = volume.facts();
        let (block_size, usual_size) = (facts.largest_unit, facts.block_size);
        ReadDemand { limits, block_size, usual_size, decoder: facts.decoder, besides }
    }

    /// Returns the memory to read the largest unit that the volume has. Reads all metadata of the volume, unless its units have one size.
    pub(crate) fn measured(self, volume: &SharedVolume) -> ReadDemand {
        let has_one_size = self.block_size == self.usual_size;
        ReadDemand { block_size: if has_one_size { self.block_size } else { largest_unit(volume) }, ..self }
    }

    /// Divides the memory. [`metadata_cache`] is for metadata. As many of the wanted workers are used as fit into half of the spare memory. An
    /// eighth of the rest is for the window, or more if the workers need it. Everything else is for fragment blocks.
    ///
    /// # Errors
    /// [`Error::Memory`] if one worker (or none, if none is wanted) and two blocks do not fit.
    pub fn plan(&self) -> Result<ReadPlan, Error> {
        let Limits { workers, memory, .. } = self.limits;
        let metadata = metadata_cache(memory) as u64;
        let memory_left = memory.map(|limit| limit.saturating_sub(metadata));
        let limits = Limits { memory: memory_left, keeps_half: true, ..self.limits };
        let granted = limits.grant(self.demand()).map_err(|Shortage { needed, .. }| {
            let needed = enough(needed, |limit| needed.saturating_add(metadata_cache(Some(limit)) as u64));
            let shortage = Shortage { allowed: memory.unwrap_or(u64::MAX), needed };
            Error::memory(
                shortage,
                format!("{} and blocks of {}", fewest_workers(workers), size_at_most(self.block_size.into())),
            )
        })?;
        Ok(self.share(granted, metadata))
    }

    fn demand(&self) -> Demand {
        Demand { fixed: self.besides, per_worker: self.tool(), window: self.least(), window_per_worker: 0 }
    }

    /// Returns the minimum: two blocks in flight, and one in the cache.
    pub(crate) fn least(&self) -> u64 {
        let block = u64::from(self.block_size);
        self.reading(2 * block) + block
    }

    /// Returns the memory of reading with a window: the blocks, the plan of the following blocks (a quarter more), and buffers that wait for
    /// reuse.
    pub(crate) fn reading(&self, window: u64) -> u64 {
        let block = u64::from(self.block_size);
        let spare = if block < RUN { (window / 4).max(2 * (block + RUN)) } else { (window / 8).max(2 * block) };
        window + window / 4 + spare
    }

    /// Returns the memory of a worker: its decoder, and a stored block or several small ones.
    pub(crate) fn tool(&self) -> u64 {
        self.decoder.saturating_add(u64::from(self.block_size).max(RUN))
    }

    /// Divides `left` bytes between contents in flight and fragment blocks, for all wanted workers.
    pub(crate) fn share_of(&self, left: u64) -> ReadPlan {
        self.share(Grant { workers: self.limits.workers, left }, metadata_cache(self.limits.memory) as u64)
    }

    fn share(&self, Grant { workers, left }: Grant, metadata: u64) -> ReadPlan {
        let block = u64::from(self.block_size);
        let threads = workers.max(1) as u64;
        let in_flight = (BLOCKS_A_WORKER * u64::from(self.usual_size)).max(2 * block);
        let wanted = (in_flight * threads).max(WINDOW_LEAST);
        // The cache of fragment blocks needs the memory more than blocks in flight do: evicted fragment blocks are decoded again.
        let window = wanted.min((2 * block * threads).min(left / 4).max(left / 8));
        let fits = self.reading(window).saturating_add(block) <= left;
        let window = if fits { window.max(2 * block) } else { 2 * block };
        let fragments = FRAGMENTS.min(left.saturating_sub(self.reading(window))).max(block);
        ReadPlan { workers, window: window as usize, fragments: fragments as usize, metadata: metadata as usize }
    }
}

impl ReadPlan {
    /// Returns settings of a [`Reading`](packline_volume::Reading); a requested window is an upper bound.
    pub(crate) fn settings(&self, resources: &Resources) -> ReadSettings {
        let engine = self.config(resources);
        ReadSettings { shared: self.fragments, scratch: resources.scratch.clone(), engine, listener: None }
    }

    /// Returns the configuration of a pipeline that reads; a requested window is an upper bound.
    pub fn config(&self, resources: &Resources) -> Config {
        let requested = resources.window.map_or(usize::MAX, |window| usize::try_from(window).unwrap_or(usize::MAX));
        resources.config(self.workers, self.window.min(requested))
    }
}

/// Returns settings of a reading of this image within the memory limit. `besides` is the memory of the caller in bytes.
///
/// # Errors
/// [`Error::Memory`] if the limit is too small.
pub(crate) fn read_settings(volume: &SharedVolume, resources: &Resources, besides: u64) -> Result<ReadSettings, Error> {
    Ok(ReadDemand::new(volume, resources.limits(), besides).plan()?.settings(resources))
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_runtime::MemoryFault;

    fn demand(workers: usize, limit: Option<u64>) -> ReadDemand {
        let limits = Limits { workers, memory: limit, ..Limits::default() };
        ReadDemand { limits, block_size: 128 << 10, usual_size: 128 << 10, decoder: 1 << 20, besides: 1 << 20 }
    }

    #[test]
    fn memory_is_not_granted_twice() {
        for megabytes in 12..400u64 {
            let Ok(plan) = demand(16, Some(megabytes << 20)).plan() else { continue };
            let demand = demand(16, None);
            let reading = demand.reading(plan.window as u64);
            let taken =
                demand.limits.taken(demand.demand(), plan.workers) + reading + (plan.fragments + plan.metadata) as u64;
            assert!(taken <= megabytes << 20, "{megabytes}: {plan:?}");
        }
    }

    #[test]
    fn the_named_minimum_is_exact() {
        for workers in [0, 1, 7] {
            let Err(Error::Memory(MemoryFault { needed, .. })) = demand(workers, Some(0)).plan() else {
                panic!("granted")
            };
            assert_eq!(demand(workers, Some(needed)).plan().unwrap().workers, workers.min(1));
            assert!(demand(workers, Some(needed - 1)).plan().is_err());
        }
    }

    #[test]
    fn all_workers_run_without_a_limit() {
        let plan = demand(64, None).plan().unwrap();
        assert_eq!((plan.workers, plan.window, plan.fragments), (64, 64 << 20, 256 << 20));
    }

    #[test]
    fn the_window_has_two_of_the_largest_units_for_each_worker() {
        let window = |workers| ReadDemand { block_size: 12 << 20, ..demand(workers, None) }.plan().unwrap().window;
        assert_eq!((window(2), window(64)), (48 << 20, 1536 << 20));
    }
}
