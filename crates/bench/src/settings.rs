//! The settings of each benchmark.

use std::path::PathBuf;

use packline_codec::Spec;

use crate::report::{Container, Step, Tails, Task};
use crate::{Against, Synthetic};

#[derive(Debug, Clone)]
pub struct Runs {
    pub command: String,
    /// The number of counted runs, at least 1.
    pub runs: usize,
    pub warmups: usize,
    /// The memory limit in bytes: of each program, or of this process if it measures itself.
    pub memory: Option<u64>,
    /// Remarks on the settings, for the report.
    pub notes: Vec<String>,
}

/// Settings of benchmarks that start programs.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub runs: Runs,
    /// The numbers of workers to measure, rising.
    pub jobs: Vec<usize>,
    pub against: Against,
    pub work_dir: PathBuf,
    /// Whether the first wrong result ends the benchmark and leaves the temporary files.
    pub keep: bool,
    /// Whether the storage of `work_dir` is measured too.
    pub storage: bool,
    /// The bytes for measuring the storage; if `None`, 1 GiB, or a tenth of the free space if that is less.
    pub storage_bytes: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct PackSettings {
    pub comparison: Comparison,
    pub source: PackSource,
    pub codecs: Vec<Spec>,
    /// Block sizes in bytes: powers of two from 4 KiB to 1 MiB.
    pub block_sizes: Vec<u64>,
    /// The treatments of tail ends.
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
    /// Block sizes in bytes.
    pub block_sizes: Vec<u64>,
    /// Bytes of content to measure; if `None`, 256 MiB, or less with little memory.
    pub limit: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct SerialSettings {
    pub runs: Runs,
    /// Tars and directories.
    pub inputs: Vec<PathBuf>,
    pub codecs: Vec<Spec>,
    pub containers: Vec<Container>,
    pub steps: Vec<Step>,
    /// Block sizes in bytes, of images.
    pub block_sizes: Vec<u64>,
    /// The numbers of workers to measure, rising.
    pub jobs: Vec<usize>,
    pub work_dir: PathBuf,
    /// The directory for the traces of the last run of each case.
    pub traces: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct StorageSettings {
    /// The runs. Only the command is used.
    pub runs: Runs,
    pub directory: PathBuf,
    /// The bytes to write and read; if `None`, 1 GiB, or a tenth of the free space if that is less.
    pub bytes: Option<u64>,
}
