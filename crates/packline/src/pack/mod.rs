//! Packs a tree in four phases, each a function with a result of its own:
//!
//! 1. [`describe`] checks the request. No file is opened.
//! 2. [`plan`] divides the memory and the workers among all parties.
//! 3. [`open`] opens the sources. The outputs are opened before the plan is made, so that an output that must not be replaced is reported before
//!    anything is read.
//! 4. [`run`] reads, compresses and writes, and gives the output its final name.

pub(crate) mod bases;
mod companions;
mod describe;
mod entries;
pub(crate) mod image;
pub(crate) mod image_options;
mod image_writer;
#[cfg(feature = "pln")]
pub(crate) mod in_pln;
mod memory;
mod open;
pub(crate) mod outputs;
pub(crate) mod packer;
mod plan;
pub(crate) mod prepended;
pub(crate) mod request;
pub(crate) mod summary;
pub(crate) mod tar;
pub(crate) mod target;
pub(crate) mod temporary;

use packline_image::idle_exclude;
use packline_runtime::{Observer, Resources, Temporaries};
use packline_tree::{Kind, Patterns, Source as _};

#[cfg(feature = "lrz")]
use self::request::no_lrz;
use self::request::{ImageRequest, PackContainer, PackRequest};
use self::summary::{DryRun, ImageSummary, PackSummary};
use crate::error::Error;
use crate::sources::observed::ObservedSource;
use crate::sources::source::Source;
use describe::{Contents, describe};
use memory::Plan;
use open::{OpenPack, open};
use outputs::Outputs;
use plan::plan;
use tar::{TarWork, dry_run_tar, pack_tar};
use target::PackTarget;

/// Packs a tree. When this returns `Ok`, the complete output has its name and is flushed to the medium, or is written to its stream. A stream
/// gets an image when it is complete; until then the image is in an unnamed temporary file in
/// [`scratch`](packline_runtime::Resources::scratch). After an error the output is unchanged, except that a block device on which writing had
/// begun has no superblock.
///
/// # Errors
/// [`Error`], with the name of the file or entry and, if known, the offset. The error does not depend on timing.
pub fn pack(request: PackRequest, observer: &mut dyn Observer) -> Result<PackSummary, Error> {
    let PackRequest { source, target, container, resources, temporaries } = request;
    match container {
        PackContainer::Image(image) => {
            let work = ImageWork { source, target: PackTarget::Output(target), image: *image, resources, temporaries };
            pack_image(work, observer).map(|summary| PackSummary::Image(Box::new(summary)))
        }
        PackContainer::Tar(tar) => {
            let work = TarWork::new(source, target, *tar, resources, temporaries);
            pack_tar(work, observer).map(PackSummary::Tar)
        }
        #[cfg(feature = "lrz")]
        PackContainer::Lrz(mut lrz) => {
            let source = temporary::source_of_lrz(source, &target, &mut lrz, &resources, observer)?;
            crate::streams::lrz::pack_tree(source, target, *lrz, &resources, &temporaries, observer)
                .map(PackSummary::Lrz)
        }
    }
}

/// The parts of a request for an image.
pub(crate) struct ImageWork<'w> {
    pub(crate) source: Source,
    pub(crate) target: PackTarget<'w>,
    pub(crate) image: ImageRequest,
    pub(crate) resources: Resources,
    pub(crate) temporaries: Temporaries,
}

/// Packs a tree into an image.
pub(crate) fn pack_image(work: ImageWork<'_>, observer: &mut dyn Observer) -> Result<ImageSummary, Error> {
    let ImageWork { source, target, image, resources, temporaries } = work;
    let mut described = describe(source, &target, image, resources, Contents::Packed)?;
    let outputs = Outputs::open(target, &mut described.setup, &temporaries)?;
    let planned = plan(described, &outputs, observer)?;
    let opened = open(planned, &outputs, observer)?;
    run(opened, outputs)
}

/// Reads the entries of a source as [`pack`] does, reports them to the observer, and writes nothing. Each file of a directory is opened; its
/// content is read only if it is small and errors are passed over. An output that must not be written is an error, as for a pack.
///
/// # Errors
/// Returns the errors of [`pack`] that do not depend on contents; [`Error::Request`] for a .lrz file.
pub fn dry_run(request: PackRequest, observer: &mut dyn Observer) -> Result<DryRun, Error> {
    let PackRequest { mut source, target, container, resources, temporaries } = request;
    source.for_each_directory(&mut |_, options| {
        options.readers = 0;
        options.entries_only = true;
    });
    let image = match container {
        PackContainer::Image(image) => *image,
        PackContainer::Tar(tar) => {
            return dry_run_tar(TarWork::new(source, target, *tar, resources, temporaries), observer);
        }
        #[cfg(feature = "lrz")]
        PackContainer::Lrz(_) => return Err(no_lrz("a dry run")),
    };
    let target = PackTarget::Output(target);
    let mut described = describe(source, &target, image, resources, Contents::Listed)?;
    let outputs = Outputs::open(target, &mut described.setup, &temporaries)?;
    let planned = plan(described, &outputs, observer)?;
    let OpenPack { mut observed, job, excludes, replaced } = open(planned, &outputs, observer)?;
    let run = count_entries(&mut observed, &excludes, &job.input)?;
    Ok(DryRun { replaced: replaced.count, ..run })
}

/// Counts the entries of a source called `name`.
fn count_entries(observed: &mut ObservedSource<'_>, excludes: &[Patterns], name: &str) -> Result<DryRun, Error> {
    let mut run = DryRun::default();
    while let Some(entry) = observed.next_entry()? {
        run.counts.add(&entry.kind);
        if let Kind::File { size } = entry.kind {
            run.content_bytes += size;
        }
    }
    observed.finishing();
    warn_of_idle(excludes, name, observed);
    Ok(DryRun { errors: observed.errors(), ..run })
}

/// Writes an image and gives it its final name.
fn run(opened: OpenPack<'_>, mut outputs: Outputs<'_>) -> Result<ImageSummary, Error> {
    let OpenPack { mut observed, job, excludes, replaced } = opened;
    let Plan { workers, window, .. } = job.plan;
    let workers_wanted = job.resources.workers;
    let input = job.input.clone();
    let cache = job.lookup.cache.clone();
    let bases = job.bases.clone();
    let image = outputs.write(job, &mut observed)?;
    let base = bases.finish(observed.observer());
    let found = cache.as_ref().map(|cache| cache.finish());
    for warning in cache.iter().flat_map(|cache| cache.warnings()) {
        observed.warn(&warning);
    }
    warn_of_idle(&excludes, &input, &mut observed);
    let errors = observed.errors();
    let warnings = observed.warnings();
    let times = observed.changed_times();
    let source_bytes = observed.consumed();
    let output_bytes = outputs.size();
    #[cfg_attr(not(feature = "verity"), allow(unused_variables, reason = "only a hash tree is reported"))]
    let finished = outputs.finish(observed.observer())?;
    // The system's limit of threads may have reduced the number.
    let workers = workers.min(image.workers.len());
    Ok(ImageSummary {
        image,
        errors,
        warnings,
        times,
        replaced: replaced.count,
        first_replaced: replaced.first,
        source_bytes,
        output_bytes,
        workers_wanted,
        workers,
        window,
        cache: found,
        base,
        #[cfg(feature = "verity")]
        verity: finished.verity,
    })
}

fn warn_of_idle(excludes: &[Patterns], name: &str, observed: &mut ObservedSource<'_>) {
    for warning in excludes.iter().filter_map(|patterns| idle_exclude(patterns, name)) {
        observed.warn(&warning);
    }
}
