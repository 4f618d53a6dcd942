//! A benchmark: its settings, and how to run it.

use std::path::{Path, PathBuf};

use crate::report::{Report, read_csv};
use crate::settings::{CodecSettings, PackSettings, PackSource, StorageSettings, UnpackSettings};
use crate::tasks::{codec, pack, storage, unpack};
use crate::{Error, Outcome, Session};

#[derive(Debug, Clone)]
pub enum Benchmark {
    /// Packs a tree with packline and its competitors, and compares their outputs.
    Pack(PackSettings),
    /// Unpacks an image with packline and its competitors, and compares their outputs.
    Unpack(UnpackSettings),
    /// Compresses and decompresses blocks in memory on one thread.
    Codec(CodecSettings),
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
