//! Files that get their names together with an image: its device, and copies that the source writes.

use std::path::Path;

use packline_runtime::{Observer, OutputFile, Revocable};

use super::image::DeviceOutput;
use crate::error::Error;

#[derive(Default)]
pub(super) struct Companions {
    device: Option<OutputFile>,
    copies: Vec<OutputFile>,
}

impl Companions {
    /// # Errors
    /// [`Error::Target`] for a block device, whose old content cannot be restored.
    pub(super) fn new(device: Option<OutputFile>, copies: Vec<OutputFile>) -> Result<Companions, Error> {
        let companions = Companions { device, copies };
        if let Some(output) = companions.all().find(|output| !output.begins_empty()) {
            return Err(Error::Target {
                path: path_of(output).to_path_buf(),
                what: "is a block device".to_string(),
                expected: "a file".to_string(),
            });
        }
        Ok(companions)
    }

    fn all(&self) -> impl Iterator<Item = &OutputFile> {
        self.device.iter().chain(&self.copies)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// The final and temporary names.
    pub(super) fn names(&self) -> impl Iterator<Item = &Path> {
        self.all().flat_map(OutputFile::names)
    }

    /// The device to be written, if there is one.
    pub(super) fn device_output(&self) -> Result<Option<DeviceOutput>, Error> {
        let Some(output) = &self.device else { return Ok(None) };
        Ok(Some(DeviceOutput { path: path_of(output).to_path_buf(), sink: output.sink()? }))
    }

    /// Gives the files their names. If a result is dropped before it is kept, the file that was replaced is restored.
    pub(super) fn finish(self, observer: &mut dyn Observer) -> Result<Vec<Revocable>, Error> {
        // Renames alone are between the old set and the new one.
        self.all().try_for_each(|output| output.sync(observer))?;
        let outputs = self.device.into_iter().chain(self.copies);
        Ok(outputs.map(|output| output.finish_revocably(observer)).collect::<Result<_, _>>()?)
    }
}

/// The requested name.
fn path_of(output: &OutputFile) -> &Path {
    output.names().next().unwrap_or(Path::new(""))
}
