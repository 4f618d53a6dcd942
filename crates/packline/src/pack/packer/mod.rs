//! A builder for packs into any container that holds trees.

mod settings;
mod text;

use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_archives::ContentOrder;
use packline_blocks::{BlockSize, Layout};
use packline_cache::BlockCache;
use packline_codec::StreamSpec;
use packline_image::Output;
use packline_runtime::{Observer, Resources, Temporaries, Unobserved};

use self::settings::Settings;
use super::bases::BaseImage;
use super::request::{PackContainer, PackRequest};
use super::summary::{ImageSummary, PackSummary};
use super::target::PackTarget;
use super::{ImageWork, pack, pack_image};
use crate::container::by_name::Container;
use crate::container::file_kind::FileKind;
use crate::container::image_place::ImagePlace;
use crate::error::Error;
#[cfg(feature = "verity")]
use crate::sidecars::verity::VerityOptions;
use crate::sources::source::Source;

/// Packs a tree into a SquashFS image, an EROFS image, a tar or a .lrz file.
///
/// The output's bytes depend on the source and on the options below, but never on [`Resources`], the cache, the base images or the
/// verification. A packer may be sent to another thread. [`Resources::cancelled_by`] stops it from any thread.
///
/// ```
/// use packline::{CancelToken, ErrorKind, Packer, Resources, Source};
///
/// # let top = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(top.path()).unwrap();
/// # std::fs::create_dir("rootfs").unwrap();
/// let token = CancelToken::new();
/// let packer = Packer::new(Source::directory("rootfs")).resources(Resources::new(2).cancelled_by(&token));
/// let pack = std::thread::spawn(move || packer.time(1_700_000_000).owner(0, 0).write_to("root.sqfs"));
/// // token.cancel() ends the pack with ErrorKind::Cancelled.
/// assert!(pack.join().unwrap().is_ok());
///
/// token.cancel();
/// let packer = Packer::new(Source::directory("rootfs")).resources(Resources::new(2).cancelled_by(&token));
/// assert_eq!(packer.write_to("never.sqfs").unwrap_err().kind(), ErrorKind::Cancelled);
/// ```
pub struct Packer<'o> {
    source: Source,
    container: Option<Container>,
    codec: Option<String>,
    block_size: Option<u32>,
    replace: bool,
    settings: Settings,
    resources: Resources,
    observer: Box<dyn Observer + Send + 'o>,
}

/// Result of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// Container that was written.
    pub container: Container,
    /// Bytes of file content, holes included; for a .lrz file, bytes of the tar in it.
    pub content_bytes: u64,
    /// Bytes of the output.
    pub output_bytes: u64,
    /// Compressed blocks that were copied from images that are sources or base images.
    pub copied_blocks: u64,
    /// Workers that ran: fewer than requested if the memory limit did not allow more.
    pub workers: usize,
    /// Entries that could not be read and were left out on request.
    pub errors: u64,
    /// Warnings, which the observer received.
    pub warnings: u64,
    /// Root hash of the dm-verity tree, if one was requested.
    pub root_hash: Option<[u8; 32]>,
}

