//! Unpacks an image into a directory, with parallel writers, whatever the image or the destination was made to do.
//!
//! One walk makes directories, links and devices, and plans files; a window of files is then sorted by where their content
//! lies and written by workers, each block decoded once ([`feeder`]). Everything is made by directory handles that follow
//! no link ([`packline_tree::destination`]), in a staging directory ([`site`]) that gets the destination's name in the end.

mod desk;
mod feeder;
mod fragment;
mod ground;
mod later;
mod names;
mod notes;
mod part;
mod planner;
mod request;
mod share;
mod shop;
mod site;
mod task;
mod window;
mod work;

use std::sync::Arc;

use packline_engine::{Fault, OrderedMap};
use packline_runtime::escape::Escape;
use packline_runtime::memory::fewer_workers;
use packline_squashfs::read::{Inode, Node, ReadError, Scratch};
use packline_tree::destination::FileId;

pub use notes::{Note, Topic};
pub use request::{Duplicates, Kept, UnpackCounts, UnpackRequest, UnpackSummary};
pub use site::Site;

use crate::read_plan::metadata_cache;
use crate::{Error, Observer, OpenedImage, ReadDemand, ReadPlan, SelectedWalk};
use desk::Desk;
use feeder::{ENDED_BYTES, Feeder};
use ground::Ground;
use later::Later;
use notes::Outcome;
use planner::Planner;
use shop::Shop;
use work::Unpacking;

/// The least memory for the plan, and the most that it gets besides, bytes.
const PLAN_MOST: u64 = 64 << 20;
const PLAN_LEAST: u64 = 1 << 20;
/// The share of the plan for what is known of files to come.
const LATER_PART: usize = 4;
/// What is kept to the end, at most, where memory is not limited, bytes: a few bytes of an image can ask for all there is.
const KEPT_MOST: usize = 160 << 20;

/// Unpacks. A destination that was not there has its name, whole, when this returns `Ok`; after an error it is not there.
/// In one that was there, what has been written so far stays, each file whole.
///
/// # Errors
/// [`Error`], with the entry or the path and, where there is one, the offset. With [`UnpackRequest::go_on`] errors of
/// single entries go to [`Observer::problem`] and are counted in [`UnpackCounts::errors`]. A pattern of the selection that
/// matches nothing is such an error; without `go_on` it comes before anything is made.
pub fn unpack(request: UnpackRequest, observer: &mut dyn Observer) -> Result<UnpackSummary, Error> {
    let (memory, wanted) = (request.resources.memory, request.resources.workers);
    let opened = request.image.open(metadata_cache(memory))?;
    let root = find_root(&opened, &request.subdirectory)?;
    let demand = ReadDemand::new(&opened.image, wanted, memory, PLAN_LEAST);
    let plan = demand.helped(&request.resources.engine).plan()?;
    // Fragment blocks are not kept in memory here: their share is the plan's.
    let plan_bytes = PLAN_LEAST + (plan.fragments as u64).min(PLAN_MOST);
    let mut desk = Desk::new(&mut *observer, opened.image.superblock().bytes_used);
    if let Some(message) = fewer_workers(plan.workers, wanted, memory) {
        desk.warn(&message);
    }
    let mut outcome = Outcome::new(request.go_on);
    outcome.keep(check_patterns(&request, &opened, &root))?;
    desk.take(outcome);
    let site = Site::open(&request.destination, request.force, &request.temporaries)?;
    let shop = Arc::new(shop(&request, opened, &site, &root)?);
    let scratch = Scratch::new(request.resources.scratch.clone(), &shop.opened.image);
    let plan_bytes = plan_bytes as usize;
    let later = Later::new(scratch, &shop.opened.image, plan_bytes / LATER_PART);
    let mut run = Run { request: &request, shop: &shop, site: &site, root, plan_bytes, later };
    let workers = run.unpack(plan, &mut desk)?;
    if let Some(warning) = request.selection.unmatched_exclude(&place_of(&shop.opened, &request.subdirectory)) {
        desk.warn(&warning);
    }
    let counts = desk.counts;
    drop(shop);
    site.finish(request.sync, observer)?;
    Ok(UnpackSummary { counts, workers_wanted: wanted, workers })
}

