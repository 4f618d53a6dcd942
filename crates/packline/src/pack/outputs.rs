//! The outputs of a pack: the image, and the files next to it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use packline_image::Output;
use packline_runtime::memory::Demand;
use packline_runtime::{MANY_WORKERS, Observer, OutputFile, Resources, Revocable, Sink as _, Temporaries, WriteBehind};

use super::bases::check_output;
use super::companions::Companions;
use super::describe::Setup;
use super::image::ImageJob;
use super::prepended::Prepended;
use super::request::ImageRequest;
use super::summary::WrittenImage;
use super::target::{PackTarget, SeekableSink};
use crate::container::scratch::scratch_for;
use crate::error::Error;
#[cfg(feature = "verity")]
use crate::sidecars::verity::{PackedTree, VeritySummary};
use crate::sources::observed::ObservedSource;

/// The open outputs of a pack.
pub(super) struct Outputs<'w> {
    medium: Medium<'w>,
    /// Byte of the output at which the image begins.
    offset: u64,
    /// The bytes before the image, if they are not zeros.
    prepended: Option<Prepended>,
    companions: Companions,
    #[cfg(feature = "verity")]
    verity: Option<PackedTree>,
}

/// The destination of the image.
enum Medium<'w> {
    File(Box<OutputFile>),
    Seekable(SeekableSink<'w>),
}

/// Outputs that have their names.
pub(super) struct FinishedOutputs {
    #[cfg(feature = "verity")]
    pub(super) verity: Option<VeritySummary>,
}

impl<'w> Outputs<'w> {
    /// Opens the outputs, so that an output that cannot be written is an error before any work.
    pub(super) fn open(
        target: PackTarget<'w>,
        setup: &mut Setup,
        temporaries: &Temporaries,
    ) -> Result<Outputs<'w>, Error> {
        match target {
            PackTarget::Output(target) => Outputs::open_file(target, setup, temporaries),
            PackTarget::Seekable(path, out) => {
                refuse_seekable(&setup.image)?;
                let sink = SeekableSink::new(out);
                Ok(Outputs {
                    medium: Medium::Seekable(sink.map_err(|cause| Error::Output {
                        path,
                        action: "cannot seek",
                        cause,
                    })?),
                    offset: setup.image.offset,
                    prepended: setup.image.prepended.take(),
                    companions: Companions::default(),
                    #[cfg(feature = "verity")]
                    verity: None,
                })
            }
        }
    }

    fn open_file(target: Output, setup: &mut Setup, temporaries: &Temporaries) -> Result<Outputs<'w>, Error> {
        let path = &setup.display_path;
        #[cfg(feature = "verity")]
        let verity = match setup.image.verity.take() {
            None => None,
            Some(options) => {
                let extent = (setup.image.offset, setup.image.options.pad());
                Some(PackedTree::open(options, &target, extent, &setup.resources, temporaries)?)
            }
        };
        let mut output = open_output(target, &setup.resources, temporaries)?;
        if let Some(stamp) = setup.replaced_input {
            output.replaces_input(stamp)?;
        }
        #[cfg(feature = "verity")]
        if let Some(verity) = &verity {
            verity.check(&output, path)?;
        }
        check_output(&setup.image.base, &output, path)?;
        let prepended = setup.image.prepended.take();
        if let Some(prepended) = &prepended {
            // A device has no bytes before the image to write.
            drop(output.sink_before()?);
            if prepended.is_executable() {
                output.make_executable()?;
            }
        }
        let companions = Companions::new(setup.image.device.take(), std::mem::take(&mut setup.image.copies))?;
        Ok(Outputs {
            medium: Medium::File(Box::new(output)),
            offset: setup.image.offset,
            prepended,
            companions,
            #[cfg(feature = "verity")]
            verity,
        })
    }

    /// The highest offset written so far.
    pub(super) fn size(&self) -> u64 {
        self.size_counter().load(Ordering::Relaxed)
    }

    /// The counter behind [`Outputs::size`], which can be read while the sink is in use.
    pub(super) fn size_counter(&self) -> Arc<AtomicU64> {
        match &self.medium {
            Medium::File(output) => output.size_counter(),
            Medium::Seekable(sink) => sink.size_counter(),
        }
    }

    /// The final and temporary names of the outputs. They are not part of the source.
    pub(super) fn names(&self) -> Vec<&Path> {
        let names = match &self.medium {
            Medium::File(output) => Some(output.names()),
            Medium::Seekable(_) => None,
        };
        #[cfg_attr(not(feature = "verity"), allow(unused_mut, reason = "only a hash tree has more names"))]
        let mut names: Vec<_> = names.into_iter().flatten().chain(self.companions.names()).collect();
        #[cfg(feature = "verity")]
        names.extend(self.verity.iter().flat_map(PackedTree::names));
        names
    }

    /// Memory of the outputs besides their buffers.
    pub(super) fn demand(&self) -> Demand {
        #[cfg(feature = "verity")]
        if self.verity.is_some() {
            return packline_verity::pass_demand();
        }
        Demand::default()
    }

    /// Writes an image and its hash tree, if one was requested.
    ///
    /// # Errors
    /// Returns the errors of [`ImageJob::write`] and of the outputs.
    pub(super) fn write(&mut self, mut job: ImageJob, source: &mut ObservedSource<'_>) -> Result<WrittenImage, Error> {
        let path = job.display_path.clone();
        job.device = self.companions.device_output()?;
        let output = match &mut self.medium {
            Medium::File(output) => output,
            Medium::Seekable(sink) => {
                let refused = |cause| Error::Output { path: path.clone(), action: "cannot write", cause };
                match &self.prepended {
                    None => sink.begin_at(self.offset).map_err(refused)?,
                    Some(prepended) => {
                        prepended.copy(&mut |bytes| sink.write_before(bytes).map_err(refused))?;
                    }
                }
                let image = job.write(sink, source)?;
                sink.finish().map_err(refused)?;
                return Ok(image);
            }
        };
        if let Some(prepended) = &self.prepended {
            let refused = |cause| Error::Output { path: path.clone(), action: "cannot write", cause };
            let mut before = output.sink_before()?;
            prepended.copy(&mut |bytes| before.append(bytes).map_err(refused))?;
            before.flush().map_err(refused)?;
        }
        let mut sink = output.sink_at(self.offset)?;
        #[cfg(feature = "verity")]
        let image = match &mut self.verity {
            Some(verity) => verity.write(job, &mut sink, source)?,
            None => write_image(job, &mut sink, source)?,
        };
        #[cfg(not(feature = "verity"))]
        let image = write_image(job, &mut sink, source)?;
        sink.flush().map_err(|cause| Error::Output { path, action: "cannot write", cause })?;
        Ok(image)
    }

    /// Gives the outputs their final names, the image last.
    pub(super) fn finish(mut self, observer: &mut dyn Observer) -> Result<FinishedOutputs, Error> {
        let companions = std::mem::take(&mut self.companions);
        if companions.is_empty() {
            return self.finish_image(observer);
        }
        if let Medium::File(output) = &self.medium {
            output.sync(observer)?;
        }
        let renamed = companions.finish(observer)?;
        let finished = self.finish_image(observer)?;
        renamed.into_iter().for_each(Revocable::keep);
        Ok(finished)
    }

    fn finish_image(self, observer: &mut dyn Observer) -> Result<FinishedOutputs, Error> {
        if let Medium::File(output) = self.medium {
            #[cfg(feature = "verity")]
            if let Some(verity) = self.verity {
                output.sync(observer)?;
                let finished = verity.finish(observer)?;
                output.finish(observer)?;
                return Ok(FinishedOutputs { verity: Some(finished.keep()) });
            }
            output.finish(observer)?;
        }
        Ok(FinishedOutputs {
            #[cfg(feature = "verity")]
            verity: None,
        })
    }
}

