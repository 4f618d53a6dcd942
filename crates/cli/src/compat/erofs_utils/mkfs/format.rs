//! The options of the image's format, and the summary of an image.

use packline::requests::{ImageSummary, WrittenEnd};
use packline_codec::Spec;
use packline_erofs::{BlockSize, Fragments, Inline, Kernel, Options, Place, Uuid};

use super::compression::{BLOCK, TAR_BLOCK, content_size};
use super::extended::Features;
use super::options::{FormatOptions, ImageUuid};
use crate::args::wrong;
use crate::ui::failure::Failure;

/// The first kernels with features that an image may need, the oldest first.
const KERNELS: [(u16, u16); 11] =
    [(5, 4), (5, 13), (5, 15), (5, 16), INLINE_CLUSTERS, (6, 1), (6, 4), (6, 6), (6, 10), (6, 15), (6, 17)];
/// The first kernel that reads compressed ends of files after their inodes.
const INLINE_CLUSTERS: (u16, u16) = (5, 17);
/// The first kernel that reads clusters of any number of bytes.
const WIDE: (u16, u16) = (6, 15);
/// The first kernel that finds prefixes of attribute names in any image.
const PLAIN_PREFIXES: (u16, u16) = (6, 17);

impl FormatOptions {
    /// Returns the features that -E and --zfeature-bits request.
    pub fn features(&self) -> Features {
        let bits = self.zfeature_bits.iter().flat_map(|list| &list.0);
        Features::of(bits.chain(self.extended.iter().flat_map(|list| &list.0)))
    }

    /// Returns where contents are stored; `is_index` is whether the image is an index of a tar.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that contradict each other.
    pub fn place(&self, is_index: bool) -> Result<Place, Failure> {
        let fault = match self {
            FormatOptions { block_size: Some(TAR_BLOCK), .. } if is_index => None,
            FormatOptions { block_size: Some(size), .. } if *size != BLOCK => {
                return Err(Failure::usage(format!(
                    "blocks of {size} bytes are not supported yet; leave out -b for blocks of 4096 bytes"
                )));
            }
            FormatOptions { blobdev: Some(_), chunk: None, .. } => {
                Some("--blobdev must be used together with --chunksize")
            }
            FormatOptions { compressed_directories: Some(true), .. } if is_index => {
                Some("--zD does not work with --tar=i, which compresses nothing")
            }
            FormatOptions { compressed_directories: Some(true), algorithm: None, .. } => {
                Some("--zD needs -z, whose algorithm compresses directories; --zD=0 leaves them as they are")
            }
            FormatOptions { chunk: Some(_), .. } if is_index => {
                Some("--chunksize does not work with --tar=i, whose chunks are the contents of the tar")
            }
            FormatOptions { chunk: Some(_), algorithm: Some(_), .. } => {
                Some("--chunksize does not work with -z; chunks are not compressed")
            }
            _ => None,
        };
        match fault {
            Some(fault) => Err(Failure::usage(fault)),
            None if is_index => Ok(Place::Tar),
            None if self.blobdev.is_some() => Ok(Place::Blob),
            None => Ok(Place::Image),
        }
    }

