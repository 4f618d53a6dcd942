//! Our own zstd encoder: finds one of the shortest encodings of a block by the real cost of each symbol. libzstd only codes the sequences.
//!
//! A frame is processed in chunks of 128 KiB, the maximum that one block of zstd holds:
//!
//! 1. [`candidates`](crate::search::candidates) are found for each position;
//! 2. a first parse chooses among them by a rule of thumb ([`first`]);
//! 3. its statistics decide where the chunk is split into blocks ([`parts`]) and what each symbol costs there ([`prices`]);
//! 4. the cheapest path through the chunk at these prices is found ([`path`]), and the chunk is split again by the path's statistics.
//!
//! Steps 3 and 4 are repeated at high effort.

mod chunk;
mod codes;
mod effort;
mod first;
mod parts;
mod path;
mod prices;
mod statistics;
#[cfg(test)]
mod tests;

pub(crate) use chunk::Optimal;
pub(crate) use codes::{SHORTEST, Sequence};
pub(crate) use effort::Effort;
