//! Unpacks the tree in an image, a tar or a .lrz file to a directory or a tar.

pub(crate) mod extraction;
mod tar;
pub(crate) mod tar_cat;
mod text;
pub(crate) mod unpacker;

use std::path::PathBuf;

use packline_codec::StreamSpec;
use packline_image::{OpenedImage, Output, TarOutRequest, TarScope, TarSummary, UnpackRequest, metadata_cache};
use packline_runtime::escape::Escape;
use packline_runtime::{Observer, must_differ};

use self::extraction::TarTreeCounts;
use crate::container::archive::OpenedTar;
use crate::container::by_magic::ContentKind;
use crate::container::image_place::ImagePlace;
use crate::error::Error;
#[cfg(feature = "lrz")]
use crate::streams::lrz::tree::lrz_unpack_tree;
#[cfg(feature = "lrz")]
use crate::streams::lrz::{LrzUnpackRequest, lrz_at, lrz_unpack};

/// The destination of an unpacked tree.
#[non_exhaustive]
pub enum Destination {
    /// A directory: a new one, an empty one or, with [`UnpackRequest::force`], one with entries.
    Directory(PathBuf),
    /// A tar. The tar in a .lrz file cannot be compressed again.
    Tar(Output, Option<StreamSpec>),
}

/// Totals of the unpacked entries, by container and destination.
#[derive(Debug, Clone)]
pub enum UnpackSummary {
    /// An image to a directory.
    Directory(packline_image::UnpackSummary),
    /// An image or a tar to a tar.
    Tar(TarSummary),
    /// A tar, or the tar in a .lrz file, to a directory.
    TarDirectory(TarTreeCounts),
    /// The unchanged tar in a .lrz file.
    #[cfg(feature = "lrz")]
    LrzTar(packline_lrz::Unpacked),
}

/// Unpacks an image, a tar or the tar in a .lrz file, which is recognised by its first bytes. An encrypted .lrz file needs the `password`. The
/// field `duplicates` of the request does not apply to tars. A part of a tar is found while the tar is read to its end: a pattern without
/// a match is an error then, and what was written stays in an existing destination.
///
/// # Errors
/// [`Error`], with the entry or the path and, if known, the offset; [`Error::Request`] for a part of a .lrz file as a tar, and for a
/// selection below a subdirectory of an image to a tar. A new destination is removed after an error.
pub fn unpack(
    place: &ImagePlace,
    request: UnpackRequest,
    destination: Destination,
    password: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    if place.content_kind() == Some(ContentKind::Lrz) {
        return unpack_lrz(place, request, destination, password, observer);
    }
    if let Some(tar) = OpenedTar::at(place) {
        return unpack_tar(tar, request, destination, observer);
    }
    if matches!(destination, Destination::Tar(..)) && !request.subdirectory.is_empty() && !request.selection.is_all() {
        let what = format!("{}: a selection below a directory, as a tar", place.path.escaped());
        return Err(Error::Request { what, expected: "one of them".to_string() });
    }
    if let Destination::Tar(Output::File { path, .. }, _) = &destination {
        must_differ(&place.path, path)?;
    }
    unpack_image(place.open(metadata_cache(request.resources.memory))?, request, destination, observer)
}

/// Unpacks a tar. To another tar, its entries are written again; the other tar may have another compression.
///
/// # Errors
/// As [`unpack`].
pub fn unpack_tar(
    tar: OpenedTar,
    request: UnpackRequest,
    destination: Destination,
    observer: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    match destination {
        Destination::Directory(path) => {
            tar::to_directory(tar, request, path, observer).map(UnpackSummary::TarDirectory)
        }
        Destination::Tar(target, compression) => {
            tar::to_tar(tar, request, (target, compression), observer).map(UnpackSummary::Tar)
        }
    }
}

/// Unpacks an open image.
///
/// # Errors
/// As [`unpack`].
pub(crate) fn unpack_image(
    image: OpenedImage,
    request: UnpackRequest,
    destination: Destination,
    observer: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    match destination {
        Destination::Directory(path) => {
            Ok(UnpackSummary::Directory(packline_image::unpack(&image, request, path, observer)?))
        }
        Destination::Tar(target, compression) => {
            let tar = packline_image::tar_out(to_tar(image, request, target, compression), observer)?;
            Ok(UnpackSummary::Tar(tar))
        }
    }
}

#[cfg(not(feature = "lrz"))]
fn unpack_lrz(
    _: &ImagePlace,
    _: UnpackRequest,
    _: Destination,
    _: Option<&[u8]>,
    _: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    Err(crate::container::by_name::Container::Lrz.left_out())
}

#[cfg(feature = "lrz")]
fn unpack_lrz(
    place: &ImagePlace,
    request: UnpackRequest,
    destination: Destination,
    password: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    let is_part = !request.selection.is_all() || !request.subdirectory.is_empty();
    if request.continue_on_error || is_part && matches!(destination, Destination::Tar(..)) {
        return Err(needs_all(place, "a part"));
    }
    if matches!(destination, Destination::Tar(_, Some(_))) {
        return Err(needs_all(place, "a compressed tar"));
    }
    let opened = lrz_at(place, password)?;
    match destination {
        Destination::Directory(path) => {
            lrz_unpack_tree(&opened, request, path, observer).map(UnpackSummary::TarDirectory)
        }
        Destination::Tar(target, _) => {
            let mut tar = LrzUnpackRequest::new(&opened, Some(target));
            tar.tar = true;
            tar.resources = request.resources;
            tar.temporaries = request.temporaries;
            lrz_unpack(tar, observer).map(UnpackSummary::LrzTar)
        }
    }
}

fn to_tar(
    image: OpenedImage,
    request: UnpackRequest,
    target: Output,
    compression: Option<StreamSpec>,
) -> TarOutRequest {
    let mut tar = TarOutRequest::new(image, target);
    tar.compression = compression;
    tar.scope = if request.subdirectory.is_empty() {
        TarScope::Selected(request.selection)
    } else {
        TarScope::Below { directories: vec![request.subdirectory], keep: false }
    };
    tar.xattrs = request.restore.xattrs;
    tar.sparse = request.sparse;
    tar.continue_on_error = request.continue_on_error;
    tar.resources = request.resources;
    tar.temporaries = request.temporaries;
    tar
}

#[cfg(feature = "lrz")]
fn needs_all(place: &ImagePlace, what: &str) -> Error {
    let what = format!("{}: {what} is requested from a .lrz file", place.path.escaped());
    Error::Request { what, expected: "all of it, as a directory or a plain tar".to_string() }
}
