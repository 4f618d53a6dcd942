//! The settings of each benchmark.

use std::path::PathBuf;

use packline_codec::Spec;

use crate::report::{Tails, Task};
use crate::{Against, Synthetic};

#[derive(Debug, Clone)]
pub struct Runs {
    pub command: String,
    /// Runs that count, at least 1.
    pub runs: usize,
    pub warmups: usize,
    /// Memory limit, bytes: of each program, or of this process where that measures.
    pub memory: Option<u64>,
    /// Remarks on the settings, for the report.
    pub notes: Vec<String>,
}

/// Settings of benchmarks that start programs.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub runs: Runs,
    /// Numbers of workers to measure, rising.
    pub jobs: Vec<usize>,
    pub against: Against,
    pub work_dir: PathBuf,
    /// Whether the first wrong result ends the benchmark and leaves the temporary files.
    pub keep: bool,
    /// Whether the storage of `work_dir` is measured too.
    pub storage: bool,
    /// Bytes to measure it with; without them 1 GiB, or a tenth of what is free.
    pub storage_bytes: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct PackSettings {
    pub comparison: Comparison,
    pub source: PackSource,
    pub codecs: Vec<Spec>,
    /// Block sizes, bytes: powers of two from 4 KiB to 1 MiB.
    pub block_sizes: Vec<u64>,
    /// What happens to tail ends.
    pub tails: Vec<Tails>,
}

#[derive(Debug, Clone)]
pub enum PackSource {
    /// A directory or a tar.
    Path(PathBuf),
    Synthetic(Synthetic),
}

#[derive(Debug, Clone)]
pub struct UnpackSettings {
    pub comparison: Comparison,
    /// A SquashFS image.
    pub image: PathBuf,
    /// [`Task::Unpack`], [`Task::Tar`] or both.
    pub tasks: Vec<Task>,
}

#[derive(Debug, Clone)]
pub struct CodecSettings {
    pub runs: Runs,
    /// A directory, a tar or any other file.
    pub input: PathBuf,
    pub codecs: Vec<Spec>,
    /// Block sizes, bytes.
    pub block_sizes: Vec<u64>,
    /// Bytes of content that are measured; without it 256 MiB, or less with little memory.
    pub limit: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct StorageSettings {
    /// Runs; only the command is used.
    pub runs: Runs,
    pub directory: PathBuf,
    /// Bytes written and read; without it 1 GiB, or a tenth of what is free.
    pub bytes: Option<u64>,
}
