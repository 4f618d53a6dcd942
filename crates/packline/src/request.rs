//! The request of a pack.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use packline_cache::BlockCache;
use packline_squashfs::{FileHints, Options, parse_codec};
#[cfg(feature = "lrz")]
use packline_tree::Bytes;
#[cfg(feature = "oci")]
use packline_tree::oci::OciImage;
use packline_tree::tar::TarOptions;
use packline_tree::{ContentOrder, DirectoryOptions, Entry, Meta, Patterns, PseudoFile, Whiteouts};

use crate::appended::AppendTo;
use crate::base::BaseImage;
#[cfg(feature = "lrz")]
use crate::codecs::lrz_options;
use crate::joined::Part;
use crate::{Changes, Container, Error, Image, Output, Resources, Temporaries};

/// Where the entries of a pack come from.
pub enum Source {
    /// A directory, with all below it.
    Directory {
        /// Its path.
        path: PathBuf,
        /// Which entries and attributes are read, and by how many threads.
        options: DirectoryOptions,
    },
    /// Several directories or entries of directories, each under a name of its own below a new root.
    Directories {
        /// In the order of the image's data. No two have the same path in the image.
        parts: Vec<Part>,
        /// Attributes of the root.
        root: Meta,
    },
    /// A tar file, plain or compressed.
    TarFile {
        /// Its path.
        path: PathBuf,
    },
    /// A tar stream, plain or compressed.
    TarStream {
        /// Its name in messages.
        name: String,
        /// Bytes of the tar.
        stream: Box<dyn Read + Send>,
    },
    /// An image.
    Image(Image),
    /// Sources that lie over each other.
    Stack(Stack),
    /// The layers of an image of containers.
    #[cfg(feature = "oci")]
    Oci(OciImage),
    /// Any other source.
    Entries {
        /// Its name in messages.
        name: String,
        /// Entries and contents.
        source: Box<dyn packline_tree::Source>,
    },
}

/// Sources that lie over each other: what extracting them in order on one file system leaves.
///
/// The image is that of the merged tree as a directory, byte for byte. A directory over a directory merges, anything else replaces.
pub struct Stack {
    /// The lowest comes first.
    pub layers: Vec<Source>,
    /// What entries are that hide others.
    pub whiteouts: Whiteouts,
    /// Entries of the merged tree that are left out, with all below them.
    pub remove: Patterns,
}

impl Source {
    /// A directory, with extended attributes and hard links, other file systems below it included.
    pub fn directory(path: impl Into<PathBuf>) -> Source {
        Source::Directory { path: path.into(), options: DirectoryOptions::default() }
    }

    /// A tar file, plain or compressed.
    pub fn tar_file(path: impl Into<PathBuf>) -> Source {
        Source::TarFile { path: path.into() }
    }

    /// A tar stream, plain or compressed; `name` is for messages.
    pub fn tar_reader(name: impl Into<String>, stream: impl Read + Send + 'static) -> Source {
        Source::TarStream { name: name.into(), stream: Box::new(stream) }
    }

    /// An image.
    pub fn image(image: Image) -> Source {
        Source::Image(image)
    }

    /// Sources that lie over each other, the lowest first; whiteouts hide what lower ones have. A compressed tar is stored first, in
    /// [`Resources::scratch`].
    ///
    /// ```
    /// use packline::{Image, Packer, Selection, Source};
    ///
    /// # fn main() -> Result<(), packline::Error> {
    /// # let top = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(top.path()).unwrap();
    /// # std::fs::create_dir_all("rootfs/etc").unwrap();
    /// # std::fs::write("rootfs/etc/motd", "x").unwrap();
    /// # std::fs::create_dir_all("site/etc").unwrap();
    /// # std::fs::write("site/etc/.wh.motd", "").unwrap();
    /// Packer::new(Source::directory("rootfs")).write_to("base.sqfs")?;
    /// let layers = [Source::image(Image::open("base.sqfs")?), Source::directory("site")];
    /// Packer::new(Source::stack(layers)).write_to("site.sqfs")?;
    /// assert_eq!(Image::open("site.sqfs")?.entries(&Selection::all()).count(), 2); // the root and etc
    /// # Ok(())
    /// # }
    /// ```
    pub fn stack(layers: impl IntoIterator<Item = Source>) -> Source {
        let layers = layers.into_iter().collect();
        Source::Stack(Stack { layers, whiteouts: Whiteouts::Apply, remove: Patterns::new() })
    }

    /// A source whose contents come in an order: it is listed before they are read.
    pub(crate) fn in_order(self, order: &ContentOrder) -> Source {
        let has_order = match &self {
            // They are by path.
            Source::Directory { .. } | Source::Image(_) => order.is_by_path(),
            source => source.is_stack(),
        };
        if has_order {
            return self;
        }
        Source::Stack(Stack { layers: vec![self], whiteouts: Whiteouts::Ignore, remove: Patterns::new() })
    }

    /// Whether it is a stack, or becomes one.
    pub(crate) fn is_stack(&self) -> bool {
        match self {
            Source::Stack(_) => true,
            #[cfg(feature = "oci")]
            Source::Oci(_) => true,
            _ => false,
        }
    }

    /// Entries made by the caller; `name` is for messages.
    pub fn entries(name: impl Into<String>, source: impl packline_tree::Source + 'static) -> Source {
        Source::Entries { name: name.into(), source: Box::new(source) }
    }
}

/// Returns the flags of one file.
pub type Hints = Box<dyn FnMut(&Entry) -> FileHints>;

