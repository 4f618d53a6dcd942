//! A builder that unpacks an image, a tar or the tar in a .lrz file to a directory or a tar.

use std::path::PathBuf;

use packline_codec::StreamSpec;
use packline_image::{OpenedImage, Output, RestoreAttributes, UnpackRequest};
use packline_runtime::{Observer, Resources, Unobserved};

use super::{Destination, UnpackSummary, unpack, unpack_image};
use crate::container::file_kind::FileKind;
use crate::container::image::Image;
use crate::container::image_place::ImagePlace;
use crate::container::selection::Selection;
use crate::error::Error;

/// Unpacks a SquashFS or EROFS image, a tar, or the tree in a .lrz file. The first bytes of the file decide which.
pub struct Unpacker<'o> {
    from: UnpackFrom,
    pub(super) request: UnpackRequest,
    observer: Box<dyn Observer + Send + 'o>,
}

/// The source of the entries.
enum UnpackFrom {
    File(ImagePlace),
    Image(OpenedImage),
}

/// Result of an unpacking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpacked {
    /// Bytes of file content, holes included; if a .lrz file is unpacked to a tar, bytes of the tar.
    pub content_bytes: u64,
    /// Entries that are missing or incomplete; 0 without [`Unpacker::continue_on_error`].
    pub errors: u64,
}

impl<'o> Unpacker<'o> {
    /// Unpacks the file at `path`, everything with all attributes, on all processors.
    pub fn new(path: impl Into<PathBuf>) -> Unpacker<'o> {
        Unpacker::of(UnpackFrom::File(ImagePlace::new(path)))
    }

    /// Unpacks an open image.
    pub fn image(image: Image) -> Unpacker<'o> {
        Unpacker::of(UnpackFrom::Image(image.into()))
    }

    fn of(from: UnpackFrom) -> Unpacker<'o> {
        Unpacker { from, request: UnpackRequest::default(), observer: Box::new(Unobserved) }
    }

    /// Which attributes are restored in a directory.
    #[must_use]
    pub fn restore(mut self, attributes: RestoreAttributes) -> Unpacker<'o> {
        self.request.restore = attributes;
        self
    }

    /// Whether errors of single entries are reported to the observer while the rest is unpacked. A file of an image with damaged content is kept,
    /// in a directory and in a tar, with zeros in place of unreadable data. A tar is unpacked up to its first fault. Not for .lrz files.
    #[must_use]
    pub fn continue_on_error(mut self, go_on: bool) -> Unpacker<'o> {
        self.request.continue_on_error = go_on;
        self
    }

    /// Which entries are unpacked. A .lrz file becomes a tar only as a whole.
    #[must_use]
    pub fn select(mut self, selection: Selection) -> Unpacker<'o> {
        self.request.selection = selection.into();
        self
    }

    /// Whether files in an existing directory, or an existing tar, are replaced.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Unpacker<'o> {
        self.request.force = replace;
        self
    }

    /// Workers and memory. They never change what is written.
    #[must_use]
    pub fn resources(mut self, resources: Resources) -> Unpacker<'o> {
        self.request.resources = resources;
        self
    }

    /// Receives progress, warnings and, with [`Unpacker::continue_on_error`], errors. `observer` may be a reference.
    #[must_use]
    pub fn observe(self, observer: impl Observer + Send + 'o) -> Unpacker<'o> {
        Unpacker { observer: Box::new(observer), ..self }
    }

    /// Unpacks to a directory, which is created or must be empty, unless [`Unpacker::replace`] was set.
    ///
    /// # Errors
    /// [`Error`], with the entry and the path. A directory that was created is removed.
    pub fn to_directory(self, destination: impl Into<PathBuf>) -> Result<Unpacked, Error> {
        self.run(Destination::Directory(destination.into()))
    }

    /// Writes a tar, compressed according to its name: .tar, .tar.gz, .tar.xz, .tar.zst or .tar.bz2.
    ///
    /// # Errors
    /// [`Error`], with the entry and the offset. The tar is removed.
    pub fn to_tar(self, destination: impl Into<PathBuf>) -> Result<Unpacked, Error> {
        let path = destination.into();
        let compression = FileKind::of_path(&path).and_then(FileKind::stream).map(StreamSpec::new);
        let target = Output::File { path, force: self.request.force };
        self.run(Destination::Tar(target, compression))
    }

    fn run(mut self, destination: Destination) -> Result<Unpacked, Error> {
        let observer = self.observer.as_mut();
        let summary = match self.from {
            UnpackFrom::File(place) => unpack(&place, self.request, destination, None, observer)?,
            UnpackFrom::Image(image) => unpack_image(image, self.request, destination, observer)?,
        };
        let (content_bytes, errors) = match summary {
            UnpackSummary::Directory(summary) => (summary.counts.content_bytes, summary.counts.errors),
            UnpackSummary::Tar(summary) => (summary.content_bytes, summary.damaged),
            UnpackSummary::TarDirectory(counts) => (counts.content_bytes, counts.errors),
            #[cfg(feature = "lrz")]
            UnpackSummary::LrzTar(unpacked) => (unpacked.plain, 0),
        };
        Ok(Unpacked { content_bytes, errors })
    }
}
