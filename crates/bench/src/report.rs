//! What a benchmark measured, what follows from it, and how it is reported. Pure: nothing here runs or measures anything.

mod csv;
mod figures;
mod fragments;
mod html;
mod json;
mod markdown;
mod merge;
mod model;
mod number;
mod statistics;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod verdict;

pub use csv::{CsvError, csv, read_csv};
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use merge::MergeError;
pub use model::{Case, CodecSpeed, Cost, Input, Measured, Program, Report, Storage, Tails, Task};
pub use statistics::{Scaling, Spread, Versus, against, scaling};
pub use text::text;
