//! The kinds of sources of a pack.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "oci")]
use packline_archives::decompress::Limits;
#[cfg(feature = "oci")]
use packline_archives::oci::{OciImage, OciOptions, OciPlace, Platform};
use packline_archives::{ContentOrder, Whiteouts};
use packline_image::{OpenedImage, metadata_cache};
use packline_runtime::escape::Escape;
use packline_runtime::{Input, Resources};
use packline_tree::{DirectoryOptions, Meta, Patterns};

use super::directories::Part;
#[cfg(feature = "oci")]
use super::tar::decompressor;
use super::tree::{NAME as TREE, Tree};
use crate::container::by_magic::ContentKind;
use crate::container::file_kind::FileKind;
use crate::container::image::Image;
use crate::container::image_place::ImagePlace;
use crate::container::opened_file::OpenedFile;
use crate::container::recognise::{is_zip_after_other_bytes, peeked};
use crate::container::scratch::{scratch_for, stored};
use crate::error::Error;

/// A source of the entries of a pack.
#[non_exhaustive]
pub enum Source {
    /// A directory, with all below it.
    Directory {
        /// The path of the directory.
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
        /// The path of the file.
        path: PathBuf,
        /// The file, if it is open already.
        opened: Option<OpenedFile>,
    },
    /// A tar stream, plain or compressed.
    TarStream {
        /// The name in messages.
        name: String,
        /// Bytes of the tar.
        stream: Box<dyn Read + Send>,
    },
    /// A zip archive.
    Zip {
        /// The path of the file, or the name of a stream.
        path: PathBuf,
        /// Bytes of the archive.
        input: Arc<dyn Input>,
    },
    /// An image.
    Image(OpenedImage),
    /// Sources that overlay each other.
    Stack(Stack),
    /// The layers of a container image.
    #[cfg(feature = "oci")]
    Oci(OciImage),
    /// A tree that the caller built.
    Tree(Tree),
    /// Any other source.
    Entries {
        /// The name in messages.
        name: String,
        /// Entries and contents.
        source: Box<dyn packline_tree::Source + Send>,
    },
}

/// Sources that overlay each other: the result of extracting them in order on one file system.
///
/// The image has the same bytes as an image of a directory with the merged tree. A directory merges with a directory below it; any other
/// entry replaces the entry below it.
pub struct Stack {
    /// The lowest comes first.
    pub layers: Vec<Source>,
    /// Which entries hide others.
    pub whiteouts: Whiteouts,
    /// Entries of the merged tree that are left out, with all below them.
    pub remove: Patterns,
    /// Whether the names of one file are hard links. If not, each name is a separate file.
    pub hard_links: bool,
}

impl Stack {
    /// Layers, the lowest first; whiteouts hide entries of lower layers.
    pub(super) fn of(layers: impl IntoIterator<Item = Source>) -> Stack {
        let layers = layers.into_iter().collect();
        Stack { layers, whiteouts: Whiteouts::Apply, remove: Patterns::new(), hard_links: true }
    }
}

impl Source {
    /// A directory, with extended attributes and hard links, other file systems below it included.
    pub fn directory(path: impl Into<PathBuf>) -> Source {
        Source::Directory { path: path.into(), options: DirectoryOptions::default() }
    }

    /// A tar file, plain or compressed.
    pub fn tar_file(path: impl Into<PathBuf>) -> Source {
        Source::TarFile { path: path.into(), opened: None }
    }

    pub(crate) fn opened_tar(file: OpenedFile) -> Source {
        Source::TarFile { path: file.path().to_path_buf(), opened: Some(file) }
    }

    /// A tar stream, plain or compressed; `name` is for messages.
    pub fn tar_reader(name: impl Into<String>, stream: impl Read + Send + 'static) -> Source {
        Source::TarStream { name: name.into(), stream: Box::new(stream) }
    }

    /// An image.
    pub fn image(image: Image) -> Source {
        Source::Image(image.into())
    }

