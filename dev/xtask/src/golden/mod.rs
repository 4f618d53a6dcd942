//! Recorded output bytes: each line of `dev/xtask/golden.txt` is a command line with the hash and the size of its output.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

mod case;
mod inputs;
mod manifest;

use crate::{environment, shell};
use clap::Args;
use manifest::{Entries, Manifest, Outputs};
use packline_testkit::tools;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[derive(Debug, Default, Args)]
pub struct Options {
    /// Replace the recorded hashes with those found
    #[arg(long)]
    record: bool,
    #[command(flatten)]
    lines: Selection,
    /// The packline to run [default: a debug build]
    #[arg(long, value_name = "PROGRAM")]
    binary: Option<PathBuf>,
}

impl Options {
    /// Compares the outputs of a program.
    pub fn of(binary: PathBuf, lines: &Selection) -> Options {
        Options { record: false, lines: lines.clone(), binary: Some(binary) }
    }
}

/// The command lines that run.
#[derive(Debug, Clone, Default, Args)]
pub struct Selection {
    /// Only command lines that contain this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// Only the first command line for each set of commands, codecs and kind of output
    #[arg(long)]
    pub short: bool,
}

impl Selection {
    fn apply(&self, entries: &mut Entries) {
        let mut kinds = BTreeSet::new();
        entries.retain(|line, _| line.contains(&self.only) && (!self.short || kinds.insert(case::kind(line))));
    }
}

/// Compares or records. The error lists every case whose output differs.
pub fn run(options: &Options) -> Result<(), String> {
    let binary = options.binary.clone().map_or_else(shell::debug_binary, Ok)?;
    let binary = binary.canonicalize().map_err(|cause| format!("{}: {cause}", binary.display()))?;
    let mut manifest = Manifest::read()?;
    let mut recorded = manifest.entries.clone();
    options.lines.apply(&mut recorded);
    // Devices, owners and trusted attributes need root.
    if !tools::root() {
        return Ok(());
    }
    let found = outputs(&binary, recorded.keys())?;
    if !options.record {
        return compare(&recorded, &found);
    }
    let found = found.into_iter().map(|(line, output)| Ok((line, output?)));
    manifest.entries.extend(found.collect::<Result<Entries, String>>()?);
    manifest.write()
}

fn compare(recorded: &Entries, found: &Outputs) -> Result<(), String> {
    let cases = recorded.len();
    let differences = manifest::differences(recorded, found);
    if differences.is_empty() {
        shell::print(&format!("{cases} outputs equal those on record"));
        return Ok(());
    }
    Err(format!("{} of {cases} outputs differ from those on record\n{}", differences.len(), differences.join("\n")))
}

/// Runs all cases, one on each processor at a time. Each has its own directory, with the inputs in `in`.
fn outputs<'a>(binary: &Path, lines: impl Iterator<Item = &'a String> + Send) -> Result<Outputs, String> {
    let target = environment::target_directory();
    let directory = tempfile::tempdir_in(&target).map_err(|cause| format!("{}: {cause}", target.display()))?;
    let inputs = directory.path().join("in");
    inputs::make(&inputs)?;
    let queue = Mutex::new(lines.enumerate());
    let found = Mutex::new(Outputs::new());
    let next = || queue.lock().ok()?.next();
    let work = || {
        while let Some((index, line)) = next() {
            let output = case::output(binary, line, &directory.path().join(index.to_string()));
            found.lock().map_err(|_| "a case panicked")?.insert(line.clone(), output);
        }
        Ok::<_, String>(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..environment::processors()).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a case panicked")?)
    })?;
    found.into_inner().map_err(|_| "a case panicked".into())
}
