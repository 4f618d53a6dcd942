//! The plan: requests become steps to return in order, and jobs for blocks to decode.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use packline_engine::{Budget, Permit};

use super::fragment_cache::{Dropped, FragmentCache};
use super::slot::Slot;
use super::tail::Tail;
use super::work::{Job, Wanted};
use super::{FragmentUses, ReadSettings, Request};
use crate::TailPlace;
use crate::buffer::Pool;
use crate::read::{Block, BlockPlace, Blocks, Image, ReadError, Scratch};

/// Decoded bytes of small blocks per job.
const RUN_BYTES: usize = 256 << 10;
/// Maximum number of blocks per job.
const RUN_BLOCKS: usize = 256;
/// Maximum number of holes joined in one step.
const HOLES_AT_ONCE: usize = 4096;
/// Memory of a job besides the bytes it decodes.
const JOB_OVERHEAD: usize = 512;
/// Memory of a step, with its tag.
const STEP_BYTES: usize = 512;
/// Minimum number of steps planned ahead.
const STEPS_LEAST: usize = 64;

pub(super) type Requests<'r, T> = Box<dyn Iterator<Item = Result<Request<T>, ReadError>> + 'r>;

/// One result to return.
pub(super) enum Step<T> {
    Begin {
        tag: T,
        /// For the tag's data.
        _permit: Permit,
    },
    Hole(u64),
    Failed {
        length: u64,
        error: ReadError,
    },
    /// The requests failed here.
    Refused(ReadError),
    /// Consecutive blocks of one file, from a run.
    Blocks {
        run: Rc<Slot>,
        pieces: Range<usize>,
    },
    /// A tail end, from a fragment block.
    Tail(Tail),
}

/// A job and the destination of its result.
pub(super) type Order = (Job, Rc<Slot>);

/// The part of the current file that is not planned yet.
struct Present {
    blocks: Blocks,
    tail: Option<TailPlace>,
    tail_length: usize,
}

/// Blocks collected for one job.
struct Run {
    slot: Rc<Slot>,
    blocks: Vec<Wanted>,
    bytes: usize,
    stored: usize,
    permit: Permit,
}

/// Plans ahead. Each call of [`Plan::advance`] plans a little, and uses at most one [`Plan::job_bytes`] of memory.
pub(super) struct Plan<'r, T> {
    pub(super) image: Image,
    requests: Requests<'r, T>,
    cache: FragmentCache,
    pub(super) scratch: Arc<Scratch>,
    pub(super) budget: Budget,
    pub(super) steps: VecDeque<Step<T>>,
    present: Option<Present>,
    run: Option<Run>,
    /// Memory reserved for the next job.
    spare: Permit,
    run_limit: usize,
    runs: Arc<Pool>,
    fragments: Arc<Pool>,
    /// Fragment blocks submitted for decoding.
    pub(super) decoded: u64,
    ended: bool,
}

impl<'r, T> Plan<'r, T> {
    pub(super) fn new(image: &Image, requests: Requests<'r, T>, uses: FragmentUses, settings: &ReadSettings) -> Self {
        let block = image.superblock().block_size.bytes();
        let window = settings.engine.budget;
        let run_limit = RUN_BYTES.min(window / 16).max(block);
        let runs = Pool::new(run_limit, window / 2);
        let one_size = run_limit == block;
        let fragments = if one_size { Arc::clone(&runs) } else { Pool::new(block, window / 2) };
        let scratch = Scratch::new(settings.scratch.clone(), image);
        Plan {
            image: image.clone(),
            requests,
            cache: FragmentCache::new(settings.fragments, block, uses, Arc::clone(&scratch)),
            scratch,
            budget: Budget::new(window),
            steps: VecDeque::new(),
            present: None,
            run: None,
            spare: Permit::detached(0),
            run_limit,
            runs,
            fragments,
            decoded: 0,
            ended: false,
        }
    }

    /// Whether everything is planned.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Memory of the largest job, bytes.
    fn job_bytes(&self) -> usize {
        self.run_limit + JOB_OVERHEAD
    }

    /// Whether there is memory to plan ahead; takes it.
    pub(super) fn has_space(&mut self) -> bool {
        let most = (self.budget.limit() / 4 / STEP_BYTES).max(STEPS_LEAST);
        if self.steps.len() >= most || self.budget.used() > self.budget.limit() {
            return false;
        }
        let missing = self.job_bytes().saturating_sub(self.spare.bytes());
        if missing > 0 {
            let Some(more) = self.budget.try_take(missing) else { return false };
            self.spare.merge(more);
        }
        true
    }

    /// Takes memory for a job even above the limit: without a job in flight nothing would continue.
    pub(super) fn force_space(&mut self) {
        let missing = self.job_bytes().saturating_sub(self.spare.bytes());
        self.spare.merge(self.budget.take(missing));
    }

