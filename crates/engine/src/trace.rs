//! Timing events of pipelines and of the caller's thread.

use crate::{Class, StageName};
use std::fmt::Debug;
use std::sync::Arc;

/// A clock, and a recorder of events.
///
/// The engine itself has no clock. Without a tracer it measures no times and records nothing; with one it reads both times about
/// four times for each job. The threads whose work is recorded make the calls, so they must be quick and must not panic.
pub trait Tracer: Debug + Send + Sync {
    /// Nanoseconds since some moment, never decreasing.
    fn now(&self) -> u64;
    /// Nanoseconds of processor time that the calling thread has used. 0 by default.
    fn processor_time(&self) -> u64 {
        0
    }
    /// Returns the number of a new pool in events. By default all pools are 1.
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
    pub kind: EventKind,
    /// The number of the pool: see [`Tracer::pool`].
    pub pool: u64,
    /// The number of the pipeline in its pool, from 1.
    pub pipeline: u64,
    /// The thread: 0 is the caller; the workers begin with 1.
    pub worker: usize,
    /// Nanoseconds of the tracer's clock.
    pub begin: u64,
    /// Nanoseconds of the tracer's clock.
    pub end: u64,
    /// Nanoseconds of processor time that the thread used from begin to end. Unlike the time between the two, it does not count
    /// other threads on the same processor.
    pub processor_ns: u64,
    /// The index, from 0, of the item (reads and decisions), of the job in its stage (jobs), of the result in the last stage
    /// (commits), or of the wait.
    pub ticket: u64,
    /// Bytes of input, where known: see [`Task::bytes_in`](crate::Task::bytes_in).
    pub bytes_in: u64,
    /// Bytes of output, where known.
    pub bytes_out: u64,
    /// Present for jobs only.
    pub job: Option<JobFacts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFacts {
    pub stage: StageName,
    /// The class of the job when it was taken.
    pub class: Class,
    /// The queue it was taken from.
    pub queue: usize,
    /// Nanoseconds in the queue.
    pub queue_wait: u64,
    /// The ticket of the job's item. For a job of the second stage it is the item whose decision submitted the job; `None` if
    /// the job was submitted between calls.
    pub item: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The caller was outside the pipeline and made the next item. Ends at the next call.
    Read,
    Job(StageName),
    /// The caller decided an item.
    Decide,
    /// The caller committed a result, which includes writing it.
    Commit,
    /// The caller slept or spun.
    Wait,
    /// A thread of its own read a stream for the caller, from its start to its end.
    ReadAhead,
}

impl EventKind {
    /// The name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Job(stage) => stage.name(),
            Self::Decide => "decide",
            Self::Commit => "commit",
            Self::Wait => "wait",
            Self::ReadAhead => "read-ahead",
        }
    }

    #[must_use]
    pub fn is_job(self) -> bool {
        matches!(self, Self::Job(_))
    }
}

/// Readings of both clocks on one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    /// Nanoseconds of the tracer's clock.
    pub(crate) wall: u64,
    /// Nanoseconds of processor time of the thread.
    pub(crate) processor: u64,
}

impl Moment {
    pub(crate) fn now(tracer: &dyn Tracer) -> Self {
        Self { wall: tracer.now(), processor: tracer.processor_time() }
    }
}

/// The caller's side of a trace. Without a tracer each call only checks an empty option.
#[derive(Debug)]
pub(crate) struct CallerTrace {
    tracer: Option<Arc<dyn Tracer>>,
    pool: u64,
    pipeline: u64,
    /// When the last call of the pipeline ended.
    left: Option<Moment>,
    pub(crate) times: CallerTimes,
}

/// Nanoseconds that the caller's thread spent in each kind of step. All but `waited` are processor time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallerTimes {
    pub(crate) reading: u64,
    pub(crate) deciding: u64,
    pub(crate) committing: u64,
    /// By the tracer's clock.
    pub(crate) waited: u64,
}

impl CallerTimes {
    fn add(&mut self, event: &Event) {
        match event.kind {
            EventKind::Read => self.reading += event.processor_ns,
            EventKind::Decide => self.deciding += event.processor_ns,
            EventKind::Commit => self.committing += event.processor_ns,
            EventKind::Wait => self.waited += event.end.saturating_sub(event.begin),
            EventKind::Job(_) | EventKind::ReadAhead => {}
        }
    }
}

impl CallerTrace {
    pub(crate) fn new(tracer: Option<Arc<dyn Tracer>>, pool: u64, pipeline: u64) -> Self {
        Self { tracer, pool, pipeline, left: None, times: CallerTimes::default() }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.tracer.is_some()
    }

    pub(crate) fn now(&self) -> Option<Moment> {
        self.tracer.as_deref().map(Moment::now)
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
    pub(crate) fn record(&mut self, kind: EventKind, begin: Option<Moment>, ticket: u64, bytes_in: u64) {
        let (Some(tracer), Some(begin)) = (&self.tracer, begin) else { return };
        let end = Moment::now(&**tracer);
        let event = Event {
            kind,
            pool: self.pool,
            pipeline: self.pipeline,
            worker: 0,
            begin: begin.wall,
            end: end.wall,
            processor_ns: end.processor.saturating_sub(begin.processor),
            ticket,
            bytes_in,
            bytes_out: 0,
            job: None,
        };
        self.times.add(&event);
        tracer.record(event);
    }
}
