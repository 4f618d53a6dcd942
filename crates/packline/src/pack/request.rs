//! The request of a pack.

use std::sync::Arc;

use packline_archives::ContentOrder;
use packline_archives::tar::TarOptions;
use packline_blocks::BlockSize;
use packline_cache::BlockCache;
use packline_codec::{Spec, StreamSpec};
use packline_image::Output;
use packline_manifests::PseudoFile;
use packline_runtime::{OutputFile, Resources, Temporaries};
use packline_squashfs::{Options, parse_codec};
#[cfg(feature = "lrz")]
use packline_tree::Bytes;
use packline_tree::Meta;

use super::bases::BaseImage;
use super::image_options::ImageOptions;
use super::prepended::Prepended;
use crate::container::by_name::Container;
use crate::error::Error;
use crate::sources::changes::Changes;
use crate::sources::image::AppendTo;
use crate::sources::listing::Hints;
use crate::sources::planned::DEFAULT_META;
use crate::sources::source::Source;
#[cfg(feature = "lrz")]
use crate::streams::codecs::lrz_options;

/// A tree to be packed.
#[non_exhaustive]
pub struct PackRequest {
    /// The tree. The output may replace an image that is the source.
    pub source: Source,
    /// The destination of the output.
    pub target: Output,
    /// The container, with its options.
    pub container: PackContainer,
    /// Workers and memory. They do not affect the output.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

/// The container of a pack, with its options.
#[non_exhaustive]
pub enum PackContainer {
    /// An image of a file system.
    Image(Box<ImageRequest>),
    /// A tar, plain or compressed.
    Tar(Box<TarRequest>),
    /// A .lrz file. It holds a tree as a tar, and a tar unchanged but without its own compression.
    #[cfg(feature = "lrz")]
    Lrz(Box<LrzRequest>),
}

/// How the entries of a source are read, changed and ordered, in any container. The default changes nothing.
#[non_exhaustive]
pub struct EntryRequest {
    /// How a tar is read, except its name and meter.
    pub tar: TarOptions,
    /// Changes of entries. A directory source excludes entries itself.
    pub changes: Changes,
    /// Entries and changes that are added to the source, before [`EntryRequest::changes`].
    pub pseudo: Option<PseudoFile>,
    /// Attributes of a root that the source does not describe; `None` for `defaults`.
    pub root: Option<Meta>,
    /// Attributes of implied directories, which the source does not describe.
    pub defaults: Meta,
    /// The order in which contents are stored; `None` for the order of the source. The paths are paths of the source. Entries from
    /// [`EntryRequest::pseudo`] come last. The source is listed first, and a tar that cannot be read twice is stored in
    /// [`Resources::scratch`]. The entries of an image do not change; those of a tar have this order.
    pub order: Option<ContentOrder>,
}

impl Default for EntryRequest {
    fn default() -> EntryRequest {
        EntryRequest {
            tar: TarOptions::default(),
            changes: Changes::default(),
            pseudo: None,
            root: None,
            defaults: DEFAULT_META,
            order: None,
        }
    }
}

/// A tar to be packed.
#[derive(Default)]
#[non_exhaustive]
pub struct TarRequest {
    /// How the entries are read and changed.
    pub entries: EntryRequest,
    /// The compression; `None` for an uncompressed tar.
    pub compression: Option<StreamSpec>,
    /// Whether extended attributes are left out.
    pub no_xattrs: bool,
    /// Whether holes of files are written as zeros.
    pub no_sparse: bool,
}

impl TarRequest {
    /// A tar with a compression, `NAME[:level=N]` with gzip, xz, zstd or bzip2 (`None` and `none`: uncompressed).
    ///
    /// # Errors
    /// [`Error::Codec`] for a codec that tars do not have.
    pub fn parse(codec: Option<&str>) -> Result<TarRequest, Error> {
        let codec = codec.filter(|codec| *codec != "none");
        Ok(TarRequest { compression: codec.map(StreamSpec::parse).transpose()?, ..TarRequest::default() })
    }
}

/// An image to be packed.
#[non_exhaustive]
pub struct ImageRequest {
    /// Options that affect the image's bytes.
    pub options: ImageOptions,
    /// An image whose entries come before those of the source.
    pub append_to: Option<AppendTo>,
    /// Byte of the output at which the image begins. A file has zeros before the image; a block device keeps its bytes.
    pub offset: u64,
    /// Bytes before the image, instead of [`ImageRequest::offset`], which must be 0. The image begins right after them. A new file may be
    /// executed if the file with the bytes may be. The output must not be a block device.
    pub prepended: Option<Prepended>,
    /// How the entries are read and changed.
    pub entries: EntryRequest,
    /// Flags of single files.
    pub hints: Option<Hints>,
    /// Whether the image is read back before it gets its name, and each block is decoded and compared with the packed data. This does
    /// not affect the output.
    pub verify: bool,
    /// A cache in which blocks are looked up before they are compressed, and stored afterwards. It does not affect the output.
    pub cache: Option<Arc<BlockCache>>,
    /// The device of an EROFS image with [`Place::Blob`](packline_erofs::Place::Blob), which gets the contents. It gets its name with the image.
    pub device: Option<OutputFile>,
    /// Files that the source writes while it is read, and that get their names with the image.
    pub copies: Vec<OutputFile>,
    /// Earlier images whose compressed blocks are reused. If several images have a block, the first image is used.
    pub base: Vec<BaseImage>,
    /// A dm-verity tree of the image, and its root hash in a file next to the image. The output must be a file, and the image is padded to
    /// a multiple of 4096 bytes.
    #[cfg(feature = "verity")]
    pub verity: Option<crate::sidecars::verity::VerityOptions>,
}

/// A .lrz file to be packed.
#[cfg(feature = "lrz")]
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LrzRequest {
    /// Compression.
    pub write: packline_lrz::WriteOptions,
    /// Prefix of the names of a directory's entries in the tar: empty, or with a slash at its end.
    pub prefix: Bytes,
    /// Changes of the entries of a source that is neither a directory, which excludes entries itself, nor a tar.
    pub changes: Changes,
    /// Whether extended attributes of the same sources are left out.
    pub no_xattrs: bool,
}

#[cfg(feature = "lrz")]
impl LrzRequest {
    /// A .lrz file whose entries have no prefix.
    pub fn new(write: packline_lrz::WriteOptions) -> LrzRequest {
        LrzRequest { write, prefix: Bytes::new(), changes: Changes::default(), no_xattrs: false }
    }
}

impl ImageRequest {
    /// A SquashFS image with a codec (`zstd:level=19`; `None`: zstd) and a block size.
    ///
    /// # Errors
    /// [`Error::Codec`] for a codec that images do not have or that does not work with the block size.
    pub fn parse(codec: Option<&str>, block_size: Option<BlockSize>) -> Result<ImageRequest, Error> {
        let mut options = Options::new(parse_codec(codec.unwrap_or("zstd"))?);
        options.block_size = block_size.unwrap_or(options.block_size);
        options.codec.validate(options.block_size.bytes())?;
        Ok(ImageRequest::new(options))
    }

