//! The fourth phase of a pack: writes a source through the writer of its file system.

use std::path::PathBuf;

use packline_blocks::{FileHints, Start};
use packline_cache::Lookup;
use packline_runtime::{Resources, Sink};
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
        let writer = self.write_contents(sink, source).map_err(named)?;
        // All contents were read, and a device has no superblock yet.
        inputs.check_unchanged()?;
        bases.compare_checked(&resources)?;
        source.finishing();
        writer.finish_with(source.observer()).map_err(named)
    }

    fn write_contents<'s>(
        self,
        sink: &'s mut dyn Sink,
        source: &mut ObservedSource<'_>,
    ) -> Result<ImageWriter<'s>, packline_blocks::Error> {
        let config = self.resources.config(self.plan.workers, self.plan.window);
        let ImageJob { root, defaults, input, verify, lookup, mut hints, .. } = self;
        let scratch = self.resources.scratch.clone();
        let start = Start { root, defaults, input, memory: self.plan.shared, verify, lookup, scratch };
        let mut writer = ImageWriter::new(sink, self.options, config, start)?;
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
