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
//! give the same calls of `decide` and `commit` in the same order with the same arguments.

mod budget;
mod cancel;
mod fault;
mod parallel;
mod queue;
mod serial;
mod stats;
mod work;

pub use budget::{Budget, Permit};
pub use cancel::CancelToken;
pub use fault::Fault;
pub use parallel::{Config, ParallelLine};
pub use serial::SerialLine;
pub use stats::Stats;
pub use work::{Caller, Line, Outbox, Work};
