//! Unpacks an image into a directory with parallel writers. Both the image and the destination may be hostile.
//!
//! One walk creates directories, links and devices, and plans files. A window of files is then sorted by the position of their content and
//! written by workers, each block decoded once ([`feeder`]). Everything is created through directory handles that follow no link
//! ([`packline_tree::destination`]), in a staging directory ([`staging_dir`]) that is renamed to the destination in the end.

mod collector;
mod context;
mod dir_table;
mod feeder;
mod names;
mod outcome;
mod part;
mod planner;
mod request;
mod share;
mod shared_unit;
mod staging_dir;
mod task;
mod tool;
mod unit_uses;
mod window;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use packline_engine::{Fault, OrderedMap};
use packline_runtime::escape::Escape;
use packline_runtime::memory::MapPlan;
use packline_runtime::{MemoryFault, TaskError};
use packline_tree::destination::FileId;
use packline_volume::{CheckScope, Inode, Node, ReadError, Scratch};

pub use outcome::{Topic, Warning};
pub use request::{AttributeRules, Duplicates, RestoreAttributes, UnpackCounts, UnpackRequest, UnpackSummary};
pub use staging_dir::StagingDir;

use crate::{Error, Observer, OpenedImage, ReadDemand, ReadPlan, SelectedWalk};
use collector::ResultCollector;
use context::UnpackContext;
use dir_table::DirTable;
use feeder::{ENDED_BYTES, Feeder};
use outcome::Outcome;
use planner::Planner;
use unit_uses::UnitUseCounts;
use work::Unpacking;

/// Limits of the memory for planned files, bytes: the minimum, and the maximum that is added to it.
const PLAN_MOST: u64 = 64 << 20;
const PLAN_LEAST: u64 = 1 << 20;
/// Inverse of the share of [`UnitUseCounts`] in that memory.
const USE_COUNTS_SHARE: usize = 4;
/// Memory for data kept to the end without a memory limit, bytes: a few bytes of an image can lead to any amount.
const RETAINED_MAX: usize = 160 << 20;

/// Unpacks `image` to a new or existing directory. A new destination gets its name only when it is complete, and does not exist after an error.
/// In an existing one, everything written so far stays, each file complete.
///
/// # Errors
/// [`Error`], with the entry or the path and, if there is one, the offset. With [`UnpackRequest::continue_on_error`], errors of single entries,
/// and of data that does not match the image's record, go to [`Observer::problem`] and are counted in [`UnpackCounts::errors`]. A pattern of the
/// selection without a match is such an error. Without `continue_on_error` it is found before anything is created.
pub fn unpack(
    image: &OpenedImage,
    request: UnpackRequest,
    destination: PathBuf,
    observer: &mut dyn Observer,
) -> Result<UnpackSummary, Error> {
    let resources = &request.resources;
    let wanted = resources.workers;
    let opened = image.checked(CheckScope::of_selection(request.is_whole()));
    let root = find_root(&opened, &request.subdirectory)?;
    let plan = ReadDemand::new(&opened.volume, resources.limits(), PLAN_LEAST).plan()?;
    resources.warn_of_fewer(plan.workers, observer);
    // Unpacking does not cache shared units in memory: their share goes to the plan.
    let plan_bytes = PLAN_LEAST + (plan.fragments as u64).min(PLAN_MOST);
    let mut collector = ResultCollector::new(&mut *observer, opened.volume.facts().bytes);
    let mut outcome = Outcome::new(request.continue_on_error);
    outcome.keep(check_patterns(&request, &opened, &root))?;
    collector.take(outcome);
    let staging_dir = StagingDir::open(&destination, request.force || request.merge, &request.temporaries)?;
    let context = Arc::new(context(&request, destination, opened, &staging_dir, &root)?);
    let scratch = Scratch::new(request.resources.scratch.clone(), context.opened.volume.facts());
    let plan_bytes = plan_bytes as usize;
    let uses = UnitUseCounts::new(scratch, &context.opened.volume, plan_bytes / USE_COUNTS_SHARE);
    let budget = plan.config(resources).budget;
    let mut run =
        Run { request: &request, context: &context, staging_dir: &staging_dir, root, plan_bytes, budget, uses };
    let workers = run.unpack(plan, &mut collector)?;
    if let Some(warning) = request.selection.unmatched_exclude(&place_of(&context.opened, &request.subdirectory)) {
        collector.warn(&warning);
    }
    if !collector.is_damaged {
        let mut outcome = Outcome::new(request.continue_on_error);
        outcome.keep(context.opened.compare_data(&request.resources))?;
        collector.take(outcome);
    }
    let counts = collector.counts;
    drop(context);
    staging_dir.finish(request.sync, observer)?;
    Ok(UnpackSummary { counts, workers_wanted: wanted, workers })
}

