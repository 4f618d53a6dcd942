//! An open image, with its name in messages.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use packline_runtime::{FileStamp, Input};
use packline_squashfs::read::{Image, Opening, Origin};
use packline_squashfs::verify::{Examiner, Finding};
use packline_volume::{CheckScope, ReadError, SharedVolume, ToVolume};

use crate::{Error, FileIdentity, ImageEntries, ImageFile, ImageInfo, Resources, Selection, cat, verify};

/// An open image and its name in messages.
#[derive(Debug, Clone)]
pub struct OpenedImage {
    /// What all operations read the image through.
    pub volume: SharedVolume,
    /// The tables of the container, for what shows them.
    pub image: Image,
    /// Its path as the user gave it.
    pub display_path: PathBuf,
    /// The state of its file when it was opened.
    stamp: Option<FileStamp>,
}

impl OpenedImage {
    /// Opens the image that starts at `origin` of `input`; `metadata_cache` is in bytes, `display_path` is the name of the input in messages.
    ///
    /// # Errors
    /// [`ReadError`] if there is no sound image. Whoever opened the input knows its format, and names that.
    pub fn new(
        display_path: PathBuf,
        input: Arc<dyn Input>,
        origin: Origin,
        metadata_cache: usize,
    ) -> Result<OpenedImage, ReadError> {
        let stamp = input.stamp();
        let image = Image::open(input, Opening { origin, metadata_cache })?;
        Ok(OpenedImage { volume: image.to_volume(), image, display_path, stamp })
    }

    /// The entries that a selection names, in the order of their paths. An error concerns one entry; the others follow.
    pub fn entries<'s>(&'s self, selection: &'s Selection) -> ImageEntries<'s> {
        ImageEntries::new(self, selection)
    }

    /// Writes the content of a regular file to `out`. Symbolic links are followed inside the image.
    ///
    /// # Errors
    /// [`Error::Request`] for a path that leads to no regular file, [`Error::Read`] for content that cannot be read,
    /// [`Error::Output`] if `out` refuses.
    pub fn read(&self, path: impl AsRef<[u8]>, out: &mut dyn Write) -> Result<(), Error> {
        cat(self, &[path.as_ref().to_vec()], &Resources::new(1), out, "output")
    }

    /// Opens a regular file for reading at any position. Symbolic links are followed inside the image. Content is read when it
    /// is asked for.
    ///
    /// # Errors
    /// [`Error::Request`] for a path that leads to no regular file, [`Error::Read`] for metadata that cannot be read and for
    /// lack of memory for a decoder.
    pub fn open_file(&self, path: impl AsRef<[u8]>) -> Result<ImageFile, Error> {
        ImageFile::open(self, path.as_ref())
    }

    /// Reads every byte and checks every rule of the format. Returns the findings, in the order in which they were made.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough for so many inodes, [`Error::Read`] if cancelled.
    pub fn verify(&self, resources: &Resources) -> Result<Vec<Finding>, Error> {
        let mut findings = Findings(Vec::new());
        verify(self, resources, &mut findings)?;
        Ok(findings.0)
    }

    /// The same image, for [`OpenedImage::compare_data`] after its contents have been read.
    #[must_use]
    pub fn checked(&self, scope: CheckScope) -> OpenedImage {
        let image = self.image.checked(scope);
        OpenedImage { volume: image.to_volume(), image, ..self.clone() }
    }

    /// Compares the data with the checksum in the record of the image: see [`Volume::compare_data`](packline_volume::Volume::compare_data).
    ///
    /// # Errors
    /// [`Error::Read`] if the data is damaged or cannot be read, or if cancelled.
    pub fn compare_data(&self, resources: &Resources) -> Result<(), Error> {
        self.volume.compare_data(&resources.cancel).map_err(|cause| self.fault(cause))
    }

    /// Superblock, codec and tables.
    pub fn info(&self) -> ImageInfo {
        ImageInfo::of(self)
    }

    /// The state of its file when it was opened; `None` if it is not in a file.
    #[doc(hidden)]
    pub fn stamp(&self) -> Option<FileStamp> {
        self.stamp
    }

    /// Identifies its file.
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
