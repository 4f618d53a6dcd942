//! Events of the caller's thread.

use std::sync::Arc;

use crate::{Event, EventKind, Tracer};

/// The caller's side of a trace. Without a tracer each call only checks an empty option.
#[derive(Debug)]
pub(crate) struct CallerTrace {
    tracer: Option<Arc<dyn Tracer>>,
    pool: u64,
    pipeline: u64,
    /// When the last call of the pipeline ended.
    left: Option<u64>,
    /// Nanoseconds that the caller has waited.
    pub(crate) waited_ns: u64,
}

impl CallerTrace {
    pub(crate) fn new(tracer: Option<Arc<dyn Tracer>>, pool: u64, pipeline: u64) -> Self {
        Self { tracer, pool, pipeline, left: None, waited_ns: 0 }
    }

    pub(crate) fn now(&self) -> Option<u64> {
        self.tracer.as_ref().map(|tracer| tracer.now())
    }

    /// A call of the pipeline begins: the caller made item `ticket` since the last call. `bytes` is its size if it is
    /// submitted now.
    pub(crate) fn enter(&mut self, ticket: u64, bytes: u64) {
        if let Some(left) = self.left.take() {
            self.record(EventKind::Read, Some(left), ticket, bytes);
        }
    }

    /// A call of the pipeline ends.
    pub(crate) fn leave(&mut self) {
        self.left = self.now();
    }

    /// Records something that began at `begin` and ends now.
    pub(crate) fn record(&mut self, kind: EventKind, begin: Option<u64>, ticket: u64, bytes_in: u64) {
        let (Some(tracer), Some(begin)) = (&self.tracer, begin) else { return };
        let end = tracer.now();
        if kind == EventKind::Wait {
            self.waited_ns += end.saturating_sub(begin);
        }
        let Self { pool, pipeline, .. } = *self;
        tracer.record(Event { kind, pool, pipeline, worker: 0, begin, end, ticket, bytes_in, bytes_out: 0, job: None });
    }
}
