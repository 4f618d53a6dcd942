//! Packs a tree into a tar, plain or compressed, in the four phases of an image. The entries are in the order of the source, except hard links that
//! come before their files.
//!
//! The caller's thread reads the source, and hands headers and contents to a sink, whose workers compress chunks. The chunks do not depend on
//! workers and memory, so neither does the tar.

mod hard_links;
mod map;
mod writing;

use packline_codec::StreamSpec;
use packline_engine::Pool;
use packline_image::{OpenedImage, Output, TarDestination, TarSink, TarSinkSettings, tar_sink_demand};
use packline_runtime::memory::{Demand, Grant, Limits, Shortage, fewest_workers};
use packline_runtime::{Observer, Resources, Temporaries};
use packline_tree::Replaced;
use packline_volume::CheckScope;

use self::hard_links::{HardLinks, LinkRules};
use self::writing::Writing;
use super::describe::refuse_input;
use super::entries::EntrySetup;
use super::plan::beyond_least;
use super::request::TarRequest;
use super::summary::{DryRun, PackedTar};
use super::{count_entries, warn_of_idle};
use crate::error::Error;
use crate::sources::changes::Unsupported;
use crate::sources::changes::limits::EntryLimits;
use crate::sources::directory::leave_out;
use crate::sources::examine::examine;
use crate::sources::filtered::filter_memory;
use crate::sources::observed::ObservedSource;
use crate::sources::planned::{PlannedSource, Share};
use crate::sources::selected::Scope;
use crate::sources::source::Source;

/// Bytes of content read at a time.
const STEP: usize = 256 << 10;
/// Maximum bytes that wait to be written uncompressed.
const WAITING: usize = 1 << 20;
/// Contents smaller than this number of bytes may be ordered by similarity.
const SIMILAR_MOST: u32 = 1 << 20;

/// A tree that is packed into a tar.
pub(crate) struct TarWork {
    source: Source,
    target: Output,
    tar: TarRequest,
    /// Which entries of a tar are packed; `None` for all.
    scope: Option<Scope>,
    resources: Resources,
    temporaries: Temporaries,
}

impl TarWork {
    pub(crate) fn new(
        source: Source,
        target: Output,
        tar: TarRequest,
        resources: Resources,
        temporaries: Temporaries,
    ) -> TarWork {
        TarWork { source, target, tar, scope: None, resources, temporaries }
    }

    /// The same, for a part of the tar that is the source.
    pub(crate) fn within(self, scope: Scope) -> TarWork {
        TarWork { scope: Some(scope), ..self }
    }
}

/// Packs a tree into a tar. A file has its name when this returns `Ok`; a stream may have a part of the tar after an error.
///
/// # Errors
/// As [`super::pack`].
pub(crate) fn pack_tar(work: TarWork, observer: &mut dyn Observer) -> Result<PackedTar, Error> {
    open(work, observer)?.write()
}

/// Reads the entries of a source without their contents.
///
/// # Errors
/// As [`super::dry_run`].
pub(super) fn dry_run_tar(work: TarWork, observer: &mut dyn Observer) -> Result<DryRun, Error> {
    let OpenTar { mut observed, entries, input, replaced, .. } = open(work, observer)?;
    let run = count_entries(&mut observed, &entries.excludes, &input)?;
    Ok(DryRun { replaced: replaced.count, ..run })
}

/// A pack whose source and destination are open. Nothing is written yet.
struct OpenTar<'o> {
    observed: ObservedSource<'o>,
    destination: TarDestination,
    request: TarRequest,
    entries: EntrySetup,
    scope: Option<Scope>,
    /// The source's name in messages.
    input: String,
    /// Images that are read, whose data is compared with their records.
    checked: Vec<OpenedImage>,
    replaced: Replaced,
    pool: Pool,
    workers: usize,
    links: LinkRules,
    resources: Resources,
}

