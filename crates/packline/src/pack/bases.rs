//! Base images of a pack: which of their blocks are reused, and how they are opened within the memory limit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_cache::KnownBlocks;
use packline_engine::Config;
use packline_image::{FileSystem, OpenedImage, ReadDemand, metadata_cache};
use packline_runtime::escape::Escape;
use packline_runtime::memory::Shortage;
use packline_runtime::{Observer, OutputFile, Resources, must_differ};
use packline_squashfs::{Base, Options};
use packline_volume::{BaseCounts, BaseError, BaseSettings, BlockListener, CheckScope};

use super::image_options::ImageOptions;
use crate::container::image_place::ImagePlace;
use crate::error::Error;
use crate::sources::image::AppendedImage;
use crate::sources::planned::PlannedSource;

/// An earlier image whose compressed blocks are reused if the content is the same.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BaseImage {
    /// The image. It may be the output, unless that is a block device.
    pub place: ImagePlace,
    /// Which blocks are taken.
    pub blocks: BaseBlocks,
}

/// Which blocks of a base are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BaseBlocks {
    /// Blocks of an image that this version packed with the same codec. The output has the same bytes as without a base.
    /// Any other image is an error.
    #[default]
    Exact,
    /// The same, but an image whose blocks cannot be reused is ignored.
    ExactOrNone,
    /// Blocks of any SquashFS image with this compressor and block size. The bytes of the output may then differ from an output without a base.
    /// For an EROFS image as the output, or as the base, this is [`BaseBlocks::Exact`].
    Any,
}

impl BaseImage {
    /// A base that does not change the bytes of the output.
    pub fn new(place: ImagePlace) -> BaseImage {
        BaseImage { place, blocks: BaseBlocks::Exact }
    }
}

/// The EROFS images whose blocks are those of SquashFS images.
const COMMON: &str = "with codec zstd or lz4, for Linux 6.15 or later";

/// Parameters for opening bases.
#[derive(Clone, Copy)]
pub(crate) struct BaseOpening<'a> {
    pub(crate) options: &'a ImageOptions,
    pub(crate) resources: &'a Resources,
    /// Unused bytes of memory. Indexes take at most half of them.
    pub(crate) spare: u64,
}

/// An open base, whatever its file system.
trait OpenBase: KnownBlocks {
    fn counts(&self) -> BaseCounts;

    /// Bytes of its index.
    fn memory(&self) -> u64;
}

impl OpenBase for Base {
    fn counts(&self) -> BaseCounts {
        Base::counts(self)
    }

    fn memory(&self) -> u64 {
        Base::memory(self)
    }
}

impl OpenBase for packline_erofs::Base {
    fn counts(&self) -> BaseCounts {
        packline_erofs::Base::counts(self)
    }

    fn memory(&self) -> u64 {
        packline_erofs::Base::memory(self)
    }
}

/// The open bases of a pack, with their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bases {
    /// Whether bases were requested. Otherwise the list has only images that are sources.
    requested: bool,
    list: Vec<(PathBuf, Arc<dyn OpenBase>)>,
    /// Images that are read but are not bases. They are compared with their records before the new image gets a record.
    checked: Vec<OpenedImage>,
}

