//! Divides the process's memory limit among workers, the chunk, and blocks in flight.
//!
//! The division does not affect the output. With less memory, fewer workers run, or data is read again.

use packline_longrange::Settings;
use packline_runtime::memory::{BASE, Limits, THREAD, fewest_workers};

use super::policy::Policy;
use crate::{Error, Resources};

/// The allocator's overhead for many small pages is one part in this many, as measured with 4 GB.
const ALLOCATOR_SHARE: u64 = 16;
/// Opcodes may take at least this many bytes before they go to a file.
const OPCODES_LEAST: u64 = 1 << 20;
/// Opcodes may take one part of the limit in this many.
const OPCODES_SHARE: u64 = 64;
/// Opcodes are in memory twice, plain and compressed.
const OPCODES_COPIES: u64 = 2;
/// Useful minimum for the bytes in flight, if the limit allows it.
const WINDOW_LEAST: u64 = 16 << 20;
/// The smallest block size of the tools.
const BLOCK_LEAST: u64 = 4 << 10;

/// The memory limit and the demands.
pub(super) struct Memory<'a> {
    policy: &'a Policy,
    limits: Limits,
    /// Whether compression is done by workers.
    compresses: bool,
}

/// Memory and workers of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// The number of workers that search for matches.
    pub(super) search_workers: usize,
    /// The number of workers that compress.
    pub(super) compress_workers: usize,
    /// Bytes of blocks in flight.
    pub(super) window: u64,
}

