//! Packs: opens the source, distributes the memory, writes the image, and renames it to its final name.

use packline_image::idle_exclude;
use packline_runtime::OutputFile;
use packline_runtime::memory::fewer_workers;
use packline_squashfs::Options;
use packline_tree::Patterns;

use crate::filtered::{Filtered, filter_memory};
use crate::memory::{Demand, Plan};
use crate::observed_source::ObservedSource;
use crate::source::{Prepared, place_within};
use crate::squashfs::{self, Job};
use crate::{
    Changes, Error, ImageSummary, Observer, Output, PackOptions, PackRequest, PackSummary, Source, Unsupported,
    must_differ,
};

/// Packs a tree. When this returns `Ok`, the complete output has its name and is flushed to the medium; after an error it is unchanged (a
/// block device on which writing had begun: without a superblock).
///
/// # Errors
/// [`Error`], with the name of the file or entry and, where there is one, the offset; independent of timing.
pub fn pack(request: PackRequest, observer: &mut dyn Observer) -> Result<PackSummary, Error> {
    match request.options.clone() {
        PackOptions::SquashFs(options) => {
            pack_image(request, options, observer).map(|summary| PackSummary::SquashFs(Box::new(summary)))
        }
        #[cfg(feature = "lrz")]
        PackOptions::Lrz { write, prefix } => {
            crate::lrzip::pack_tree(request, &write, prefix, observer).map(PackSummary::Lrz)
        }
    }
}

fn pack_image(request: PackRequest, image: Options, observer: &mut dyn Observer) -> Result<ImageSummary, Error> {
    let (display_path, force) = match request.target {
        Output::File { path, force } => (path, force),
        Output::Stream(path, _) => {
            let (what, expected) = ("a SquashFS image cannot go to a stream".into(), "a file or a block device".into());
            return Err(Error::Target { path, what, expected });
        }
    };
    let tool = squashfs::tool_memory(&image)
        .map_err(|cause| Error::Image { path: display_path.clone(), cause: Box::new(cause) })?;
    if let Source::TarFile { path } = &request.source {
        must_differ(path, &display_path)?;
    }
    let output = OutputFile::open(&display_path, force, &request.temporaries)?;
    let changes = changes(request.changes, &image);
    let source = without_outside(request.source, &changes, &output);
    let filters = filters(&source, &changes);
    let excludes = excludes(&source, &changes);
    let resources = request.resources;
    let workers_wanted = resources.workers;
    let prepared = Prepared::new(source)?;
    let (limit, window, block_size) = (resources.memory, resources.window, image.block_size);
    let engine = &resources.engine;
    let filter = if filters { filter_memory(limit) } else { 0 };
    let source = prepared.least() + filter;
    let least = Demand { workers: workers_wanted, engine, limit, window, block_size, tool, source };
    let mut opened = prepared.open(workers_wanted, least.spare()?, request.lenient_tar)?;
    let plan = Demand { source: opened.memory + filter, ..least }.plan()?;
    if filters {
        let (name, scratch) = (opened.name.clone(), resources.scratch.clone());
        opened.source = Box::new(Filtered::new(opened.source, changes.clone(), name, limit, scratch));
    }
    let mut observed = ObservedSource::new(opened.source, changes, output.size_counter(), observer);
    if let Some(message) = fewer_workers(plan.workers, workers_wanted, limit) {
        observed.warn(&message);
    }
    let (options, defaults, hints) = (image, request.defaults, request.hints);
    let (input, name) = (opened.name.clone(), opened.name);
    let job = Job { display_path: &display_path, input, options, defaults, hints, resources, plan };
    let image = squashfs::write(job, &output, &mut observed)?;
    excludes.iter().filter_map(|patterns| idle_exclude(patterns, &name)).for_each(|warning| observed.warn(&warning));
    let (source_bytes, output_bytes) = (observed.consumed(), output.size());
    output.finish(observed.observer())?;
    let Plan { workers, window, .. } = plan;
    // A limit of threads may have reduced it.
    let workers = workers.min(image.workers.len());
    Ok(ImageSummary { image, source_bytes, output_bytes, workers_wanted, workers, window })
}

/// Patterns to exclude; a directory source applies them itself.
fn excludes(source: &Source, changes: &Changes) -> [Patterns; 2] {
    let of_directory = match source {
        Source::Directory { options, .. } => options.excludes.clone(),
        _ => Patterns::new(),
    };
    [of_directory, changes.exclude.clone()]
}

/// Changes for this container: attributes that are not stored need not be storable.
fn changes(mut changes: Changes, image: &Options) -> Changes {
    if !image.xattrs {
        changes.unsupported = Unsupported::Ignore;
    }
    changes
}

/// A directory source that reads neither outside the new root nor the output, by its final and its temporary name: of a file's names, the
/// first that it finds becomes the file.
fn without_outside(mut source: Source, changes: &Changes, output: &OutputFile) -> Source {
    if let Source::Directory { path, options } = &mut source {
        options.without.extend(output.names().filter_map(|name| place_within(path, name)));
        options.without.extend_from_slice(&changes.without);
        options.below = changes.root.as_ref().map(|root| root.path.clone()).unwrap_or_default();
    }
    source
}

/// Whether hard links may refer to entries that are left out.
fn filters(source: &Source, changes: &Changes) -> bool {
    let of_directory = !changes.exclude.is_empty() || !changes.drop.is_empty();
    match source {
        Source::Directory { .. } => of_directory,
        _ => of_directory || changes.root.is_some() || !changes.without.is_empty(),
    }
}
