//! The options of an image by its file system, and the facts about them that the phases of a pack need.

use packline_blocks::{Error, min_window};
use packline_cache::{LargestBlock, Lookup};
use packline_codec::{Footprint, METADATA_BLOCK_SIZE, Spec};
use packline_erofs::Place;
use packline_runtime::memory::Demand;

use crate::sources::changes::limits::EntryLimits;

/// The options that determine the bytes of an image, by its file system.
#[derive(Debug, Clone)]
pub enum ImageOptions {
    /// A SquashFS image.
    SquashFs(packline_squashfs::Options),
    /// An EROFS image.
    Erofs(packline_erofs::Options),
}

impl From<packline_squashfs::Options> for ImageOptions {
    fn from(options: packline_squashfs::Options) -> ImageOptions {
        ImageOptions::SquashFs(options)
    }
}

impl From<packline_erofs::Options> for ImageOptions {
    fn from(options: packline_erofs::Options) -> ImageOptions {
        ImageOptions::Erofs(options)
    }
}

impl ImageOptions {
    /// The codec of the contents.
    pub fn codec(&self) -> &Spec {
        match self {
            ImageOptions::SquashFs(options) => &options.codec,
            ImageOptions::Erofs(options) => &options.codec,
        }
    }

    /// The codec of the contents, to change it.
    pub fn codec_mut(&mut self) -> &mut Spec {
        match self {
            ImageOptions::SquashFs(options) => &mut options.codec,
            ImageOptions::Erofs(options) => &mut options.codec,
        }
    }

    /// Whether blocks are looked up in a cache before they are compressed.
    pub fn looks_up(&self) -> bool {
        match self {
            ImageOptions::SquashFs(_) => true,
            ImageOptions::Erofs(options) => options.looks_up(),
        }
    }

    /// Checks that the options go together.
    pub(super) fn validate(&self) -> Result<(), Error> {
        match self {
            ImageOptions::SquashFs(options) => Ok(options.codec.validate(options.block_size.bytes())?),
            ImageOptions::Erofs(options) => options.validate(),
        }
    }

    /// The largest number of bytes of content that a worker compresses at a time.
    pub(super) fn block_size(&self) -> u32 {
        match self {
            ImageOptions::SquashFs(options) => options.block_size.into(),
            ImageOptions::Erofs(options) => options.segment_size().into(),
        }
    }

    /// The largest block that is looked up in a cache.
    pub(super) fn largest_block(&self) -> LargestBlock {
        match self {
            ImageOptions::SquashFs(options) => options.block_size.bytes().into(),
            ImageOptions::Erofs(options) => options.largest_block(),
        }
    }

    /// The smallest window in bytes that occupies all workers.
    pub(super) fn min_window(&self) -> usize {
        match self {
            ImageOptions::SquashFs(options) => min_window(options.block_size),
            ImageOptions::Erofs(options) => min_window(options.segment_size()),
        }
    }

    /// Whether extended attributes are stored.
    pub(super) fn xattrs(&self) -> bool {
        match self {
            ImageOptions::SquashFs(options) => options.xattrs,
            ImageOptions::Erofs(options) => options.xattrs,
        }
    }

    /// Where the contents are stored.
    pub(super) fn place(&self) -> Place {
        match self {
            ImageOptions::SquashFs(_) => Place::Image,
            ImageOptions::Erofs(options) => options.place,
        }
    }

    /// The image is padded to a multiple of this many bytes.
    #[cfg(feature = "verity")]
    pub(super) fn pad(&self) -> u32 {
        match self {
            ImageOptions::SquashFs(options) => options.pad,
            ImageOptions::Erofs(options) => options.pad,
        }
    }

    /// The limits of the attributes of an entry.
    pub(super) fn limits(&self) -> EntryLimits {
        match self {
            ImageOptions::SquashFs(_) => EntryLimits::SQUASHFS,
            ImageOptions::Erofs(_) => EntryLimits::EROFS,
        }
    }

    /// Memory of the encoders of one worker and of its buffers: an input block and an output block. `verify` is whether the image is read back:
    /// a decoder replaces the encoders then.
    pub(super) fn demand(&self, lookup: &Lookup, verify: bool) -> Demand {
        let codec = self.codec();
        let block = self.block_size() as usize;
        let Footprint { encoder, decoder } = match self {
            ImageOptions::SquashFs(_) => Footprint {
                encoder: codec.footprint(block).encoder + codec.footprint(METADATA_BLOCK_SIZE).encoder,
                decoder: codec.footprint(block.max(METADATA_BLOCK_SIZE)).decoder,
            },
            // An unknown codec fails before anything is written. A buffer for decoded blocks is part of the decoder.
            ImageOptions::Erofs(options) => options
                .footprint()
                .map_or_else(|_| codec.footprint(block), |bare| Footprint { decoder: bare.decoder + block, ..bare }),
        };
        let looks_up = self.looks_up() && !matches!(codec, Spec::None);
        let encoders = encoder + if looks_up { lookup.encoder_memory(decoder, self.largest_block()) } else { 0 };
        let decoder = if verify { decoder } else { 0 };
        Demand { per_worker: (encoders.max(decoder) + 2 * block) as u64, ..Demand::default() }
    }
}
