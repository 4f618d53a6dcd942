//! Two ordered parallel maps on one pool, with an in-order decision between them.

use std::io;
use std::sync::Arc;

use crate::caller::outbox::Outbox;
use crate::caller::stage::Stage;
use crate::caller::waker::CallerWaker;
use crate::caller::{Caller, Waiting};
use crate::core::{Core, StageList};
use crate::scheduler::job_queues::Owner;
use crate::scheduler::run_queue::TakenJob;
use crate::worker::job::JobRef;
use crate::{Budget, Class, Config, EventKind, Fault, Permit, Pool, QueueStats, StageName, Stats, Task, WorkerStats};

/// The in-order steps of a [`Pipeline`]. All calls come from the thread that calls the pipeline, one at a time.
///
/// The calls of `decide` are the same for any number of workers, and so are the calls of `commit`, but the two interleave
/// differently. A decision must therefore not depend on the results committed so far. An error of either stops the pipeline.
///
/// A panic of a step passes through the call of the pipeline and stops the pipeline.
pub trait Sequencer<H: Task, C: Task<Error = H::Error>> {
    /// Takes the results of the first stage in the order in which their items were submitted, and submits inputs of the second.
    ///
    /// It may keep memory, with its [`Permit`], for later items (an open fragment); the pipeline never waits for that memory. If
    /// the call fails, the jobs that it submitted are dropped.
    ///
    /// # Errors
    /// Defined by the container.
    fn decide(&mut self, hashed: H::Out, next: &mut Outbox<C>) -> Result<(), H::Error>;
    /// Takes the results of the second stage in the order in which `decide` submitted their jobs.
    ///
    /// # Errors
    /// Defined by the container.
    fn commit(&mut self, packed: C::Out) -> Result<(), H::Error>;
}

/// submit -> first stage (workers) -> decide (in order, caller) -> second stage (workers) -> commit (in order, caller).
///
/// For any number of workers, any budget and any timing, `decide` sees the same items in the same order, and `commit` the same
/// results in the same order. On a pool without workers every job runs on the caller's thread when it is submitted.
///
/// # Errors
/// The pipeline returns the first error in this order: item by item; within an item its first stage, its decision, then each
/// job that the decision submitted, followed by the job's commit. All results before the error have been committed, and none
/// after it; later items may have been decided. A panic in a task counts as an error of its job.
///
/// After an error everything in flight is dropped, every further call returns [`Fault::Stopped`], and jobs put into the outbox
/// are dropped.
///
/// A caller with an error of its own (of the source of its items, for example) keeps this order by calling `drain` first, and
/// then [`Fault::earlier`].
///
/// A cancelled pipeline returns [`Fault::Cancelled`] from the next call, or within 50 ms from a call that waits.
///
/// Dropping the pipeline drops what is queued and waits for the jobs that run.
pub struct Pipeline<H: Task, C: Task<Error = H::Error>> {
    stages: Stages<H, C>,
    caller: Caller,
}

struct Stages<H: Task, C: Task> {
    hash: Stage<H>,
    next: Outbox<C>,
}

impl<H: Task, C: Task> Waiting for Stages<H, C> {
    fn wait_for(&self, busy: usize) -> bool {
        self.hash.wait_for(busy) && self.next.stage.wait_for(busy)
    }

    fn head(&self, pipeline: u64) -> Option<(Owner, u64)> {
        self.next.stage.head(pipeline).or_else(|| self.hash.head(pipeline))
    }

    fn run(&mut self, core: &Core, home: usize, taken: TakenJob<JobRef>) {
        match taken.owner.name {
            StageName::Compress => self.next.stage.run(core, home, taken),
            _ => self.hash.run(core, home, taken),
        }
    }

    fn overhead(&self) -> usize {
        self.hash.overhead() + self.next.stage.overhead()
    }
}

impl<H: Task, C: Task<Error = H::Error>> Pipeline<H, C> {
    /// Opens a pipeline on the pool of `config`, or on a new pool.
    ///
    /// # Errors
    /// See [`Pool::new`].
    pub fn new(hash: H, compress: C, config: Config) -> io::Result<Self> {
        Ok(Self::on(&config.pool()?, hash, compress, config))
    }