/// What decides the bytes of an output besides the source, by container.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PackOptions {
    /// Of a SquashFS image.
    SquashFs(Options),
    /// Of a .lrz file, which holds the tree as a tar.
    #[cfg(feature = "lrz")]
    Lrz {
        /// Compression.
        write: packline_lrz::WriteOptions,
        /// Prefix of the names of a directory's entries in the tar: empty, or with a slash at its end.
        prefix: Bytes,
    },
}

impl PackOptions {
    /// The defaults of a container, with a codec (`zstd:level=19`; `None`: zstd, or LZMA in a .lrz file) and, of an image, a block
    /// size: a power of two from 4 KiB to 1 MiB.
    ///
    /// # Errors
    /// [`Error::Codec`] for a codec that images do not have or that does not work with the block size, [`Error::Request`] for one that
    /// .lrz files do not have, for a block size of a .lrz file, and for a container that holds no trees.
    pub fn parse(container: Container, codec: Option<&str>, block_size: Option<u32>) -> Result<PackOptions, Error> {
        match container {
            Container::SquashFs => {
                let mut options = Options::new(parse_codec(codec.unwrap_or("zstd"))?);
                options.block_size = block_size.unwrap_or(options.block_size);
                options.codec.validate(options.block_size as usize)?;
                Ok(PackOptions::SquashFs(options))
            }
            #[cfg(feature = "lrz")]
            Container::Lrz if block_size.is_some() => Err(no_lrz("a block size")),
            #[cfg(not(feature = "lrz"))]
            Container::Lrz => Err(Container::Lrz.left_out()),
            #[cfg(feature = "lrz")]
            Container::Lrz => {
                let write = codec.map_or_else(|| Ok(Default::default()), lrz_options)?;
                Ok(PackOptions::Lrz { write, prefix: Bytes::new() })
            }
            Container::Pln => Err(Container::no_tree(container.name())),
        }
    }
}

/// The error for what a .lrz file cannot have.
#[cfg(feature = "lrz")]
pub(crate) fn no_lrz(what: &str) -> Error {
    Error::Request {
        what: format!("{what} for a .lrz file, which holds a tar"),
        expected: "a SquashFS image".to_string(),
    }
}

/// A tree to be packed.
#[non_exhaustive]
pub struct PackRequest {
    /// The tree. A .lrz file takes a directory or a tar, which is packed as it is, without what it was compressed with. An image may be
    /// replaced by what is packed from it.
    pub source: Source,
    /// An image whose entries come before those of the source. Images only.
    pub append_to: Option<AppendTo>,
    /// Where the output goes: a file, a block device or, of a .lrz file, a stream.
    pub target: Output,
    /// What decides the output's bytes besides the source.
    pub options: PackOptions,
    /// Byte of the output at which the image begins: a file has zeros before it, a block device what it has there. Images only.
    pub offset: u64,
    /// How a tar is read, but for its name and meter. Images only.
    pub tar: TarOptions,
    /// Changes of entries. Images only: refused for a .lrz file. A directory source excludes entries itself.
    pub changes: Changes,
    /// Entries and changes that are added to the source, before [`PackRequest::changes`]. Images only.
    pub pseudo: Option<PseudoFile>,
    /// Attributes of a root that the source does not describe; `None` for `defaults`. Images only.
    pub root: Option<Meta>,
    /// Attributes of implied directories, which the source does not describe. Images only.
    pub defaults: Meta,
    /// Flags of single files, if any. Images only.
    pub hints: Option<Hints>,
    /// The order in which contents are stored; `None` for that of the source. Paths are those of the source; what
    /// [`PackRequest::pseudo`] adds comes last. The source is listed first, and a tar that cannot be read twice is stored in
    /// [`Resources::scratch`]. The entries of the image are the same. Images only: refused for a .lrz file.
    pub order: Option<ContentOrder>,
    /// Whether the image is read back before it gets its name, and each block is decoded and compared with what was packed. Changes no
    /// byte. Images only: refused for a .lrz file.
    pub verify: bool,
    /// Where blocks are looked up before they are compressed, and kept. Changes no byte. Images only: a .lrz file is compressed in parts
    /// that are too large to be found again.
    pub cache: Option<Arc<BlockCache>>,
    /// Earlier images whose blocks are taken as they are; of several that have a block the first. Images only: ignored for a .lrz file.
    pub base: Vec<BaseImage>,
    /// A dm-verity tree of the image, and its root hash in a file beside it. The output is a file then, and the image padded to whole blocks of
    /// 4096 bytes. Images only: refused for a .lrz file.
    #[cfg(feature = "verity")]
    pub verity: Option<crate::verity::VerityOptions>,
    /// Workers and memory. They change no byte.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

/// Attributes of an implied directory: `rwxr-xr-x`, owned by root, at time 0.
pub const DEFAULT_META: Meta = Meta { mode: 0o755, uid: 0, gid: 0, mtime: 0 };

impl PackRequest {
    /// Packs everything as it is; with all processors, no memory limit.
    pub fn new(source: Source, target: Output, options: PackOptions) -> PackRequest {
        PackRequest {
            source,
            append_to: None,
            target,
            options,
            offset: 0,
            tar: TarOptions::default(),
            changes: Changes::default(),
            pseudo: None,
            root: None,
            defaults: DEFAULT_META,
            hints: None,
            order: None,
            verify: false,
            cache: None,
            base: Vec::new(),
            #[cfg(feature = "verity")]
            verity: None,
            resources: Resources::default(),
            temporaries: Temporaries::default(),
        }
    }
}
