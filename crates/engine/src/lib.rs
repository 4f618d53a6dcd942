//! The ordered line: jobs go in at one end, workers run them side by side, results come out in the order they went in.
//!
//! The engine moves (sequence number, job) to (sequence number, result). It knows no codec, file, path or format.
//! A container describes its two parallel stages as [`Work`] and its in-order decisions as [`Caller`]; a [`Line`] joins
//! the two:
//!
//! ```text
//! feed --> hash (workers) --> decide (in order, caller) --> compress (workers) --> commit (in order, caller)
//! ```
//!
//! [`ParallelLine`] does this with worker threads, [`SerialLine`] is the reference with no threads and no queues. Both
//! give the same calls of `decide` in the same order with the same arguments, and the same calls of `commit` likewise;
//! only how the two sequences interleave depends on the line and on time.
//!
//! # Inside
//!
//! The caller's thread owns two lanes, one for what was fed and one for what was handed on, each a row of slots in
//! order. A worker puts a result straight into the job's slot; the caller takes results from the heads of the lanes.
//! Jobs of both lanes wait in one run queue (`queue`, the only module that knows how a worker finds its next job).
//! A worker is woken only by a job nobody else is about to take, the caller only by what it waits for; nothing is
//! ever broadcast but the end.
#![forbid(unsafe_code)]

mod bell;
mod budget;
mod cancel;
mod config;
mod core;
mod desk;
mod diary;
mod dispatch;
mod fault;
mod hand;
mod histogram;
mod key;
mod lane;
mod line;
mod lobby;
#[cfg(all(test, loom))]
mod models;
mod parallel;
mod plain;
mod pool;
mod press;
mod queues;
mod rows;
mod run_queue;
#[cfg(all(test, shuttle))]
mod schedules;
mod seat;
mod serial;
mod slot;
mod stage;
mod stats;
mod sync;
mod tally;
mod task;
#[cfg(helgrind)]
mod told;
mod topology;
mod trace;
mod work;
mod worker;

pub use budget::{Budget, Permit};
pub use cancel::CancelToken;
pub use config::{Config, Scheduling};
pub use fault::Fault;
pub use key::Class;
pub use line::line;
pub use parallel::ParallelLine;
pub use pool::Pool;
pub use rows::LaneName;
pub use serial::SerialLine;
pub use stats::{QueueStats, Stats, WorkerStats};
pub use tally::{Counted, Tally};
pub use topology::{Policy, Share, Site, Topology};
pub use trace::{Deed, Event, JobFacts, Tracer};
pub use work::{Caller, Line, Outbox, Work};
