//! The plan: requests become steps to return in order, and jobs for units to decode.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use packline_engine::{Budget, Permit};
use packline_runtime::Buffers;

use super::shared_cache::{Evicted, SharedCache};
use super::slot::Slot;
use super::tail::Tail;
use super::work::{Job, JobUnit};
use super::{ReadSettings, Request, SharedUses};
use crate::{Missing, Piece, Pieces, ReadError, Scratch, SharedPlace, SharedVolume, Unit};

/// Decoded bytes of small units per job.
const RUN_BYTES: usize = 256 << 10;
/// Maximum number of units per job.
const RUN_UNITS: usize = 256;
/// Maximum number of holes, or of equal pieces, joined at once in one step.
const JOINED_AT_ONCE: usize = 4096;
/// Memory of a job without the bytes that it decodes.
const JOB_OVERHEAD: usize = 512;
/// Memory of a step, with its tag.
const STEP_BYTES: usize = 512;
/// Minimum number of steps planned ahead.
const STEPS_LEAST: usize = 64;

pub(super) type Requests<'r, T> = Box<dyn Iterator<Item = Result<Request<T>, ReadError>> + 'r>;

/// A step leads to one event, or to several.
pub(super) enum Step<T> {
    Begin {
        tag: T,
        /// Covers the data of the tag.
        _permit: Permit,
    },
    Hole(u64),
    Failed {
        length: u64,
        error: ReadError,
    },
    /// The requests failed here.
    Refused(ReadError),
    /// Consecutive own units of one file, from a run.
    Units {
        run: Rc<Slot>,
        pieces: Range<usize>,
    },
    /// The last piece of the step before, further times.
    Again {
        run: Rc<Slot>,
        piece: usize,
        times: u64,
    },
    /// A piece of a shared unit.
    Tail(Tail),
}

/// A job and the destination of its result.
pub(super) type PlannedJob = (Job, Rc<Slot>);

/// Units collected for one job.
struct Run {
    slot: Rc<Slot>,
    units: Vec<JobUnit>,
    bytes: usize,
    stored: usize,
    permit: Permit,
    /// Has the buffer that the units fill.
    pool: Arc<Buffers>,
}

/// Plans ahead. Each call of [`Plan::advance`] plans a little, and uses at most one [`Plan::job_bytes`] of memory, or the memory of one larger
/// unit: then nothing more is planned until the window has space again.
pub(super) struct Plan<'r, T> {
    pub(super) volume: SharedVolume,
    requests: Requests<'r, T>,
    cache: SharedCache,
    pub(super) scratch: Arc<Scratch>,
    pub(super) budget: Budget,
    pub(super) steps: VecDeque<Step<T>>,
    /// The pieces of the current file that are not planned yet.
    present: Option<Box<dyn Pieces>>,
    run: Option<Run>,
    /// The last own unit and the part of it, while its step may be the last one.
    last: Option<(Unit, Range<usize>)>,
    /// Memory reserved for the next job.
    spare: Permit,
    run_limit: usize,
    /// Buffers of runs.
    runs: Arc<Buffers>,
    /// Buffers of shared units of the usual size.
    shared: Arc<Buffers>,
    /// Shared units submitted for decoding.
    pub(super) decoded: u64,
    ended: bool,
}

impl<'r, T> Plan<'r, T> {
    pub(super) fn new(
        volume: &SharedVolume,
        requests: Requests<'r, T>,
        uses: SharedUses,
        settings: &ReadSettings,
    ) -> Self {
        let facts = volume.facts();
        let usual = facts.block_size as usize;
        let window = settings.engine.budget;
        let run_limit = RUN_BYTES.min(window / 16).max(usual);
        let runs = Buffers::new(run_limit, window / 2);
        let one_size = run_limit == usual;
        let shared = if one_size { Arc::clone(&runs) } else { Buffers::new(usual, window / 2) };
        let scratch = Scratch::new(settings.scratch.clone(), facts);
        Plan {
            volume: SharedVolume::clone(volume),
            requests,
            cache: SharedCache::new(settings.shared, usual, uses, Arc::clone(&scratch)),
            scratch,
            budget: Budget::new(window),
            steps: VecDeque::new(),
            present: None,
            run: None,
            last: None,
            spare: Permit::detached(0),
            run_limit,
            runs,
            shared,
            decoded: 0,
            ended: false,
        }
    }

