//! Ours against the peers on one input: runs interleaved, medians compared, answers checked.

mod compare;
mod counts;
mod dated;
mod instructions;
mod jobs;
mod mount;
mod pack;
mod report;
mod unpack;

use crate::arguments::Arguments;
use crate::{clock, environment, shell};
use packline_testkit::peer::Cost;
use std::path::{Path, PathBuf};

/// One program's result at one task.
struct Row {
    /// The codec, and the task where there are several.
    task: String,
    program: String,
    costs: Vec<Cost>,
    /// Bytes of the image.
    size: u64,
}

/// `bench pack`, `bench unpack`, `bench mount`, `bench instructions`, `bench compare`.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    let operands: Vec<&str> = arguments.operands.iter().map(String::as_str).collect();
    match operands[..] {
        ["pack"] => pack::run(arguments),
        ["unpack"] => unpack::run(arguments),
        ["mount"] => mount::run(arguments),
        ["instructions"] => instructions::run(arguments),
        ["compare", ..] => compare::run(arguments),
        _ => Err(format!("{operands:?} is no benchmark (expected pack, unpack, mount, instructions or compare)")),
    }
}

/// Where images and trees go while they are compared.
fn scratch() -> Result<PathBuf, String> {
    let place = environment::target_directory().join("bench-images");
    std::fs::create_dir_all(&place).map_err(|cause| format!("{}: {cause}", place.display()))?;
    Ok(place)
}

/// Our binary: the one that was named, or a fresh one as users have it.
fn binary(arguments: &Arguments) -> Result<PathBuf, String> {
    arguments.path("binary").map_or_else(shell::release_binary, Ok)
}

/// Writes the results, dated, as CSV and as a page.
fn keep(arguments: &Arguments, name: &str, rows: &[Row], page: &str) -> Result<(), String> {
    let place = arguments.path("out").unwrap_or_else(|| shell::root().join("bench/results"));
    let name = format!("{}-{name}", clock::today());
    shell::write(&place.join(format!("{name}.csv")), &report::csv(rows))?;
    shell::write(&place.join(format!("{name}.md")), page)
}

/// Reads a file once, so that it is in the page cache for all alike.
fn warm(path: &Path) -> Result<(), String> {
    let mut file = std::fs::File::open(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    std::io::copy(&mut file, &mut std::io::sink()).map(drop).map_err(|cause| format!("{}: {cause}", path.display()))
}
