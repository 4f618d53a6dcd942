//! The programs that tests need beside our own: found, missed, run.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The path of a program, or `None` if it is not installed.
pub fn find(name: &str) -> Option<PathBuf> {
    crate::environment::program_directories()
        .into_iter()
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}

/// Whether all of these programs are installed. If one is not: in CI (`CI=true`) a failure, elsewhere a printed line,
/// and the caller returns without having tested anything.
pub fn need(names: &[&str]) -> bool {
    names.iter().all(|name| find(name).is_some() || skip(&format!("{name} is not installed")))
}

/// Whether the test runs as root. If not: as [`need`].
pub fn root() -> bool {
    rustix::process::geteuid().is_root() || skip("this needs root")
}

/// Says that a test is skipped, and returns false; in CI nothing may be skipped, so there it fails.
#[allow(clippy::panic, clippy::print_stdout, reason = "a test's outcome is its caller's to see")]
pub fn skip(reason: &str) -> bool {
    assert!(!crate::environment::in_ci(), "in CI nothing is skipped, but {reason}");
    println!("skipped: {reason}");
    false
}

/// Runs a program to its end. An error, with what the program said, if it cannot be started or does not exit with 0.
pub fn run(command: &mut Command) -> Result<Output, String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|cause| format!("{shown}: {cause}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    let said = String::from_utf8_lossy(&said[..said.len().min(4000)]).into_owned();
    Err(format!("{shown}: {}\n{said}", output.status))
}