impl<'o> Packer<'o> {
    /// A pack of `source` with default options: zstd in blocks of 128 KiB, LZMA in a .lrz file, and for a tar the compression of the
    /// output's name; with all processors.
    pub fn new(source: impl Into<Source>) -> Packer<'o> {
        Packer {
            source: source.into(),
            container: None,
            codec: None,
            block_size: None,
            replace: false,
            settings: Settings::default(),
            resources: Resources::default(),
            observer: Box::new(Unobserved),
        }
    }

    /// Sets the container. Default: by the ending of the output's name; a stream gets a SquashFS image.
    #[must_use]
    pub fn container(self, container: Container) -> Packer<'o> {
        Packer { container: Some(container), ..self }
    }

    /// The codec, `NAME[:key=value,...]`: `zstd:level=19`, `xz:x86`, `none`.
    #[must_use]
    pub fn codec(self, codec: impl Into<String>) -> Packer<'o> {
        Packer { codec: Some(codec.into()), ..self }
    }

    /// Bytes of a block of a SquashFS image, or of the content of a cluster of an EROFS image: a power of two from 4 KiB to 1 MiB.
    #[must_use]
    pub fn block_size(self, bytes: u32) -> Packer<'o> {
        Packer { block_size: Some(bytes), ..self }
    }

    /// Leaves out entries that match a pattern, and everything below them.
    ///
    /// # Errors
    /// [`Error::Pattern`] for a malformed pattern.
    pub fn exclude(mut self, pattern: impl AsRef<[u8]>) -> Result<Packer<'o>, Error> {
        self.settings.exclude.add(pattern.as_ref())?;
        Ok(self)
    }

    /// Whether an existing output is replaced. By default it is an error.
    #[must_use]
    pub fn replace(self, replace: bool) -> Packer<'o> {
        Packer { replace, ..self }
    }

    /// Bytes before the image in the output. A file and a stream get zeros there; a block device keeps its bytes.
    #[must_use]
    pub fn offset(mut self, bytes: u64) -> Packer<'o> {
        self.settings.offset = bytes;
        self
    }

    /// The creation time of the image, in seconds since 1970. Later modification times of entries become this time, so that the image can be
    /// reproduced. Default: creation time 0, and modification times as in the source.
    #[must_use]
    pub fn time(mut self, seconds: u32) -> Packer<'o> {
        self.settings.time = Some(seconds);
        self
    }

    /// The modification time of all entries, in seconds since 1970.
    #[must_use]
    pub fn mtime(mut self, seconds: i64) -> Packer<'o> {
        self.settings.mtime = Some(seconds);
        self
    }

    /// The owner and the group of all entries.
    #[must_use]
    pub fn owner(mut self, uid: u32, gid: u32) -> Packer<'o> {
        self.settings.owner = Some((uid, gid));
        self
    }

    /// Whether extended attributes are stored. Default: yes.
    #[must_use]
    pub fn xattrs(mut self, stored: bool) -> Packer<'o> {
        self.settings.no_xattrs = !stored;
        self
    }

    /// The layout of a SquashFS image: compact, or stable for small updates.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Packer<'o> {
        self.settings.layout = layout;
        self
    }

    /// The order in which contents are stored. Default: the order of the source. The source is listed first, and a tar that cannot be read
    /// twice is stored in [`Resources::scratch`].
    #[must_use]
    pub fn order(mut self, order: ContentOrder) -> Packer<'o> {
        self.settings.order = Some(order);
        self
    }

    /// A cache in which compressed blocks are looked up and stored.
    #[must_use]
    pub fn cache(mut self, cache: Arc<BlockCache>) -> Packer<'o> {
        self.settings.cache = Some(cache);
        self
    }

    /// An earlier image of this version of packline, of the same file system, codec and block size, whose compressed blocks are reused. It may be
    /// the output. If several images have a block, the first is used. An image that is a source needs no call.
    #[must_use]
    pub fn base(mut self, image: impl Into<PathBuf>) -> Packer<'o> {
        self.settings.base.push(BaseImage::new(ImagePlace::new(image)));
        self
    }

    /// Whether the complete image is read back, and each block decoded and compared with what was packed.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Packer<'o> {
        self.settings.verify = verify;
        self
    }

    /// Adds a dm-verity hash tree, and a file with its root hash next to the image. Only for an output with a name.
    #[cfg(feature = "verity")]
    #[must_use]
    pub fn verity(mut self, options: VerityOptions) -> Packer<'o> {
        self.settings.verity = Some(options);
        self
    }

    /// Workers, memory, the directory for temporary files, and the token that cancels the pack. They never change the output.
    #[must_use]
    pub fn resources(self, resources: Resources) -> Packer<'o> {
        Packer { resources, ..self }
    }

    /// Receives progress, entries and warnings, on the thread that packs. `observer` may be a reference.
    #[must_use]
    pub fn observe(self, observer: impl Observer + Send + 'o) -> Packer<'o> {
        Packer { observer: Box::new(observer), ..self }
    }

    /// Packs the tree. The output file gets its name when it is complete and synced.
    ///
    /// # Errors
    /// [`Error`], with the name of the file or entry and, if known, the offset.
    pub fn write_to(self, output: impl Into<PathBuf>) -> Result<Packed, Error> {
        let path = output.into();
        let container = self.container.map_or_else(|| Container::for_tree_at(&path), Ok)?;
        let force = self.replace;
        self.write(container, Output::File { path, force })
    }

    /// Packs the tree into a stream: a socket, a pipe, a compressor. An image is first stored in an unnamed temporary file in
    /// [`Resources::scratch`], because its first bytes are known last, so that the stream gets only a complete image. A tar and a .lrz file are
    /// written at once.
    ///
    /// # Errors
    /// As [`Packer::write_to`]; [`Error::Target`] for an image without a directory for temporary files.
    pub fn write_stream(self, out: impl Write + Send + 'static) -> Result<Packed, Error> {
        let container = self.container.unwrap_or(Container::SquashFs);
        self.write(container, Output::writer(STREAM, out))
    }

    /// Packs the tree into a stream that can be read and seek: a buffer in memory, a file that is open for reading and writing. Blocks that repeat
    /// in a file are read back. The image begins at the stream's position,
    /// and the stream is at the end of the image afterwards. After an error the stream has a part of an image, whose first bytes are not those
    /// of an image.
    ///
    /// ```
    /// use std::io::{Cursor, Write};
    /// use packline::{Packer, Tree};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut app_image = Cursor::new(Vec::new());
    /// app_image.write_all(b"the runtime")?;
    /// let mut tree = Tree::new();
    /// tree.file("AppRun", "#!/bin/sh\n")?.mode(0o755);
    /// let packed = Packer::new(tree).write_into(&mut app_image)?;
    /// assert_eq!(app_image.position(), 11 + packed.output_bytes);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Packer::write_to`]; [`Error::Request`] for a tar, for a .lrz file and for a hash tree.
    pub fn write_into(mut self, out: &mut (impl Read + Write + Seek)) -> Result<Packed, Error> {
        let container = self.container.unwrap_or(Container::SquashFs);
        let (source, container) = self.request(container, Path::new(STREAM))?;
        let image = match container {
            PackContainer::Image(image) => *image,
            PackContainer::Tar(_) => {
                let what = "a tar in a stream that can seek".to_string();
                return Err(Error::Request { what, expected: "a stream, or a file with a name".to_string() });
            }
            #[cfg(feature = "lrz")]
            PackContainer::Lrz(_) => {
                let what = "a .lrz file in a stream that can seek".to_string();
                return Err(Error::Request { what, expected: "a stream, or a file with a name".to_string() });
            }
        };
        let target = PackTarget::Seekable(PathBuf::from(STREAM), out);
        let temporaries = Temporaries::default();
        let work = ImageWork { source, target, image, resources: self.resources, temporaries };
        Ok(Packed::of_image(&pack_image(work, self.observer.as_mut())?))
    }

    fn write(mut self, container: Container, target: Output) -> Result<Packed, Error> {
        let (Output::File { path, .. } | Output::Stream(path, _)) = &target;
        let (source, container) = self.request(container, path)?;
        let mut request = PackRequest::new(source, target, container);
        request.resources = self.resources;
        match pack(request, self.observer.as_mut())? {
            PackSummary::Image(summary) => Ok(Packed::of_image(&summary)),
            PackSummary::Tar(packed) => Ok(Packed {
                container: Container::Tar,
                content_bytes: packed.content_bytes,
                output_bytes: packed.output_bytes,
                copied_blocks: 0,
                workers: packed.workers,
                errors: packed.errors,
                warnings: packed.warnings,
                root_hash: None,
            }),
            #[cfg(feature = "lrz")]
            PackSummary::Lrz(written) => Ok(Packed {
                container: Container::Lrz,
                content_bytes: written.plain,
                output_bytes: written.stored,
                copied_blocks: 0,
                workers: written.workers,
                errors: 0,
                warnings: 0,
                root_hash: None,
            }),
        }
    }

    /// Takes the source and the options of the container.
    fn request(&mut self, container: Container, output: &Path) -> Result<(Source, PackContainer), Error> {
        let checked = self.block_size.map(|bytes| BlockSize::new(bytes.into())).transpose();
        let block_size = checked.map_err(|cause| Error::Image { path: output.into(), cause: Box::new(cause) })?;
        let mut options = PackContainer::parse(container, self.codec.as_deref(), block_size)?;
        let mut source = std::mem::replace(&mut self.source, Source::stack([]));
        let mut settings = std::mem::take(&mut self.settings);
        // A directory source skips the entries itself. The entries of other sources are filtered.
        if let Source::Directory { options, .. } = &mut source
            && !settings.exclude.is_empty()
        {
            options.excludes = std::mem::take(&mut settings.exclude);
        }
        match &mut options {
            PackContainer::Image(image) => settings.apply(image)?,
            PackContainer::Tar(tar) => {
                if self.codec.is_none() {
                    tar.compression = FileKind::of_path(output).and_then(FileKind::stream).map(StreamSpec::new);
                }
                settings.apply_to_tar(tar)?;
            }
            #[cfg(feature = "lrz")]
            PackContainer::Lrz(_) => {
                settings.first_set().map_or(Ok(()), |what| Err(super::no_lrz(what)))?;
            }
        }
        Ok((source, options))
    }
}

/// The name of a stream in messages.
const STREAM: &str = "the output";

impl Packed {
    fn of_image(summary: &ImageSummary) -> Packed {
        #[cfg(feature = "verity")]
        let root_hash = summary.verity.as_ref().map(|verity| verity.tree.root_hash);
        #[cfg(not(feature = "verity"))]
        let root_hash = None;
        Packed {
            container: summary.image.end.container(),
            content_bytes: summary.image.content_bytes,
            output_bytes: summary.output_bytes,
            copied_blocks: summary.base.map_or(0, |counts| counts.taken),
            workers: summary.workers,
            errors: summary.errors,
            warnings: summary.warnings,
            root_hash,
        }
    }
}
