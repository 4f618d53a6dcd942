//! Packs: opens the source, distributes the memory, writes the image, and renames it to its final name.

use std::cell::RefCell;
use std::path::Path;

use packline_cache::Lookup;
use packline_engine::Pool;
use packline_image::idle_exclude;
use packline_runtime::memory::fewer_workers;
use packline_runtime::{FileStamp, OutputFile, Sink};
use packline_squashfs::Options;
use packline_tree::{Kind, Patterns, PseudoSource, Replaced, RestOrder, Source as _, keep_all};

use crate::appended::Inputs;
use crate::archive::scratch_for;
use crate::base::{Bases, check_output};
use crate::filtered::{Filtered, filter_memory};
use crate::memory::{Demand, Plan, spare};
use crate::observed_source::ObservedSource;
use crate::source::{Opening, Prepared, leave_out};
use crate::squashfs::{self, Job, SharedSink};
#[cfg(feature = "verity")]
use crate::verity::{Finished, Packing};
use crate::{
    Changes, DryRun, Error, FileIdentity, Image, ImageSummary, Observer, Output, PackOptions, PackRequest, PackSummary,
    Pass, Progress, Resources, Source, Temporaries, Unsupported, must_differ,
};

/// Packs a tree. When this returns `Ok`, the complete output has its name and is flushed to the medium, or is written to its stream, which
/// gets an image only when it is whole, by an unnamed file in [`Resources::scratch`]; after an error it is unchanged (a
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

/// Reads the entries of a source as [`pack`] does, reports them to the observer, and writes nothing. Each file of a directory is opened; its
/// content is read only if it is small and errors are passed over. An output that must not be written is an error, as for a pack.
///
/// # Errors
/// Those of [`pack`] that do not depend on contents; [`Error::Request`] for a container other than an image.
pub fn dry_run(mut request: PackRequest, observer: &mut dyn Observer) -> Result<DryRun, Error> {
    #[cfg_attr(not(feature = "lrz"), allow(clippy::infallible_destructuring_match, reason = "there is one container"))]
    let options = match request.options.clone() {
        PackOptions::SquashFs(options) => options,
        #[cfg(feature = "lrz")]
        PackOptions::Lrz { .. } => return Err(crate::request::no_lrz("a dry run")),
    };
    request.source.for_each_directory(&mut |_, options| (options.readers, options.entries_only) = (0, true));
    let Begun { mut observed, excludes, job, replaced, .. } = Begun::new(request, options, false, observer)?;
    let mut run = DryRun::default();
    while let Some(entry) = observed.next_entry()? {
        run.counts.add(&entry.kind);
        if let Kind::File { size } = entry.kind {
            run.content_bytes += size;
        }
    }
    observed.finishing();
    warn_of_idle(&excludes, &job.input, &mut observed);
    Ok(DryRun { errors: observed.errors(), replaced: replaced.count, ..run })
}

fn pack_image(request: PackRequest, image: Options, observer: &mut dyn Observer) -> Result<ImageSummary, Error> {
    let Begun {
        output,
        mut observed,
        excludes,
        job,
        replaced,
        #[cfg(feature = "verity")]
        mut verity,
    } = Begun::new(request, image, true, observer)?;
    let (Plan { workers, window, .. }, workers_wanted) = (job.plan, job.resources.workers);
    let (name, path) = (job.input.clone(), job.display_path.clone());
    let (cache, bases) = (job.lookup.cache.clone(), Bases::clone(&job.bases));
    let shared = SharedSink::new(RefCell::new(output.sink_at(job.offset)?));
    let sink: Box<dyn Sink> = Box::new(shared.clone());
    #[cfg(feature = "verity")]
    let (job, sink) = match &mut verity {
        Some(verity) => verity.around(job, &shared)?,
        None => (job, sink),
    };
    let image = squashfs::write(job, sink, &mut observed)?;
    #[cfg(feature = "verity")]
    if let Some(verity) = &mut verity {
        verity.complete(&shared, &path)?;
    }
    shared.borrow_mut().flush().map_err(|cause| Error::Output { path, action: "cannot write", cause })?;
    let base = bases.finish(observed.observer());
    let found = cache.as_ref().map(|cache| cache.finish());
    cache.iter().flat_map(|cache| cache.warnings()).for_each(|warning| observed.warn(&warning));
    warn_of_idle(&excludes, &name, &mut observed);
    let (errors, warnings) = (observed.errors(), observed.warnings());
    let (source_bytes, output_bytes) = (observed.consumed(), output.size());
    #[cfg(feature = "verity")]
    let verity = match verity {
        None => None,
        Some(verity) => {
            output.sync(observed.observer())?;
            Some(verity.finish(observed.observer())?)
        }
    };
    output.finish(observed.observer())?;
    // A limit of threads may have reduced it.
    let workers = workers.min(image.workers.len());
    Ok(ImageSummary {
        image,
        errors,
        warnings,
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
        verity: verity.map(Finished::keep),
    })
}

fn warn_of_idle(excludes: &[Patterns], name: &str, observed: &mut ObservedSource<'_>) {
    excludes.iter().filter_map(|patterns| idle_exclude(patterns, name)).for_each(|warning| observed.warn(&warning));
}