    /// An EROFS image with a codec (`None`: zstd) and the largest number of bytes of content of a cluster.
    ///
    /// # Errors
    /// [`Error::Codec`] for a codec that EROFS does not have or that does not work with the block size.
    pub fn parse_erofs(codec: Option<&str>, block_size: Option<BlockSize>) -> Result<ImageRequest, Error> {
        let mut options = packline_erofs::Options::new(Spec::parse_bare(codec.unwrap_or("zstd"))?);
        options.block_size = block_size.unwrap_or(options.block_size);
        options.codec.bare_codec(options.block_size.bytes())?;
        Ok(ImageRequest::new(options))
    }

    /// Packs everything unchanged.
    pub fn new(options: impl Into<ImageOptions>) -> ImageRequest {
        ImageRequest {
            options: options.into(),
            append_to: None,
            offset: 0,
            prepended: None,
            entries: EntryRequest::default(),
            hints: None,
            verify: false,
            cache: None,
            device: None,
            copies: Vec::new(),
            base: Vec::new(),
            #[cfg(feature = "verity")]
            verity: None,
        }
    }
}

impl From<ImageRequest> for PackContainer {
    fn from(image: ImageRequest) -> PackContainer {
        PackContainer::Image(Box::new(image))
    }
}

impl From<TarRequest> for PackContainer {
    fn from(tar: TarRequest) -> PackContainer {
        PackContainer::Tar(Box::new(tar))
    }
}

#[cfg(feature = "lrz")]
impl From<LrzRequest> for PackContainer {
    fn from(lrz: LrzRequest) -> PackContainer {
        PackContainer::Lrz(Box::new(lrz))
    }
}

impl PackContainer {
    /// Byte of the output at which the image begins; 0 for other containers.
    #[cfg(feature = "pln")]
    pub(super) fn start(&self) -> u64 {
        match self {
            PackContainer::Image(image) => image.prepended.as_ref().map_or(image.offset, Prepended::length),
            _ => 0,
        }
    }

    /// The defaults of a container, with a codec (`zstd:level=19`; `None`: zstd, LZMA in a .lrz file, none for a tar) and, for an image, a
    /// block size.
    ///
    /// # Errors
    /// [`Error::Codec`] for a codec that images do not have or that does not work with the block size. [`Error::Request`] for a codec that
    /// .lrz files do not have, for a block size of a .lrz file or a tar, and for a container that holds no trees.
    pub fn parse(
        container: Container,
        codec: Option<&str>,
        block_size: Option<BlockSize>,
    ) -> Result<PackContainer, Error> {
        match container {
            Container::SquashFs => Ok(ImageRequest::parse(codec, block_size)?.into()),
            Container::Erofs => Ok(ImageRequest::parse_erofs(codec, block_size)?.into()),
            Container::Tar if block_size.is_some() => Err(no_tar("a block size")),
            Container::Tar => Ok(TarRequest::parse(codec)?.into()),
            #[cfg(feature = "lrz")]
            Container::Lrz if block_size.is_some() => Err(no_lrz("a block size")),
            #[cfg(not(feature = "lrz"))]
            Container::Lrz => Err(Container::Lrz.left_out()),
            #[cfg(feature = "lrz")]
            Container::Lrz => {
                let write = codec.map_or_else(|| Ok(Default::default()), lrz_options)?;
                Ok(LrzRequest::new(write).into())
            }
            Container::Pln => Err(Container::no_tree(container.name())),
        }
    }
}

/// The error for a feature that tars do not have.
pub(crate) fn no_tar(what: &str) -> Error {
    Error::Request { what: format!("{what} for a tar"), expected: "a SquashFS or EROFS image".to_string() }
}

/// The error for a feature that .lrz files do not have.
#[cfg(feature = "lrz")]
pub(crate) fn no_lrz(what: &str) -> Error {
    Error::Request {
        what: format!("{what} for a .lrz file, which holds a tar"),
        expected: "a SquashFS or EROFS image".to_string(),
    }
}

impl PackRequest {
    /// A pack with all processors and no memory limit.
    pub fn new(source: Source, target: Output, container: impl Into<PackContainer>) -> PackRequest {
        PackRequest {
            source,
            target,
            container: container.into(),
            resources: Resources::default(),
            temporaries: Temporaries::default(),
        }
    }
}
