//! Result of a pack.

use packline_squashfs::Summary;

/// Result of a pack, by container.
#[derive(Debug, Clone)]
pub enum PackSummary {
    /// A SquashFS image.
    SquashFs(Box<ImageSummary>),
    /// A .lrz file.
    #[cfg(feature = "lrz")]
    Lrz(packline_lrz::Written),
}

/// Result of packing an image.
#[derive(Debug, Clone)]
pub struct ImageSummary {
    /// Content of the image.
    pub image: Summary,
    /// Bytes of the source consumed: of the stored tar, or of the files.
    pub source_bytes: u64,
    /// Bytes written to the output, padding included.
    pub output_bytes: u64,
    /// Workers requested.
    pub workers_wanted: usize,
    /// Workers allowed by memory and the system's limit of threads.
    pub workers: usize,
    /// Limit of content in flight, bytes.
    pub window: usize,
}

impl ImageSummary {
    /// Size of the image relative to the content, percent; `None` without content.
    pub fn ratio_percent(&self) -> Option<f64> {
        let content = self.image.content_bytes;
        (content > 0).then(|| self.output_bytes as f64 * 100.0 / content as f64)
    }
}
