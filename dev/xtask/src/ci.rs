//! Everything that CI checks, the quickest checks first.

use std::process::Command;

use crate::checks::{concurrency, publish};
use crate::{clients, clock, environment, golden, guide, python, shell, tidy};

/// Runs all checks and stops at the first failure. All use one profile, so that nothing is compiled twice. Prints the seconds of each check after
/// it, and of all of them at the end.
pub fn run() -> Result<(), String> {
    let mut times = Times::default();
    let result = checks(&mut times);
    shell::print_error(&times.line());
    result
}

fn checks(times: &mut Times) -> Result<(), String> {
    let tests = ["test", "--workspace", "--all-targets", "--no-run", "--quiet"];
    let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    times.of("format", || shell::run(shell::cargo().args(["fmt", "--all", "--check"])))?;
    times.of("tidy", tidy::run)?;
    times.of("policy", policy)?;
    times.of("packages", publish::package)?;
    times.of("guide", guide::run)?;
    // With .ci/run, clippy's compiler compiles the tests.
    if !environment::lints_are_compiled() {
        times.of("clippy", || shell::run(shell::cargo().args(lints)))?;
    }
    times.of("building the tests", || shell::run(shell::cargo().args(tests)))?;
    times.of("features", || features(&FEATURES))?;
    times.of("tests", || {
        shell::run(
            shell::cargo().args(["test", "--workspace"]).envs([("RUST_TEST_THREADS", test_threads().as_str()), SHORT]),
        )
    })?;
    times.of("python", python::check)?;
    times.of("golden", || golden::run(&golden::Options::default()))?;
    times.of("clients", || clients::run(&clients::Options::short()))?;
    times.of("models", concurrency::loom)
}

/// The checks so far, with their seconds.
#[derive(Default)]
struct Times(Vec<(&'static str, f64)>);

impl Times {
    fn of(&mut self, name: &'static str, check: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let start = clock::monotonic_seconds();
        let result = check();
        let seconds = clock::monotonic_seconds() - start;
        self.0.push((name, seconds));
        shell::print_error(&format!("{name}: {seconds:.0} s"));
        result
    }

    fn line(&self) -> String {
        let parts: Vec<String> = self.0.iter().map(|(name, seconds)| format!("{name} {seconds:.0} s")).collect();
        parts.join(", ")
    }
}

/// Checks the lists of deny.toml with cargo-deny if it is installed; `tidy` has checked licences and duplicate versions without it. Advisories
/// need a database from the network: the workflow of a release checks them.
fn policy() -> Result<(), String> {
    if shell::output(shell::cargo().args(["deny", "--version"])).is_err() {
        shell::print_error("policy: cargo-deny is not installed");
        return Ok(());
    }
    shell::run(shell::cargo().args(["deny", "--offline", "--workspace", "check", "bans", "licenses", "sources"]))
}

/// Checks that the program compiles with exactly the oldest Rust that the manifests promise. CI leaves it out: it compiles everything again.
pub fn oldest_rust() -> Result<(), String> {
    let path = shell::root().join("Cargo.toml");
    let manifest = std::fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap_or_default();
    let toolchain = format!("{}.0", version.trim_matches('"'));
    let rust = |program: &str| {
        let mut command = Command::new("rustup");
        command.args(["run", &toolchain, program]);
        command
    };
    if shell::output(rust("rustc").arg("--version")).is_err() {
        return Err(format!("Rust {toolchain} is not installed; rustup toolchain install {toolchain}"));
    }
    let target = environment::target_directory().join("oldest-rust");
    let check = ["check", "--quiet", "--locked", "--package", "packline-cli"];
    shell::run(rust("cargo").args(check).env("CARGO_TARGET_DIR", target))
}

/// The slowest suites of tests run a part of their cases. Without it, `cargo test --workspace` runs all of them.
const SHORT: (&str, &str) = ("PACKLINE_TESTS", "short");

/// The number of tests that run at a time: tests wait for programs, mounts and timers for a quarter of their time.
fn test_threads() -> String {
    (environment::processors() * 3).div_ceil(2).to_string()
}

/// Features that compile without the others. All of them together are what the other checks use.
const FEATURES: [(&str, &[&str]); 2] = [("packline-cli", &[""]), ("packline", &[""])];
/// Features that CI leaves out: each compiles other libraries again, which takes up to half a minute.
const MORE_FEATURES: [(&str, &[&str]); 2] = [
    ("packline-cli", &["encryption", "mount", "https"]),
    ("packline", &["lrz", "pln", "delta", "recovery", "encryption", "verity", "mount", "selinux", "oci"]),
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
