//! Output for the user: text and JSON on the standard streams, progress, summaries, failures.

pub mod counters;
#[cfg(feature = "mount")]
pub mod debug_log;
pub mod elapsed;
pub mod escape;
pub mod exit_status;
pub mod failure;
#[cfg(feature = "verity")]
pub mod hash_tree;
pub mod io;
pub mod listings;
pub mod mode;
pub mod observer;
#[cfg(feature = "lrz")]
pub mod password;
#[cfg(any(feature = "lrz", feature = "pln"))]
pub mod place;
pub mod progress;
pub mod report;
pub mod size;
pub mod target;
pub mod time;
pub mod trace;
pub mod wrap;