impl Bases {
    /// Opens the bases of a request.
    pub(crate) fn open(
        wanted: &[BaseImage],
        opening: BaseOpening<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Bases, Error> {
        let BaseOpening { options, resources, spare } = opening;
        let mut bases = Bases { requested: !wanted.is_empty(), ..Bases::default() };
        for base in wanted {
            let left = resources.memory.map(|_| (spare / 2).saturating_sub(bases.memory()));
            let opened = base.place.open(metadata_cache(resources.memory));
            match opened.and_then(|opened| open(&opened, base.blocks, options, resources, left)) {
                Err(error @ (Error::Read { .. } | Error::Base { .. } | Error::Memory { .. }))
                    if base.blocks == BaseBlocks::ExactOrNone =>
                {
                    log::debug!("base: skipped: {error}");
                }
                opened => bases.list.push((base.place.path.clone(), opened?)),
            }
        }
        bases.warn(observer, |counts| counts.damaged, "cannot be decoded and are not reused");
        Ok(bases)
    }

    /// Adds the images that a source reads, if the encoder would write the same blocks. The data of any other image is compared
    /// with the image's record after the data was read.
    pub(crate) fn add_sources(&mut self, source: &mut dyn PlannedSource, opening: BaseOpening<'_>) {
        source.each_image(&mut |image, watch| {
            let added = match &image.file_system {
                FileSystem::SquashFs(_) => self.add_source(image, opening).map(Some).map_err(|cause| cause.to_string()),
                // Segments are decoded cluster by cluster when the image is read, so they are decoded before, too.
                FileSystem::Erofs(_) => {
                    let added = self.add_decoded(image, BaseBlocks::Exact, opening);
                    added.map(|()| None).map_err(|cause| cause.to_string())
                }
            };
            match added {
                Ok(listener) => *watch = listener,
                Err(cause) => {
                    log::debug!("{}: its blocks are compressed again: {cause}", image.display_path.escaped());
                    *watch = None;
                    self.check(image);
                }
            }
        });
    }

    /// Adds the image before a source. Blocks of any encoder are reused, because the image is kept unchanged.
    ///
    /// # Errors
    /// [`Error::Memory`]: the memory must not decide which blocks the new image has.
    pub(crate) fn add_appended(&mut self, appended: &mut AppendedImage, opening: BaseOpening<'_>) -> Result<(), Error> {
        let mut added = Ok(());
        appended.each_image(&mut |image, watch| {
            match self.add_source(image, opening) {
                Ok(base) => {
                    *watch = Some(base);
                    return;
                }
                Err(BaseError::Foreign { .. }) => added = self.add_any(image, opening),
                Err(_) => {}
            }
            self.check(image);
        });
        added
    }

    /// Adds a SquashFS image that is read as a source, if the encoder would write the same blocks. The image must report its decoded blocks
    /// to the returned listener.
    ///
    /// # Errors
    /// Returns the reason why the image was not added.
    fn add_source(
        &mut self,
        source: &OpenedImage,
        opening: BaseOpening<'_>,
    ) -> Result<Arc<dyn BlockListener>, BaseError> {
        let BaseOpening { options, resources, spare } = opening;
        let engine = resources.config(0, 0);
        let settings = BaseSettings { any: false, memory: self.index_limit(resources, spare), engine };
        let FileSystem::SquashFs(image) = &source.file_system else {
            return Err(BaseError::fit("is an EROFS image", "a SquashFS image"));
        };
        let base = Arc::new(Base::of_source(image, &squashfs_options(options)?, &settings)?);
        self.list.push((source.display_path.clone(), base.clone()));
        Ok(base)
    }

    /// Adds an image whose blocks are reused whichever encoder wrote them. An image that cannot be read is skipped: the error is reported when its
    /// entries are read.
    ///
    /// # Errors
    /// [`Error::Memory`] if the index does not fit.
    fn add_any(&mut self, image: &OpenedImage, opening: BaseOpening<'_>) -> Result<(), Error> {
        match self.add_decoded(image, BaseBlocks::Any, opening) {
            Err(error @ Error::Memory { .. }) => Err(error),
            Err(_) | Ok(()) => Ok(()),
        }
    }

    /// Adds an image all of whose blocks are decoded now.
    fn add_decoded(&mut self, image: &OpenedImage, blocks: BaseBlocks, opening: BaseOpening<'_>) -> Result<(), Error> {
        let BaseOpening { options, resources, spare } = opening;
        let base = open(image, blocks, options, resources, self.index_limit(resources, spare))?;
        self.list.push((image.display_path.clone(), base));
        Ok(())
    }

    /// Makes an image compute the checksum of its data, for [`Bases::compare_checked`].
    fn check(&mut self, image: &mut OpenedImage) {
        *image = image.checked(CheckScope::Everything);
        self.checked.push(image.clone());
    }

    /// Compares the data of images that have been read with their records.
    ///
    /// # Errors
    /// [`Error::Read`] for an image with other data, and if the rest of the data cannot be read.
    pub(crate) fn compare_checked(&self, resources: &Resources) -> Result<(), Error> {
        Ok(self.checked.iter().try_for_each(|image| image.compare_data(resources))?)
    }

    /// Maximum bytes of the next index.
    fn index_limit(&self, resources: &Resources, spare: u64) -> Option<u64> {
        resources.memory.map(|_| spare.saturating_sub(self.memory()) / 2)
    }

    /// Memory of their indexes in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.list.iter().map(|(_, base)| base.memory()).sum()
    }

    pub(crate) fn known(&self) -> Vec<Arc<dyn KnownBlocks>> {
        self.list.iter().map(|(_, base)| -> Arc<dyn KnownBlocks> { base.clone() }).collect()
    }

    /// The sum of the counts after the output was written; `None` without a base, and if no block of the sources was reused.
    pub(crate) fn finish(&self, observer: &mut dyn Observer) -> Option<BaseCounts> {
        self.warn(observer, |counts| counts.changed, "changed while they were read, and were compressed again");
        if log::log_enabled!(log::Level::Debug) {
            for (path, base) in &self.list {
                let BaseCounts { blocks, taken, .. } = base.counts();
                log::debug!(
                    "{}: {taken} blocks taken from this base, which has {blocks} distinct blocks",
                    path.escaped()
                );
            }
        }
        let counts = self.list.iter().map(|(_, base)| base.counts()).reduce(BaseCounts::and);
        counts.filter(|counts| self.requested || counts.taken > 0)
    }

