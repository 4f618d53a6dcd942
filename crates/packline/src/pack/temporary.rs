//! A source as an image or a tar in an unnamed temporary file, for operations that read a tree in any order or only as a tar.

use std::path::{Path, PathBuf};

#[cfg(feature = "lrz")]
use packline_image::Output;
use packline_image::{OpenedImage, metadata_cache};
use packline_runtime::{Observer, Resources, Temporaries, unnamed_temp_file};

#[cfg(feature = "lrz")]
use super::describe::prepare_late_output;
use super::request::ImageRequest;
#[cfg(feature = "lrz")]
use super::request::{LrzRequest, TarRequest};
#[cfg(feature = "lrz")]
use super::tar::{TarWork, pack_tar};
use super::target::PackTarget;
use super::{ImageWork, pack_image};
use crate::container::image_place::ImagePlace;
use crate::container::opened_file::OpenedFile;
use crate::container::scratch::scratch_for;
use crate::error::Error;
#[cfg(feature = "lrz")]
use crate::sources::changes::EntryEdit;
use crate::sources::source::Source;

/// A codec that is fast on all processors.
const CODEC: &str = "lz4";

/// Packs a source into an image in an unnamed temporary file in [`Resources::scratch`], and opens the image, which has the name of the source
/// in messages. An EROFS image keeps times to the nanosecond and all attributes that a Linux file system has. A directory that the source only
/// implies has mode 755, owner 0 and time 0.
///
/// # Errors
/// As [`pack`](super::pack); [`Error::Target`] without a directory for temporary files.
pub fn temporary_image(
    source: Source,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<OpenedImage, Error> {
    let name = PathBuf::from(source.name());
    let directory = scratch_for(&name, resources)?;
    let mut file = unnamed_temp_file(directory).map_err(|cause| no_file(directory, cause))?;
    let work = ImageWork {
        source,
        target: PackTarget::Seekable(name.clone(), &mut file),
        image: ImageRequest::parse_erofs(Some(CODEC), None)?,
        resources: resources.clone(),
        temporaries: Temporaries::default(),
    };
    pack_image(work, observer)?;
    let place = ImagePlace::of_file(OpenedFile::of(&name, Ok(file))?).at(0);
    place.open(metadata_cache(resources.memory))
}

/// Returns the source of a .lrz file: a directory or a tar as it is, any other source as a tar in an unnamed temporary file in
/// [`Resources::scratch`]. `output` is the .lrz file.
///
/// # Errors
/// As [`pack`](super::pack); [`Error::Target`] without a directory for temporary files.
#[cfg(feature = "lrz")]
pub(super) fn source_of_lrz(
    mut source: Source,
    output: &Output,
    lrz: &mut LrzRequest,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Source, Error> {
    if matches!(source, Source::Directory { .. } | Source::TarFile { .. } | Source::TarStream { .. }) {
        return Ok(source);
    }
    prepare_late_output(&mut source, output)?;
    let name = PathBuf::from(source.name());
    let directory = scratch_for(&name, resources)?;
    let refused = |cause| no_file(directory, cause);
    let file = unnamed_temp_file(directory).map_err(refused)?;
    let target = Output::writer(&name, file.try_clone().map_err(refused)?);
    let mut request = TarRequest { no_xattrs: lrz.no_xattrs, ..TarRequest::default() };
    request.entries.changes = std::mem::take(&mut lrz.changes);
    // A fraction of a second would need an extended header of 1 KiB for each entry.
    let edit = request.entries.changes.edit.take();
    request.entries.changes.edit = Some(EntryEdit::new(move |entry| {
        edit.iter().try_for_each(|edit| edit.apply(entry))?;
        entry.meta.mtime = entry.meta.mtime.floor();
        Ok(())
    }));
    pack_tar(TarWork::new(source, target, request, resources.clone(), Temporaries::default()), observer)?;
    Ok(Source::opened_tar(OpenedFile::of(&name, Ok(file))?))
}

fn no_file(directory: &Path, cause: std::io::Error) -> Error {
    Error::Output { path: directory.to_path_buf(), action: "cannot create a file in", cause }
}
