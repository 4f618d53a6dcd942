//! Benchmarks of packline and of other programs on one input: interleaved runs, medians, verified results.

mod compare;
mod counts;
mod curve;
mod erofs;
mod instructions;
mod mount;
mod page;
mod rebuild;
pub mod recorded;
mod stream;
mod update_traffic;

use crate::{environment, python, shell};
use clap::Subcommand;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// Run packline bench pack and keep its reports as DATE-NAME.{csv,md,html}
    Pack(recorded::Options),
    /// Run packline bench unpack and keep its reports as DATE-NAME.{csv,md,html}
    Unpack(recorded::Options),
    /// Run packline bench codec and keep its reports as DATE-NAME.{csv,md,html}
    Codec(recorded::Options),
    /// Run packline bench serial and keep its reports as DATE-NAME.{csv,md,html}
    Serial(recorded::Options),
    /// Compare size and processor time of our levels and the libraries' on blocks in memory; DATE-curve.{csv,md}
    Curve(curve::Options),
    /// Read a large file through a mount, with packline and squashfuse
    Mount(mount::Options),
    /// Compare images of packline and of mkfs.erofs in the kernel, and both fsck.erofs; DATE-erofs.{csv,md}
    Erofs(erofs::Options),
    /// Pack a tree again after small changes: with a block cache, with the earlier image as base, with both, and without
    Rebuild(rebuild::Options),
    /// Compress and decompress a file with packline and other programs
    Stream(stream::Options),
    /// Compare how many bytes updates from one image to another transfer, by casync, desync, RAUC, zsync, xdelta3 and packline delta
    UpdateTraffic(update_traffic::Options),
    /// Measure everything that docs/benchmarks.md and docs/charts.html report, and write them
    Page(page::Options),
    /// Compare the Python package with other ways to read many small files; DATE-python.md
    Python(python::BenchOptions),
    /// Count the instructions of a small workload with valgrind
    Instructions(instructions::Options),
    /// Compare two results, or the last two results of each name, and report what became slower
    Compare(compare::Options),
}

impl Benchmark {
    pub fn run(&self) -> Result<(), String> {
        match self {
            Benchmark::Pack(options) => recorded::run("pack", options),
            Benchmark::Unpack(options) => recorded::run("unpack", options),
            Benchmark::Codec(options) => recorded::run("codec", options),
            Benchmark::Serial(options) => recorded::run("serial", options),
            Benchmark::Curve(options) => optimized(|| curve::run(options)),
            Benchmark::Mount(options) => mount::run(options),
            Benchmark::Erofs(options) => erofs::run(options),
            Benchmark::Rebuild(options) => rebuild::run(options),
            Benchmark::Stream(options) => stream::run(options),
            Benchmark::UpdateTraffic(options) => update_traffic::run(options),
            Benchmark::Page(options) => page::run(options),
            Benchmark::Python(options) => python::bench(options),
            Benchmark::Instructions(options) => instructions::run(options),
            Benchmark::Compare(options) => compare::run(options),
        }
    }
}

/// Measures in this process if it is a release build, otherwise runs the same command as one.
fn optimized(measure: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    if cfg!(debug_assertions) {
        let words = environment::arguments();
        return shell::run_here(shell::cargo().args(["run", "--release", "--package", "xtask", "--"]).args(words));
    }
    measure()
}

/// Directory of temporary files: the given one, or one in cargo's target directory.
fn work_directory(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(directory) = given {
        return Ok(directory.to_path_buf());
    }
    let directory = environment::target_directory().join("bench-images");
    std::fs::create_dir_all(&directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    Ok(directory)
}

/// Reads a file once, so that it is in the page cache for all programs.
fn warm(path: &Path) -> Result<(), String> {
    let mut file = std::fs::File::open(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    std::io::copy(&mut file, &mut std::io::sink()).map(drop).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// The median, of an even count the larger of the two in the middle; NaN without numbers.
fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