    /// Whether everything is planned.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Memory in bytes of the largest job, except for jobs of one larger unit.
    fn job_bytes(&self) -> usize {
        self.run_limit + JOB_OVERHEAD
    }

    /// Whether there is memory to plan ahead; takes it.
    pub(super) fn has_space(&mut self) -> bool {
        if self.steps.len() >= self.steps_most() || self.budget.used() > self.budget.limit() {
            return false;
        }
        let missing = self.job_bytes().saturating_sub(self.spare.bytes());
        if missing > 0 {
            let Some(more) = self.budget.try_take(missing) else { return false };
            self.spare.merge(more);
        }
        true
    }

    /// Whether an eighth of the window is free, after it was full.
    pub(super) fn has_ample_space(&self) -> bool {
        let free = |used: usize, most: usize| used <= most - most / 8;
        free(self.steps.len(), self.steps_most()) && free(self.budget.used(), self.budget.limit())
    }

    /// Returns the number of steps that are planned ahead at most.
    fn steps_most(&self) -> usize {
        (self.budget.limit() / 4 / STEP_BYTES).max(STEPS_LEAST)
    }

    /// Takes memory for a job even above the limit: without a job in flight nothing would continue.
    pub(super) fn force_space(&mut self) {
        let missing = self.job_bytes().saturating_sub(self.spare.bytes());
        self.spare.merge(self.budget.take(missing));
    }

    /// Plans the next unit, holes, missing content or request. Returns a job if one is complete.
    pub(super) fn advance(&mut self) -> Option<PlannedJob> {
        let Some(mut present) = self.present.take() else {
            self.begin_next();
            return None;
        };
        let mut order = None;
        for _ in 0..JOINED_AT_ONCE {
            match present.next_piece() {
                Some(Ok(Piece::Hole { length })) => self.hole(length),
                Some(Ok(Piece::Own { unit, start, length })) => {
                    let part = start as usize..(start + length) as usize;
                    if !self.repeats(unit, &part) {
                        order = self.own(unit, part);
                        break;
                    }
                }
                Some(Ok(Piece::Shared { place, length })) => {
                    order = self.shared(place, length as usize);
                    break;
                }
                Some(Err(Missing { length, error })) => {
                    self.steps.push_back(Step::Failed { length, error });
                    break;
                }
                None => {
                    self.begin_next();
                    return None;
                }
            }
        }
        self.present = Some(present);
        order
    }

    fn begin_next(&mut self) {
        match self.requests.next() {
            None => self.ended = true,
            Some(Err(error)) => self.steps.push_back(Step::Refused(error)),
            Some(Ok(request)) => {
                let permit = self.budget.take(request.weight);
                self.steps.push_back(Step::Begin { tag: request.tag, _permit: permit });
                let file = request.file.filter(|file| file.size > 0);
                self.present = file.map(|file| self.volume.pieces(&file, 0));
            }
        }
    }

    fn hole(&mut self, length: u64) {
        match self.steps.back_mut() {
            Some(Step::Hole(before)) => *before += length,
            _ => self.steps.push_back(Step::Hole(length)),
        }
    }

    /// Whether the last step ends with this part of an own unit, which is then returned once more. A hole in an image without holes is one unit of
    /// zeros any number of times, and is decoded as rarely as it is planned.
    fn repeats(&mut self, unit: Unit, part: &Range<usize>) -> bool {
        if !self.last.as_ref().is_some_and(|(known, known_part)| *known == unit && known_part == part) {
            return false;
        }
        match self.steps.back_mut() {
            Some(Step::Again { times, .. }) => *times += 1,
            Some(Step::Units { run, pieces }) => {
                let run = Rc::clone(run);
                let piece = pieces.end - 1;
                self.steps.push_back(Step::Again { run, piece, times: 1 });
            }
            _ => return false,
        }
        true
    }

