//! Memory of an image as a source.

use packline_engine::CancelToken;
use packline_runtime::memory::Limits;
use packline_volume::ReadSettings;

use crate::links::link_bytes;
use crate::{OpenedImage, ReadDemand, ReadPlan, Resources, metadata_cache};

/// Memory demand of an image as a source, and its share.
#[derive(Debug, Clone, Copy)]
pub struct SourceDemand {
    read: ReadDemand,
    links: u64,
}

impl SourceDemand {
    /// The demand of an image under a total limit of `limit` bytes.
    pub fn new(image: &OpenedImage, limit: Option<u64>) -> SourceDemand {
        let links = limit.map_or(0, |limit| link_bytes(Some(limit)));
        let limits = Limits { memory: limit, ..Limits::default() };
        let read = ReadDemand::of_format(&image.volume, limits, 0);
        SourceDemand { read: if limit.is_some() { read.measured(&image.volume) } else { read }, links }
    }

    /// Returns the memory in bytes of each worker to decode.
    pub fn tool(&self) -> u64 {
        self.read.tool()
    }

    /// Returns the minimum memory, bytes: for metadata, names, content in flight, and a file that is read alone.
    pub fn least(&self) -> u64 {
        metadata_cache(self.read.limits.memory) as u64 + self.links + 2 * self.read.least()
    }

    /// Returns the plan for `workers`, with `spare` bytes beyond the minimum.
    pub fn plan(&self, workers: usize, spare: u64) -> SourcePlan {
        let limits = Limits { workers, ..self.read.limits };
        let read = ReadDemand { limits, ..self.read }.share_of(self.read.least().saturating_add(spare));
        SourcePlan { read, alone: ReadPlan { fragments: 0, ..self.read.share_of(self.read.least()) } }
    }

    /// Returns the memory of a plan in bytes.
    pub fn memory(&self, plan: &SourcePlan) -> u64 {
        let content = self.read.reading(plan.read.window as u64) + plan.read.fragments as u64;
        self.least() - self.read.least() + content
    }
}

/// Sizes of windows and caches.
#[derive(Debug, Clone, Copy)]
pub struct SourcePlan {
    /// For contents in a known order.
    read: ReadPlan,
    /// For a file that is read alone.
    alone: ReadPlan,
}

impl SourcePlan {
    /// Returns settings of readings on the pool of `resources`. The caller is responsible for cancellation.
    pub(super) fn settings(&self, resources: &Resources) -> [ReadSettings; 2] {
        let mut uncancelled = resources.clone();
        uncancelled.cancel = CancelToken::default();
        [self.read, self.alone].map(|plan| plan.settings(&uncancelled))
    }
}
