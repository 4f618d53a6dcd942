//! Streams that are stored before they are read.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use packline_runtime::{FileInput, Resources, store_stream};

use crate::error::Error;

/// Stores a stream in an unnamed temporary file.
pub(crate) fn stored(
    path: &Path,
    stream: &mut dyn Read,
    resources: &Resources,
) -> Result<Arc<dyn packline_runtime::Input>, Error> {
    stored_in(path, stream, scratch_for(path, resources)?)
}

/// As [`stored`], in this directory.
pub(super) fn stored_in(
    path: &Path,
    stream: &mut dyn Read,
    directory: &Path,
) -> Result<Arc<dyn packline_runtime::Input>, Error> {
    let refused = |cause| Error::Source { path: path.to_path_buf(), action: "cannot store", cause };
    let file = store_stream(stream, directory).map_err(refused)?;
    Ok(Arc::new(FileInput::new(file).map_err(refused)?))
}

/// The directory in which a stream is stored.
pub(crate) fn scratch_for<'r>(path: &Path, resources: &'r Resources) -> Result<&'r Path, Error> {
    resources.scratch.as_deref().ok_or_else(|| {
        let what = "a stream must be stored first, and no directory for temporary files is set".to_string();
        Error::Target {
            path: path.to_path_buf(),
            what,
            expected: "a directory in Resources::scratch, or a file".to_string(),
        }
    })
}
