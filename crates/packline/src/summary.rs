//! What a pack came to.

use packline_squashfs::Summary;

/// What a pack came to.
#[derive(Debug, Clone)]
pub struct PackSummary {
    /// What is in the image.
    pub image: Summary,
    /// Bytes of the source consumed: of the tar as it is stored, or of the files.
    pub source_bytes: u64,
    /// Bytes written to the output, padding included.
    pub output_bytes: u64,
    /// Workers that were asked for.
    pub workers_wanted: usize,
    /// Workers that the memory and the system's limit of threads allowed.
    pub workers: usize,
    /// Bytes of content that were allowed on their way at once.
    pub window: usize,
}

impl PackSummary {
    /// Size of the image by size of the content, in percent; `None` where there is no content.
    pub fn ratio_percent(&self) -> Option<f64> {
        let content = self.image.content_bytes;
        (content > 0).then(|| self.output_bytes as f64 * 100.0 / content as f64)
    }
}