/// A pack whose source and output are open, before anything is written.
struct Begun<'o> {
    output: OutputFile,
    observed: ObservedSource<'o>,
    /// For warnings, once all entries have been compared.
    excludes: Vec<Patterns>,
    job: Job,
    /// What layers replaced of those below them.
    replaced: Replaced,
    #[cfg(feature = "verity")]
    verity: Option<Packing>,
}

impl<'o> Begun<'o> {
    /// `contents`: whether contents are packed.
    fn new(
        request: PackRequest,
        image: Options,
        contents: bool,
        observer: &'o mut dyn Observer,
    ) -> Result<Begun<'o>, Error> {
        let display_path = match &request.target {
            Output::File { path, .. } | Output::Stream(path, _) => path.clone(),
        };
        let replaced = replaced_input(&request, &display_path);
        let mut lookup = Lookup { known: Vec::new(), cache: request.cache };
        let tool = squashfs::tool_memory(&image, request.verify, &lookup)
            .map_err(|cause| Error::Image { path: display_path.clone(), cause: Box::new(cause) })?;
        if let Output::File { .. } = &request.target {
            refuse_input(&request.source, &display_path)?;
        }
        #[cfg(feature = "verity")]
        let verity = request.verity.filter(|_| contents).map(|options| {
            let image = (request.offset, image.pad);
            Packing::open(options, &request.target, image, &request.resources, &request.temporaries)
        });
        #[cfg(feature = "verity")]
        let verity = verity.transpose()?;
        let mut output = open_output(request.target, &request.resources, &request.temporaries)?;
        replaced.map_or(Ok(()), |stamp| output.replaces_input(stamp))?;
        #[cfg(feature = "verity")]
        verity.as_ref().map_or(Ok(()), |verity| verity.check(&output, &display_path))?;
        check_output(&request.base, &output, &display_path)?;
        let mut changes = changes(request.changes, &image);
        #[cfg(feature = "verity")]
        let names = output.names().chain(verity.iter().flat_map(Packing::names));
        #[cfg(not(feature = "verity"))]
        let names = output.names();
        let source = without_outside(request.source, &changes, &names.collect::<Vec<_>>());
        let excludes = excludes(&source, &changes);
        // Without contents the order changes nothing.
        let order = request.order.filter(|_| contents);
        let source = order.iter().fold(source, Source::in_order);
        let own = matches!(source, Source::Image(_)) || source.is_stack();
        let rule = if own { changes.take_rule() } else { keep_all() };
        let filters = filters(&source, &changes);
        let mut resources = request.resources;
        let workers_wanted = resources.workers;
        let (limit, window, block_size) = (resources.memory, resources.window, image.block_size);
        #[cfg(feature = "verity")]
        let hashing = verity.as_ref().map_or(0, |_| packline_verity::pass_memory());
        #[cfg(not(feature = "verity"))]
        let hashing = 0;
        let mut prepared = Inputs::new(Prepared::new(source)?, request.append_to);
        let (engine, tool) = (&resources.engine, tool + prepared.tool());
        let shared = lookup.shared_memory(block_size as usize) as u64;
        let besides = |limit| shared + hashing + if filters { filter_memory(limit) } else { 0 };
        let demand = |prepared: &Inputs, limit, indexes: u64| {
            let source = prepared.least(limit) + besides(limit) + indexes;
            Demand { workers: workers_wanted, engine, limit, window, block_size, tool, source }
        };
        let unused = spare(|limit| demand(&prepared, limit, 0), limit)?;
        let mut bases = Bases::open(&request.base, &image, &resources, unused, observer)?;
        if contents {
            prepared.add_bases(&mut bases, &image, &resources, unused)?;
        }
        let indexes = bases.memory();
        lookup.known = bases.known();
        let spare = spare(|limit| demand(&prepared, limit, indexes), limit)?;
        let least = demand(&prepared, limit, indexes);
        let (granted, memory) = prepared.granted(workers_wanted, limit, spare);
        let mut plan = Demand { source: memory + besides(limit) + indexes, ..least }.plan()?;
        if granted.shares_workers() {
            resources.engine.pool = Some(pool(&resources, plan.workers, &display_path)?);
        }
        let (granted, before) = granted.split();
        let defaults = request.defaults;
        let root = request.root.unwrap_or(defaults);
        let order = order.unwrap_or_default();
        let passes = order.rest == RestOrder::Similar;
        let mut opened = {
            let observer = RefCell::new(&mut *observer);
            let compared = |done, total| observer.borrow_mut().advance(&comparing(done, total));
            let warned = |message: &str| observer.borrow_mut().warning(message);
            let (tar, resources, compared, warned) = (request.tar, &resources, &compared, &warned);
            granted.open(&Opening { tar, resources, rule, root, defaults, order, block_size, compared, warned })?
        };
        if let Some((granted, taken)) = opened.tree {
            plan.exchange(granted, taken);
        }
        if filters {
            let (name, scratch) = (opened.name.clone(), resources.scratch.clone());
            opened.source = Box::new(Filtered::new(opened.source, changes.clone(), name, limit, scratch));
        }
        if let Some(pseudo) = request.pseudo {
            opened.source = Box::new(PseudoSource::over(opened.source, pseudo));
        }
        let mut observed = ObservedSource::new(opened.source, changes, output.size_counter(), observer);
        if passes {
            observed = observed.in_pass("packing");
        }
        if let Some(before) = before {
            observed = observed.after(before.open(&resources)?);
        }
        if let Some(message) = fewer_workers(plan.workers, workers_wanted, limit) {
            observed.warn(&message);
        }
        let PackRequest { offset, hints, verify, .. } = request;
        let (options, input) = (image, opened.name);
        let job =
            Job { display_path, offset, input, options, root, defaults, hints, resources, plan, verify, lookup, bases };
        Ok(Begun {
            output,
            observed,
            excludes,
            job,
            replaced: opened.replaced,
            #[cfg(feature = "verity")]
            verity,
        })
    }
}

