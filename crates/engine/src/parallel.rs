//! The line on worker threads.

use std::io;
use std::sync::Arc;

use crate::bell::Bell;
use crate::core::Core;
use crate::desk::{Desk, Shared};
use crate::diary::Diary;
use crate::hand::Hand;
use crate::lane::Lane;
use crate::press::{Post, PressSide};
use crate::rows::Owner;
use crate::slot::Outcome;
use crate::stage::HashStage;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::tally::limit_of;
use crate::task::Errand;
use crate::{
    Budget, Caller, CancelToken, Class, Config, Counted, Deed, Fault, LaneName, Line, Outbox, Permit, Pool, QueueStats,
    Stats, Tally, Work, WorkerStats,
};

/// A line whose jobs run on worker threads, or on the caller's own when it was made with none.
///
/// Whatever the number of workers, the budget and the timing, `decide` sees the same items in the same order and
/// `commit` the same results in the same order as on a [`SerialLine`](crate::SerialLine). After an error everything
/// before it has been committed, and nothing behind it.
///
/// Dropping the line throws away what it has queued, and waits for those of its jobs that run. Workers of its own are
/// joined; on a pool they go on with other lines.
pub struct ParallelLine<W: Work> {
    /// Items fed and not yet decided.
    hash: Lane<HashStage<W>>,
    /// What was handed on and is not yet committed, and the way to the pool.
    press: PressSide<W>,
    /// Where the caller runs jobs, if it does.
    desk: Desk<W>,
    /// The caller, as one who takes jobs.
    hand: Hand,
    help_out: bool,
    budget: Budget,
    cancel: CancelToken,
    diary: Diary,
    tally: Option<Tally>,
    /// The caller's own counters; those of the pool and the budget are added when asked for.
    counts: Stats,
    /// Set by an error, and while the caller's code runs: if that unwinds, the line has stopped.
    stopped: bool,
}

impl<W: Work> ParallelLine<W> {
    /// Makes a line, and starts its workers unless `config` has a pool.
    ///
    /// # Errors
    /// The system refuses to start a thread: the message says which of how many. None is left running then.
    pub fn new(work: W, config: Config) -> io::Result<Self> {
        let pool = match &config.pool {
            Some(pool) => pool.clone(),
            None => Pool::new(config.workers, &config.scheduling, config.tracer.clone())?,
        };
        Ok(Self::on(&pool, work, config))
    }

    /// Makes a line on a pool, whatever workers or pool `config` speaks of.
    #[must_use]
    pub fn on(pool: &Pool, work: W, config: Config) -> Self {
        let bell = Arc::new(Bell::default());
        let budget = Budget::with_bell(config.budget, Arc::clone(&bell));
        let shared = Arc::new(Shared { work, bell, closed: AtomicBool::new(false) });
        let (line, time) = pool.core().open_line(Arc::<Shared<W>>::clone(&shared));
        Self {
            hash: Lane::new(),
            press: PressSide::new(Post::new(pool.clone(), line, time)),
            desk: Desk::new(shared),
            hand: Hand::new(0),
            help_out: config.help_out,
            budget,
            cancel: config.cancel,
            diary: Diary::new(config.tracer, pool.core().number(), line),
            tally: config.tally,
            counts: Stats::default(),
            stopped: false,
        }
    }

    fn core(&self) -> &Core {
        self.press.post.pool.core()
    }