    /// Plans the next block, holes, tail end or request; returns a job if that completed one.
    pub(super) fn advance(&mut self) -> Option<Order> {
        let Some(mut present) = self.present.take() else {
            self.begin_next();
            return None;
        };
        for _ in 0..HOLES_AT_ONCE {
            match present.blocks.next() {
                Some(Ok(Block { place: None, length })) => self.hole(u64::from(length)),
                Some(Ok(Block { place: Some(place), length })) => {
                    self.present = Some(present);
                    return self.stored(place, length as usize);
                }
                Some(Err(error)) => {
                    // The block list ended with an error: the rest of it is missing.
                    self.steps.push_back(Step::Failed { length: present.blocks.remaining(), error });
                    return self.tail(&present);
                }
                None => return self.tail(&present),
            }
        }
        self.present = Some(present);
        None
    }

    fn begin_next(&mut self) {
        match self.requests.next() {
            None => self.ended = true,
            Some(Err(error)) => self.steps.push_back(Step::Refused(error)),
            Some(Ok(request)) => {
                let permit = self.budget.take(request.weight);
                self.steps.push_back(Step::Begin { tag: request.tag, _permit: permit });
                self.present = request.file.map(|file| {
                    let blocks = self.image.blocks(&file);
                    let tail_length = (file.size - blocks.remaining()) as usize;
                    Present { blocks, tail: file.tail, tail_length }
                });
            }
        }
    }

    fn hole(&mut self, length: u64) {
        match self.steps.back_mut() {
            Some(Step::Hole(before)) => *before += length,
            _ => self.steps.push_back(Step::Hole(length)),
        }
    }

    /// Adds a stored block to the run, or starts the next one.
    fn stored(&mut self, place: BlockPlace, length: usize) -> Option<Order> {
        let full = self.run.as_ref().is_some_and(|run| !run.takes(length, place.stored as usize, self.run_limit));
        let order = if full { self.close_run() } else { None };
        let (bytes, spare) = (self.run_limit + JOB_OVERHEAD, &mut self.spare);
        let run = self.run.get_or_insert_with(|| Run::new(spare.split(bytes)));
        let range = run.bytes..run.bytes + length;
        run.blocks.push(Wanted { place, range, exact: true });
        (run.bytes, run.stored) = (run.bytes + length, run.stored + place.stored as usize);
        let (slot, number) = (Rc::clone(&run.slot), run.blocks.len() - 1);
        match self.steps.back_mut() {
            Some(Step::Blocks { run, pieces }) if Rc::ptr_eq(run, &slot) => pieces.end = number + 1,
            _ => self.steps.push_back(Step::Blocks { run: slot, pieces: number..number + 1 }),
        }
        order
    }

    /// Submits the current run.
    pub(super) fn close_run(&mut self) -> Option<Order> {
        let run = self.run.take()?;
        Some((Job { blocks: run.blocks, permit: run.permit, pool: Arc::clone(&self.runs) }, run.slot))
    }

    /// Whether `slot` is that of the current run.
    pub(super) fn is_open(&self, slot: &Rc<Slot>) -> bool {
        self.run.as_ref().is_some_and(|run| Rc::ptr_eq(&run.slot, slot))
    }

    fn tail(&mut self, present: &Present) -> Option<Order> {
        let place = present.tail.filter(|_| present.tail_length > 0)?;
        let length = present.tail_length;
        let block = self.image.fragment(place.fragment);
        // A use of a block that the image does not have counts too, as it did in the first pass.
        let taken = self.cache.take(place.fragment, block.as_ref().ok().copied());
        for dropped in taken.dropped {
            self.drop_block(dropped);
        }
        match block {
            Err(error) => {
                self.steps.push_back(Step::Failed { length: length as u64, error });
                None
            }
            Ok(block) => {
                let slot = Rc::clone(&taken.slot);
                self.steps.push_back(Step::Tail(Tail { slot, place, block, length }));
                taken.missing.then(|| self.fragment_job(block, taken.slot))
            }
        }
    }

    fn drop_block(&self, dropped: Dropped) {
        let bytes = self.fragments.buffer_size();
        match dropped.spilled {
            true => dropped.slot.stow(&self.scratch, &self.budget, bytes),
            false => dropped.slot.let_go(&self.budget, bytes),
        }
    }

    fn fragment_job(&mut self, place: BlockPlace, slot: Rc<Slot>) -> Order {
        self.decoded += 1;
        let range = 0..self.fragments.buffer_size();
        let permit = self.spare.split(range.len() + JOB_OVERHEAD);
        let blocks = vec![Wanted { place, range, exact: false }];
        (Job { blocks, permit, pool: Arc::clone(&self.fragments) }, slot)
    }

    /// A job that decodes the fragment block of the first step again: it was spilled and cannot be read back.
    pub(super) fn decode_again(&mut self) -> Option<Order> {
        let Some(Step::Tail(tail)) = self.steps.front() else { return None };
        let (slot, block) = (Rc::clone(&tail.slot), tail.block);
        self.cache.forget(tail.place.fragment, &slot);
        slot.promise_again();
        self.force_space();
        Some(self.fragment_job(block, slot))
    }
}

impl Run {
    fn new(permit: Permit) -> Run {
        Run { slot: Rc::new(Slot::default()), blocks: Vec::new(), bytes: 0, stored: 0, permit }
    }

    fn takes(&self, length: usize, stored: usize, limit: usize) -> bool {
        self.blocks.len() < RUN_BLOCKS && self.bytes + length <= limit && self.stored + stored <= limit
    }
}
