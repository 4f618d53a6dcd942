//! Result of a pack.

use packline_blocks::{Counts, ReadBack, Saved};
use packline_engine::{QueueStats, Stats, WorkerStats};
use packline_squashfs::ImageEnd;

use crate::container::by_name::Container;
use crate::sources::changes::limits::ChangedTimes;

/// Result of a pack, by container.
#[derive(Debug, Clone)]
pub enum PackSummary {
    /// An image of a file system.
    Image(Box<ImageSummary>),
    /// A tar.
    Tar(PackedTar),
    /// A .lrz file.
    #[cfg(feature = "lrz")]
    Lrz(packline_lrz::Written),
}

/// Result of packing a tar.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PackedTar {
    /// Entries of the tar, by kind.
    pub counts: Counts,
    /// Sockets, and further names of sockets, which a tar cannot hold and which were left out.
    pub sockets: u64,
    /// Bytes of file content, holes included.
    pub content_bytes: u64,
    /// Bytes of the tar before compression.
    pub tar_bytes: u64,
    /// Bytes written to the output.
    pub output_bytes: u64,
    /// Bytes read from the source: of the stored tar, or of the files.
    pub source_bytes: u64,
    /// Entries that could not be read and were left out on request.
    pub errors: u64,
    /// Warnings about entries.
    pub warnings: u64,
    /// Entries of layers that later layers replaced. A directory with its content counts as one entry.
    pub replaced: u64,
    /// Workers requested.
    pub workers_wanted: usize,
    /// Workers allowed by memory and the system's limit of threads.
    pub workers: usize,
}

/// Result of packing an image.
#[derive(Debug, Clone)]
pub struct ImageSummary {
    /// Content of the image.
    pub image: WrittenImage,
    /// Entries that could not be read and were left out on request.
    pub errors: u64,
    /// Warnings about entries, for example files that changed while they were read and attributes that cannot be stored.
    pub warnings: u64,
    /// Times that the image cannot store exactly.
    pub times: ChangedTimes,
    /// Entries of layers that later layers replaced. A directory with its content counts as one entry.
    pub replaced: u64,
    /// The paths of the first replaced entries.
    pub first_replaced: Vec<Vec<u8>>,
    /// Bytes read from the source: of the stored tar, or of the files.
    pub source_bytes: u64,
    /// Bytes written to the output, padding included.
    pub output_bytes: u64,
    /// Workers requested.
    pub workers_wanted: usize,
    /// Workers allowed by memory and the system's limit of threads.
    pub workers: usize,
    /// Limit of content in flight in bytes.
    pub window: usize,
    /// Counts of the cache, if there was one.
    pub cache: Option<packline_cache::Counts>,
    /// Counts of the bases, if there were any.
    pub base: Option<packline_squashfs::BaseCounts>,
    /// The dm-verity tree, if it was requested.
    #[cfg(feature = "verity")]
    pub verity: Option<crate::sidecars::verity::VeritySummary>,
}

/// Counts of an image that was written.
#[derive(Debug, Clone)]
pub struct WrittenImage {
    /// Inodes of the image, by kind.
    pub counts: Counts,
    /// Bytes of file content, holes included.
    pub content_bytes: u64,
    /// Savings of deduplication and holes.
    pub saved: Saved,
    /// Data blocks in the image.
    pub blocks: u64,
    /// Fragment blocks in the image.
    pub fragments: u64,
    /// Bytes of the data area.
    pub data_bytes: u64,
    /// The metadata.
    pub end: WrittenEnd,
    /// Result of reading back, if it was requested.
    pub read_back: Option<ReadBack>,
    /// Counters of the pipeline.
    pub pipeline: Stats,
    /// Counters of each queue.
    pub queues: Vec<QueueStats>,
    /// Counters of each worker.
    pub workers: Vec<WorkerStats>,
}

/// The metadata of an image and the end of the image, by its file system.
#[derive(Debug, Clone)]
pub enum WrittenEnd {
    /// The tables of a SquashFS image.
    SquashFs(ImageEnd),
    /// The metadata of an EROFS image.
    Erofs(packline_erofs::ImageEnd),
}

impl WrittenEnd {
    /// The container.
    pub fn container(&self) -> Container {
        match self {
            WrittenEnd::SquashFs(_) => Container::SquashFs,
            WrittenEnd::Erofs(_) => Container::Erofs,
        }
    }

    /// Bytes of the image, without padding.
    pub fn bytes_used(&self) -> u64 {
        match self {
            WrittenEnd::SquashFs(end) => end.bytes_used,
            WrittenEnd::Erofs(end) => end.bytes_used,
        }
    }

    /// Number of inodes.
    pub fn inodes(&self) -> u64 {
        match self {
            WrittenEnd::SquashFs(end) => end.inodes.into(),
            WrittenEnd::Erofs(end) => end.inodes,
        }
    }
}

impl From<packline_squashfs::Summary> for WrittenImage {
    fn from(summary: packline_squashfs::Summary) -> WrittenImage {
        WrittenImage {
            counts: summary.counts,
            content_bytes: summary.content_bytes,
            saved: summary.saved,
            blocks: summary.blocks,
            fragments: summary.fragments,
            data_bytes: summary.data_bytes,
            end: WrittenEnd::SquashFs(summary.end),
            read_back: summary.read_back,
            pipeline: summary.pipeline,
            queues: summary.queues,
            workers: summary.workers,
        }
    }
}

impl From<packline_erofs::Summary> for WrittenImage {
    fn from(summary: packline_erofs::Summary) -> WrittenImage {
        WrittenImage {
            counts: summary.counts,
            content_bytes: summary.content_bytes,
            saved: summary.saved,
            blocks: summary.blocks,
            fragments: summary.fragments,
            data_bytes: summary.data_bytes,
            end: WrittenEnd::Erofs(summary.end),
            read_back: summary.read_back,
            pipeline: summary.pipeline,
            queues: summary.queues,
            workers: summary.workers,
        }
    }
}

impl ImageSummary {
    /// Size of the image relative to the content, percent; `None` without content.
    pub fn ratio_percent(&self) -> Option<f64> {
        let content = self.image.content_bytes;
        (content > 0).then(|| self.output_bytes as f64 * 100.0 / content as f64)
    }
}

/// Entries that a pack would read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DryRun {
    /// Entries by kind.
    pub counts: Counts,
    /// Bytes of file content, holes included.
    pub content_bytes: u64,
    /// Entries that could not be read and would be left out.
    pub errors: u64,
    /// Entries of layers that later layers would replace.
    pub replaced: u64,
}
