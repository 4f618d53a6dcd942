//! An open image, with its name in messages.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;

use packline_runtime::{FileStamp, Input};
use packline_volume::{
    CheckScope, Examiner, Files, Finding, Origin, RandomSettings, ReadError, SharedVolume, ToVolume,
};

use crate::file_system::ImageOpening;
use crate::{Error, FileIdentity, FileSystem, ImageEntries, ImageFile, ImageInfo, Resources, Selection, cat, verify};

/// An open image and its name in messages.
#[derive(Debug, Clone)]
pub struct OpenedImage {
    /// The volume through which all operations read the image.
    pub volume: SharedVolume,
    /// The file system, for operations that show its structures.
    pub file_system: FileSystem,
    /// The path as the user gave it.
    pub display_path: PathBuf,
    input: OpenedBytes,
}

/// The bytes that an image is read from.
#[derive(Clone)]
struct OpenedBytes(Arc<dyn Input>);

impl fmt::Debug for OpenedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenedBytes").field(&self.0.stamp()).finish()
    }
}

impl OpenedImage {
    /// Opens the image that starts at `origin` of `input`; `metadata_cache` is in bytes, `display_path` is the name of the input in messages.
    /// `devices` have contents of the image, in the order of its device table; without them, these contents may follow the image.
    ///
    /// # Errors
    /// [`ReadError`] if there is no sound image, or for another number of devices. The caller knows the format of the input, and names it.
    pub fn new(
        display_path: PathBuf,
        input: Arc<dyn Input>,
        devices: &[Arc<dyn Input>],
        origin: Origin,
        metadata_cache: usize,
    ) -> Result<OpenedImage, ReadError> {
        let file_system = FileSystem::open(&input, ImageOpening { origin, metadata_cache, devices })?;
        Ok(OpenedImage::of(display_path, input, file_system))
    }

    /// The image that `file_system` reads from `input`; `display_path` is the name of the input in messages.
    pub fn of(display_path: PathBuf, input: Arc<dyn Input>, file_system: FileSystem) -> OpenedImage {
        OpenedImage { volume: file_system.to_volume(), file_system, display_path, input: OpenedBytes(input) }
    }

    /// Returns the bytes that the image is read from, also those before the image.
    pub fn input(&self) -> Arc<dyn Input> {
        Arc::clone(&self.input.0)
    }

    /// Returns the entries of a selection, in the order of their paths. An error affects one entry; the others follow.
    pub fn entries<'s>(&'s self, selection: &'s Selection) -> ImageEntries<'s> {
        ImageEntries::new(self, selection)
    }

    /// Writes the content of a regular file to `out`. Symbolic links are followed inside the image.
    ///
    /// # Errors
    /// [`Error::Entry`] if the path does not lead to a regular file, [`Error::Read`] for content that cannot be read, [`Error::Output`] if
    /// writing to `out` fails.
    pub fn read(&self, path: impl AsRef<[u8]>, out: &mut dyn Write) -> Result<(), Error> {
        cat(self, &[path.as_ref().to_vec()], &Resources::new(1), out, "output")
    }

    /// Opens a regular file for reading at any position. Symbolic links are followed inside the image. Content is read on demand.
    ///
    /// # Errors
    /// [`Error::Entry`] if the path does not lead to a regular file, [`Error::Read`] for metadata that cannot be read and for lack of memory
    /// for a decoder.
    pub fn open_file(&self, path: impl AsRef<[u8]>) -> Result<ImageFile, Error> {
        // The cache always keeps two blocks: one of data and one of tail ends.
        self.open_file_in(&self.files(0)?, path)
    }

    /// As [`OpenedImage::open_file`], with the decoders and the cache of `files`, from [`OpenedImage::files`] of this image.
    ///
    /// # Errors
    /// Errors of [`OpenedImage::open_file`].
    pub fn open_file_in(&self, files: &Arc<Files>, path: impl AsRef<[u8]>) -> Result<ImageFile, Error> {
        ImageFile::open(self, Arc::clone(files), path.as_ref())
    }

