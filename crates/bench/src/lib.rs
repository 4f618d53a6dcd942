//! Benchmarks of packline and other programs: the cost of packing, unpacking, codecs and storage with the user's own data.
//!
//! A [`Benchmark`] holds the settings. [`Benchmark::run`] measures and returns an [`Outcome`] with a [`Report`], which can be shown as
//! [`text`], [`markdown`], [`html`], [`json`] and [`csv()`]. The crate does not read the clock, the environment or the number of processors:
//! the caller passes them in a [`Session`].

mod benchmark;
mod error;
mod inputs;
mod interruption;
mod programs;
pub mod report;
mod runs;
mod session;
mod settings;
mod tasks;
mod tree_diff;

pub use benchmark::{Benchmark, Outcome};
pub use error::{Error, Setting};
pub use inputs::synthetic::{Filling, Synthetic};
pub use interruption::Interruption;
pub use programs::command_line::quoted_words;
pub use programs::program::{Against, NamedProgram, PACKERS, ProgramKind, UNPACKERS};
pub use report::{Report, csv, html, json, markdown, read_csv, text};
pub use runs::plan::at_levels;
pub use session::{Clock, Machine, Progress, Session};
pub use settings::{
    CodecSettings, Comparison, PackSettings, PackSource, Runs, SerialSettings, StorageSettings, UnpackSettings,
};
