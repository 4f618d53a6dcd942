//! Where a thread runs the jobs of one line: the line's work, and a tool of the thread's own.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::bell::Bell;
use crate::slot::Outcome;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::{Fault, Work};

/// What the caller of a line and the workers share.
pub(crate) struct Shared<W: Work> {
    /// The two stages.
    pub(crate) work: W,
    /// Wakes the caller.
    pub(crate) bell: Arc<Bell>,
    /// No job of it is run any more.
    pub(crate) closed: AtomicBool,
}

/// A line as its pool knows it, whatever its work.
pub(crate) trait AnyLine: Send + Sync {
    /// A desk for the current thread: a [`Desk`] of the line's work.
    fn desk(self: Arc<Self>) -> Box<dyn Any>;
    /// Whether the line has ended.
    fn is_closed(&self) -> bool;
}

impl<W: Work> AnyLine for Shared<W> {
    fn desk(self: Arc<Self>) -> Box<dyn Any> {
        Box::new(Desk::new(self))
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

/// What one thread needs to run jobs of a line.
pub(crate) struct Desk<W: Work> {
    pub(crate) shared: Arc<Shared<W>>,
    pub(crate) bench: Bench<W>,
}

impl<W: Work> Desk<W> {
    /// A desk without a tool yet.
    pub(crate) fn new(shared: Arc<Shared<W>>) -> Self {
        Self { shared, bench: Bench::new() }
    }
}

/// Where jobs are run: the tool of one thread, once it has been needed.
pub(crate) struct Bench<W: Work> {
    tool: Option<W::Tool>,
}

impl<W: Work> Bench<W> {
    /// A bench without a tool yet.
    pub(crate) fn new() -> Self {
        Self { tool: None }
    }

    /// Runs the first stage.
    pub(crate) fn hash(&mut self, work: &W, raw: W::Raw) -> Outcome<W::Hashed, W::Error> {
        self.guard(work, |tool| work.hash(tool, raw))
    }

    /// Runs the second stage.
    pub(crate) fn compress(&mut self, work: &W, job: W::Job) -> Outcome<W::Packed, W::Error> {
        self.guard(work, |tool| work.compress(tool, job))
    }

    /// Runs `stage`. After a panic the tool is in no known state: it is thrown away, and the next job makes its own.
    fn guard<T>(&mut self, work: &W, stage: impl FnOnce(&mut W::Tool) -> Result<T, W::Error>) -> Outcome<T, W::Error> {
        let run = AssertUnwindSafe(|| stage(self.tool.get_or_insert_with(|| work.tool())));
        match catch_unwind(run) {
            Ok(result) => result.map_err(Fault::Work),
            Err(payload) => {
                discard(self.tool.take());
                Err(Fault::Panic(message(payload)))
            }
        }
    }
}

/// The text of a panic.
fn message(payload: Box<dyn Any + Send>) -> String {
    let text = match payload.downcast_ref::<&str>() {
        Some(text) => Some((*text).to_owned()),
        None => payload.downcast_ref::<String>().cloned(),
    };
    discard(payload);
    text.unwrap_or_else(|| "no message".to_owned())
}

/// Drops `value`; if that panics, the worker still lives.
pub(crate) fn discard<T>(value: T) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(second);
    }
}