    /// Returns access to the contents of the image for any number of threads, with `cache` bytes of decoded blocks, at least two blocks.
    ///
    /// # Errors
    /// [`Error::Read`] for lack of memory for a decoder.
    pub fn files(&self, cache: usize) -> Result<Arc<Files>, Error> {
        let settings = RandomSettings { workers: 0, cache, ahead: 0 };
        Files::new(&self.volume, settings).map(Arc::new).map_err(|cause| self.fault(cause))
    }

    /// Reads every byte and checks every rule of the format. Returns the findings, in the order in which they were found.
    ///
    /// # Errors
    /// [`Error::Memory`] if the memory does not suffice for the number of inodes, [`Error::Read`] if cancelled.
    pub fn verify(&self, resources: &Resources) -> Result<Vec<Finding>, Error> {
        let mut findings = Findings(Vec::new());
        verify(self, resources, &mut findings)?;
        Ok(findings.0)
    }

    /// Returns the same image, for [`OpenedImage::compare_data`] after its contents have been read.
    #[must_use]
    pub fn checked(&self, scope: CheckScope) -> OpenedImage {
        OpenedImage { volume: self.volume.checked(scope), ..self.clone() }
    }

    /// Compares the data with the checksum in the record of the image: see [`Volume::compare_data`](packline_volume::Volume::compare_data).
    ///
    /// # Errors
    /// [`Error::Read`] if the data is damaged or cannot be read, or if cancelled.
    pub fn compare_data(&self, resources: &Resources) -> Result<(), Error> {
        self.volume.compare_data(&resources.cancel).map_err(|cause| self.fault(cause))
    }

    /// Returns codec, sizes, and the structures of the file system.
    pub fn info(&self) -> ImageInfo {
        ImageInfo::of(self)
    }

    /// Returns the state of the file when it was opened; `None` if the image is not in a file.
    #[doc(hidden)]
    pub fn stamp(&self) -> Option<FileStamp> {
        self.input.0.stamp()
    }

    /// Whether the file may have been written to since it was opened.
    ///
    /// # Errors
    /// The file cannot be examined.
    #[doc(hidden)]
    pub fn rewritten(&self) -> io::Result<bool> {
        self.input.0.rewritten()
    }

    /// Whether the input has a valid superblock of EROFS, too, in an image at the same byte.
    pub(crate) fn has_erofs_superblock(&self) -> bool {
        let start = self.volume.facts().origin;
        let found = packline_erofs::read::find_image(self.input.0.as_ref(), start..start.saturating_add(1));
        matches!(found, Ok(Some(_)))
    }

    /// Returns the bytes from the start of the image to the end of its file; on a block device, the bytes of the image.
    pub(crate) fn bytes_with_rest(&self) -> u64 {
        let facts = self.volume.facts();
        let is_device = fs::metadata(&self.display_path).is_ok_and(|about| about.file_type().is_block_device());
        if is_device { facts.bytes } else { self.input.0.size().saturating_sub(facts.origin) }
    }

    pub(crate) fn identity(&self) -> Option<FileIdentity> {
        FileIdentity::of_path(&self.display_path)
    }

    /// Adds the image's name to a fault.
    pub fn fault(&self, cause: ReadError) -> Error {
        Error::Read { path: self.display_path.clone(), entry: None, cause: Box::new(cause) }
    }

    /// Adds the names of the image and of an entry to a fault.
    pub fn fault_at(&self, entry: &[u8], cause: ReadError) -> Error {
        let entry = if entry.is_empty() { None } else { Some(entry.to_vec()) };
        Error::Read { path: self.display_path.clone(), entry, cause: Box::new(cause) }
    }
}

struct Findings(Vec<Finding>);

impl Examiner for Findings {
    fn found(&mut self, finding: Finding) {
        self.0.push(finding);
    }
}
