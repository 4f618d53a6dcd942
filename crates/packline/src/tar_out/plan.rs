//! How memory and workers are shared between reading the image and compressing the tar.

use packline_codec::StreamSpec;
use packline_squashfs::read::Image;

use super::sink::BATCH;
use crate::{Error, ReadDemand, ReadPlan, Resources};

/// Names of files with several names, bytes, where memory is not limited: a few bytes of an image can ask for all there is.
const LINKS: u64 = 128 << 20;

/// Bytes for the first names of files with several, of so many that are allowed in all.
pub(super) fn link_bytes(limit: Option<u64>) -> u64 {
    limit.map_or(LINKS, |limit| limit / 8)
}

/// Who does what with how much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// For reading.
    pub(super) read: ReadPlan,
    /// Workers that compress; 0 for the caller's thread.
    pub(super) pressers: usize,
    /// Bytes of chunks, and of what becomes of them, on their way at once.
    pub(super) press_window: usize,
}

impl Plan {
    /// Compressing gets half of what is allowed, if that does for one worker.
    ///
    /// # Errors
    /// [`Error::Memory`] if the least that works is more than is allowed.
    pub(super) fn new(image: &Image, compression: Option<StreamSpec>, resources: &Resources) -> Result<Plan, Error> {
        let workers = resources.workers;
        let (pressers, press) = press_share(compression, workers, resources);
        let links = resources.memory.map_or(0, |limit| link_bytes(Some(limit)));
        let demand = ReadDemand::new(image, workers, resources.memory, press + BATCH as u64 + links);
        let demand = demand.helped(&resources.engine);
        let press_window = compression.map_or(0, |spec| window(spec, pressers) as usize);
        Ok(Plan { read: demand.plan()?, pressers, press_window })
    }
}

/// Workers that compress, and the bytes that they take.
fn press_share(compression: Option<StreamSpec>, wanted: usize, resources: &Resources) -> (usize, u64) {
    let Some(spec) = compression else { return (0, 0) };
    let taken =
        |workers: usize| spec.memory() as u64 * resources.engine.tool_count(workers) as u64 + window(spec, workers);
    let most = resources.memory.map_or(u64::MAX, |limit| limit / 2);
    let workers = (wanted.min(1)..=wanted).rev().find(|&workers| taken(workers) <= most).unwrap_or(wanted.min(1));
    (workers, taken(workers))
}

/// A chunk before each worker, one in its hands, and what they make.
fn window(spec: StreamSpec, workers: usize) -> u64 {
    2 * spec.chunk() as u64 * (workers as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressors_are_as_many_as_half_of_the_memory_holds() {
        let spec = |text: &str| Some(StreamSpec::parse(text).unwrap());
        let with = |memory| Resources { memory, ..Resources::default() };
        assert_eq!(press_share(None, 4, &with(None)), (0, 0));
        assert_eq!(press_share(spec("gzip"), 4, &with(None)).0, 4);
        let (workers, taken) = press_share(spec("xz"), 8, &with(Some(1 << 30)));
        assert!((1..8).contains(&workers) && taken <= 1 << 29, "{workers} {taken}");
        assert_eq!(press_share(spec("xz"), 8, &with(Some(1 << 20))).0, 1);
        assert_eq!(press_share(spec("zstd"), 0, &with(None)).0, 0);
    }
}
