//! Ordered parallel execution: tasks in, results out in the order of submission.
//!
//! The engine knows no codec, file, path or format. A container describes its work as a [`Task`]; an [`OrderedMap`] runs it on
//! worker threads. A [`Pipeline`] is two of them on one pool, with an in-order decision between them:
//!
//! ```text
//! submit --> first stage (workers) --> decide (in order, caller) --> second stage (workers) --> commit (in order, caller)
//! ```
//!
//! The caller sees the same results in the same order for any number of workers. With 0 workers there are no threads and no
//! queues: that is the reference that all others must equal.
//!
//! # Inside
//!
//! The caller's thread owns a lane for each stage: slots in the order of submission. A worker puts a result straight into the
//! job's slot; the caller takes results from the heads of the lanes. The scheduler has run queues ordered by virtual deadline;
//! an idle worker takes the earliest job it can see. A worker is woken only for a job that no other is about to take, the caller
//! only for what it waits for; nothing is broadcast but the end.
#![forbid(unsafe_code)]

mod budget;
mod caller;
mod caller_waker;
mod cancel;
mod config;
mod context;
mod core;
mod fault;
#[cfg(helgrind)]
mod helgrind;
mod histogram;
mod job;
mod lane;
#[cfg(all(test, loom))]
mod models;
mod ordered_map;
mod outbox;
mod pipeline;
mod pool;
mod run_stats;
mod scheduler;
#[cfg(all(test, shuttle))]
mod schedules;
mod slot;
mod stage;
mod stats;
mod submitter;
mod sync;
mod task;
mod trace;
mod worker;

pub use budget::{Budget, Permit};
pub use cancel::CancelToken;
pub use config::{Config, Scheduling};
pub use fault::Fault;
pub use ordered_map::{Consumer, OrderedMap};
pub use outbox::Outbox;
pub use pipeline::{Pipeline, Sequencer};
pub use pool::Pool;
pub use run_stats::{RunStats, StatsSink};
pub use scheduler::job_queues::StageName;
pub use scheduler::key::Class;
pub use scheduler::topology::{CpuLocation, Policy, QueueDomain, Topology};
pub use stats::{QueueStats, Stats, WorkerStats};
pub use task::Task;
pub use trace::{Event, EventKind, JobFacts, Tracer};
