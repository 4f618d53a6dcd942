//! The writer of an image, by its file system.

use packline_blocks::{Error, FileHints, Start};
use packline_engine::Config;
use packline_erofs::{DeviceWriter, Place};
use packline_runtime::{Observer, Sink};
use packline_tree::{Entry, Source};

use super::image_options::ImageOptions;
use super::summary::WrittenImage;

/// Takes the entries of an image in sequence. The methods are those of [`packline_squashfs::Writer`].
pub(super) enum ImageWriter<'s> {
    SquashFs(Box<packline_squashfs::Writer<'s>>),
    Erofs(Box<packline_erofs::Writer<'s>>),
    /// An EROFS image whose contents are on a device.
    OnDevice(Box<packline_erofs::DeviceWriter<'s>>),
}

impl<'s> ImageWriter<'s> {
    /// `device`: the sink of the contents, if they are written to a device.
    pub(super) fn new(
        sink: &'s mut dyn Sink,
        device: Option<&'s mut dyn Sink>,
        options: ImageOptions,
        config: Config,
        start: Start,
    ) -> Result<ImageWriter<'s>, Error> {
        match options {
            ImageOptions::SquashFs(options) => {
                let writer = packline_squashfs::Writer::new(sink, options, config, start)?;
                Ok(ImageWriter::SquashFs(Box::new(writer)))
            }
            ImageOptions::Erofs(options) if options.place != Place::Image => {
                let writer = match device {
                    Some(device) => DeviceWriter::blob(sink, device, options, config, start)?,
                    None => DeviceWriter::tar(sink, options, start)?,
                };
                Ok(ImageWriter::OnDevice(Box::new(writer)))
            }
            ImageOptions::Erofs(options) => {
                let writer = packline_erofs::Writer::new(sink, options, config, start)?;
                Ok(ImageWriter::Erofs(Box::new(writer)))
            }
        }
    }

    pub(super) fn add(&mut self, entry: &Entry, hints: FileHints, source: &mut dyn Source) -> Result<(), Error> {
        match self {
            ImageWriter::SquashFs(writer) => writer.add(entry, hints, source),
            ImageWriter::Erofs(writer) => writer.add(entry, hints, source),
            ImageWriter::OnDevice(writer) => writer.add(entry, hints, source),
        }
    }

    pub(super) fn settle(&mut self) -> Result<(), Error> {
        match self {
            ImageWriter::SquashFs(writer) => writer.settle(),
            ImageWriter::Erofs(writer) => writer.settle(),
            ImageWriter::OnDevice(writer) => writer.settle(),
        }
    }

    pub(super) fn take_warnings(&mut self) -> Vec<String> {
        match self {
            ImageWriter::SquashFs(writer) => writer.take_warnings(),
            ImageWriter::Erofs(writer) => writer.take_warnings(),
            ImageWriter::OnDevice(writer) => writer.take_warnings(),
        }
    }

    pub(super) fn finish_with(self, observer: &mut dyn Observer) -> Result<WrittenImage, Error> {
        match self {
            ImageWriter::SquashFs(writer) => writer.finish_with(observer).map(WrittenImage::from),
            ImageWriter::Erofs(writer) => writer.finish_with(observer).map(WrittenImage::from),
            ImageWriter::OnDevice(writer) => writer.finish().map(WrittenImage::from),
        }
    }
}
