//! Memory of sealing or opening a stream, as a share of the memory limit. It changes no byte of an output.

use packline_engine::{OrderedMap, Task};
use packline_runtime::Resources;
use packline_runtime::memory::{MapPlan, THREAD};

use crate::Error;
use crate::format::ChunkSize;

/// Bytes of content that a worker seals or opens at a time, enough that the engine's share of the time is small.
const BATCH: usize = 256 << 10;
/// The workers of this crate get one part in this many of the limit.
const PART: u64 = 16;

/// Number of chunks in a batch.
pub(crate) fn chunks(chunk: ChunkSize) -> usize {
    (BATCH / chunk.bytes()).max(1)
}

/// Bytes of a sealed batch.
pub(crate) fn batch(chunk: ChunkSize) -> usize {
    chunks(chunk) * chunk.stride()
}

/// Bytes in flight with this number of workers: each worker has one batch in work and two that wait; the caller has one.
fn window(workers: usize, chunk: ChunkSize) -> usize {
    (3 * workers + 1) * batch(chunk)
}

/// The requested number of workers, or as many as fit into a part of the limit. Few suffice, because they are much faster than compression.
fn workers(resources: &Resources, chunk: ChunkSize) -> usize {
    let needs = |workers| (workers as u64 * THREAD + window(workers, chunk) as u64).saturating_mul(PART);
    resources.limits().most_workers(needs).unwrap_or(0)
}

/// The map that seals or opens batches.
///
/// # Errors
/// [`Error::Work`] if threads cannot be started.
pub(crate) fn start<T: Task<Error = Error>>(
    task: T,
    resources: &Resources,
    chunk: ChunkSize,
) -> Result<OrderedMap<T>, Error> {
    let workers = workers(resources, chunk);
    Ok(resources.map(task, MapPlan { workers, window: window(workers, chunk) })?)
}

/// Bytes that sealing or opening takes, in addition to the producer or reader of the content.
pub fn memory(resources: &Resources, chunk: ChunkSize) -> u64 {
    let workers = workers(resources, chunk);
    // Readers of single chunks have one chunk each, and share some recent chunks.
    let readers = (resources.workers as u64 + 1) * chunk.stride() as u64 + crate::read::RECENT as u64;
    workers as u64 * THREAD + (window(workers, chunk) as u64).max(readers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_take_a_small_part_of_the_limit() {
        let with = |limit| Resources::new(8).memory_limit(limit);
        assert_eq!(workers(&with(None), ChunkSize::USUAL), 8);
        assert_eq!(workers(&with(Some(1 << 20)), ChunkSize::USUAL), 0);
        assert_eq!(workers(&with(Some(40 << 20)), ChunkSize::USUAL), 1);
        for limit in [40 << 20, 64 << 20, 100 << 20, 1 << 30] {
            let taken = workers(&with(Some(limit)), ChunkSize::USUAL) as u64 * THREAD
                + window(workers(&with(Some(limit)), ChunkSize::USUAL), ChunkSize::USUAL) as u64;
            assert!(taken <= limit / PART, "{taken} of {limit}");
        }
    }
}
