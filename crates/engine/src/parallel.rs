//! The line on worker threads.

use std::io;
use std::sync::Arc;

use crate::bell::Bell;
use crate::crew::{Crew, Shared};
use crate::job::{Bench, Job};
use crate::lane::Lane;
use crate::queue::{Place, RunQueue};
use crate::slot::Outcome;
use crate::{Budget, Caller, CancelToken, Config, Fault, Line, Outbox, Permit, Stats, Work};

/// A line whose jobs run on worker threads, or on the caller's own when it was made with none.
///
/// Whatever the number of workers, the budget and the timing, `decide` sees the same items in the same order and
/// `commit` the same results in the same order as on a [`SerialLine`](crate::SerialLine). After an error everything
/// before it has been committed, and nothing behind it.
///
/// Dropping the line throws away what is queued and joins the workers, each after the job it is at.
pub struct ParallelLine<W: Work> {
    /// Items fed and not yet decided.
    hash: Lane<W::Hashed, W::Error>,
    /// What was handed on and is not yet committed.
    press: PressSide<W>,
    /// Where the caller runs jobs if there are no workers.
    bench: Bench<W>,
    crew: Crew<W>,
    shared: Arc<Shared<W>>,
    budget: Budget,
    cancel: CancelToken,
    /// The caller's own counters; those of the queue and the budget are added when asked for.
    counts: Stats,
    /// Set by an error, and while the caller's code runs: if that unwinds, the line has stopped.
    stopped: bool,
}

/// The second half of the line: what decisions hand on.
struct PressSide<W: Work> {
    lane: Lane<W::Packed, W::Error>,
    shared: Arc<Shared<W>>,
    submitted: u64,
    passed: u64,
    /// After an error what is handed on goes nowhere.
    open: bool,
}

impl<W: Work> Outbox<W> for PressSide<W> {
    fn submit(&mut self, job: W::Job) {
        if self.open {
            let (ticket, slot) = self.lane.open();
            self.submitted += 1;
            self.shared.queue.push(Place::Commit(ticket), Job::Compress(job, slot));
        }
    }

    fn pass(&mut self, packed: W::Packed) {
        if self.open {
            self.passed += 1;
            self.lane.put(packed);
        }
    }
}

impl<W: Work> ParallelLine<W> {
    /// Makes a line and starts its workers.
    ///
    /// # Errors
    /// The system refuses to start a thread: the message says which of how many. None is left running then.
    pub fn new(work: W, config: Config) -> io::Result<Self> {
        let bell = Arc::new(Bell::default());
        let budget = Budget::with_bell(config.budget, Arc::clone(&bell));
        let shared = Arc::new(Shared { work, queue: RunQueue::new(), bell });
        let crew = Crew::start(config.workers, &shared)?;
        let press = PressSide { lane: Lane::new(), shared: Arc::clone(&shared), submitted: 0, passed: 0, open: true };
        Ok(Self {
            hash: Lane::new(),
            press,
            bench: Bench::new(),
            crew,
            shared,
            budget,
            cancel: config.cancel,
            counts: Stats::default(),
            stopped: false,
        })
    }

