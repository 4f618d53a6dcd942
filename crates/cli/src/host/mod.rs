//! The process and its machine: clock, environment, processors, memory, names of users, time zone, descriptors, standard streams and signals, each read in one file.

pub mod clock;
pub mod closed_streams;
pub mod commands;
pub mod date;
pub mod definitions;
pub mod descriptors;
pub mod environment;
pub mod fake_root;
#[cfg(any(feature = "pln", feature = "recovery"))]
pub mod files_below;
pub mod machine;
pub mod names;
pub mod signals;
pub mod streams;
#[cfg(feature = "encryption")]
pub mod terminal;
pub mod time_zone;
pub mod topology;