    fn warn(&self, observer: &mut dyn Observer, number: impl Fn(BaseCounts) -> u64, what: &str) {
        for (path, base) in &self.list {
            match number(base.counts()) {
                0 => {}
                blocks => observer.warning(&format!("{}: {blocks} blocks {what}", path.escaped())),
            }
        }
    }
}

/// Rejects a base on the output if that is a block device. The device is written in place, so that the base would be overwritten while it is read.
pub(crate) fn check_output(bases: &[BaseImage], output: &OutputFile, path: &Path) -> Result<(), Error> {
    if output.begins_empty() {
        Ok(())
    } else {
        Ok(bases.iter().try_for_each(|base| must_differ(&base.place.path, path))?)
    }
}

/// Opens an image as a base. `memory` is the maximum size of its index in bytes.
fn open(
    opened: &OpenedImage,
    blocks: BaseBlocks,
    options: &ImageOptions,
    resources: &Resources,
    memory: Option<u64>,
) -> Result<Arc<dyn OpenBase>, Error> {
    let engine = engine(opened, resources, memory.unwrap_or(0))?;
    // Kernels read fewer kinds of blocks in EROFS images, and indexes of EROFS images do not say what an encoder compressed at once.
    let is_squashfs = matches!(options, ImageOptions::SquashFs(_));
    let settings = BaseSettings { any: is_squashfs && blocks == BaseBlocks::Any, memory, engine };
    let base = match &opened.file_system {
        FileSystem::SquashFs(image) => squashfs_options(options)
            .and_then(|options| Base::open(image, &options, &settings))
            .map(|base| -> Arc<dyn OpenBase> { Arc::new(base) }),
        FileSystem::Erofs(image) => erofs_options(options)
            .and_then(|options| packline_erofs::Base::open(image, &options, &settings))
            .map(|base| -> Arc<dyn OpenBase> { Arc::new(base) }),
    };
    base.map_err(|cause| match cause {
        BaseError::Read(cause) => opened.fault(cause).into(),
        BaseError::Memory { blocks, allowed, needed } => {
            let limit = resources.memory.unwrap_or(u64::MAX);
            // More than a third of what the limit has more is for the index, if an image is a source, and half if none is.
            let needed = limit.saturating_add(needed.saturating_sub(allowed).saturating_mul(3));
            let what = format!("an index of the {blocks} blocks of {}", opened.display_path.escaped());
            Error::memory(Shortage { allowed: limit, needed }, what)
        }
        BaseError::Foreign { what, expected } if !is_squashfs => {
            Error::Base { path: opened.display_path.clone(), cause: Box::new(BaseError::fit(what, expected)) }
        }
        cause => Error::Base { path: opened.display_path.clone(), cause: Box::new(cause) },
    })
}

/// The options of a SquashFS image that has the blocks of the new image.
fn squashfs_options(options: &ImageOptions) -> Result<Options, BaseError> {
    match options {
        ImageOptions::SquashFs(options) => Ok(options.clone()),
        ImageOptions::Erofs(options) if options.has_common_blocks() => {
            Ok(Options { block_size: options.block_size, ..Options::new(options.codec.clone()) })
        }
        ImageOptions::Erofs(options) => Err(BaseError::fit(
            "is a SquashFS image, whose blocks differ from those of the new image",
            match packline_erofs::Options::with_common_blocks(options.codec.clone(), options.block_size) {
                Some(later) => format!("an EROFS image, or a new image for Linux {} or later", later.kernel),
                None => format!("an EROFS image, or a new image {COMMON}"),
            },
        )),
    }
}

/// The options of an EROFS image that has the blocks of the new image.
fn erofs_options(options: &ImageOptions) -> Result<packline_erofs::Options, BaseError> {
    match options {
        ImageOptions::Erofs(options) => Ok(options.clone()),
        ImageOptions::SquashFs(options) => {
            let common = packline_erofs::Options::with_common_blocks(options.codec.clone(), options.block_size);
            common.ok_or_else(|| {
                let what = "is an EROFS image, whose blocks differ from those of the new image";
                BaseError::fit(what, "a SquashFS image, or codec zstd or lz4 in both images")
            })
        }
    }
}

/// Workers and window for reading a base; `besides`: bytes of its index.
fn engine(image: &OpenedImage, resources: &Resources, besides: u64) -> Result<Config, Error> {
    let plan = ReadDemand::new(&image.volume, resources.limits(), besides).plan()?;
    // The counters count packing only.
    Ok(Config { stats: None, ..plan.config(resources) })
}