    /// The budget of the line, to look at or to share.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget.clone()
    }

    /// Commits and decides whatever is ready at the heads of the lanes, without waiting for anything.
    ///
    /// One of each in turn, so that neither a long run of commits keeps the workers without new jobs, nor a long run of
    /// decisions keeps memory from being freed.
    fn turn(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        loop {
            let committed = self.commit_next(caller)?;
            let decided = self.decide_next(caller)?;
            if !committed && !decided {
                return Ok(());
            }
        }
    }

    /// Commits the head of the commit lane if it is ready. Nothing on the line stands before it, so its error is final.
    fn commit_next(&mut self, caller: &mut dyn Caller<W>) -> Result<bool, Fault<W::Error>> {
        let Some(outcome) = self.press.lane.take_ready() else { return Ok(false) };
        let result = outcome.and_then(|packed| self.guarded(|_| caller.commit(packed)));
        result.map_err(|fault| self.stop(fault))?;
        self.counts.committed += 1;
        Ok(true)
    }

    /// Decides the head of the hash lane if it is ready. Before its error come those of all that is still to commit.
    fn decide_next(&mut self, caller: &mut dyn Caller<W>) -> Result<bool, Fault<W::Error>> {
        let Some(outcome) = self.hash.take_ready() else { return Ok(false) };
        let mark = self.press.lane.len();
        let result = outcome.and_then(|hashed| self.guarded(|next| caller.decide(hashed, next)));
        if let Err(fault) = result {
            // What the failed decision handed on comes after its error.
            self.press.lane.truncate(mark);
            return Err(self.stop_after_commits(fault, caller));
        }
        self.counts.decided += 1;
        Ok(true)
    }

    /// Runs the caller's code; if it unwinds, the line stays stopped.
    fn guarded(&mut self, step: impl FnOnce(&mut PressSide<W>) -> Result<(), W::Error>) -> Outcome<(), W::Error> {
        self.stopped = true;
        let result = step(&mut self.press);
        self.stopped = false;
        result.map_err(Fault::Work)
    }

    /// Drops everything on the line for good.
    fn stop(&mut self, fault: Fault<W::Error>) -> Fault<W::Error> {
        self.stopped = true;
        self.press.open = false;
        self.shared.queue.clear();
        self.hash.clear();
        self.press.lane.clear();
        fault
    }

    /// Commits what was handed on before the item that failed, then stops: with the first error met on the way.
    fn stop_after_commits(&mut self, later: Fault<W::Error>, caller: &mut dyn Caller<W>) -> Fault<W::Error> {
        self.hash.clear();
        match self.commit_all(caller) {
            Ok(()) => self.stop(later),
            Err(earlier) => earlier,
        }
    }

    fn commit_all(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        while !self.press.lane.is_empty() {
            if !self.commit_next(caller)? {
                self.wait(None)?;
            }
        }
        Ok(())
    }

    /// Waits until a turn may have something to do, or `memory` bytes may fit.
    fn wait(&mut self, memory: Option<usize>) -> Result<(), Fault<W::Error>> {
        self.check()?;
        self.counts.waits += 1;
        match self.crew.len() {
            0 => self.run_one(),
            _ => self.sleep(memory),
        }
        self.check()
    }

    /// Runs the earliest job on the caller's thread. There is one: without workers, a head that is not ready is queued.
    fn run_one(&mut self) {
        let job = self.shared.queue.try_take();
        debug_assert!(job.is_some(), "the caller waits for a job that is not queued");
        if let Some(job) = job {
            job.run(&self.shared.work, &mut self.bench, &self.shared.bell);
        }
    }

    /// Sleeps until a worker rings. See [`Bell`] for why the order of these steps loses no ring.
    fn sleep(&mut self, memory: Option<usize>) {
        self.shared.bell.arm();
        let busy = self.crew.len() * 2;
        let overhead = self.overhead();
        let missing = (self.hash.is_empty() || self.hash.want(busy))
            && (self.press.lane.is_empty() || self.press.lane.want(busy))
            && memory.is_none_or(|bytes| self.budget.want(bytes, overhead));
        if missing {
            self.counts.sleeps += u64::from(self.shared.bell.sleep(&self.cancel));
        }
        self.shared.bell.disarm();
        self.budget.unwant();
    }

    /// Takes memory if it fits. If nothing is on the line, nothing on it can free any: whatever is in use is held by
    /// the caller itself, so waiting would never end.
    fn admit(&self, bytes: usize) -> Option<Permit> {
        if self.hash.is_empty() && self.press.lane.is_empty() {
            return Some(self.budget.take(bytes));
        }
        self.budget.try_take_beside(bytes, self.overhead())
    }

    /// Bytes of the line's own that its items take up. Counted so that a million items of a few bytes each do not
    /// take many times the memory they reserved.
    fn overhead(&self) -> usize {
        let hash = size_of::<W::Raw>() + size_of::<W::Hashed>();
        let press = size_of::<W::Job>() + size_of::<W::Packed>();
        self.hash.len() * (hash + ENTRY_BYTES) + self.press.lane.len() * (press + ENTRY_BYTES)
    }

    /// What stands in the way of every call.
    fn check(&mut self) -> Result<(), Fault<W::Error>> {
        if self.stopped {
            return Err(Fault::Stopped);
        }
        match self.cancel.is_cancelled() {
            true => Err(self.stop(Fault::Cancelled)),
            false => Ok(()),
        }
    }
}

/// A slot, its place in a lane and in the queue, and what the allocator adds.
const ENTRY_BYTES: usize = 128;

impl<W: Work> Line<W> for ParallelLine<W> {
    fn reserve(&mut self, bytes: usize, caller: &mut dyn Caller<W>) -> Result<Permit, Fault<W::Error>> {
        self.check()?;
        loop {
            if let Some(permit) = self.admit(bytes) {
                return Ok(permit);
            }
            self.turn(caller)?;
            if let Some(permit) = self.admit(bytes) {
                return Ok(permit);
            }
            self.wait(Some(bytes))?;
        }
    }

    fn feed(&mut self, raw: W::Raw, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.check()?;
        let (ticket, slot) = self.hash.open();
        self.counts.fed += 1;
        self.shared.queue.push(Place::Hash(ticket), Job::Hash(raw, slot));
        self.turn(caller)
    }

    fn settle(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.check()?;
        loop {
            self.turn(caller)?;
            if self.hash.is_empty() {
                return Ok(());
            }
            self.wait(None)?;
        }
    }

    fn advance(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.check()?;
        let decided = self.counts.decided;
        loop {
            self.turn(caller)?;
            if self.counts.decided > decided || self.hash.is_empty() {
                return Ok(());
            }
            self.wait(None)?;
        }
    }

    fn outbox(&mut self) -> &mut dyn Outbox<W> {
        &mut self.press
    }

    fn drain(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.settle(caller)?;
        self.commit_all(caller)
    }

    fn stats(&self) -> Stats {
        let queue = self.shared.queue.counts();
        Stats {
            submitted: self.press.submitted,
            passed: self.press.passed,
            wakes: queue.wakes,
            parks: queue.parks,
            bytes_in_flight: self.budget.used(),
            peak_bytes: self.budget.peak(),
            ..self.counts
        }
    }
}