impl<'a> Memory<'a> {
    pub(super) fn new(policy: &'a Policy, resources: &Resources, compresses: bool) -> Memory<'a> {
        Memory { policy, limits: resources.limits(), compresses }
    }

    /// Whether compression is done by workers.
    pub(super) fn compresses(&self) -> bool {
        self.compresses
    }

    /// Memory of opcodes, plain or compressed, in bytes.
    pub(super) fn opcodes(&self) -> u64 {
        self.limits.memory.map_or(u64::MAX, |limit| (limit / OPCODES_SHARE).max(OPCODES_LEAST))
    }

    /// Upper bound for the block size of a chunk of `length` bytes.
    pub(super) fn block(&self, length: u64) -> u64 {
        (self.policy.block as u64).min(length.max(BLOCK_LEAST))
    }

    /// Memory of every phase with `workers` workers. One more thread calculates checksums.
    fn fixed(&self, workers: usize) -> u64 {
        let opcodes = if self.limits.memory.is_some() { OPCODES_COPIES * self.opcodes() } else { 0 };
        BASE + THREAD * (workers as u64 + 1) + opcodes
    }

    /// Memory of the match search.
    fn search_bytes(&self, length: u64, workers: usize) -> u64 {
        let search = self.settings(length).memory(workers);
        self.fixed(workers).saturating_add(search).saturating_add(search / ALLOCATOR_SHARE)
    }

    /// Memory of compression if each worker has a block and, with several workers, one more block is being read.
    fn compress_bytes(&self, length: u64, workers: usize) -> u64 {
        let block = self.block(length);
        let tools = self.limits.tools(workers);
        let tool = self.policy.tools(block as usize);
        self.fixed(workers).saturating_add(tools.saturating_mul(tool)).saturating_add(self.least_window(block, workers))
    }

    /// Lower bound for the bytes in flight.
    fn least_window(&self, block: u64, workers: usize) -> u64 {
        block * (workers as u64 + u64::from(workers != 1))
    }

    /// Returns the search settings for a chunk of `length` bytes.
    pub(super) fn settings(&self, length: u64) -> Settings {
        Settings::new(self.policy.level, length).with_least(self.policy.least)
    }

    fn wanted(&self, length: u64) -> u64 {
        let compress_workers = if self.compresses { self.limits.workers } else { 0 };
        self.search_bytes(length, self.limits.workers).max(self.compress_bytes(length, compress_workers))
    }

    /// Returns how many bytes of a chunk of up to `longest` bytes may be in memory, next to all requested workers.
    pub(super) fn held(&self, longest: u64) -> u64 {
        let Some(limit) = self.limits.memory else { return u64::MAX };
        let fits = |length: u64| self.wanted(length).saturating_add(length) <= limit;
        // Finds the longest length that fits by bisection, since the demand grows with the length.
        let mut fit = 0;
        let mut unfit = longest.min(limit).saturating_add(1);
        while unfit - fit > 1 {
            let middle = fit + (unfit - fit) / 2;
            if fits(middle) { fit = middle } else { unfit = middle }
        }
        fit
    }

    /// Divides the memory for a chunk of `length` bytes, of which `held` are in memory.
    ///
    /// # Errors
    /// [`Error::Memory`] if workers are requested and not even one fits.
    pub(super) fn share(&self, length: u64, held: u64) -> Result<Share, Error> {
        let search_workers =
            self.fitting_workers(self.limits.workers, length, held, "finding matches", Self::search_bytes)?;
        let wanted = if self.compresses { self.limits.workers } else { 0 };
        let compress_workers =
            self.fitting_workers(wanted, length, held, "compressing blocks", Self::compress_bytes)?;
        Ok(Share { search_workers, compress_workers, window: self.window(length, held, compress_workers) })
    }

    /// Returns the largest number of workers that fits in the memory.
    fn fitting_workers(
        &self,
        wanted: usize,
        length: u64,
        held: u64,
        what: &str,
        need: impl Fn(&Self, u64, usize) -> u64,
    ) -> Result<usize, Error> {
        let needs = |workers| need(self, length, workers).saturating_add(held);
        Limits { workers: wanted, ..self.limits }.most_workers(needs).map_err(|shortage| {
            shortage.of(format!("{what} in {length} bytes at a time with {}", fewest_workers(wanted))).into()
        })
    }

    /// Returns the bytes in flight: two blocks for each worker and one being read, or fewer if the limit is lower.
    fn window(&self, length: u64, held: u64, workers: usize) -> u64 {
        let block = self.block(length);
        let wanted = (2 * workers as u64 * block + block).max(WINDOW_LEAST);
        let least = self.least_window(block, workers);
        let spare = self.limits.memory.map_or(u64::MAX, |limit| limit - held - self.compress_bytes(length, workers));
        wanted.min(least.saturating_add(spare)).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BackEnd, WriteOptions};

    const CHUNK: u64 = (4 << 30) - (64 << 10);

    fn policy(back_end: BackEnd, level: u32) -> Policy {
        Policy::new(&WriteOptions { back_end, level, ..WriteOptions::default() }).unwrap()
    }

    fn resources(workers: usize, memory: Option<u64>) -> Resources {
        Resources::new(workers).memory_limit(memory)
    }

    #[test]
    fn half_a_gigabyte_is_enough_for_a_complete_chunk() {
        for level in 1..=7 {
            for back_end in BackEnd::ALL {
                let policy = policy(back_end, level);
                let resources = resources(2, Some(512 << 20));
                let memory = Memory::new(&policy, &resources, true);
                let share = memory.share(CHUNK, 0).unwrap();
                assert!(share.search_workers > 0 && share.compress_workers > 0, "{back_end:?} {level}: {share:?}");
            }
        }
    }

    #[test]
    fn grants_all_workers_without_a_limit() {
        let policy = policy(BackEnd::Lzma, 9);
        let resources = resources(64, None);
        let memory = Memory::new(&policy, &resources, true);
        assert_eq!(memory.held(CHUNK), u64::MAX);
        let share = memory.share(CHUNK, CHUNK).unwrap();
        assert_eq!((share.search_workers, share.compress_workers, share.window), (64, 64, 129 * policy.block as u64));
    }

    #[test]
    fn never_exceeds_the_limit() {
        for back_end in [BackEnd::None, BackEnd::Gzip, BackEnd::Bzip2, BackEnd::Lzma, BackEnd::Zpaq] {
            let policy = policy(back_end, 7);
            let mut all = false;
            for limit in (0..160).map(|step| step * (37 << 20)) {
                let resources = resources(7, Some(limit));
                let memory = Memory::new(&policy, &resources, true);
                // A long chunk is in memory completely or not at all.
                let held = if memory.held(CHUNK) >= CHUNK { CHUNK } else { 0 };
                let Ok(share) = memory.share(CHUNK, held) else { continue };
                let least = memory.least_window(memory.block(CHUNK), share.compress_workers);
                let tools = memory.compress_bytes(CHUNK, share.compress_workers) - least;
                assert!(held + tools + share.window <= limit, "{back_end:?} {limit} {share:?}");
                assert!(held + memory.search_bytes(CHUNK, share.search_workers) <= limit);
                all = share.compress_workers == 7 && share.search_workers == 7;
            }
            assert!(all, "{back_end:?}");
        }
    }

    #[test]
    fn small_chunks_need_little_memory() {
        let policy = policy(BackEnd::Lzma, 9);
        let resources = resources(1, Some(64 << 20));
        let memory = Memory::new(&policy, &resources, true);
        assert!(memory.held(CHUNK) >= 1 << 20, "{}", memory.held(CHUNK));
        assert_eq!(memory.share(1 << 20, 1 << 20).unwrap().compress_workers, 1);
        assert!(memory.share(CHUNK, 0).is_err());
    }
}