    /// The budget of the line, to look at or to share.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget.clone()
    }

    /// All that is counted.
    fn counted(&self) -> Counted {
        let budget = limit_of(&self.budget);
        Counted { line: self.stats(), queues: self.queue_stats(), crew: self.worker_stats(), budget }
    }

    /// What every call is: a visit of the caller, refused once the line has stopped.
    fn visit<T>(
        &mut self,
        bytes: u64,
        call: impl FnOnce(&mut Self) -> Result<T, Fault<W::Error>>,
    ) -> Result<T, Fault<W::Error>> {
        self.diary.enter(self.hash.next_ticket(), bytes);
        self.check()?;
        let result = call(self);
        self.diary.leave();
        result
    }

    /// Queues an item for the hash stage.
    fn put_on(&mut self, raw: W::Raw) {
        self.counts.fed += 1;
        let origin = self.press.post.next_origin(self.hash.next_ticket());
        let (ticket, slot) = self.hash.open(raw, origin);
        let (owner, entry) = self.press.post.address(LaneName::Hash, Class::Normal, origin, ticket, slot);
        self.core().push(origin.queue, owner, entry);
    }

    /// Waits for memory, deciding and committing meanwhile.
    fn admit_or_wait(&mut self, bytes: usize, caller: &mut dyn Caller<W>) -> Result<Permit, Fault<W::Error>> {
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

    /// Decides and commits until `done`.
    fn decide_until(
        &mut self,
        caller: &mut dyn Caller<W>,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), Fault<W::Error>> {
        loop {
            self.turn(caller)?;
            if done(self) {
                return Ok(());
            }
            self.wait(None)?;
        }
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
        let begin = self.diary.now();
        let bytes = begin.and(outcome.as_ref().ok()).map_or(0, |packed| self.desk.shared.work.packed_bytes(packed));
        let result = outcome.and_then(|packed| self.guarded(|_| caller.commit(packed)));
        self.diary.write(Deed::Commit, begin, self.press.lane.head_ticket() - 1, bytes);
        result.map_err(|fault| self.stop(fault))?;
        self.counts.committed += 1;
        Ok(true)
    }

    /// Decides the head of the hash lane if it is ready. Before its error come those of all that is still to commit.
    fn decide_next(&mut self, caller: &mut dyn Caller<W>) -> Result<bool, Fault<W::Error>> {
        let Some(outcome) = self.hash.take_ready() else { return Ok(false) };
        let (mark, begin) = (self.press.lane.len(), self.diary.now());
        self.press.origin = self.hash.origin();
        let result = outcome.and_then(|hashed| self.guarded(|next| caller.decide(hashed, next)));
        self.press.origin.item = None;
        self.diary.write(Deed::Decide, begin, self.hash.head_ticket() - 1, 0);
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
        self.core().dispatch.clear(self.press.post.line);
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
        let (begin, before) = (self.diary.now(), self.counts.waits);
        self.counts.waits += 1;
        match self.core().workers() {
            0 => {
                let ran = self.run_one();
                debug_assert!(ran, "the caller waits for a job that is not queued");
            }
            _ if self.help_out && self.run_one() => self.counts.helped += 1,
            _ => {
                self.sleep(memory);
                self.diary.write(Deed::Wait, begin, before, 0);
            }
        }
        self.check()
    }

    /// Runs the earliest queued job of the line on the caller's thread, if there is one. Without workers there is: a
    /// head that is not ready is queued.
    fn run_one(&mut self) -> bool {
        let core = self.press.post.pool.core();
        let Some(taken) = core.take_of(self.press.post.line, &self.hand) else { return false };
        let (job, errand) = Errand::new(core, 0, self.hand.queue, taken);
        job.run(&mut self.desk, &errand);
        true
    }

    /// Sleeps until a worker rings. See [`Bell`] for why the order of these steps loses no ring.
    fn sleep(&mut self, memory: Option<usize>) {
        self.desk.shared.bell.arm();
        let busy = self.core().workers() * 2;
        let overhead = self.overhead();
        let missing = (self.hash.is_empty() || self.hash.want(busy))
            && (self.press.lane.is_empty() || self.press.lane.want(busy))
            && memory.is_none_or(|bytes| self.budget.want(bytes, overhead));
        if missing {
            self.counts.promoted += u64::from(self.promote_head());
            self.counts.sleeps += u64::from(self.desk.shared.bell.sleep(&self.cancel));
        }
        self.desk.shared.bell.disarm();
        self.budget.unwant();
    }

    /// What everything waits for goes before other lines' work, and is idle work no more.
    fn promote_head(&self) -> bool {
        if !self.press.any_idle && !self.core().is_shared() {
            return false;
        }
        let (lane, ticket) = match self.press.lane.is_empty() {
            true => (LaneName::Hash, self.hash.head_ticket()),
            false => (LaneName::Commit, self.press.lane.head_ticket()),
        };
        self.core().dispatch.promote(Owner { line: self.press.post.line, lane }, ticket)
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
        self.visit(0, |line| line.admit_or_wait(bytes, caller))
    }

    fn feed(&mut self, raw: W::Raw, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        let bytes = self.diary.now().map_or(0, |_| self.desk.shared.work.raw_bytes(&raw));
        self.visit(bytes, |line| {
            line.put_on(raw);
            line.turn(caller)
        })
    }

    fn settle(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.visit(0, |line| line.decide_until(caller, |line| line.hash.is_empty()))
    }

    fn advance(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        let decided = self.counts.decided;
        self.visit(0, |line| line.decide_until(caller, |line| line.counts.decided > decided || line.hash.is_empty()))
    }

    fn outbox(&mut self) -> &mut dyn Outbox<W> {
        &mut self.press
    }

    fn drain(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>> {
        self.visit(0, |line| {
            line.decide_until(caller, |line| line.hash.is_empty())?;
            line.commit_all(caller)
        })
    }

    fn stats(&self) -> Stats {
        let (queues, waits) = self.core().queue_stats();
        let sum = |count: fn(&QueueStats) -> u64| queues.iter().map(count).sum();
        let workers = self.core().worker_stats();
        Stats {
            submitted: self.press.submitted,
            passed: self.press.passed,
            wakes: sum(|queue| queue.wakes),
            parks: workers.iter().map(|worker| worker.parks).sum(),
            locks: sum(|queue| queue.locks),
            contended: sum(|queue| queue.contended),
            steals: sum(|queue| queue.steals),
            longest_wait_ns: waits.longest(),
            p999_wait_ns: waits.p999(),
            stall_ns: self.diary.waited_ns,
            idle_ns: workers.iter().map(|worker| worker.idle_ns).sum(),
            bytes_in_flight: self.budget.used(),
            peak_bytes: self.budget.peak(),
            ..self.counts
        }
    }

    fn queue_stats(&self) -> Vec<QueueStats> {
        self.core().queue_stats().0
    }

    fn worker_stats(&self) -> Vec<WorkerStats> {
        self.core().worker_stats()
    }
}

impl<W: Work> Drop for ParallelLine<W> {
    fn drop(&mut self) {
        if let Some(tally) = &self.tally {
            tally.add(&self.counted());
        }
        self.desk.shared.closed.store(true, Ordering::SeqCst);
        self.core().close_line(self.press.post.line);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "executor_tests.rs"]
mod executor_tests;