    /// Sources that overlay each other, the lowest first; whiteouts hide entries of lower sources. A compressed tar is stored first, in
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
        Source::Stack(Stack::of(layers))
    }

    /// Lays another source over this one: its files replace those at the same paths, and its directories merge. Blocks of an image that is
    /// below are copied, without compressing them again, if the new image has the same codec and block size.
    ///
    /// ```
    /// use packline::{Image, Packer, Source, Tree};
    ///
    /// # fn main() -> Result<(), packline::Error> {
    /// # let top = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(top.path()).unwrap();
    /// # let mut old = Tree::new();
    /// # old.file("etc/hostname", "old\n")?;
    /// # old.file("etc/motd", "old\n")?;
    /// # Packer::new(old).write_to("old.sqfs")?;
    /// let mut changes = Tree::new();
    /// changes.file("etc/hostname", "box-7\n")?;
    /// changes.file("etc/motd", "Welcome to box 7\n")?;
    /// let source = Source::image(Image::open("old.sqfs")?).with(changes);
    /// Packer::new(source).write_to("new.sqfs")?;
    /// # let mut content = Vec::new();
    /// # Image::open("new.sqfs")?.read("etc/hostname", &mut content)?;
    /// # assert_eq!(content, b"box-7\n");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with(self, over: impl Into<Source>) -> Source {
        let over = over.into();
        match self {
            Source::Stack(mut stack) => {
                stack.layers.push(over);
                Source::Stack(stack)
            }
            below => Source::stack([below, over]),
        }
    }

    /// A source whose contents come in the given order. The source is listed before contents are read.
    pub(crate) fn in_order(self, order: &ContentOrder) -> Source {
        let has_order = match &self {
            // They are by path.
            Source::Directory { .. } | Source::Image(_) => order.is_by_path(),
            source => source.is_stack(),
        };
        if has_order {
            return self;
        }
        let layers = vec![self];
        Source::Stack(Stack { layers, whiteouts: Whiteouts::Ignore, remove: Patterns::new(), hard_links: true })
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
    pub fn entries(name: impl Into<String>, source: impl packline_tree::Source + Send + 'static) -> Source {
        Source::Entries { name: name.into(), source: Box::new(source) }
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Directory { path, .. } | Source::TarFile { path, .. } | Source::Zip { path, .. } => path.escaped(),
            Source::Directories { parts, .. } => joined(parts.iter().map(|part| part.to.escaped())),
            Source::TarStream { name, .. } | Source::Entries { name, .. } => name.clone(),
            Source::Image(image) => image.display_path.escaped(),
            Source::Tree(_) => TREE.to_string(),
            Source::Stack(stack) => joined(stack.layers.iter().map(Source::name)),
            #[cfg(feature = "oci")]
            Source::Oci(image) => image.name.clone(),
        }
    }

    /// Calls `change` for each directory that is read, with its options.
    pub fn for_each_directory(&mut self, change: &mut dyn FnMut(&Path, &mut DirectoryOptions)) {
        match self {
            Source::Directory { path, options } => change(path, options),
            Source::Directories { parts, .. } => {
                parts.iter_mut().for_each(|part| change(&part.directory, &mut part.options));
            }
            Source::Stack(stack) => stack.layers.iter_mut().for_each(|layer| layer.for_each_directory(change)),
            _ => {}
        }
    }

    /// Returns the directory, tar, zip archive or image at `path`. An image is also found after other data. An image or a zip archive that
    /// comes through a pipe is stored in an unnamed temporary file first.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be opened or read, and the errors of opening an image.
    pub fn at(path: impl Into<PathBuf>, resources: &Resources) -> Result<Source, Error> {
        let path = path.into();
        let refused = |cause| Error::Source { path: path.clone(), action: "cannot open", cause };
        let kind = fs::metadata(&path).map_err(refused)?.file_type();
        if kind.is_dir() {
            return Ok(Source::directory(path));
        }
        if kind.is_fifo() || kind.is_char_device() {
            let stream = File::open(&path).map_err(refused)?;
            return Source::reader(path.escaped(), stream, resources);
        }
        Source::of_file(&ImagePlace::new(path), resources)
    }

    /// As [`Source::at`], for a path that may be open already because [`Source::is_plain_file`] examined it.
    ///
    /// # Errors
    /// As for [`Source::at`].
    pub fn at_place(place: &ImagePlace, resources: &Resources) -> Result<Source, Error> {
        if place.is_open() { Source::of_file(place, resources) } else { Source::at(&place.path, resources) }
    }

    fn of_file(place: &ImagePlace, resources: &Resources) -> Result<Source, Error> {
        let opened = match place.content_kind() {
            Some(ContentKind::Zip) => {
                return Ok(Source::Zip { path: place.path.clone(), input: place.input()? });
            }
            Some(kind) if kind.is_image() => Some(place.open(metadata_cache(resources.memory))?),
            None => place.open(metadata_cache(resources.memory)).ok(),
            Some(_) => None,
        };
        if let Some(image) = opened {
            return Ok(Source::Image(image));
        }
        let file = place.file()?;
        // A file that is a zip archive only by its name is damaged, and the error says so.
        let is_named_zip = file.content_kind().is_none() && FileKind::of_path(&place.path) == Some(FileKind::Zip);
        if is_named_zip || is_zip_after_other_bytes(file) {
            return Ok(Source::Zip { path: place.path.clone(), input: place.input()? });
        }
        Ok(Source::opened_tar(file.clone()))
    }

    /// Returns the tar, zip archive or image in a stream, by its first bytes. An image or a zip archive is stored in an unnamed temporary
    /// file first.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be read, and the errors of opening an image.
    pub fn reader(
        name: impl Into<String>,
        stream: impl Read + Send + 'static,
        resources: &Resources,
    ) -> Result<Source, Error> {
        let name = name.into();
        let path = Path::new(&name);
        let (head, mut stream) = peeked(path, Box::new(stream))?;
        match ContentKind::of_head(&head) {
            Some(kind) if kind.is_image() => {}
            Some(ContentKind::Zip) => {
                let input = stored(path, &mut stream, resources)?;
                return Ok(Source::Zip { path: path.to_path_buf(), input });
            }
            _ => return Ok(Source::TarStream { name, stream }),
        }
        let place = ImagePlace::of_stream(path, None, &mut stream, scratch_for(path, resources)?)?;
        place.open(metadata_cache(resources.memory)).map(Source::Image)
    }
}

