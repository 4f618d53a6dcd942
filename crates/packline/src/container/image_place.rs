//! The location of an image: in a file, at a known offset or found by a search, or in a stream that was stored.

use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use packline_archives::decompress::read_head;
use packline_erofs::read::{Image as Erofs, OpenAt, has_magic};
use packline_image::{FileSystem, OpenedImage};
use packline_runtime::escape::Escape;
use packline_runtime::{FormatFault, Input, store_stream};
use packline_squashfs::read::Image as SquashFs;
use packline_volume::{Origin, ReadError};

use super::by_magic::ContentKind;
use super::opened_file::OpenedFile;
use crate::error::Error;

/// Expected content, for messages.
const EXPECTED: &str = "a SquashFS or EROFS image";
const SQUASHFS: &str = "a SquashFS image";
const EROFS: &str = "an EROFS image";
/// A file of unknown format in which no image was found.
pub(super) const UNKNOWN: &str = "unknown format";

/// An open SquashFS image, for programs that show or need its structures. All other operations are those of [`OpenedImage`].
#[derive(Debug, Clone)]
pub struct SquashFsImage {
    opened: OpenedImage,
    /// The structures of the image.
    pub image: SquashFs,
}

impl Deref for SquashFsImage {
    type Target = OpenedImage;

    fn deref(&self) -> &OpenedImage {
        &self.opened
    }
}

impl From<SquashFsImage> for OpenedImage {
    fn from(image: SquashFsImage) -> OpenedImage {
        image.opened
    }
}

/// An open EROFS image, for programs that show or need its structures. All other operations are those of [`OpenedImage`].
#[derive(Debug, Clone)]
pub struct ErofsImage {
    opened: OpenedImage,
    /// The structures of the image.
    pub image: Erofs,
}

impl ErofsImage {
    /// The opened image alone.
    pub fn into_opened(self) -> OpenedImage {
        self.opened
    }
}

impl Deref for ErofsImage {
    type Target = OpenedImage;

    fn deref(&self) -> &OpenedImage {
        &self.opened
    }
}

/// Whether the checksum of a superblock is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuperblockChecksum {
    /// A wrong checksum is an error.
    Compare,
    /// The image is opened with a wrong checksum too.
    Ignore,
}

/// Location of an image. The file is opened and its start is read once, when they are first needed. Clones share the open file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImagePlace {
    /// A file or a block device; for a stream that was stored, its name in messages.
    pub path: PathBuf,
    /// Byte at which the image starts; `None` to search for it.
    pub offset: Option<u64>,
    /// Files or block devices that have contents of an EROFS image, in the order of its device table. Without them, these contents may follow the
    /// image.
    pub devices: Vec<PathBuf>,
    /// The formats that the caller reads, for the message about another one.
    expected: &'static str,
    file: Arc<OnceLock<OpenedFile>>,
    is_stored: bool,
}

impl ImagePlace {
    /// An image at the start of a file, or after other data in it.
    pub fn new(path: impl Into<PathBuf>) -> ImagePlace {
        ImagePlace {
            path: path.into(),
            offset: None,
            devices: Vec::new(),
            expected: EXPECTED,
            file: Arc::default(),
            is_stored: false,
        }
    }

    /// The same, with the image at byte `offset` of the file.
    #[must_use]
    pub fn at(self, offset: impl Into<Option<u64>>) -> ImagePlace {
        ImagePlace { offset: offset.into(), ..self }
    }

    /// The same, with contents of the image on other devices.
    #[must_use]
    pub fn with_devices(self, devices: Vec<PathBuf>) -> ImagePlace {
        ImagePlace { devices, ..self }
    }

    /// The same, for a caller that reads these formats too.
    #[must_use]
    pub(super) fn expecting(self, expected: &'static str) -> ImagePlace {
        ImagePlace { expected, ..self }
    }

    /// An image in a file that is open already.
    pub fn of_file(file: OpenedFile) -> ImagePlace {
        let path = file.path().to_path_buf();
        ImagePlace { file: Arc::new(OnceLock::from(file)), ..ImagePlace::new(path) }
    }

