//! An open image, as programs that use the library see it.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use packline_image::{EntryFault, FileSystem, OpenedImage, metadata_cache};
use packline_runtime::Resources;
use packline_volume::{Files, Finding, Visit, Walk};

use super::by_name::Container;
use super::entry::Entry;
use super::image_file::ImageFile;
use super::image_place::ImagePlace;
use super::input::{Input, no_offsets};
use super::selection::Selection;
use crate::error::Error;

/// Default size in bytes of the cache of decoded blocks: 4 of the largest blocks for each of 8 threads.
const CACHE: usize = 32 << 20;

/// An open SquashFS or EROFS image. Clones share the open file and the caches, and may be used on other threads.
#[derive(Clone)]
pub struct Image {
    opened: Arc<OpenedImage>,
    contents: Arc<Contents>,
}

/// Access to the contents of the files, with one cache for all of them.
struct Contents {
    /// Maximum bytes of decoded blocks.
    cache: usize,
    /// Opened with the first file.
    files: OnceLock<Arc<Files>>,
}

impl Contents {
    fn new(cache: usize) -> Arc<Contents> {
        Arc::new(Contents { cache, files: OnceLock::new() })
    }
}

impl Image {
    /// Opens an image at the start of a file or a block device, or after other data in it.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened, [`Error::Container`] and [`Error::Unrecognized`] if it has other content,
    /// [`Error::Read`] if it contains no sound image.
    pub fn open(path: impl Into<PathBuf>) -> Result<Image, Error> {
        ImagePlace::new(path).open(metadata_cache(None)).map(Image::from)
    }

    /// Opens an image in memory, in a part of a file, or in any other input that is read at offsets.
    ///
    /// ```
    /// use packline::{Image, Input, Packer, Tree};
    ///
    /// # fn main() -> Result<(), packline::Error> {
    /// let mut tree = Tree::new();
    /// tree.file("etc/hostname", "box\n")?;
    /// let mut firmware = std::io::Cursor::new(Vec::new());
    /// Packer::new(tree).write_into(&mut firmware)?;
    ///
    /// let image = Image::from_input(Input::bytes("firmware", firmware.into_inner()))?;
    /// let mut content = Vec::new();
    /// image.read("etc/hostname", &mut content)?;
    /// assert_eq!(content, b"box\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Image::open`]; [`Error::Request`] for a stream that cannot seek.
    pub fn from_input(input: Input) -> Result<Image, Error> {
        let cache = metadata_cache(None);
        match input {
            Input::File(path) => Image::open(path),
            Input::Opened(file) => ImagePlace::of_file(file).open(cache).map(Image::from),
            Input::At(name, input) => ImagePlace::new(name).open_input(input, cache).map(Image::from),
            Input::Stream(name, _) => Err(no_offsets(&name)),
        }
    }

    /// Sets the maximum number of bytes in the cache of decoded blocks, which all files of the image share. Default: 32 MiB; at least two
    /// blocks are cached. Files that are open keep the earlier cache.
    #[must_use]
    pub fn cache(self, bytes: usize) -> Image {
        Image { contents: Contents::new(bytes), ..self }
    }

    /// The file system.
    pub fn container(&self) -> Container {
        match &self.opened.file_system {
            FileSystem::SquashFs(_) => Container::SquashFs,
            FileSystem::Erofs(_) => Container::Erofs,
        }
    }

    /// The codec of the contents with its parameters, as the image states it.
    pub fn codec(&self) -> &str {
        &self.opened.volume.facts().codec
    }

    /// Size of a block of content in bytes.
    pub fn block_size(&self) -> u32 {
        self.opened.volume.facts().block_size
    }

    /// Size of the image in bytes, without padding.
    pub fn size(&self) -> u64 {
        self.opened.volume.facts().bytes
    }

    /// The name in messages: the path that was opened.
    pub fn path(&self) -> &Path {
        &self.opened.display_path
    }

    /// The entries that a selection names, in the order of their paths. An error concerns one entry; the others follow.
    pub fn entries<'s>(&'s self, selection: &'s Selection) -> impl Iterator<Item = Result<Entry, Error>> + 's {
        self.opened.entries(selection.rules()).map(|visit| Ok(Entry::new(&self.opened, visit?)))
    }

