//! Divides memory and workers between reading the image and compressing the tar.

use packline_codec::StreamSpec;
use packline_runtime::MANY_WORKERS;
use packline_runtime::memory::{Demand, Limits};
use packline_volume::SharedVolume;

use super::sink::BATCH;
use crate::links::link_bytes;
use crate::{Error, ReadDemand, ReadPlan, Resources};

/// The shares of reading and compressing. Both run on one pool of `read.workers` workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) read: ReadPlan,
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
        Ok(Plan { read })
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
    compression.map_or(0, |spec| spec.memory() as u64 * tools + compress_window(spec, workers))
}

/// Returns the bytes of chunks in flight: two chunks for each worker, the chunk that is being filled, and their compressed form.
pub(super) fn compress_window(spec: StreamSpec, workers: usize) -> u64 {
    2 * spec.chunk() as u64 * (workers as u64 + 1)
}

/// Returns the memory of a [`TarSink`](super::TarSink) with at most `waiting` bytes that wait to be written uncompressed.
pub fn tar_sink_demand(compression: Option<StreamSpec>, waiting: usize) -> Demand {
    let Some(spec) = compression else { return Demand::fixed(3 * (BATCH + waiting) as u64) };
    let chunks = 2 * spec.chunk() as u64;
    Demand { per_worker: spec.memory() as u64, window: chunks, window_per_worker: chunks, ..Demand::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinks_ask_for_the_chunks_in_flight() {
        let spec = StreamSpec::parse("zstd").unwrap();
        let demand = tar_sink_demand(Some(spec), 0);
        for workers in [0, 1, 7] {
            let asked = demand.window + demand.window_per_worker * workers as u64;
            assert_eq!(asked, compress_window(spec, workers));
        }
    }

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
