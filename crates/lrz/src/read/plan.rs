//! What memory is used for.

use crate::Machine;

/// Bytes of plain data that are handed on at a time.
pub(super) const SLAB: usize = 1 << 20;
/// Slabs that wait for their sums, at most.
pub(super) const SUMS_AHEAD: usize = 8;
/// Slabs of history, at least.
pub(super) const HISTORY_LEAST: usize = 2;
/// Bytes of blocks of a stream, at least.
const BLOCKS_LEAST: usize = 1 << 20;
/// Beside blocks and history: slabs under way, buffers, threads' stacks.
const FIXED: u64 = (SUMS_AHEAD as u64 + 6) << 20;
/// Bytes of blocks of each stream on their way, where memory has no limit.
const BLOCKS_FREELY: u64 = 1 << 30;

/// How much of the memory each part gets, bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// All of it, as the user said.
    pub(super) allowed: u64,
    /// Blocks of each stream, being decoded or waiting to be used.
    pub(super) blocks: [usize; 2],
    /// Slabs of plain data in which matches are found without asking the target.
    pub(super) history: usize,
}

impl Plan {
    pub(super) fn new(machine: &Machine) -> Plan {
        let Some(allowed) = machine.memory else {
            return Plan { allowed: u64::MAX, blocks: [BLOCKS_FREELY as usize; 2], history: usize::MAX };
        };
        let room = allowed.saturating_sub(FIXED);
        let share = |eighths: u64| usize::try_from(room / 8 * eighths).unwrap_or(usize::MAX).max(BLOCKS_LEAST);
        Plan { allowed, blocks: [share(1), share(3)], history: (share(4) / SLAB).max(HISTORY_LEAST) }
    }

    /// Bytes that would have to be allowed for a block of a stream that takes `bytes`.
    pub(super) fn allowed_for(&self, stream: usize, bytes: u64) -> u64 {
        let other = self.blocks[1 - stream] as u64;
        FIXED.saturating_add(other).saturating_add(bytes).saturating_add((HISTORY_LEAST * SLAB) as u64)
    }
}