/// The directory of an image whose content is unpacked.
///
/// # Errors
/// [`Error::Request`] if there is no directory at `path`.
pub(crate) fn find_root(opened: &OpenedImage, path: &[u8]) -> Result<Inode, Error> {
    let found = opened.image.resolve(path).map_err(|cause| opened.fault_at(path, cause))?;
    let shown = place_of(opened, path);
    match found {
        Some(inode) if matches!(inode.node, Node::Directory(_)) => Ok(inode),
        Some(_) => Err(Error::Request { what: format!("{shown} is no directory"), expected: "a directory".into() }),
        None => {
            Err(Error::Request { what: format!("{shown} is not there"), expected: "a directory of the image".into() })
        }
    }
}

/// A directory of an image, as messages call it.
fn place_of(opened: &OpenedImage, path: &[u8]) -> String {
    let image = opened.shown.escaped();
    if path.is_empty() { image } else { format!("{image}: {}", path.escaped()) }
}

/// Finds an entry for each pattern before anything is made; walks no farther than that takes. A fault on the way is reported by
/// the walk that unpacks, unless what a pattern names may be behind it.
fn check_patterns(request: &UnpackRequest, opened: &OpenedImage, root: &Inode) -> Result<(), Error> {
    let selection = &request.selection;
    if selection.include.is_empty() {
        return Ok(());
    }
    let mut fault = None;
    for visited in SelectedWalk::below(&opened.image, root.at, selection) {
        if request.resources.cancel.is_cancelled() {
            return Err(opened.fault(ReadError::Cancelled));
        }
        if selection.include.all_matched() {
            return Ok(());
        }
        fault = fault.or(visited.err().filter(|_| !request.go_on));
    }
    let Some(unmatched) = selection.unmatched(&place_of(opened, &request.subdirectory)) else { return Ok(()) };
    Err(fault.map_or(unmatched, |(path, cause)| opened.fault_at(&path, cause)))
}

fn shop(request: &UnpackRequest, opened: OpenedImage, site: &Site, root: &Inode) -> Result<Shop, Error> {
    let directory = site.root()?.protecting(opened.identity().and_then(FileId::of_identity));
    let staging = match site.staging() {
        None => None,
        Some(staging) => {
            let refused = |refusal| site.refused(refusal);
            let device = staging.id().map_err(refused)?.device;
            Some((staging, device))
        }
    };
    Ok(Shop {
        opened,
        shown: request.destination.clone(),
        ground: Ground::new(directory, root.at),
        staging,
        kept: request.kept,
        sparse: request.sparse,
        duplicates: request.duplicates,
        go_on: request.go_on,
    })
}

/// One unpacking.
struct Run<'r> {
    request: &'r UnpackRequest,
    shop: &'r Arc<Shop>,
    site: &'r Site,
    root: Inode,
    /// Bytes that the plan may take, with what is known of files to come.
    plan_bytes: usize,
    later: Later,
}

impl<'r> Run<'r> {
    /// Unpacks all; how many workers there were.
    fn unpack(&mut self, plan: ReadPlan, desk: &mut Desk<'_>) -> Result<usize, Error> {
        let mut map = self.map(plan)?;
        let mut planner = Planner::new(self.shop, self.site, self.request.devices);
        self.walk(&mut planner, &mut map, desk)?;
        let mut outcome = Outcome::new(self.shop.go_on);
        let dressed = planner.dress_directories(&mut outcome);
        let cleared = dressed.and_then(|()| self.site.clear_away());
        let done = cleared.and_then(|()| planner.dress_root(&self.root, &mut outcome));
        desk.take(outcome);
        done.map(|()| map.workers().min(plan.workers))
    }

    fn map(&self, plan: ReadPlan) -> Result<OrderedMap<Unpacking>, Error> {
        let work = Unpacking { shop: self.shop.clone() };
        let resources = &self.request.resources;
        let config = resources.engine.sized(plan.workers, plan.window, &resources.cancel);
        let map = OrderedMap::new(work, config);
        map.map_err(|cause| self.shop.opened.fault(ReadError::Internal(cause.to_string())))
    }