/// Returns the directory of an image whose content is unpacked.
///
/// # Errors
/// [`Error::Request`] if `path` does not lead to a directory.
pub(crate) fn find_root(opened: &OpenedImage, path: &[u8]) -> Result<Inode, Error> {
    let found = opened.volume.resolve(path).map_err(|cause| opened.fault_at(path, cause))?;
    let display_path = place_of(opened, path);
    match found {
        Some(inode) if matches!(inode.node, Node::Directory(_)) => Ok(inode),
        Some(_) => {
            Err(Error::Request { what: format!("{display_path} is not a directory"), expected: "a directory".into() })
        }
        None => Err(Error::Request {
            what: format!("{display_path} does not exist"),
            expected: "a directory of the image".into(),
        }),
    }
}

/// Returns the name of a directory of an image for messages.
fn place_of(opened: &OpenedImage, path: &[u8]) -> String {
    let image = opened.display_path.escaped();
    if path.is_empty() { image } else { format!("{image}: {}", path.escaped()) }
}

/// Checks that each pattern matches an entry before anything is created; stops when all have matched. Faults on the way are reported later by the
/// walk that unpacks, unless a pattern remains unmatched.
fn check_patterns(request: &UnpackRequest, opened: &OpenedImage, root: &Inode) -> Result<(), Error> {
    let selection = &request.selection;
    if selection.include.is_empty() {
        return Ok(());
    }
    let mut fault = None;
    for visited in SelectedWalk::below(&opened.volume, root.at, selection) {
        if request.resources.cancel.is_cancelled() {
            return Err(opened.fault(ReadError::cancelled()));
        }
        if selection.include.all_matched() {
            return Ok(());
        }
        fault = fault.or(visited.err().filter(|_| !request.continue_on_error));
    }
    let Some(unmatched) = selection.unmatched(&place_of(opened, &request.subdirectory)) else { return Ok(()) };
    Err(fault.map_or(unmatched, |(path, cause)| opened.fault_at(&path, cause)))
}

fn context(
    request: &UnpackRequest,
    display_path: PathBuf,
    opened: OpenedImage,
    staging_dir: &StagingDir,
    root: &Inode,
) -> Result<UnpackContext, Error> {
    let directory = staging_dir.root()?.protecting(opened.identity().and_then(FileId::of_identity));
    Ok(UnpackContext {
        opened,
        display_path,
        dirs: DirTable::new(directory, root.at),
        staging: staging_dir.staging(),
        restore: request.restore,
        rules: request.rules.clone(),
        replace: request.force || !request.merge,
        lenient: request.lenient,
        sparse: request.sparse,
        duplicates: request.duplicates,
        continue_on_error: request.continue_on_error,
    })
}

/// State of one call of [`unpack`].
struct Run<'r> {
    request: &'r UnpackRequest,
    context: &'r Arc<UnpackContext>,
    staging_dir: &'r StagingDir,
    root: Inode,
    /// Memory limit in bytes of the plan and the use counts.
    plan_bytes: usize,
    /// Memory in bytes of the tasks in flight.
    budget: usize,
    uses: UnitUseCounts,
}

impl<'r> Run<'r> {
    /// Unpacks everything; returns the number of workers.
    fn unpack(&mut self, plan: ReadPlan, collector: &mut ResultCollector<'_>) -> Result<usize, Error> {
        let mut map = self.map(plan)?;
        let mut planner = Planner::new(self.context, self.staging_dir, self.request.devices);
        if let Err(error) = self.walk(&mut planner, &mut map, collector) {
            planner.restore_modes();
            return Err(error);
        }
        let mut outcome = Outcome::new(self.context.continue_on_error);
        let applied = planner.set_directory_attributes(&mut outcome);
        let cleared = applied.and_then(|()| self.staging_dir.clear_away());
        let done = cleared.and_then(|()| planner.set_root_attributes(&self.root, &mut outcome));
        collector.take(outcome);
        done.map(|()| map.workers().min(plan.workers))
    }

