//! Everything that CI checks, the quickest checks first.

use crate::checks::{concurrency, fuzz};
use crate::{clients, clock, environment, golden, guide, shell, tidy};

/// Runs all checks and stops at the first failure. All use one profile, so that nothing is compiled twice. Prints the seconds of each.
pub fn run(fuzz_seconds: u32) -> Result<(), String> {
    let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    timed("format", || shell::run(shell::cargo().args(["fmt", "--all", "--check"])))?;
    timed("tidy", tidy::run)?;
    timed("guide", guide::run)?;
    timed("clippy", || shell::run(shell::cargo().args(lints)))?;
    timed("features", || features(&FEATURES))?;
    // Before the tests, because the targets are a workspace of their own, which nothing else compiles.
    timed("fuzzing", || fuzz::each_target(fuzz_seconds))?;
    timed("building the tests", || shell::run(shell::cargo().args(["test", "--workspace", "--no-run", "--quiet"])))?;
    timed("tests", || {
        shell::run(shell::cargo().args(["test", "--workspace"]).env("RUST_TEST_THREADS", test_threads()))
    })?;
    timed("golden", || golden::run(&golden::Options::default()))?;
    timed("clients", || clients::run(&clients::Options::short()))?;
    timed("models", concurrency::loom)
}

/// The number of tests that run at a time: tests wait for programs, mounts and timers for a quarter of their time.
fn test_threads() -> String {
    (environment::processors() * 3).div_ceil(2).to_string()
}

/// Features that compile without the others. All of them together are what the other checks use.
const FEATURES: [(&str, &[&str]); 2] =
    [("packline-cli", &[""]), ("packline", &["", "lrz", "pln", "delta", "recovery"])];
/// Features that CI leaves out: each compiles other libraries again, which takes up to half a minute.
const MORE_FEATURES: [(&str, &[&str]); 2] = [
    ("packline-cli", &["encryption", "mount", "https"]),
    ("packline", &["encryption", "verity", "mount", "selinux", "oci"]),
];

/// Checks that each feature compiles without the others.
pub fn each_feature() -> Result<(), String> {
    features(&FEATURES)?;
    features(&MORE_FEATURES)
}

fn features(list: &[(&str, &[&str])]) -> Result<(), String> {
    for (package, sets) in list {
        for set in *sets {
            let check = ["clippy", "--quiet", "--package", package, "--no-default-features", "--features", set];
            shell::run(shell::cargo().args(check).args(["--", "-D", "warnings", "-A", "clippy::all"]))?;
        }
    }
    Ok(())
}

fn timed(name: &str, check: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let start = clock::monotonic_seconds();
    check()?;
    shell::print_error(&format!("{name}: {:.0} s", clock::monotonic_seconds() - start));
    Ok(())
}
