//! One job of either stage, and how it is run so that a panic stays inside it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::bell::Bell;
use crate::slot::{Outcome, Slot};
use crate::{Fault, Work};

/// What a worker is given: the input of a stage, and where its result goes.
pub(crate) enum Job<W: Work> {
    /// The first stage.
    Hash(W::Raw, Arc<Slot<W::Hashed, W::Error>>),
    /// The second stage.
    Compress(W::Job, Arc<Slot<W::Packed, W::Error>>),
}

impl<W: Work> Job<W> {
    /// Runs it and fills its slot, whatever happens.
    pub(crate) fn run(self, work: &W, bench: &mut Bench<W>, bell: &Bell) {
        match self {
            Self::Hash(raw, slot) => fill(slot, bench.hash(work, raw), bell),
            Self::Compress(job, slot) => fill(slot, bench.compress(work, job), bell),
        }
    }
}

/// Fills `slot`. If the caller has given the slot up meanwhile, the result ends here; a drop of it that panics must not
/// take the worker along.
fn fill<T, E>(slot: Arc<Slot<T, E>>, outcome: Outcome<T, E>, bell: &Bell) {
    slot.fill(outcome, bell);
    discard(slot);
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
fn discard<T>(value: T) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(second);
    }
}