    /// All entries, in the order of their paths, as an iterator that may outlive the image. An error concerns one entry; the others follow.
    pub fn walk(&self) -> impl Iterator<Item = Result<Entry, Error>> + Send + 'static {
        let opened = Arc::clone(&self.opened);
        let walk = Walk::new(&opened.volume, opened.volume.root(), Vec::new());
        walk.map(move |visited| match visited {
            Ok(visit) => Ok(Entry::new(&opened, visit)),
            Err((path, cause)) => Err(opened.fault_at(&path, cause).into()),
        })
    }

    /// The entry at a path. Symbolic links are not followed. Slashes at the start and the end of the path are ignored.
    ///
    /// # Errors
    /// [`Error::Entry`] if the path does not exist, [`Error::Read`] for metadata that cannot be read.
    pub fn entry(&self, path: impl AsRef<[u8]>) -> Result<Entry, Error> {
        let path = self.canonical(path.as_ref())?;
        let found = self.opened.volume.resolve(&path).map_err(|cause| self.opened.fault_at(&path, cause))?;
        match found {
            Some(inode) => Ok(Entry::new(&self.opened, Visit { path, inode })),
            None => Err(self.refused(&path, EntryFault::Missing, "the path of an entry in the image")),
        }
    }

    /// The entries of the directory at a path, in the order of their names. Symbolic links are not followed. An error concerns one entry, or is
    /// the last.
    ///
    /// # Errors
    /// As [`Image::entry`]; [`Error::Entry`] also if it is not a directory.
    pub fn read_dir(
        &self,
        path: impl AsRef<[u8]>,
    ) -> Result<impl Iterator<Item = Result<Entry, Error>> + Send + 'static, Error> {
        let directory = self.entry(path)?;
        let above = directory.path().to_vec();
        if !directory.is_dir() {
            return Err(self.refused(&above, EntryFault::NotDirectory, "the path of a directory in the image"));
        }
        let opened = Arc::clone(&self.opened);
        let listing = opened.volume.entries(directory.inode()).map_err(|cause| opened.fault_at(&above, cause))?;
        Ok(listing.map(move |listed| {
            let listed = listed.map_err(|cause| opened.fault_at(&above, cause))?;
            let separator: &[u8] = if above.is_empty() { b"" } else { b"/" };
            let path = [&above, separator, &listed.name].concat();
            match opened.volume.entry_inode(&listed) {
                Ok(inode) => Ok(Entry::new(&opened, Visit { path, inode })),
                Err(cause) => Err(opened.fault_at(&path, cause).into()),
            }
        }))
    }

    /// Writes the content of a regular file to `out`. Symbolic links are followed inside the image.
    ///
    /// # Errors
    /// [`Error::Entry`] if the path does not lead to a regular file, [`Error::Read`] for content that cannot be read,
    /// [`Error::Output`] if `out` refuses.
    pub fn read(&self, path: impl AsRef<[u8]>, out: &mut dyn Write) -> Result<(), Error> {
        Ok(self.opened.read(path, out)?)
    }

    /// Opens a regular file for reading at any position. Symbolic links are followed inside the image. Content is read on
    /// demand.
    ///
    /// # Errors
    /// [`Error::Entry`] if the path does not lead to a regular file, [`Error::Read`] for metadata that cannot be read and for
    /// lack of memory for a decoder.
    pub fn open_file(&self, path: impl AsRef<[u8]>) -> Result<ImageFile, Error> {
        Ok(ImageFile::new(self.opened.open_file_in(self.files()?, path)?))
    }

    /// Reads every byte and checks every rule of the format. Returns the findings, in the order in which they were made.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough memory for all inodes, [`Error::Read`] if cancelled.
    pub fn verify(&self, resources: &Resources) -> Result<Vec<Finding>, Error> {
        Ok(self.opened.verify(resources)?)
    }

    fn files(&self) -> Result<&Arc<Files>, Error> {
        let Contents { cache, files } = self.contents.as_ref();
        if let Some(files) = files.get() {
            return Ok(files);
        }
        let opened = self.opened.files(*cache)?;
        // Another thread may have been faster.
        Ok(files.get_or_init(|| opened))
    }

    fn canonical(&self, path: &[u8]) -> Result<Vec<u8>, Error> {
        if path.is_empty() {
            return Ok(Vec::new());
        }
        packline_tree::path::canonical(path)
            .map_err(|_| self.refused(path, EntryFault::Missing, "the path of an entry in the image"))
    }

    fn refused(&self, entry: &[u8], fault: EntryFault, expected: &'static str) -> Error {
        Error::Entry { path: self.opened.display_path.clone(), entry: entry.to_vec(), fault, expected }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("path", &self.path())
            .field("container", &self.container())
            .finish_non_exhaustive()
    }
}

impl From<OpenedImage> for Image {
    fn from(opened: OpenedImage) -> Image {
        Image { opened: Arc::new(opened), contents: Contents::new(CACHE) }
    }
}

impl From<Image> for OpenedImage {
    fn from(image: Image) -> OpenedImage {
        image.opened.as_ref().clone()
    }
}
