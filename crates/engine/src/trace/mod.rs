//! Timing events of pipelines.

pub(crate) mod caller_trace;

use std::fmt::Debug;

use crate::{Class, StageName};

/// A clock, and a recorder of events.
///
/// The engine reads no clock. Without a tracer it measures no times and records nothing; with one it reads the time some four
/// times a job. Calls come from the threads whose work is recorded, so they must be quick, and must not panic.
pub trait Tracer: Debug + Send + Sync {
    /// Nanoseconds since some moment, never decreasing.
    fn now(&self) -> u64;
    /// The number of a new pool in events. Pools that need not be distinguished are all 1.
    fn pool(&self) -> u64 {
        1
    }
    /// Records an event. A job is recorded before its result can be committed. Does nothing by default.
    fn record(&self, event: Event) {
        let _ = event;
    }
}

/// Something that lasted from `begin` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What was done.
    pub kind: EventKind,
    /// The number of the pool: see [`Tracer::pool`].
    pub pool: u64,
    /// The number of the pipeline in its pool, from 1.
    pub pipeline: u64,
    /// The thread: 0 is the caller, the workers follow.
    pub worker: usize,
    /// Nanoseconds of the tracer's clock.
    pub begin: u64,
    /// Nanoseconds of the tracer's clock.
    pub end: u64,
    /// Place in its stage, from 0: of reads and decisions among the items, of commits among what was submitted to the last stage.
    /// Of waits, their number.
    pub ticket: u64,
    /// Bytes of input, where known: see [`Task::bytes_in`](crate::Task::bytes_in).
    pub bytes_in: u64,
    /// Bytes of output, where known.
    pub bytes_out: u64,
    /// Of jobs only.
    pub job: Option<JobFacts>,
}

/// The facts recorded of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFacts {
    pub stage: StageName,
    /// Its class when it was taken.
    pub class: Class,
    /// The queue it was taken from.
    pub queue: usize,
    /// Nanoseconds it was queued.
    pub queue_wait: u64,
    /// The ticket of its item: of a job of the second stage, the item whose decision submitted it; `None` if it was submitted
    /// between calls.
    pub item: Option<u64>,
}

/// Something that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The caller was outside the pipeline: it made the next item. Ends at a call.
    Read,
    /// A job of a stage.
    Job(StageName),
    /// A decision of the caller.
    Decide,
    /// A commit of the caller, with whatever it writes.
    Commit,
    /// The caller slept, or spun.
    Wait,
}

impl EventKind {
    /// Its name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Job(stage) => stage.name(),
            Self::Decide => "decide",
            Self::Commit => "commit",
            Self::Wait => "wait",
        }
    }

    /// Whether it is a job, not a step of the caller.
    #[must_use]
    pub fn is_job(self) -> bool {
        matches!(self, Self::Job(_))
    }
}