/// Rejects options of an image that is written to a stream at offsets, and that need other files.
fn refuse_seekable(image: &ImageRequest) -> Result<(), Error> {
    let what = match image {
        #[cfg(feature = "verity")]
        ImageRequest { verity: Some(_), .. } => "a hash tree for an image that is written to a stream",
        ImageRequest { device: Some(_), .. } => "contents on a device of an image that is written to a stream",
        ImageRequest { copies, .. } if !copies.is_empty() => {
            "a copy of the source of an image that is written to a stream"
        }
        _ => return Ok(()),
    };
    Err(Error::Request { what: what.to_string(), expected: "a file".to_string() })
}

/// Writes an image. With many workers a thread of its own writes, because the caller's thread would not keep up with them.
fn write_image(job: ImageJob, sink: &mut WriteBehind, source: &mut ObservedSource<'_>) -> Result<WrittenImage, Error> {
    if job.plan.workers >= MANY_WORKERS {
        sink.start_thread(job.plan.window / 8, job.resources.engine.tracer.clone());
    }
    job.write(sink, source)
}

/// Opens the file of an image, or a temporary file for an image that goes to a stream. The superblock is written last, at the start of
/// the image, so that a stream gets the image only when it is complete.
pub(crate) fn open_output(
    target: Output,
    resources: &Resources,
    temporaries: &Temporaries,
) -> Result<OutputFile, Error> {
    match target {
        Output::File { path, force } => Ok(OutputFile::open(&path, force, temporaries)?),
        Output::Stream(path, out) => {
            let directory = scratch_for(&path, resources)?;
            Ok(OutputFile::spooled(&path, out, directory)?)
        }
    }
}
