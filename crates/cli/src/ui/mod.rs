//! Output for the user: text and JSON on the standard streams, progress, summaries, failures.

pub mod counters;
pub mod elapsed;
pub mod escape;
pub mod exit_status;
pub mod failure;
pub mod fetch_bar;
pub mod hash_tree;
pub mod io;
pub mod listings;
pub mod logging;
pub mod mode;
pub mod observer;
pub mod password;
pub mod progress;
pub mod report;
pub mod size;
pub mod target;
pub mod time;
pub mod trace;
pub mod usage;
pub mod wrap;
