//! What a line tells of itself while it runs: who did what, when, and to how many bytes.

use std::fmt::Debug;

use crate::{Class, LaneName};

/// A clock, and somebody who writes down what happened.
///
/// The engine reads no clock of its own. Without a tracer it measures no times and records nothing; with one it asks
/// for the time some four times a job. All calls come from the threads that did what is recorded, so they must be
/// quick, and must not panic.
pub trait Tracer: Debug + Send + Sync {
    /// Nanoseconds since some moment, never falling.
    fn now(&self) -> u64;
    /// A pool is made: the number that its events have. Pools that are not told apart are all 1.
    fn pool(&self) -> u64 {
        1
    }
    /// Something happened. What a job did is recorded before its result can be committed. Not kept unless written.
    fn record(&self, event: Event) {
        let _ = event;
    }
}

/// Something that took from `begin` to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What was done.
    pub deed: Deed,
    /// The number of the line's pool: see [`Tracer::pool`].
    pub pool: u64,
    /// The line's number on its pool, from 1.
    pub line: u64,
    /// Who did it: 0 is the line's caller, the workers follow.
    pub worker: usize,
    /// Nanoseconds of the tracer's clock.
    pub begin: u64,
    /// Nanoseconds of the tracer's clock.
    pub end: u64,
    /// Its place in its lane, from 0: of hash jobs, reads and decisions among the items, of compress jobs and commits
    /// among what was handed on. Of waits, how many the line has had before.
    pub ticket: u64,
    /// Bytes that went in, where they are known: see [`Work::raw_bytes`](crate::Work::raw_bytes).
    pub bytes_in: u64,
    /// Bytes that came out, where they are known.
    pub bytes_out: u64,
    /// What only a job has.
    pub job: Option<JobFacts>,
}

/// What is told of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFacts {
    /// Which stage it is of.
    pub lane: LaneName,
    /// Its class when it was taken.
    pub class: Class,
    /// The queue it was taken from.
    pub queue: usize,
    /// How long it lay there, in nanoseconds.
    pub queue_wait: u64,
    /// Of a compress job, the ticket of the item whose decision handed it on; `None` if it was handed on between calls.
    pub item: Option<u64>,
}

/// Something that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The caller was outside the line: it made the next item. Ends at a call.
    Read,
    /// The first stage.
    Hash,
    /// A step of the caller.
    Decide,
    /// The second stage.
    Compress,
    /// A step of the caller, with whatever it writes.
    Commit,
    /// The caller slept, or spun.
    Wait,
}

impl Deed {
    /// Its name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Hash => "hash",
            Self::Decide => "decide",
            Self::Compress => "compress",
            Self::Commit => "commit",
            Self::Wait => "wait",
        }
    }

    /// Whether it is a job, not a step of the caller.
    #[must_use]
    pub fn is_job(self) -> bool {
        matches!(self, Self::Hash | Self::Compress)
    }
}
