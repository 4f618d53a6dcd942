//! Unpacks a tree: of an image or a .lrz file, to a directory or a tar.

use std::path::PathBuf;

use packline_codec::StreamSpec;
use packline_image::{ContentKind, TarOutRequest, TarScope, TarSummary, UnpackRequest};
use packline_runtime::escape::Escape;

#[cfg(feature = "lrz")]
use crate::lrzip::lrz_open_input;
use crate::{Error, Observer, Output};
#[cfg(feature = "lrz")]
use crate::{LrzTreeCounts, LrzUnpackRequest, lrz_open, lrz_unpack, lrz_unpack_tree};

/// Where a tree is unpacked to.
#[non_exhaustive]
pub enum Destination {
    /// A directory: a new one, an empty one or, with [`UnpackRequest::force`], one with entries.
    Directory(PathBuf),
    /// A tar. The one in a .lrz file cannot be compressed again.
    Tar(Output, Option<StreamSpec>),
}

/// What was unpacked, by container and destination.
#[derive(Debug, Clone)]
pub enum UnpackSummary {
    /// An image to a directory.
    Directory(packline_image::UnpackSummary),
    /// An image to a tar.
    Tar(TarSummary),
    /// The tar in a .lrz file to a directory.
    #[cfg(feature = "lrz")]
    LrzDirectory(LrzTreeCounts),
    /// The tar in a .lrz file, as it is.
    #[cfg(feature = "lrz")]
    LrzTar(packline_lrz::Unpacked),
}

/// Unpacks an image or, by the first bytes of the file, the tar in a .lrz file, which has a `password` if it is encrypted. Of the request,
/// a .lrz file has no use for `sparse` and `duplicates`.
///
/// # Errors
/// [`Error`], with the entry or the path and, where there is one, the offset; [`Error::Request`] for a part of a .lrz file, and for a
/// selection below a subdirectory to a tar. A destination that did not exist does not exist then.
pub fn unpack(
    request: UnpackRequest,
    destination: Destination,
    password: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    if request.image.content_kind() == Some(ContentKind::Lrz) {
        return unpack_lrz(request, destination, password, observer);
    }
    match destination {
        Destination::Directory(path) => packline_image::unpack(request, path, observer).map(UnpackSummary::Directory),
        Destination::Tar(target, compression) => {
            packline_image::tar_out(to_tar(request, target, compression)?, observer).map(UnpackSummary::Tar)
        }
    }
}

#[cfg(not(feature = "lrz"))]
fn unpack_lrz(
    _: UnpackRequest,
    _: Destination,
    _: Option<&[u8]>,
    _: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    Err(crate::Container::Lrz.left_out())
}

#[cfg(feature = "lrz")]
fn unpack_lrz(
    request: UnpackRequest,
    destination: Destination,
    password: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    if !request.selection.is_all() || !request.subdirectory.is_empty() || request.continue_on_error {
        return Err(whole(&request, "a part of it"));
    }
    if matches!(destination, Destination::Tar(_, Some(_))) {
        return Err(whole(&request, "a tar in it that is compressed again"));
    }
    let image = &request.image;
    let opened = match image.is_stored() {
        true => lrz_open_input(&image.path, image.input()?, password)?,
        false => lrz_open(&image.path, password)?,
    };
    match destination {
        Destination::Directory(path) => {
            lrz_unpack_tree(&opened, request, path, observer).map(UnpackSummary::LrzDirectory)
        }
        Destination::Tar(target, _) => {
            let mut tar = LrzUnpackRequest::new(&opened, Some(target));
            (tar.tar, tar.resources, tar.temporaries) = (true, request.resources, request.temporaries);
            lrz_unpack(tar, observer).map(UnpackSummary::LrzTar)
        }
    }
}

fn to_tar(request: UnpackRequest, target: Output, compression: Option<StreamSpec>) -> Result<TarOutRequest, Error> {
    let scope = match request.subdirectory.is_empty() {
        true => TarScope::Selected(request.selection),
        false if request.selection.is_all() => TarScope::Below { directories: vec![request.subdirectory], keep: false },
        false => {
            let what = format!("{}: a selection below a directory, as a tar", request.image.path.escaped());
            return Err(Error::Request { what, expected: "one of them".to_string() });
        }
    };
    let mut tar = TarOutRequest::new(request.image, target);
    (tar.compression, tar.scope) = (compression, scope);
    (tar.xattrs, tar.sparse) = (request.restore.xattrs, request.sparse);
    tar.continue_on_error = request.continue_on_error;
    (tar.resources, tar.temporaries) = (request.resources, request.temporaries);
    Ok(tar)
}

#[cfg(feature = "lrz")]
fn whole(request: &UnpackRequest, what: &str) -> Error {
    let what = format!("{}: a .lrz file, and {what} is asked for", request.image.path.escaped());
    Error::Request { what, expected: "all of it, as a directory or a plain tar".to_string() }
}
