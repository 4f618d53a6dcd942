//! What the caller's thread does, for the tracer of its line.

use std::sync::Arc;

use crate::{Deed, Event, Tracer};

/// The caller's side of a trace. Costs a look at an empty option without a tracer.
#[derive(Debug)]
pub(crate) struct Diary {
    tracer: Option<Arc<dyn Tracer>>,
    /// The line's pool and its number there.
    place: (u64, u64),
    /// When the last call of the line ended.
    left: Option<u64>,
    /// Nanoseconds in waits.
    pub(crate) waited_ns: u64,
}

impl Diary {
    /// The diary of line number `line` on pool number `pool`.
    pub(crate) fn new(tracer: Option<Arc<dyn Tracer>>, pool: u64, line: u64) -> Self {
        Self { tracer, place: (pool, line), left: None, waited_ns: 0 }
    }

    /// Now, if there is a clock.
    pub(crate) fn now(&self) -> Option<u64> {
        self.tracer.as_ref().map(|tracer| tracer.now())
    }

    /// A call of the line begins: what was between this one and the last is time the caller took to make item `ticket`,
    /// of `bytes` bytes if it is fed now.
    pub(crate) fn enter(&mut self, ticket: u64, bytes: u64) {
        if let Some(left) = self.left.take() {
            self.write(Deed::Read, Some(left), ticket, bytes);
        }
    }

    /// A call of the line ends.
    pub(crate) fn leave(&mut self) {
        self.left = self.now();
    }

    /// Something that began at `begin` has ended.
    pub(crate) fn write(&mut self, deed: Deed, begin: Option<u64>, ticket: u64, bytes: u64) {
        let (Some(tracer), Some(begin)) = (&self.tracer, begin) else { return };
        let end = tracer.now();
        if deed == Deed::Wait {
            self.waited_ns += end.saturating_sub(begin);
        }
        let ((pool, line), bytes_in) = (self.place, bytes);
        tracer.record(Event { deed, pool, line, worker: 0, begin, end, ticket, bytes_in, bytes_out: 0, job: None });
    }
}