    /// Opens a pipeline on `pool`; the workers and the pool of `config` are ignored.
    pub(crate) fn on(pool: &Pool, hash: H, compress: C, config: Config) -> Self {
        let waker = Arc::new(CallerWaker::default());
        let hash = Stage::new(StageName::Hash, hash, &waker);
        let compress = Stage::new(StageName::Compress, compress, &waker);
        let stages: StageList = vec![(hash.name, hash.shared().clone()), (compress.name, compress.shared().clone())];
        let (caller, submitter) = Caller::new(pool, waker, stages, config);
        Self { stages: Stages { hash, next: Outbox::new(compress, submitter) }, caller }
    }

    /// The memory budget, to read it or to share it.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.caller.budget.clone()
    }

    /// Waits until `bytes` fit into the memory budget, and takes them. Decides and commits while it waits.
    ///
    /// The pipeline adds at least 128 bytes for each job in flight, so that many small items cannot take many times the memory they
    /// reserve. To avoid a deadlock, a request is granted even above the budget if nothing is in flight. The overshoot is at
    /// most the caller's own permits and one item.
    ///
    /// # Errors
    /// See [`Pipeline`].
    pub fn reserve(&mut self, bytes: usize, steps: &mut dyn Sequencer<H, C>) -> Result<Permit, Fault<H::Error>> {
        self.call(0, |pipeline| {
            loop {
                if let Some(permit) = pipeline.caller.admit(bytes, &pipeline.stages) {
                    return Ok(permit);
                }
                pipeline.turn(steps)?;
                if let Some(permit) = pipeline.caller.admit(bytes, &pipeline.stages) {
                    return Ok(permit);
                }
                pipeline.caller.wait(&mut pipeline.stages, Some(bytes))?;
            }
        })
    }

    /// Submits an item to the first stage. The item holds its memory (taken with `reserve`) as a [`Permit`]. Never waits; decides
    /// and commits the results that are ready.
    ///
    /// # Errors
    /// See [`Pipeline`].
    pub fn submit(&mut self, item: H::In, steps: &mut dyn Sequencer<H, C>) -> Result<(), Fault<H::Error>> {
        let bytes = if self.caller.trace.is_on() { self.stages.hash.shared().task.bytes_in(&item) } else { 0 };
        self.call(bytes, |pipeline| {
            pipeline.put(item);
            pipeline.turn(steps)
        })
    }

    /// Waits until every item submitted so far is decided; their commits may still be in flight.
    ///
    /// # Errors
    /// See [`Pipeline`].
    pub fn settle(&mut self, steps: &mut dyn Sequencer<H, C>) -> Result<(), Fault<H::Error>> {
        self.call(0, |pipeline| pipeline.decide_all(steps))
    }

    /// Submits jobs to the second stage that belong to no item (the last fragment, metadata). Their commits follow those of
    /// everything decided so far.
    ///
    /// Call `settle` first: while items are in flight, the number of decided items depends on timing. Jobs submitted here are
    /// committed during later calls; `drain` waits for them.
    pub fn outbox(&mut self) -> &mut Outbox<C> {
        &mut self.stages.next
    }

    /// Waits until everything submitted is committed.
    ///
    /// # Errors
    /// See [`Pipeline`].
    pub fn drain(&mut self, steps: &mut dyn Sequencer<H, C>) -> Result<(), Fault<H::Error>> {
        self.call(0, |pipeline| {
            pipeline.decide_all(steps)?;
            pipeline.commit_all(steps)
        })
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        self.caller.stats(&self.counts())
    }

    #[must_use]
    pub fn queue_stats(&self) -> Vec<QueueStats> {
        self.caller.queue_stats()
    }

    #[must_use]
    pub fn worker_stats(&self) -> Vec<WorkerStats> {
        self.caller.worker_stats()
    }

    fn counts(&self) -> Stats {
        let Outbox { submitted, passed, .. } = self.stages.next;
        Stats { submitted, passed, ..self.caller.counts }
    }

    /// Runs a call of the caller, unless the pipeline has stopped.
    fn call<R>(
        &mut self,
        bytes: u64,
        call: impl FnOnce(&mut Self) -> Result<R, Fault<H::Error>>,
    ) -> Result<R, Fault<H::Error>> {
        self.caller.trace.enter(self.stages.hash.lane.next_ticket(), bytes);
        let result = self.caller.check().and_then(|()| call(self)).map_err(|fault| self.stop(fault));
        self.caller.trace.leave();
        result
    }

    fn put(&mut self, item: H::In) {
        self.caller.counts.fed += 1;
        let Stages { hash, next } = &mut self.stages;
        let origin = next.submitter.next_origin(hash.lane.next_ticket());
        hash.submit(&next.submitter, Class::Normal, origin, item);
    }

    /// Decides and commits until every item is decided.
    fn decide_all(&mut self, steps: &mut dyn Sequencer<H, C>) -> Result<(), Fault<H::Error>> {
        loop {
            self.turn(steps)?;
            if self.stages.hash.lane.is_empty() {
                return Ok(());
            }
            self.caller.wait(&mut self.stages, None)?;
        }
    }

    /// Commits and decides all results that are ready at the heads of the lanes, without waiting.
    ///
    /// Commits and decisions alternate: a long run of commits would leave the workers without new jobs, and a long run of
    /// decisions would free no memory.
    fn turn(&mut self, steps: &mut dyn Sequencer<H, C>) -> Result<(), Fault<H::Error>> {
        loop {
            let committed = self.commit_next(steps)?;
            let decided = self.decide_next(steps)?;
            if !committed && !decided {
                return Ok(());
            }
        }
    }

    /// Commits the head of the second lane if it is ready. Nothing in flight precedes it, so its error is final.
    fn commit_next(&mut self, steps: &mut dyn Sequencer<H, C>) -> Result<bool, Fault<H::Error>> {
        let stage = &mut self.stages.next.stage;
        let Some(outcome) = stage.take_ready() else { return Ok(false) };
        let begin = self.caller.trace.now();
        let bytes = begin.and(outcome.as_ref().ok()).map_or(0, |packed| stage.shared().task.bytes_out(packed));
        let ticket = stage.lane.head_ticket() - 1;
        let result = outcome.and_then(|packed| self.caller.guarded(|| steps.commit(packed)));
        self.caller.trace.record(EventKind::Commit, begin, ticket, bytes);
        result?;
        self.caller.counts.committed += 1;
        Ok(true)
    }

    /// Decides the head of the first lane if it is ready. Errors of results still to be committed precede its own.
    fn decide_next(&mut self, steps: &mut dyn Sequencer<H, C>) -> Result<bool, Fault<H::Error>> {
        let Stages { hash, next } = &mut self.stages;
        let Some(outcome) = hash.take_ready() else { return Ok(false) };
        let mark = next.stage.lane.len();
        let begin = self.caller.trace.now();
        next.origin = hash.lane.origin();
        let result = outcome.and_then(|hashed| self.caller.guarded(|| steps.decide(hashed, next)));
        next.origin.item = None;
        self.caller.trace.record(EventKind::Decide, begin, hash.lane.head_ticket() - 1, 0);
        if let Err(later) = result {
            // Jobs of the failed decision come after its error.
            next.stage.lane.truncate(mark);
            hash.lane.clear();
            self.commit_all(steps)?;
            return Err(later);
        }
        self.caller.counts.decided += 1;
        Ok(true)
    }

    fn commit_all(&mut self, steps: &mut dyn Sequencer<H, C>) -> Result<(), Fault<H::Error>> {
        while !self.stages.next.stage.lane.is_empty() {
            if !self.commit_next(steps)? {
                self.caller.wait(&mut self.stages, None)?;
            }
        }
        Ok(())
    }

    /// Drops everything in flight and refuses all further calls.
    fn stop(&mut self, fault: Fault<H::Error>) -> Fault<H::Error> {
        self.caller.stopped = true;
        self.stages.next.open = false;
        self.caller.clear();
        self.stages.hash.lane.clear();
        self.stages.next.stage.lane.clear();
        fault
    }
}

impl<H: Task, C: Task<Error = H::Error>> Drop for Pipeline<H, C> {
    fn drop(&mut self) {
        self.stages.hash.close();
        self.stages.next.stage.close();
        self.caller.close(&self.counts());
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
