//! The fourth phase of a pack: writes a source through the writer of its file system.

use std::path::PathBuf;

use packline_blocks::{FileHints, Start};
use packline_cache::Lookup;
use packline_runtime::{Resources, Sink, WriteBehind};
use packline_tree::{Meta, Source};

use super::bases::Bases;
use super::image_options::ImageOptions;
use super::image_writer::ImageWriter;
use super::memory::Plan;
use super::summary::WrittenImage;
use crate::error::Error;
use crate::sources::inputs::ReadInputs;
use crate::sources::listing::Hints;
use crate::sources::observed::ObservedSource;

/// An image to be written.
pub(crate) struct ImageJob {
    /// The output's name in messages.
    pub(crate) display_path: PathBuf,
    /// The source's name in messages.
    pub(crate) input: String,
    pub(crate) options: ImageOptions,
    pub(crate) root: Meta,
    pub(crate) defaults: Meta,
    pub(crate) hints: Option<Hints>,
    pub(crate) resources: Resources,
    pub(crate) plan: Plan,
    /// Whether what was written is read back.
    pub(crate) verify: bool,
    pub(crate) lookup: Lookup,
    pub(crate) bases: Bases,
    /// The tars and images that are read.
    pub(crate) inputs: ReadInputs,
    /// The device that gets the contents, if they are not in the image.
    pub(crate) device: Option<DeviceOutput>,
}

/// The device of an image, while it is written.
pub(crate) struct DeviceOutput {
    pub(crate) path: PathBuf,
    pub(crate) sink: WriteBehind,
}

impl ImageJob {
    /// Writes the image. Everything is written to `sink` when this returns, but may not be flushed.
    ///
    /// # Errors
    /// [`Error::Image`] with the output's name, for an error of the source, the codec, the format or the sink; [`Error::Read`] for a source
    /// image whose data does not match its record; [`Error::Tree`] for a tar or an image that was written to meanwhile.
    pub(crate) fn write(mut self, sink: &mut dyn Sink, source: &mut ObservedSource<'_>) -> Result<WrittenImage, Error> {
        let inputs = std::mem::take(&mut self.inputs);
        let path = self.display_path.clone();
        let named = |cause| Error::Image { path: path.clone(), cause: Box::new(cause) };
        let bases = self.bases.clone();
        let resources = self.resources.clone();
        let mut device = self.device.take();
        let device_sink = device.as_mut().map(|device| &mut device.sink as &mut dyn Sink);
        let writer = self.write_contents(sink, device_sink, source).map_err(named)?;
        // All contents were read, and a device has no superblock yet.
        inputs.check_unchanged()?;
        bases.compare_checked(&resources)?;
        source.finishing();
        let written = writer.finish_with(source.observer()).map_err(named)?;
        if let Some(DeviceOutput { path, mut sink }) = device {
            sink.flush().map_err(|cause| Error::Output { path, action: "cannot write", cause })?;
        }
        Ok(written)
    }

    fn write_contents<'s>(
        self,
        sink: &'s mut dyn Sink,
        device: Option<&'s mut dyn Sink>,
        source: &mut ObservedSource<'_>,
    ) -> Result<ImageWriter<'s>, packline_blocks::Error> {
        let config = self.resources.config(self.plan.workers, self.plan.window);
        let ImageJob { root, defaults, input, verify, lookup, mut hints, .. } = self;
        let scratch = self.resources.scratch.clone();
        let start = Start { root, defaults, input, memory: self.plan.shared, verify, lookup, scratch };
        let mut writer = ImageWriter::new(sink, device, self.options, config, start)?;
        while let Some(entry) = source.next_entry()? {
            let asked = hints.as_mut().map_or(FileHints::default(), |hints| hints(&entry));
            writer.add(&entry, asked, source)?;
            writer.take_warnings().iter().for_each(|warning| source.warn(warning));
        }
        writer.settle()?;
        writer.take_warnings().iter().for_each(|warning| source.warn(warning));
        Ok(writer)
    }
}
