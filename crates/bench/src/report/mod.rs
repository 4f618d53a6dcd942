//! The report of a benchmark: the model, statistics and formats. This module does not measure.

mod csv;
mod figures;
mod fragments;
mod html;
mod json;
mod markdown;
mod merge;
mod model;
mod number;
mod serial;
mod statistics;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod verdict;

pub use csv::{CsvError, csv, read_csv};
pub use html::html;
pub(crate) use html::push_new;
pub use json::json;
pub use markdown::markdown;
pub use merge::MergeError;
pub use model::{Case, CodecSpeed, Cost, Input, Measured, Program, Report, Storage, Tails, Task};
pub(crate) use number::{binary_bytes, short_block_size};
pub use serial::{Container, Serial, SerialRun, Step};
pub use statistics::{Scaling, Spread, Versus, against, scaling};
pub use text::text;
