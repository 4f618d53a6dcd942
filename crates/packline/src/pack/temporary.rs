//! A source as an image in an unnamed temporary file, for operations that read a tree in any order.

use std::path::PathBuf;

use packline_image::{OpenedImage, metadata_cache};
use packline_runtime::{Observer, Resources, Temporaries, unnamed_temp_file};

use super::request::ImageRequest;
use super::target::PackTarget;
use super::{ImageWork, pack_image};
use crate::container::image_place::ImagePlace;
use crate::container::opened_file::OpenedFile;
use crate::container::scratch::scratch_for;
use crate::error::Error;
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
    let refused = |cause| Error::Output { path: directory.to_path_buf(), action: "cannot create a file in", cause };
    let mut file = unnamed_temp_file(directory).map_err(refused)?;
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
