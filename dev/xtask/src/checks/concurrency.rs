//! The engine's threads under checkers. The stress test runs under race checkers that find different faults: valgrind's helgrind also
//! checks the order of locks, ThreadSanitizer knows the language's memory order, and miri interprets. Models run under model checkers.

use crate::{environment, shell};
use clap::ValueEnum;
use packline_testkit::tools;
use std::path::PathBuf;
use std::process::Command;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Checker {
    Helgrind,
    Thread,
    Miri,
}

/// Items of each pipeline: each checker takes less than a minute.
const HELGRIND_ITEMS: &str = "400";
const THREAD_ITEMS: &str = "5000";
const MIRI_ITEMS: &str = "8";

/// Runs the given checkers, or all. Nothing is run unless all can be.
pub fn races(given: &[Checker]) -> Result<(), String> {
    let checkers = if given.is_empty() { Checker::value_variants() } else { given };
    if let Some((checker, hint)) = checkers.iter().find_map(|checker| Some((checker, checker.missing()?))) {
        return Err(format!("cannot run {checker:?}: {hint}; or give the checkers to run"));
    }
    for checker in checkers {
        checker.run().map_err(|cause| format!("{checker:?}: {cause}"))?;
        shell::print(&format!("{checker:?}: no race found"));
    }
    Ok(())
}

impl Checker {
    /// The packages that the checker needs.
    fn missing(self) -> Option<&'static str> {
        match self {
            Checker::Helgrind => no_valgrind(),
            Checker::Thread => no_sources(),
            Checker::Miri => no_miri(),
        }
    }

    /// Returns an error if the checker finds a race.
    fn run(self) -> Result<(), String> {
        match self {
            Checker::Helgrind => helgrind(),
            Checker::Thread => thread_sanitizer(),
            Checker::Miri => miri(),
        }
    }
}

fn no_valgrind() -> Option<&'static str> {
    tools::find("valgrind").is_none().then_some("valgrind is not installed (apt-get install valgrind)")
}

fn no_sources() -> Option<&'static str> {
    let sources = |sysroot: &str| PathBuf::from(sysroot.trim()).join("lib/rustlib/src/rust/library/std").is_dir();
    let found = nightly("rustc", &["--print", "sysroot"]).is_ok_and(|sysroot| sources(&sysroot));
    (!found).then_some(
        "the sources of a nightly toolchain are missing (rustup toolchain install nightly --component rust-src)",
    )
}

fn no_miri() -> Option<&'static str> {
    let found = nightly("cargo", &["miri", "--version"]).is_ok();
    (!found).then_some("miri is missing (rustup toolchain install nightly --component miri --component rust-src)")
}

/// The output of a program of the nightly toolchain.
fn nightly(program: &str, words: &[&str]) -> Result<String, String> {
    shell::output(Command::new(program).arg("+nightly").args(words))
}

/// A cargo command on the stress test, in a target directory of its own, because everything is compiled for each checker.
fn stress(words: &[&str], checker: &str, flags: &str) -> Command {
    let mut command = shell::cargo();
    command.args(words).args(["--package", "packline-engine", "--example", "stress"]);
    command.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", directory(checker));
    command
}

fn directory(checker: &str) -> PathBuf {
    environment::target_directory().join(checker)
}

/// The engine annotates its locks and atomics for helgrind; `crates/engine/tests/helgrind.supp` suppresses its mistakes about the
/// standard library, each with a reason.
fn helgrind() -> Result<(), String> {
    shell::run(&mut stress(&["build"], "helgrind", "--cfg helgrind"))?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=helgrind", "--fair-sched=yes", "--error-limit=no", "--error-exitcode=9"]);
    command.arg("--suppressions=crates/engine/tests/helgrind.supp");
    shell::run(command.arg(directory("helgrind").join("debug/examples/stress")).arg(HELGRIND_ITEMS))
}

/// The standard library is compiled with it, because its locks would not be seen otherwise.
fn thread_sanitizer() -> Result<(), String> {
    let about = nightly("rustc", &["-vV"])?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| format!("rustc -vV prints no host: {about}"))?;
    let words = ["+nightly", "run", "-Zbuild-std", "--target", host];
    shell::run(stress(&words, "thread", "-Zsanitizer=thread").args(["--", THREAD_ITEMS]))
}

/// Runs a few schedules; in each, atomic loads may return older values where the language allows it.
fn miri() -> Result<(), String> {
    let mut command = stress(&["+nightly", "miri", "run"], "miri", "");
    shell::run(command.env("MIRIFLAGS", "-Zmiri-many-seeds=0..2").args(["--", MIRI_ITEMS]))
}

/// Runs the engine under model checkers: loom tries every order of the steps of its primitives, shuttle runs the whole engine under
/// random schedules.
pub fn models() -> Result<(), String> {
    loom()?;
    under("shuttle", "schedules")
}

/// Each run takes half a minute once the models are built.
pub fn loom() -> Result<(), String> {
    under("loom", "models")
}

/// Runs the engine's tests of one module with the locks, atomics and threads of a checker, in a target directory of its own,
/// because everything is compiled for it.
fn under(checker: &str, module: &str) -> Result<(), String> {
    let mut command = shell::cargo();
    command.args(["test", "--release", "--package", "packline-engine", "--lib", module]);
    command.env("RUSTFLAGS", format!("--cfg {checker}"));
    // Linking with optimisation takes longer than it saves.
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    command.env_remove(environment::WORKSPACE_COMPILER);
    shell::run(command.env("CARGO_TARGET_DIR", environment::target_directory().join(checker)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_come_with_the_command_that_installs_them() {
        let hints: Vec<&str> = Checker::value_variants().iter().filter_map(|checker| checker.missing()).collect();
        assert!(hints.iter().all(|hint| hint.contains("install")), "{hints:?}");
    }
}