    /// Returns the options of an image that was created at a time in seconds since 1970.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that contradict each other.
    pub fn options(&self, features: Features, created: u32, place: Place) -> Result<Options, Failure> {
        // A tar is not compressed by its index.
        let algorithm = self.algorithm.as_ref().filter(|_| place != Place::Tar);
        let mut options = Options::new(algorithm.map_or(Spec::None, |algorithm| algorithm.codec.clone()));
        options.place = place;
        let size = match self.chunk {
            Some(chunk) => BlockSize::new(chunk.min(BlockSize::MAX.into())).map_err(|error| error.to_string()),
            None => content_size(self.cluster, self.max_extent_bytes, algorithm),
        };
        options.block_size = size.map_err(Failure::usage)?;
        // These sizes are limits, and not only what content is to have.
        options.headroom =
            self.max_extent_bytes.is_none() && algorithm.is_none_or(|algorithm| algorithm.dictionary.is_none());
        // Without compression and 48bit, ends of files are not packed: they follow the inodes.
        let is_flat = options.codec == Spec::None && !features.wide;
        let keeps_ends = if is_flat { features.inline && self.chunk.is_none() } else { features.fragments };
        options.fragments = if keeps_ends { Fragments::Always } else { Fragments::Never };
        options.inline = match features {
            Features { inline_clusters: true, .. } => Inline::Ends,
            Features { inline: true, .. } => Inline::SmallFiles,
            _ => Inline::Never,
        };
        options.compress_directories = self.compressed_directories == Some(true);
        options.deduplicate =
            features.deduplicate || self.chunk.is_some() || features.fragments && features.deduplicate_fragments;
        options.sparse = options.deduplicate;
        options.pad = (u64::from(self.fsalignblks.max(1)) * options.block()) as u32;
        options.created = created;
        options.label = self.label.clone().unwrap_or_default().into_bytes();
        options.uuid = match self.uuid {
            Some(ImageUuid::Given(uuid)) => Uuid::Given(uuid),
            Some(ImageUuid::Derived) | None => Uuid::Derived,
        };
        options.xattr_prefixes = self.prefixes()?;
        oldest(options, features)
    }

    /// Returns the values of --xattr-prefix.
    ///
    /// # Errors
    /// [`Failure::Usage`] for values that no image can have.
    fn prefixes(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let prefixes: Vec<Vec<u8>> =
            self.xattr_prefix.iter().map(|prefix| prefix.as_encoded_bytes().to_vec()).collect();
        let mut alone = Options::new(Spec::None);
        alone.xattr_prefixes.clone_from(&prefixes);
        alone.kernel = Kernel::new(PLAIN_PREFIXES.0, PLAIN_PREFIXES.1);
        alone.validate().map(|()| prefixes).map_err(|fault| wrong("xattr-prefix", fault))
    }
}

/// Chooses the oldest kernel that reads all that the options request.
fn oldest(mut options: Options, features: Features) -> Result<Options, Failure> {
    let mut fault = None;
    let has_inline = features.inline_clusters && options.codec != Spec::None && options.fragments == Fragments::Never;
    let least = match () {
        () if features.wide => WIDE,
        () if has_inline => INLINE_CLUSTERS,
        () => KERNELS[0],
    };
    let most = if features.plain_prefixes { PLAIN_PREFIXES } else { WIDE };
    for (major, minor) in KERNELS.into_iter().filter(|kernel| (least..=most).contains(kernel)) {
        options.kernel = Kernel::new(major, minor);
        match options.validate() {
            Ok(()) => return Ok(options),
            Err(error) => fault = Some(error),
        }
    }
    let mut fault = fault.map_or_else(String::new, |fault| fault.to_string());
    options.kernel = Kernel::new(PLAIN_PREFIXES.0, PLAIN_PREFIXES.1);
    if options.validate().is_ok() {
        fault.push_str("; add -E plain-xattr-prefixes");
    }
    Err(Failure::usage(fault))
}

/// Returns the statistics of an image in the words of mkfs.erofs.
pub fn statistics(summary: &ImageSummary) -> String {
    let image = &summary.image;
    let WrittenEnd::Erofs(end) = &image.end else { return String::new() };
    format!(
        "Build completed.\n------\n\
         Filesystem UUID: {}\n\
         Filesystem total blocks: {} (of {}-byte blocks)\n\
         Filesystem total inodes: {}\n\
         Filesystem total metadata blocks: {}\n\
         Filesystem total deduplicated bytes (of source files): {}\n",
        packline_verity::Uuid(end.uuid),
        end.padded / end.block + end.device_blocks,
        end.block,
        end.inodes,
        end.metadata.div_ceil(end.block),
        image.saved.duplicate_bytes,
    )
}