impl From<Tree> for Source {
    fn from(tree: Tree) -> Source {
        Source::Tree(tree)
    }
}

impl From<Image> for Source {
    fn from(image: Image) -> Source {
        Source::image(image)
    }
}

#[cfg(feature = "oci")]
impl Source {
    /// The layers of a container image: the image of `platform`, or of this machine's if there are several.
    ///
    /// # Errors
    /// [`Error::Tree`] if it is not such an image, is malformed, or is not the only one.
    pub fn oci(place: &OciPlace, platform: Option<Platform>, resources: &Resources) -> Result<Source, Error> {
        Ok(Source::Oci(OciImage::open(place, &oci_options(platform, resources))?))
    }

    /// As [`Source::oci`], for an archive in a stream, which is stored first. `name` is for messages.
    ///
    /// # Errors
    /// As for [`Source::oci`].
    pub fn oci_reader(
        place: &OciPlace,
        name: &str,
        stream: impl Read + Send + 'static,
        platform: Option<Platform>,
        resources: &Resources,
    ) -> Result<Source, Error> {
        Ok(Source::Oci(OciImage::open_stream(place, name, stream, &oci_options(platform, resources))?))
    }
}

#[cfg(feature = "oci")]
fn oci_options(platform: Option<Platform>, resources: &Resources) -> OciOptions {
    let mut options = OciOptions::new();
    options.platform = platform;
    options.scratch.clone_from(&resources.scratch);
    options.limits = match resources.memory {
        Some(memory) => decompressor(true, resources.workers, memory / 2).0,
        None => Limits { threads: resources.workers.max(1), ..Limits::default() },
    };
    options
}

/// Names in a message.
pub(super) fn joined(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
