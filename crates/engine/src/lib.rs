//! Ordered parallel execution: tasks in, results out in the order of submission.
//!
//! The engine knows no codec, file, path or format. A container describes its work as a [`Task`]; an [`OrderedMap`] runs it on
//! worker threads. A [`Pipeline`] is two ordered maps on one pool, with an in-order decision between them:
//!
//! ```text
//! submit --> first stage (workers) --> decide (in order, caller) --> second stage (workers) --> commit (in order, caller)
//! ```
//!
//! The caller sees the same results in the same order for any number of workers. A pool with 0 workers has no threads and no
//! queues: it is the reference that every other number of workers must equal.
//!
//! # The way of a job
//!
//! 1. `caller/stage.rs`: the caller puts the job into a slot at the end of the stage's lane (`caller/lane.rs`).
//! 2. `caller/submitter.rs`: the slot goes to a run queue (`scheduler/run_queue.rs`), ordered by virtual deadline.
//! 3. `scheduler/mod.rs`: an idle worker takes the earliest job it can see. `scheduler/idle_workers.rs` wakes a worker only for
//!    a job that no other worker is about to take.
//! 4. `worker/mod.rs`, `worker/job.rs`: the worker runs the job in the context of its stage and puts the result into the slot
//!    (`worker/slot.rs`).
//! 5. `caller/mod.rs`: the caller takes results from the heads of the lanes. `caller/waker.rs` wakes it only for a result or
//!    memory that it waits for.
//!
//! The caller's thread owns everything in `caller/`. Workers own nothing but their contexts; the comments on the fields of
//! `Slot`, `RunQueue`, `WorkerState` and `Core` say which thread may touch what.
#![forbid(unsafe_code)]

mod budget;
mod caller;
mod cancel;
#[cfg(any(helgrind, all(test, any(loom, shuttle))))]
mod checks;
mod config;
mod core;
mod fault;
mod ordered_map;
mod pipeline;
mod pool;
mod scheduler;
mod stats;
mod sync;
mod task;
mod trace;
mod worker;

pub use budget::{Budget, Permit};
pub use caller::outbox::Outbox;
pub use cancel::CancelToken;
pub use config::{Config, Scheduling};
pub use fault::Fault;
pub use ordered_map::{Consumer, OrderedMap};
pub use pipeline::{Pipeline, Sequencer};
pub use pool::Pool;
pub use scheduler::job_queues::StageName;
pub use scheduler::key::Class;
pub use scheduler::topology::{CpuLocation, Policy, QueueDomain, Topology};
pub use stats::run_stats::{RunStats, StatsSink};
pub use stats::{QueueStats, Stats, WorkerStats};
pub use task::Task;
pub use trace::{Event, EventKind, JobFacts, Tracer};

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
