//! Turns a command line into the requested mount.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use packline::Resources;
use packline::requests::ImagePlace;
use packline_image::MountRequest;

use super::{Options, Program, words};
use crate::args::wrong;
use crate::host::Host;
use crate::host::descriptors;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

pub struct Settings {
    pub image: ImagePlace,
    pub request: MountRequest,
    /// Whether each request of the kernel is printed.
    pub debug: bool,
}

impl Settings {
    /// # Errors
    /// [`Failure::Usage`] for a word that cannot be applied. Another failure if the mount point is a descriptor that is not open.
    pub(super) fn new(
        options: &Options,
        program: &'static Program,
        words: &[String],
        host: &Host,
    ) -> Result<Settings, Failure> {
        let image = ImagePlace::new(&options.archive).at(0);
        let mut request = MountRequest::new(options.mountpoint.clone());
        let workers = if options.single_thread { 1 } else { (host.processors)() };
        request.resources = Resources::new(workers).memory_limit((host.memory_limit)(workers));
        request.check_permissions = false;
        request.subtype = program.name.as_bytes().to_vec();
        let mut settings = Settings { image, request, debug: options.debug };
        for word in words {
            words::apply(word, program, &mut settings).map_err(|what| wrong("options", what))?;
        }
        let subtype = settings.request.subtype.clone();
        settings.request.source_name.get_or_insert(subtype);
        settings.request.device = device(&options.mountpoint, program)?;
        Ok(settings)
    }
}

/// Returns the open `/dev/fuse` that a mount point names.
fn device(point: &Path, program: &Program) -> Result<Option<Arc<OwnedFd>>, Failure> {
    let number = point.to_str().and_then(|text| text.strip_prefix("/dev/fd/"));
    let Some(number) = number.and_then(|number| number.parse().ok()) else { return Ok(None) };
    let failed = |cause: io::Error| {
        let failure = Failure::failed(format!("{}: cannot be used as a mount point: {cause}", point.escaped()));
        Failure::Exit(program.refused, Box::new(failure))
    };
    Ok(Some(Arc::new(descriptors::inherited(number).map_err(failed)?)))
}
