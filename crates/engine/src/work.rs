//! What a container tells the line: the work of its two parallel stages, and its decisions between them.

use crate::{Fault, Permit, Stats};

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
}

/// The container's in-order steps. All calls come on the thread that calls the line, one at a time.
pub trait Caller<W: Work> {
    /// Takes the hashed items in the order they were fed, and hands on what must be compressed or committed.
    fn decide(&mut self, hashed: W::Hashed, next: &mut dyn Outbox<W>) -> Result<(), W::Error>;
    /// Takes the results in the order in which `decide` handed them on.
    fn commit(&mut self, packed: W::Packed) -> Result<(), W::Error>;
}

/// Where a decision goes. Each call takes the next place in the commit order.
pub trait Outbox<W: Work> {
    /// A job for the compress stage.
    fn submit(&mut self, job: W::Job);
    /// Something that needs no worker: committed as it is, in its place.
    fn pass(&mut self, packed: W::Packed);
}

/// A line: parallel or serial, the same calls in the same order.
///
/// After an error every further call returns an error too; what is in flight is dropped. Of several errors the one
/// that stands first in the order (an item's hash, decision, compression and commit, before those of later items) is
/// returned, whatever the timing.
pub trait Line<W: Work> {
    /// Waits until `bytes` fit into the memory budget, deciding and committing meanwhile, and takes them.
    /// Admits at once, over the budget if need be, when nothing is in flight that could free memory.
    fn reserve(&mut self, bytes: usize, caller: &mut dyn Caller<W>) -> Result<Permit, Fault<W::Error>>;
    /// Puts an item on the line. Memory it stands for was taken with `reserve` and travels inside it as a [`Permit`].
    fn feed(&mut self, raw: W::Raw, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>>;
    /// Waits until every item fed so far is hashed and decided; their commits may still be under way.
    fn settle(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>>;
    /// Hands on work that was not fed (what is left at the end, metadata), in its place of the commit order: after
    /// everything decided so far. Call `settle` first if it has to come after everything fed so far.
    fn outbox(&mut self) -> &mut dyn Outbox<W>;
    /// Waits until everything fed and handed on is committed.
    fn drain(&mut self, caller: &mut dyn Caller<W>) -> Result<(), Fault<W::Error>>;
    /// Counters so far.
    fn stats(&self) -> Stats;
}
