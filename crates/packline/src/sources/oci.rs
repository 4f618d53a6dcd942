//! Images of containers as sources.

use std::io::Read;

use packline_archives::decompress::Limits;
use packline_archives::oci::{OciImage, OciOptions, OciPlace, Platform};

use super::tar::decompressor;
use crate::{Error, Resources, Source};

impl Source {
    /// The layers of an image of containers: the image of `platform`, or of this machine's if there are several.
    ///
    /// # Errors
    /// [`Error::Tree`] if it is not such an image, is malformed, or is not the only one.
    pub fn oci(place: &OciPlace, platform: Option<Platform>, resources: &Resources) -> Result<Source, Error> {
        Ok(Source::Oci(OciImage::open(place, &options(platform, resources))?))
    }

    /// The same of an archive that is a stream, called `name` in messages: it is stored first.
    ///
    /// # Errors
    /// As for [`Source::oci`].
    pub fn oci_reader(
        place: &OciPlace,
        name: &str,
        stream: impl Read + Send + 'static,
        platform: Option<Platform>,
        resources: &Resources,
    ) -> Result<Source, Error> {
        Ok(Source::Oci(OciImage::open_stream(place, name, stream, &options(platform, resources))?))
    }
}

fn options(platform: Option<Platform>, resources: &Resources) -> OciOptions {
    let mut options = OciOptions::new();
    options.platform = platform;
    options.scratch.clone_from(&resources.scratch);
    options.limits = match resources.memory {
        Some(memory) => decompressor(true, resources.workers, memory / 2).0,
        None => Limits { threads: resources.workers.max(1), ..Limits::default() },
    };
    options
}
