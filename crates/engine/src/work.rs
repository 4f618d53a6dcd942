//! What a container tells the line: the work of its two parallel stages, and its decisions between them.

use crate::{Class, Fault, Permit, QueueStats, Stats, WorkerStats};

/// The two parallel stages of a line, as pure functions run by workers.
///
/// What a call returns depends on its argument alone: never on the worker, on earlier calls or on time.
pub trait Work: Send + Sync + 'static {
    /// What is fed: raw bytes, with whatever the hash stage has to know.
    type Raw: Send + 'static;
    /// What the hash stage makes of it.
    type Hashed: Send + 'static;
    /// What the compress stage is given.
    type Job: Send + 'static;
    /// What the compress stage makes of it, ready for the sink.
    type Packed: Send + 'static;
    /// Why a stage can fail; also the error of the caller's own steps.
    type Error: Send + 'static;
    /// What a worker keeps between jobs (compressor contexts, scratch buffers). Made in the worker that uses it, on the
    /// first job that worker runs; made anew after a panic.
    type Tool: 'static;

    /// Makes the tool of one worker.
    fn tool(&self) -> Self::Tool;
    /// The first stage.
    fn hash(&self, tool: &mut Self::Tool, raw: Self::Raw) -> Result<Self::Hashed, Self::Error>;
    /// The second stage.
    fn compress(&self, tool: &mut Self::Tool, job: Self::Job) -> Result<Self::Packed, Self::Error>;

    /// Bytes of content in what is fed. These four are asked for traces only; they say 0 where it is not known.
    fn raw_bytes(&self, _: &Self::Raw) -> u64 {
        0
    }
    /// Bytes of content in what the first stage has made.
    fn hashed_bytes(&self, _: &Self::Hashed) -> u64 {
        0
    }
    /// Bytes to compress.
    fn job_bytes(&self, _: &Self::Job) -> u64 {
        0
    }
    /// Bytes for the sink.
    fn packed_bytes(&self, _: &Self::Packed) -> u64 {
        0
    }
}

/// The container's in-order steps. All calls come on the thread that calls the line, one at a time.
///
/// The calls of `decide` are the same on every line, and so are the calls of `commit`; how the two interleave is not.
/// So a decision must not depend on what has been committed so far. An error of either stops the line.
///
/// If a step panics, the panic goes up through the call of the line; the line has stopped then.
pub trait Caller<W: Work> {
    /// Takes the hashed items in the order they were fed, and hands on what must be compressed or committed.
    ///
    /// It may keep memory, with its [`Permit`], for later items (an open fragment); the line never waits for that.
    /// If it fails, what this call handed on is dropped.
    fn decide(&mut self, hashed: W::Hashed, next: &mut dyn Outbox<W>) -> Result<(), W::Error>;
    /// Takes the results in the order in which `decide` handed them on.
    fn commit(&mut self, packed: W::Packed) -> Result<(), W::Error>;
}

/// Where a decision goes. Each call takes the next place in the commit order. It never waits and never fails.
pub trait Outbox<W: Work> {
    /// A job for the compress stage.
    fn submit(&mut self, job: W::Job) {
        self.submit_as(Class::Normal, job);
    }
    /// A job for the compress stage, with how urgent it is. That changes when it is run, and nothing else.
    fn submit_as(&mut self, class: Class, job: W::Job);
    /// Something that needs no worker: committed as it is, in its place.
    fn pass(&mut self, packed: W::Packed);
}

/// A line: parallel or serial, the same calls in the same order.
///
/// # Errors
/// After an error everything on the line is dropped, every further call returns [`Fault::Stopped`], and what goes into
/// the outbox goes nowhere. Of several errors the one that stands first in the order is returned, whatever the timing:
/// item by item, and of one item its hash, its decision, then what it handed on, each compressed and committed. What
/// stands before the error has been committed, nothing after it; items after it may have been decided. A panic in a
/// stage counts as that stage's error.
///
/// A caller with an error of its own, say of the source it feeds from, keeps that order by calling `drain` first: if
/// that returns an error, it is of an earlier item and comes first.
///
/// A cancelled line returns [`Fault::Cancelled`] from the next call, or within 50 ms from a call that waits.
pub trait Line<W: Work> {
    /// Waits until `bytes` fit into the memory budget, deciding and committing meanwhile, and takes them.
    ///
    /// The line adds some 100 bytes for each item on it to what is in use, so that many small items cannot take many
    /// times the memory they stand for.
    ///
    /// It never waits for memory that only the caller can free: when nothing is on the line, it admits at once, over
    /// the budget if need be. So any budget is enough, and what is in flight exceeds the budget at most by what the
    /// caller holds itself (permits reserved but not yet fed, or kept by a decision) and one item.
    fn reserve(&mut self, bytes: usize, caller: &mut dyn Caller<W>) -> Result<Permit, Fault<W::Error>>;
    /// Puts an item on the line. Memory it stands for was taken with `reserve` and travels inside it as a [`Permit`].
    ///
    /// Never waits; decides and commits what is ready.
    fn feed(&mut self, raw: W::Raw, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>>;
    /// Waits until every item fed so far is hashed and decided; their commits may still be under way.
    fn settle(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>>;
    /// Waits until at least one more item is decided, if any is on its way, and decides and commits what is ready.
    fn advance(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>>;
    /// Hands on work that was not fed (what is left at the end, metadata), in its place of the commit order: after
    /// everything decided so far.
    ///
    /// How much has been decided depends on time while items are on the line: always call `settle` first, or the
    /// order is not the same each time. What is handed on is committed during later calls; `drain` waits for it.
    fn outbox(&mut self) -> &mut dyn Outbox<W>;
    /// Waits until everything fed and handed on is committed.
    fn drain(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>>;
    /// Counters so far.
    fn stats(&self) -> Stats;
    /// Counters of each run queue of the line's pool; none on a line without.
    fn queue_stats(&self) -> Vec<QueueStats> {
        Vec::new()
    }
    /// Counters of each worker of the line's pool; none on a line without.
    fn worker_stats(&self) -> Vec<WorkerStats> {
        Vec::new()
    }
}