    /// An image, a .lrz or a .pln file in a stream, which is stored in an unnamed temporary file in `directory`; `name` is for messages. A
    /// stream of another format is not stored if an image should start at its first byte.
    ///
    /// # Errors
    /// [`Error::Source`] if it cannot be read or stored, [`Error::Container`] and [`Error::Unrecognized`] for another format.
    pub fn of_stream(
        name: &Path,
        offset: Option<u64>,
        mut stream: &mut dyn Read,
        directory: &Path,
    ) -> Result<ImagePlace, Error> {
        let refused = |action| move |cause| Error::Source { path: name.to_path_buf(), action, cause };
        let mut head = read_head(&mut stream).map_err(refused("cannot read"))?;
        match ContentKind::of_head(&head) {
            Some(
                ContentKind::SquashFs
                | ContentKind::Erofs
                | ContentKind::Lrz
                | ContentKind::Pln
                | ContentKind::Encrypted,
            ) => {}
            _ if offset.unwrap_or(0) > 0 => {}
            Some(other) => return Err(other.instead_of(name, EXPECTED)),
            None => {
                if let Some(found) = ContentKind::foreign_stream(&mut head, stream).map_err(refused("cannot read"))? {
                    return Err(found.instead_of(name, EXPECTED));
                }
                let what = if head.is_empty() { "is empty" } else { UNKNOWN };
                return Err(Error::Unrecognized {
                    path: name.to_path_buf(),
                    what: what.into(),
                    expected: EXPECTED.into(),
                });
            }
        }
        let stored: File = store_stream(&mut head.chain(stream), directory).map_err(refused("cannot store"))?;
        let file = OpenedFile::of(name, Ok(stored))?;
        Ok(ImagePlace { offset, is_stored: true, ..ImagePlace::of_file(file) })
    }

    /// Whether the image came through a stream.
    pub fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// Whether the image is in a file on a server.
    pub fn is_remote(&self) -> bool {
        self.file.get().is_some_and(OpenedFile::is_remote)
    }

