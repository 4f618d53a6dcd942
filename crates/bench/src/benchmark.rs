//! A benchmark: its settings, how to run it, and its outcome, a report and failures.

use crate::report::{Report, read_csv};
use crate::runs::runner::Runner;
use crate::settings::{CodecSettings, PackSettings, PackSource, SerialSettings, StorageSettings, UnpackSettings};
use crate::tasks::{codec, pack, serial, storage, unpack};
use crate::{Error, Session};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub enum Benchmark {
    /// Packs a tree with packline and its competitors, and compares their outputs.
    Pack(PackSettings),
    /// Unpacks an image with packline and its competitors, and compares their outputs.
    Unpack(UnpackSettings),
    /// Compresses and decompresses blocks in memory on one thread.
    Codec(CodecSettings),
    /// Accounts for the processor time of packline thread by thread.
    Serial(SerialSettings),
    /// Writes and reads a file in a directory.
    Storage(StorageSettings),
    /// Merges earlier reports, which are CSV files. Nothing is measured. The list is not empty.
    Merge(Vec<PathBuf>),
}

impl Benchmark {
    /// # Errors
    /// Returns an [`Error`] if nothing could be measured. Later failures are in the [`Outcome`].
    pub fn run(&self, session: &mut Session<'_>) -> Result<Outcome, Error> {
        match self {
            Benchmark::Pack(settings) => pack::run(settings, session),
            Benchmark::Unpack(settings) => unpack::run(settings, session),
            Benchmark::Codec(settings) => codec::run(settings, session),
            Benchmark::Serial(settings) => serial::run(settings, session),
            Benchmark::Storage(settings) => storage::run(settings, session).map(Outcome::from),
            Benchmark::Merge(paths) => merge(paths).map(Outcome::from),
        }
    }

    /// The input. No report may replace it.
    pub fn input(&self) -> Option<&Path> {
        match self {
            Benchmark::Pack(PackSettings { source: PackSource::Path(path), .. }) => Some(path),
            Benchmark::Unpack(UnpackSettings { image, .. }) => Some(image),
            Benchmark::Codec(CodecSettings { input, .. }) => Some(input),
            Benchmark::Storage(StorageSettings { directory, .. }) => Some(directory),
            _ => None,
        }
    }
}

fn merge(paths: &[PathBuf]) -> Result<Report, Error> {
    let mut reports = paths.iter().map(|path| Ok((path, read(path)?)));
    let (_, mut report) = reports.next().ok_or_else(|| Error::failed("no reports to merge"))??;
    for further in reports {
        let (path, further) = further?;
        report.merge(further).map_err(|cause| Error::at(path, cause))?;
    }
    Ok(report)
}

fn read(path: &Path) -> Result<Report, Error> {
    let text = std::fs::read_to_string(path).map_err(|cause| Error::at(path, cause))?;
    read_csv(&text).map_err(|cause| Error::at(path, cause))
}

#[derive(Debug)]
pub struct Outcome {
    pub report: Report,
    /// Wrong results and failed runs. The report has them too, each on one line.
    pub failures: Vec<String>,
    /// The error that ended the benchmark early.
    pub ended: Result<(), Error>,
}

/// The outcome of a benchmark without failures.
impl From<Report> for Outcome {
    fn from(report: Report) -> Outcome {
        Outcome { report, failures: Vec::new(), ended: Ok(()) }
    }
}

impl Outcome {
    /// Adds the results of a runner to a report. `planned` is the number of runs in the plan.
    pub(crate) fn of(mut report: Report, mut runner: Runner<'_>, ended: Result<(), Error>, planned: usize) -> Outcome {
        report.measured = runner.take_measured();
        report.notes.append(&mut runner.notes);
        let interrupted = runner.processes.interruption.is_requested();
        Outcome::partial(report, runner.failures, ended, interrupted, runner.done, planned)
    }

    /// Returns the outcome after `done` of the `planned` runs.
    pub(crate) fn partial(
        mut report: Report,
        failures: Vec<String>,
        ended: Result<(), Error>,
        interrupted: bool,
        done: usize,
        planned: usize,
    ) -> Outcome {
        report.failures.extend(failures.iter().map(|failure| on_one_line(failure)));
        report.incomplete = ended.as_ref().err().map(|error| match error {
            _ if interrupted => format!("interrupted after {done} of {planned} runs"),
            error => format!("{}, after {done} of {planned} runs", on_one_line(&error.to_string())),
        });
        Outcome { report, failures, ended }
    }

    /// Whether there are results for a report. After a failure without measurements, there are none.
    pub fn has_results(&self) -> bool {
        let complete = self.failures.is_empty() && self.ended.is_ok();
        complete || !self.report.measured.is_empty() || !self.report.codecs.is_empty() || !self.report.serial.is_empty()
    }
}

fn on_one_line(text: &str) -> String {
    text.replace('\n', " / ")
}