fn open<'o>(work: TarWork, observer: &'o mut dyn Observer) -> Result<OpenTar<'o>, Error> {
    let TarWork { source, target, tar: mut request, scope, mut resources, temporaries } = work;
    let (Output::File { path, .. } | Output::Stream(path, _)) = &target;
    let display_path = path.clone();
    if let Output::File { path, .. } = &target {
        refuse_input(&source, path, false)?;
    }
    if request.no_xattrs {
        // Attributes that are not stored need not be supported.
        request.entries.changes.unsupported = Unsupported::Ignore;
    }
    let entries = std::mem::take(&mut request.entries);
    let any_links = has_unchecked_links(&source) || entries.pseudo.is_some();
    let (source, mut entries) = EntrySetup::new(source, entries, EntryLimits::TAR, SIMILAR_MOST);
    let destination = TarDestination::open(target, &temporaries)?;
    let mut source = examine(source)?;
    source.each_directory(&mut |path, options| {
        destination.names().for_each(|name| leave_out(name, path, options));
    });
    let mut checked = Vec::new();
    source.each_image(&mut |image, _| {
        *image = image.checked(CheckScope::Everything);
        checked.push(image.clone());
    });
    let (share, Grant { workers: granted, left }) = plan(source.as_ref(), request.compression, &entries, &resources)?;
    let links = LinkRules { checked: any_links, last: entries.has_order(), memory: left };
    // Without them the caller's thread does everything.
    let has_workers = request.compression.is_some() || source.shares_workers();
    let workers = if has_workers { granted } else { 0 };
    let pool = resources.pool(workers).map_err(|fault| Error::workers(&display_path, fault))?;
    if source.shares_workers() {
        // One pool for reading and writing, so that no more threads run than were requested.
        resources.engine.pool = Some(pool.clone());
    }
    let opened = entries.open_source(source, &share, &resources, observer)?;
    let input = opened.name;
    let source = match &scope {
        Some(scope) => scope.of(opened.source, input.clone(), resources.memory),
        None => opened.source,
    };
    let mut observed = entries.observe(source, &input, &resources, destination.size_counter(), observer);
    if has_workers {
        observed.warn_of_fewer(granted, &resources);
    }
    let replaced = opened.replaced;
    Ok(OpenTar {
        observed,
        destination,
        request,
        entries,
        scope,
        input,
        checked,
        replaced,
        pool,
        workers: granted,
        links,
        resources,
    })
}

/// Whether the hard links of a source may lead anywhere. Hard links of merged layers are checked when the layers are merged.
fn has_unchecked_links(source: &Source) -> bool {
    matches!(source, Source::TarFile { .. } | Source::TarStream { .. } | Source::Entries { .. })
}

/// Divides the memory between the source and the sink: the share of the source, and what is granted to the sink.
fn plan(
    source: &dyn PlannedSource,
    compression: Option<StreamSpec>,
    entries: &EntrySetup,
    resources: &Resources,
) -> Result<(Share, Grant), Error> {
    let limits = Limits { keeps_half: true, ..resources.limits() };
    let demand = |limit: Option<u64>| {
        let filter = if entries.is_filtered { filter_memory(limit) } else { 0 };
        source.demand(limit) + Demand::fixed(filter + STEP as u64) + tar_sink_demand(compression, WAITING)
    };
    let too_small = |shortage: Shortage| {
        Error::memory(shortage, format!("{} and the chunks of a tar", fewest_workers(resources.workers)))
    };
    let spare = limits.spare(demand).map_err(too_small)?;
    let share = Share { threads: resources.workers, limit: resources.memory, spare };
    let granted = Demand::fixed(beyond_least(source, &share));
    let grant = limits.grant(demand(resources.memory) + granted).map_err(too_small)?;
    Ok((share, grant))
}

impl OpenTar<'_> {
    fn write(mut self) -> Result<PackedTar, Error> {
        let sink = TarSinkSettings {
            compression: self.request.compression,
            pool: &self.pool,
            workers: self.workers,
            waiting: WAITING,
            resources: &self.resources,
        };
        let sink = TarSink::new(&mut self.destination, sink)?;
        let links = HardLinks::new(self.links, self.input.clone());
        let mut writing = Writing::new(sink, &self.request, links);
        if let Err(error) = writing.all(&mut self.observed, &self.resources.cancel) {
            // An error of writing comes before an error that was found later.
            writing.sink.settle()?;
            return Err(error);
        }
        self.entries.inputs.check_unchanged()?;
        self.checked.iter().try_for_each(|image| image.compare_data(&self.resources))?;
        if let Some(scope) = &self.scope {
            scope.check_patterns(&self.input, self.observed.observer())?;
        }
        self.observed.finishing();
        if let Some(warning) = writing.left_out() {
            self.observed.warn(&warning);
        }
        warn_of_idle(&self.entries.excludes, &self.input, &mut self.observed);
        let packed = writing.finish()?;
        self.destination.finish(self.observed.observer())?;
        Ok(PackedTar {
            source_bytes: self.observed.consumed(),
            errors: self.observed.errors(),
            warnings: self.observed.warnings(),
            replaced: self.replaced.count,
            workers_wanted: if self.pool.workers() == 0 { 0 } else { self.resources.workers },
            workers: self.workers.min(self.pool.workers()),
            ..packed
        })
    }
}