    /// The file, which is opened unless it is open.
    pub(crate) fn file(&self) -> Result<&OpenedFile, Error> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let opened = OpenedFile::open(&self.path)?;
        Ok(self.file.get_or_init(|| opened))
    }

    /// Whether the file is open.
    pub(crate) fn is_open(&self) -> bool {
        self.file.get().is_some()
    }

    /// Opens the file, unless it is open.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened.
    pub fn input(&self) -> Result<Arc<dyn Input>, Error> {
        Ok(Arc::new(self.file()?.clone()))
    }

    /// Recognises the content of the file by its first bytes. `None` for unknown content, for an image at an offset, and for a file that
    /// cannot be opened or read.
    pub fn content_kind(&self) -> Option<ContentKind> {
        // All of a .pln file is compressed: there is no byte at which an image could start.
        let found = self.file().ok().and_then(|file| file.content_kind());
        found.filter(|&found| matches!(found, ContentKind::Pln | ContentKind::Encrypted) || self.offset.is_none())
    }

    /// Opens the image; `metadata_cache` is in bytes.
    ///
    /// # Errors
    /// [`Error::Source`] if the file or a device cannot be opened, [`Error::Container`] if it is another container, [`Error::Read`] if it contains
    /// no sound image, or if the image has another number of devices.
    pub fn open(&self, metadata_cache: usize) -> Result<OpenedImage, Error> {
        let file = self.file()?;
        self.open_found(Arc::new(file.clone()), file.content_kind(), metadata_cache)
    }

    /// Opens a SquashFS image; `metadata_cache` is in bytes.
    ///
    /// # Errors
    /// As [`ImagePlace::open`]; [`Error::Container`] for another file system.
    pub fn open_squashfs(&self, metadata_cache: usize) -> Result<SquashFsImage, Error> {
        let opened = self.clone().expecting(SQUASHFS).open(metadata_cache)?;
        match &opened.file_system {
            FileSystem::SquashFs(image) => Ok(SquashFsImage { image: image.clone(), opened }),
            FileSystem::Erofs(_) => Err(ContentKind::Erofs.instead_of(&self.path, SQUASHFS)),
        }
    }

    /// Opens an EROFS image at the offset, or at the start of the file; `metadata_cache` is in bytes.
    ///
    /// # Errors
    /// [`Error::Source`] if the file or a device cannot be opened, [`Error::Container`] for another file system or container, [`Error::Read`] if
    /// the image is not sound, or other devices than the given ones are needed.
    pub fn open_erofs(&self, checksum: SuperblockChecksum, metadata_cache: usize) -> Result<ErofsImage, Error> {
        let file = self.file()?;
        let input: Arc<dyn Input> = Arc::new(file.clone());
        let offset = self.offset.unwrap_or(0);
        let found = file.content_kind().filter(|_| offset == 0);
        let other = found.filter(|found| *found != ContentKind::Erofs);
        if let Some(found) = other.filter(|_| !has_magic(input.as_ref(), offset)) {
            return Err(found.instead_of(&self.path, EROFS));
        }
        let at = OpenAt { offset, metadata_cache, checksum: checksum == SuperblockChecksum::Compare };
        let image = Erofs::open_at(Arc::clone(&input), &self.open_devices()?, at);
        let image = image.map_err(|cause| self.clone().expecting(EROFS).fault(cause, found, input.as_ref()))?;
        let opened = OpenedImage::of(self.path.clone(), input, FileSystem::Erofs(image.clone()));
        Ok(ErofsImage { opened, image })
    }

    /// Opens the image in an input that is read instead of the file; the path is its name in messages.
    ///
    /// # Errors
    /// As [`ImagePlace::open`].
    pub fn open_input(&self, input: Arc<dyn Input>, metadata_cache: usize) -> Result<OpenedImage, Error> {
        let found = ContentKind::of_input(input.size(), |head| input.read_at(0, head));
        self.open_found(input, found, metadata_cache)
    }

    /// Opens the image in an input whose first bytes were recognised.
    fn open_found(
        &self,
        input: Arc<dyn Input>,
        found: Option<ContentKind>,
        metadata_cache: usize,
    ) -> Result<OpenedImage, Error> {
        let origin = self.offset.map_or(Origin::Find, Origin::At);
        use ContentKind::{Delta, Encrypted, Lrz, Pln};
        if let (None, Some(found @ (Lrz | Pln | Encrypted | Delta))) = (self.offset, found) {
            // Data stored in it may look like an image.
            return Err(found.instead_of(&self.path, self.expected));
        }
        let devices = self.open_devices()?;
        let opened = OpenedImage::new(self.path.clone(), Arc::clone(&input), &devices, origin, metadata_cache);
        let opened = opened.map_err(|cause| self.fault(cause, found, input.as_ref()))?;
        let name = opened.file_system.name();
        log::debug!("{}: {name} image at byte {}", self.path.escaped(), opened.volume.facts().origin);
        Ok(opened)
    }

    fn open_devices(&self) -> Result<Vec<Arc<dyn Input>>, Error> {
        self.devices.iter().map(|path| Ok::<Arc<dyn Input>, Error>(Arc::new(OpenedFile::open(path)?))).collect()
    }

    /// Names the container of a file that has no image at its start or elsewhere.
    fn fault(&self, cause: ReadError, found: Option<ContentKind>, input: &dyn Input) -> Error {
        let nothing_at_start =
            matches!(cause, ReadError::Corrupt(FormatFault { offset: 0, .. })) && self.offset.unwrap_or(0) == 0;
        match found.or_else(|| ContentKind::foreign(input)) {
            Some(found) if nothing_at_start && !found.is_image() => found.instead_of(&self.path, self.expected),
            None if nothing_at_start && self.offset.is_none() => Error::Unrecognized {
                path: self.path.clone(),
                what: if input.size() == 0 { "is empty".to_string() } else { UNKNOWN.to_string() },
                expected: self.expected.to_string(),
            },
            _ => Error::Read { path: self.path.clone(), entry: None, cause: Box::new(cause) },
        }
    }
}