    fn map(&self, plan: ReadPlan) -> Result<OrderedMap<Unpacking>, Error> {
        let work = Unpacking { context: self.context.clone() };
        let plan = MapPlan { workers: plan.workers, window: plan.window };
        self.request.resources.map(work, plan).map_err(|cause| self.context.opened.fault(cause.into()))
    }

    /// Walks the tree. Writes the planned files whenever they fill the plan's memory, and at the end.
    fn walk(
        &mut self,
        planner: &mut Planner<'_>,
        map: &mut OrderedMap<Unpacking>,
        collector: &mut ResultCollector<'_>,
    ) -> Result<(), Error> {
        let mut walk = self.entries();
        let mut met = 0;
        loop {
            if self.request.resources.cancel.is_cancelled() {
                return Err(self.context.opened.fault(ReadError::cancelled()));
            }
            let mut outcome = Outcome::new(self.context.continue_on_error);
            let Some(visited) = walk.next() else { return self.flush(planner, map, collector) };
            let made = match visited {
                Ok(visit) => {
                    collector.meet(&visit);
                    self.uses.meet(&visit);
                    met += 1;
                    planner.visit(&visit, &mut outcome)
                }
                Err((path, cause)) => Err(self.context.opened.fault_at(&path, cause)),
            };
            if let Err(error) = outcome.keep(made) {
                // Errors of earlier entries come first.
                self.flush(planner, map, collector)?;
                return Err(error);
            }
            collector.take(outcome);
            if self.is_full(planner)? {
                self.count_rest(met);
                self.flush(planner, map, collector)?;
            }
        }
    }

    fn entries(&self) -> SelectedWalk<'r> {
        SelectedWalk::below(&self.context.opened.volume, self.root.at, &self.request.selection)
    }

    /// Whether the planned files must be written before more are planned.
    fn is_full(&self, planner: &Planner<'_>) -> Result<bool, Error> {
        let kept = planner.retained_memory();
        let planned = planner.window.memory();
        // Every file is counted as a file with own units and a piece of a shared one.
        let pending = planner.window.files().len() * ENDED_BYTES;
        let all = kept.saturating_add(planned).saturating_add(pending).saturating_add(self.uses.memory());
        if all <= self.plan_bytes {
            return Ok(false);
        }
        let most = if self.request.resources.memory.is_some() { self.plan_bytes } else { RETAINED_MAX };
        if kept > most {
            return Err(self.no_memory(most, kept));
        }
        // Smaller windows would not gain from sorting.
        Ok(planned.saturating_add(pending) >= self.plan_bytes / 4)
    }

    /// Counts the uses of shared units of the entries after the first `met` ones, once.
    fn count_rest(&mut self, met: usize) {
        let cancel = &self.request.resources.cancel;
        // Errors are reported when the walk comes to the entry again.
        let all = self.entries().take_while(|_| !cancel.is_cancelled()).filter_map(Result::ok);
        self.uses.count(all.skip(met));
    }

    fn no_memory(&self, most: usize, kept: usize) -> Error {
        let allowed = self.request.resources.memory.unwrap_or(most as u64);
        Error::Memory(MemoryFault {
            allowed,
            needed: allowed.saturating_add(2 * kept as u64),
            what: format!("{} directories and the names of hard links", self.context.dirs.count()),
        })
    }

    /// Writes the planned files, then their further names. Repeats this for names that replace failed ones.
    fn flush(
        &mut self,
        planner: &mut Planner<'_>,
        map: &mut OrderedMap<Unpacking>,
        collector: &mut ResultCollector<'_>,
    ) -> Result<(), Error> {
        loop {
            let window = planner.take_window();
            if !window.is_empty() {
                Feeder::write(self.context, window, map, collector, &mut self.uses, self.budget)
                    .map_err(|stop| self.stopped(stop))?;
            }
            let mut outcome = Outcome::new(self.context.continue_on_error);
            let linked = planner.make_links(&collector.take_written(), &mut outcome);
            collector.take(outcome);
            linked?;
            if planner.window.is_empty() {
                return Ok(());
            }
        }
    }

    fn stopped(&self, stop: Fault<Error>) -> Error {
        let cause = match stop {
            Fault::Work(error) => return error,
            Fault::Cancelled => ReadError::cancelled(),
            other => ReadError::internal(other.to_string()),
        };
        self.context.opened.fault(cause)
    }
}
