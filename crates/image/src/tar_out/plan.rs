//! Divides memory and workers between reading the image and compressing the tar.

use packline_codec::StreamSpec;
use packline_runtime::MANY_WORKERS;
use packline_runtime::memory::Limits;
use packline_volume::SharedVolume;

use super::sink::BATCH;
use crate::links::link_bytes;
use crate::{Error, ReadDemand, ReadPlan, Resources};

/// The shares of reading and compressing. Both run on one pool of `read.workers` workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) read: ReadPlan,
    /// Bytes of chunks and their compressed form in flight.
    pub(super) compress_window: usize,
}

impl Plan {
    /// Plans as many workers as can each have a decoder and an encoder. Compressing gets at most half of the memory, unless one worker needs
    /// more.
    ///
    /// # Errors
    /// [`Error::Memory`] if the minimum exceeds the limit.
    pub(super) fn new(
        volume: &SharedVolume,
        compression: Option<StreamSpec>,
        resources: &Resources,
    ) -> Result<Plan, Error> {
        let links = resources.memory.map_or(0, |limit| link_bytes(Some(limit)));
        let plan = |workers| {
            // Copied bytes are being collected and, if a thread writes, wait and are being written.
            let batches = if workers >= MANY_WORKERS { 3 } else { 1 };
            let besides = compress_bytes(compression, workers, resources) + batches * BATCH as u64 + links;
            ReadDemand::new(volume, Limits { workers, ..resources.limits() }, besides).plan()
        };
        let most = compress_workers(compression, resources);
        let fewest = most.min(1);
        let fits = |workers| plan(workers).ok().filter(|read| read.workers == workers);
        let read = (fewest..=most).rev().find_map(fits).map_or_else(|| plan(fewest), Ok)?;
        let compress_window = compression.map_or(0, |spec| window(spec, read.workers) as usize);
        Ok(Plan { read, compress_window })
    }
}

/// Returns the number of workers whose encoders take at most half of the memory; at least one, unless none is wanted.
fn compress_workers(compression: Option<StreamSpec>, resources: &Resources) -> usize {
    let limits = Limits { memory: resources.memory.map(|limit| limit / 2), ..resources.limits() };
    let most = limits.most_workers(|workers| compress_bytes(compression, workers, resources));
    most.unwrap_or(limits.workers.min(1))
}

/// Returns the memory of compressing in bytes.
fn compress_bytes(compression: Option<StreamSpec>, workers: usize, resources: &Resources) -> u64 {
    let tools = resources.limits().tools(workers);
    compression.map_or(0, |spec| spec.memory() as u64 * tools + window(spec, workers))
}

/// Returns the window: two chunks for each worker, the chunk that is being filled, and their compressed form.
fn window(spec: StreamSpec, workers: usize) -> u64 {
    2 * spec.chunk() as u64 * (workers as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoders_are_as_many_as_half_of_the_memory_holds() {
        let spec = |text: &str| Some(StreamSpec::parse(text).unwrap());
        let with = |workers, memory: Option<u64>| Resources::new(workers).memory_limit(memory);
        assert_eq!((compress_workers(None, &with(4, None)), compress_bytes(None, 4, &with(4, None))), (4, 0));
        assert_eq!(compress_workers(spec("gzip"), &with(4, None)), 4);
        let limited = with(8, Some(1 << 30));
        let workers = compress_workers(spec("xz"), &limited);
        let taken = compress_bytes(spec("xz"), workers, &limited);
        assert!((1..8).contains(&workers) && taken <= 1 << 29, "{workers} {taken}");
        assert_eq!(compress_workers(spec("xz"), &with(8, Some(1 << 20))), 1);
        assert_eq!(compress_workers(spec("zstd"), &with(0, None)), 0);
    }
}