    /// Walks the tree, and writes the planned files whenever they fill the plan's memory, and at the end.
    fn walk(
        &mut self,
        planner: &mut Planner<'_>,
        map: &mut OrderedMap<Unpacking>,
        desk: &mut Desk<'_>,
    ) -> Result<(), Error> {
        let mut walk = self.entries();
        let mut met = 0;
        loop {
            if self.request.resources.cancel.is_cancelled() {
                return Err(self.shop.opened.fault(ReadError::Cancelled));
            }
            let mut outcome = Outcome::new(self.shop.go_on);
            let Some(visited) = walk.next() else { return self.flush(planner, map, desk) };
            let made = match visited {
                Ok(visit) => {
                    desk.meet(&visit);
                    self.later.meet(&visit);
                    met += 1;
                    planner.visit(&visit, &mut outcome)
                }
                Err((path, cause)) => Err(self.shop.opened.fault_at(&path, cause)),
            };
            if let Err(error) = outcome.keep(made) {
                // What was planned before comes before this error.
                self.flush(planner, map, desk)?;
                return Err(error);
            }
            desk.take(outcome);
            if self.is_full(planner)? {
                self.count_rest(met);
                self.flush(planner, map, desk)?;
            }
        }
    }

    fn entries(&self) -> SelectedWalk<'r> {
        SelectedWalk::below(&self.shop.opened.image, self.root.at, &self.request.selection)
    }

    /// Whether what is planned has to be written before more is.
    fn is_full(&self, planner: &Planner<'_>) -> Result<bool, Error> {
        let (kept, planned) = (planner.kept_memory(), planner.window.memory());
        // What a file with blocks and a tail end takes meanwhile is counted for every file.
        let meanwhile = planner.window.files().len() * ENDED_BYTES;
        let all = kept.saturating_add(planned).saturating_add(meanwhile).saturating_add(self.later.memory());
        if all <= self.plan_bytes {
            return Ok(false);
        }
        let most = if self.request.resources.memory.is_some() { self.plan_bytes } else { KEPT_MOST };
        if kept > most {
            return Err(self.no_memory(most, kept));
        }
        // A window is never so small that nothing is won by sorting it.
        Ok(planned.saturating_add(meanwhile) >= self.plan_bytes / 4)
    }

    /// Counts what files to come need, once, when so many entries have been met.
    fn count_rest(&mut self, met: usize) {
        let cancel = &self.request.resources.cancel;
        // What cannot be read is told when it is met again.
        let all = self.entries().take_while(|_| !cancel.is_cancelled()).filter_map(Result::ok);
        self.later.count(all.skip(met));
    }

    fn no_memory(&self, most: usize, kept: usize) -> Error {
        let allowed = self.request.resources.memory.unwrap_or(most as u64);
        Error::Memory {
            allowed,
            needed: allowed.saturating_add(2 * kept as u64),
            what: format!("{} directories and the names of hard links", self.shop.ground.count()),
        }
    }

    /// Writes the planned files, then their further names; and those again that take the place of a name that failed.
    fn flush(
        &mut self,
        planner: &mut Planner<'_>,
        map: &mut OrderedMap<Unpacking>,
        desk: &mut Desk<'_>,
    ) -> Result<(), Error> {
        loop {
            let window = planner.take_window();
            if !window.is_empty() {
                Feeder::write(self.shop, window, map, desk, &mut self.later).map_err(|stop| self.stopped(stop))?;
            }
            let mut outcome = Outcome::new(self.shop.go_on);
            let linked = planner.make_links(&desk.take_written(), &mut outcome);
            desk.take(outcome);
            linked?;
            if planner.window.is_empty() {
                return Ok(());
            }
        }
    }

    fn stopped(&self, stop: Fault<Error>) -> Error {
        let cause = match stop {
            Fault::Work(error) => return error,
            Fault::Cancelled => ReadError::Cancelled,
            other => ReadError::Internal(other.to_string()),
        };
        self.shop.opened.fault(cause)
    }
}
