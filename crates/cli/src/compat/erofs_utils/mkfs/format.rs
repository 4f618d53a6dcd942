//! The options of the image's format, and the summary of an image.

use packline::requests::{ImageSummary, WrittenEnd};
use packline_codec::Spec;
use packline_erofs::{Fragments, Kernel, Options, Uuid};

use super::compression::{BLOCK, content_size};
use super::extended::Features;
use super::options::{FormatOptions, ImageUuid};
use crate::ui::failure::Failure;

/// The first kernels with features that an image may need, the oldest first.
const KERNELS: [(u16, u16); 8] = [(5, 4), (5, 13), (5, 15), (5, 16), (6, 1), (6, 6), (6, 10), (6, 15)];
/// The first kernel that reads clusters of any number of bytes.
const WIDE: (u16, u16) = (6, 15);

impl FormatOptions {
    /// Returns the features that -E and --zfeature-bits request.
    pub fn features(&self) -> Features {
        let bits = self.zfeature_bits.iter().flat_map(|list| &list.0);
        Features::of(bits.chain(self.extended.iter().flat_map(|list| &list.0)))
    }

    /// Returns the options of an image that was created at a time in seconds since 1970.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that contradict each other.
    pub fn options(&self, features: Features, created: u32) -> Result<Options, Failure> {
        let codec = self.algorithm.as_ref().map_or(Spec::None, |algorithm| algorithm.codec.clone());
        let mut options = Options::new(codec);
        let algorithm = self.algorithm.as_ref();
        options.block_size = content_size(self.cluster, self.max_extent_bytes, algorithm).map_err(Failure::usage)?;
        options.fragments = if features.fragments { Fragments::default() } else { Fragments::Never };
        options.deduplicate = features.deduplicate || features.fragments && features.deduplicate_fragments;
        options.sparse = options.deduplicate;
        options.pad = (u64::from(self.fsalignblks.max(1)) * BLOCK) as u32;
        options.created = created;
        options.label = self.label.clone().unwrap_or_default().into_bytes();
        options.uuid = match self.uuid {
            Some(ImageUuid::Given(uuid)) => Uuid::Given(uuid),
            Some(ImageUuid::Derived) | None => Uuid::Derived,
        };
        oldest(options, features.wide)
    }
}

/// Chooses the oldest kernel that reads all that the options request.
fn oldest(mut options: Options, wide: bool) -> Result<Options, Failure> {
    let mut fault = None;
    for (major, minor) in KERNELS.into_iter().filter(|kernel| !wide || *kernel >= WIDE) {
        options.kernel = Kernel::new(major, minor);
        match options.validate() {
            Ok(()) => return Ok(options),
            Err(error) => fault = Some(error),
        }
    }
    Err(Failure::usage(fault.map_or_else(String::new, |fault| fault.to_string())))
}

/// Returns the statistics of an image in the words of mkfs.erofs.
pub fn statistics(summary: &ImageSummary) -> String {
    let image = &summary.image;
    let WrittenEnd::Erofs(end) = &image.end else { return String::new() };
    format!(
        "Build completed.\n------\n\
         Filesystem UUID: {}\n\
         Filesystem total blocks: {} (of {BLOCK}-byte blocks)\n\
         Filesystem total inodes: {}\n\
         Filesystem total metadata blocks: {}\n\
         Filesystem total deduplicated bytes (of source files): {}\n",
        packline_verity::Uuid(end.uuid),
        end.padded / BLOCK,
        end.inodes,
        end.metadata.div_ceil(BLOCK),
        image.saved.duplicate_bytes,
    )
}