    /// Adds a part of an own unit to the run, or starts the next one.
    fn own(&mut self, unit: Unit, part: Range<usize>) -> Option<PlannedJob> {
        let length = unit.length as usize;
        let full = self.run.as_ref().is_some_and(|run| !run.takes(length, unit.stored as usize, self.run_limit));
        let order = if full { self.close_run() } else { None };
        let mut run = match self.run.take() {
            Some(run) => run,
            None => {
                let pool = if length > self.run_limit { Buffers::new(length, 0) } else { Arc::clone(&self.runs) };
                Run::new(self.permit(pool.buffer_size()), pool)
            }
        };
        let range = run.bytes..run.bytes + length;
        self.volume.will_read(unit);
        self.last = Some((unit, part.clone()));
        run.units.push(JobUnit { unit, range, part: Some(part) });
        run.bytes += length;
        run.stored += unit.stored as usize;
        let slot = Rc::clone(&run.slot);
        let number = run.units.len() - 1;
        self.run = Some(run);
        match self.steps.back_mut() {
            Some(Step::Units { run, pieces }) if Rc::ptr_eq(run, &slot) => pieces.end = number + 1,
            _ => self.steps.push_back(Step::Units { run: slot, pieces: number..number + 1 }),
        }
        order
    }

    /// Submits the current run.
    pub(super) fn close_run(&mut self) -> Option<PlannedJob> {
        let run = self.run.take()?;
        Some((Job { units: run.units, permit: run.permit, pool: run.pool }, run.slot))
    }

    /// Whether `slot` belongs to the current run.
    pub(super) fn is_open(&self, slot: &Rc<Slot>) -> bool {
        self.run.as_ref().is_some_and(|run| Rc::ptr_eq(&run.slot, slot))
    }

    fn shared(&mut self, place: SharedPlace, length: usize) -> Option<PlannedJob> {
        let unit = match self.cache.unit(place.unit) {
            Some(unit) => Ok(unit),
            None => self.volume.shared_unit(place.unit),
        };
        // A use of a unit that the image does not have counts, too, as it did in the first pass.
        let taken = self.cache.take(place.unit, unit.as_ref().ok().copied());
        for dropped in taken.dropped {
            self.drop_unit(dropped);
        }
        match unit {
            Err(error) => {
                self.steps.push_back(Step::Failed { length: length as u64, error });
                None
            }
            Ok(unit) => {
                let slot = Rc::clone(&taken.slot);
                self.steps.push_back(Step::Tail(Tail { slot, place, unit, length }));
                taken.missing.then(|| self.shared_job(unit, taken.slot))
            }
        }
    }

    fn drop_unit(&self, dropped: Evicted) {
        if dropped.spilled {
            dropped.slot.spill(&self.scratch, &self.budget)
        } else {
            dropped.slot.uncache(&self.budget)
        }
    }

    fn shared_job(&mut self, unit: Unit, slot: Rc<Slot>) -> PlannedJob {
        self.decoded += 1;
        self.volume.will_read(unit);
        let length = unit.length as usize;
        let usual = self.shared.buffer_size();
        // A buffer that is not of the usual size is used once.
        let is_usual = (usual / 2 + 1..=usual).contains(&length);
        let pool = if is_usual { Arc::clone(&self.shared) } else { Buffers::new(length.max(1), 0) };
        let range = 0..pool.buffer_size();
        let permit = self.permit(range.len());
        let units = vec![JobUnit { unit, range, part: None }];
        (Job { units, permit, pool }, slot)
    }

    /// Takes the memory of a job of decoded bytes: from the memory reserved for it, or above the limit for a unit that is larger.
    fn permit(&mut self, bytes: usize) -> Permit {
        let bytes = bytes + JOB_OVERHEAD;
        if bytes <= self.job_bytes() { self.spare.split(bytes) } else { self.budget.take(bytes) }
    }

    /// Returns a job that decodes the shared unit of the first step again, because the unit was spilled and cannot be read back.
    pub(super) fn decode_again(&mut self) -> Option<PlannedJob> {
        let Some(Step::Tail(tail)) = self.steps.front() else { return None };
        let slot = Rc::clone(&tail.slot);
        let unit = tail.unit;
        self.cache.forget(tail.place.unit, &slot);
        slot.promise_again();
        self.force_space();
        Some(self.shared_job(unit, slot))
    }
}

impl Run {
    fn new(permit: Permit, pool: Arc<Buffers>) -> Run {
        Run { slot: Rc::new(Slot::default()), units: Vec::new(), bytes: 0, stored: 0, permit, pool }
    }

    fn takes(&self, length: usize, stored: usize, limit: usize) -> bool {
        self.units.len() < RUN_UNITS && self.bytes + length <= self.pool.buffer_size() && self.stored + stored <= limit
    }
}
