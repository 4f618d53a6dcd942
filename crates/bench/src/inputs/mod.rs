//! The inputs of benchmarks: trees, tars, generated trees, and file contents in memory.

pub mod content;
pub mod source;
pub mod synthetic;
