//! Benchmarks of packline beside other programs: what packing, unpacking, codecs and storage cost on the user's own data.
//!
//! A [`Benchmark`] holds the settings; [`Benchmark::run`] measures and returns an [`Outcome`] with a [`Report`], which can be shown as
//! [`text`], [`markdown`], [`html`], [`json`] and [`csv()`]. Nothing here reads the clock, the environment or the number of processors: the
//! caller passes them in a [`Session`].

mod codec;
mod codec_options;
mod command_line;
mod content;
mod error;
mod facts;
mod implicit_dirs;
mod input;
mod interruption;
mod outcome;
mod pack;
mod pack_commands;
mod plan;
mod process;
mod program;
pub mod report;
mod runner;
mod session;
mod settings;
mod storage;
mod synthetic;
mod tree_diff;
mod unpack;
mod work_dir;

pub use command_line::quoted_words;
pub use error::{Error, Setting};
pub use interruption::Interruption;
pub use outcome::Outcome;
pub use plan::at_levels;
pub use program::{Against, NamedProgram, PACKERS, ProgramKind, UNPACKERS};
pub use report::{Report, csv, html, json, markdown, read_csv, text};
pub use session::{Clock, Machine, Progress, Session};
pub use settings::{
    Benchmark, CodecSettings, Comparison, PackSettings, PackSource, Runs, StorageSettings, UnpackSettings,
};
pub use synthetic::{Filling, Synthetic};