/// Progress of the pass in which contents are compared.
fn comparing(done: u64, total: u64) -> Progress {
    let pass = Pass { name: "comparing", part: 1, done, total: Some(total) };
    Progress { pass: Some(pass), ..Progress::default() }
}

/// Refuses an output that is the input: one that is written in place, or a tar, of which little would be left if its packing failed late.
fn refuse_input(source: &Source, output: &Path) -> Result<(), Error> {
    match source {
        Source::TarFile { path } => Ok(must_differ(path, output)?),
        Source::Image(image) if !output.is_file() => Ok(must_differ(&image.display_path, output)?),
        Source::Stack(stack) => stack.layers.iter().try_for_each(|layer| refuse_input(layer, output)),
        _ => Ok(()),
    }
}

/// The state, when it was opened, of an image that is read and that the output replaces, if there is one.
fn replaced_input(request: &PackRequest, output: &Path) -> Option<FileStamp> {
    let target = FileIdentity::of_path(output)?;
    let is_target = |path: &Path| FileIdentity::of_path(path) == Some(target);
    let mut images: Vec<&Image> = request.append_to.iter().map(|before| &before.image).collect();
    add_images(&request.source, &mut images);
    let opened = images.into_iter().find(|image| is_target(&image.display_path)).and_then(Image::stamp);
    // A base is opened later.
    let is_base = || request.base.iter().any(|base| is_target(&base.place.path));
    opened.or_else(|| if is_base() { FileStamp::of_path(output).ok() } else { None })
}

fn add_images<'s>(source: &'s Source, images: &mut Vec<&'s Image>) {
    match source {
        Source::Image(image) => images.push(image),
        Source::Stack(stack) => stack.layers.iter().for_each(|layer| add_images(layer, images)),
        _ => {}
    }
}

/// One pool for reading and writing, so that no more threads run than were asked for.
pub(crate) fn pool(resources: &Resources, workers: usize, display_path: &Path) -> Result<Pool, Error> {
    let config = resources.engine.sized(workers, 0, &resources.cancel);
    config.pool().map_err(|cause| Error::Source {
        path: display_path.to_path_buf(),
        action: "cannot start the workers",
        cause,
    })
}

/// The superblock is written last, at the start of the image, so that a stream gets an image when it is whole.
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

/// Patterns to exclude; a directory source applies them itself.
fn excludes(source: &Source, changes: &Changes) -> Vec<Patterns> {
    let of_source = match source {
        Source::Directory { options, .. } => options.excludes.clone(),
        Source::Directories { parts, .. } => {
            parts.first().map_or_else(Patterns::new, |part| part.options.excludes.clone())
        }
        Source::Stack(stack) => stack.remove.clone(),
        _ => Patterns::new(),
    };
    vec![of_source, changes.exclude.clone()]
}

/// Changes for this container: attributes that are not stored need not be storable.
fn changes(mut changes: Changes, image: &Options) -> Changes {
    if !image.xattrs {
        changes.unsupported = Unsupported::Ignore;
    }
    changes
}

/// A directory source that reads neither outside the new root nor the outputs, by their final and temporary names: of a file's names, the
/// first that it finds becomes the file.
fn without_outside(mut source: Source, changes: &Changes, outputs: &[&Path]) -> Source {
    source.for_each_directory(&mut |path, options| outputs.iter().for_each(|name| leave_out(name, path, options)));
    if let Source::Directory { options, .. } = &mut source {
        options.without.extend_from_slice(&changes.without);
        options.below = changes.root.as_ref().map(|root| root.path.clone()).unwrap_or_default();
    }
    source
}

/// Whether hard links may refer to entries that are left out. A stack leaves entries out by itself.
fn filters(source: &Source, changes: &Changes) -> bool {
    let of_directory = !changes.exclude.is_empty() || !changes.drop.is_empty() || changes.filter.is_some();
    match source {
        Source::Directory { .. } => of_directory,
        // They leave out by themselves.
        Source::Image(_) => false,
        source if source.is_stack() => false,
        _ => of_directory || changes.root.is_some() || !changes.without.is_empty(),
    }
}
