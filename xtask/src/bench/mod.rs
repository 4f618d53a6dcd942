//! Ours against the peers on one input: runs interleaved, medians compared, answers checked.

mod compare;
mod counts;
mod dated;
mod instructions;
mod longrange;
mod machine;
mod mount;
mod recorded;
mod schedule;
mod slack;
mod stream;

use crate::arguments::Arguments;
use crate::{environment, shell};
use std::path::{Path, PathBuf};

/// `bench pack`, `bench unpack`, `bench codec`, `bench longrange`, `bench mount`, `bench schedule`, `bench slack`, `bench stream`, `bench instructions`, `bench compare`.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    let operands: Vec<&str> = arguments.operands.iter().map(String::as_str).collect();
    match operands[..] {
        [what @ ("pack" | "unpack" | "codec")] => recorded::run(what, arguments),
        ["longrange", file] => longrange::run(Path::new(file), arguments),
        ["mount"] => mount::run(arguments),
        ["schedule"] => schedule::run(arguments),
        ["slack"] => slack::run(arguments),
        ["stream"] => stream::run(arguments),
        ["instructions"] => instructions::run(arguments),
        ["compare", ..] => compare::run(arguments),
        _ => Err(format!(
            "{operands:?} is no benchmark (expected pack, unpack, codec, longrange FILE, mount, schedule, slack, stream, instructions or compare)"
        )),
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

/// Reads a file once, so that it is in the page cache for all alike.
fn warm(path: &Path) -> Result<(), String> {
    let mut file = std::fs::File::open(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    std::io::copy(&mut file, &mut std::io::sink()).map(drop).map_err(|cause| format!("{}: {cause}", path.display()))
}
