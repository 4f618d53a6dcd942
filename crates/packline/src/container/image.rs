//! An open image, as programs that use the library see it.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::path::PathBuf;

use packline_image::{OpenedImage, Selection, metadata_cache};
use packline_runtime::Resources;
use packline_volume::{Finding, Visit};

use super::image_place::ImagePlace;
use crate::error::Error;

/// An open image and its name in messages. Other operations are in `packline_image`.
#[derive(Debug, Clone)]
pub struct Image(OpenedImage);

impl Image {
    /// Opens an image at the start of a file or a block device, or after other data in it.
    ///
    /// # Errors
    /// [`Error::Source`] if the file cannot be opened, [`Error::Container`] if it is another container, [`Error::Read`] if it contains no sound
    /// image.
    pub fn open(path: impl Into<PathBuf>) -> Result<Image, Error> {
        ImagePlace::new(path).open(metadata_cache(None)).map(Image)
    }

    /// The entries that a selection names, in the order of their paths. An error concerns one entry; the others follow.
    pub fn entries<'s>(&'s self, selection: &'s Selection) -> impl Iterator<Item = Result<Visit, Error>> + 's {
        self.0.entries(selection).map(|entry| entry.map_err(Error::from))
    }

    /// Writes the content of a regular file to `out`. Symbolic links are followed inside the image.
    ///
    /// # Errors
    /// [`Error::Request`] if the path does not lead to a regular file, [`Error::Read`] for content that cannot be read,
    /// [`Error::Output`] if `out` refuses.
    pub fn read(&self, path: impl AsRef<[u8]>, out: &mut dyn Write) -> Result<(), Error> {
        Ok(self.0.read(path, out)?)
    }

    /// Opens a regular file for reading at any position. Symbolic links are followed inside the image. Content is read on
    /// demand.
    ///
    /// # Errors
    /// [`Error::Request`] if the path does not lead to a regular file, [`Error::Read`] for metadata that cannot be read and for
    /// lack of memory for a decoder.
    pub fn open_file(&self, path: impl AsRef<[u8]>) -> Result<ImageFile, Error> {
        Ok(ImageFile(self.0.open_file(path)?))
    }

    /// Reads every byte and checks every rule of the format. Returns the findings, in the order in which they were made.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough memory for all inodes, [`Error::Read`] if cancelled.
    pub fn verify(&self, resources: &Resources) -> Result<Vec<Finding>, Error> {
        Ok(self.0.verify(resources)?)
    }
}

impl Deref for Image {
    type Target = OpenedImage;

    fn deref(&self) -> &OpenedImage {
        &self.0
    }
}

impl From<OpenedImage> for Image {
    fn from(opened: OpenedImage) -> Image {
        Image(opened)
    }
}

impl From<Image> for OpenedImage {
    fn from(image: Image) -> OpenedImage {
        image.0
    }
}

/// A regular file of an image, open for reading at any position, by [`Image::open_file`].
///
/// The file may be used on another thread than the image. Holes are read as zeros. A read may be of any size, and returns bytes of at
/// most one block. Two decoded blocks (of 4 KiB to 1 MiB) are kept in addition to a decoder, so that a block that is read in small parts is
/// decoded once. A seek reads nothing. It may lead beyond the end, where a read returns 0 bytes.
///
/// # Errors
/// An error of [`Read`] holds an [`Error::Read`] with the image, the path and the offset ([`io::Error::get_ref`]). Its kind is
/// [`io::ErrorKind::InvalidData`] for a malformed image, and otherwise the kind of the operating system's error. The position
/// does not change after an error. A seek to before the start is an [`io::ErrorKind::InvalidInput`].
#[derive(Debug)]
pub struct ImageFile(packline_image::ImageFile);

impl ImageFile {
    /// Size in bytes, holes included.
    pub fn size(&self) -> u64 {
        self.0.size()
    }
}

impl Read for ImageFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_next(buffer).map_err(|cause| io::Error::new(cause.io_kind(), Error::from(cause)))
    }
}

impl Seek for ImageFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}
