//! `cargo xtask platforms`: the golden outputs on other processors. A build for each processor, static where it can be, runs under qemu's user
//! emulation, and its outputs must have the recorded hashes. A build for x86-64 recorded them on a processor with AVX2.
//!
//! The builds have the development profile: it checks sums for overflow, which depends on the width of words, and it compiles quickly.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use packline_testkit::tools;

use crate::platform::{PLATFORMS, Platform};
use crate::{clock, environment, golden, shell};

#[derive(Debug, Args)]
pub struct Options {
    /// Only these targets or machines [default: all; with --short aarch64 and s390x]
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    #[command(flatten)]
    lines: golden::Selection,
    /// Run the unit tests of the crates that decide about bytes, too
    #[arg(long)]
    tests: bool,
}

/// Crates whose unit tests depend on the processor.
const CRATES: [&str; 9] = [
    "packline-engine",
    "packline-codec",
    "packline-longrange",
    "packline-squashfs",
    "packline-erofs",
    "packline-pln",
    "packline-delta",
    "packline-encryption",
    "packline-recovery",
];
/// Processors of the short form: the other one that is released, and one with the other order of bytes.
const SHORT: [&str; 2] = ["aarch64", "s390x"];
/// Random cases of each property. The tests on this machine's processor try more; emulation takes ten times as long.
const RANDOM_CASES: &str = "16";

/// Tries each platform and prints a line for each. An error names what differs, or what is missing on this machine.
pub fn run(options: &Options) -> Result<(), String> {
    if !tools::root() {
        return Err("the outputs have owners and devices; run this command as root".into());
    }
    let mut failures = Vec::new();
    for platform in chosen(options)? {
        let start = clock::monotonic_seconds();
        let result = try_one(&platform, options);
        let seconds = clock::monotonic_seconds() - start;
        let outcome = if result.is_ok() { "equal" } else { "failed" };
        shell::print(&format!("{}: {outcome}, {seconds:.0} s", platform.triple));
        failures.extend(result.err().map(|cause| format!("{}: {cause}", platform.triple)));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn chosen(options: &Options) -> Result<Vec<Platform>, String> {
    let names: Vec<&str> = match &*options.targets {
        [] if options.lines.short => SHORT.to_vec(),
        [] => return Ok(PLATFORMS.to_vec()),
        names => names.iter().map(String::as_str).collect(),
    };
    let unknown = |name: &str| format!("--target {name}: not a known target or machine");
    names.into_iter().map(|name| Platform::named(name).ok_or_else(|| unknown(name))).collect()
}

fn try_one(platform: &Platform, options: &Options) -> Result<(), String> {
    let mut missing = platform.missing()?;
    if tools::find(platform.emulator).is_none() {
        missing.push(format!("{}: apt-get install qemu-user-static", platform.emulator));
    }
    if !missing.is_empty() {
        return Err(format!("missing: {}", missing.join("; ")));
    }
    let binary = build(platform)?;
    let runner = if runs_here(platform, &binary) { String::new() } else { emulator(platform) };
    let script = with_runner(&runner, &binary)?;
    shell::output(Command::new(&script).arg("--version"))?;
    golden::run(&golden::Options::of(script, &options.lines))?;
    if options.tests { unit_tests(platform, &runner) } else { Ok(()) }
}

/// Whether this machine runs a program of another platform without emulation: processors with 64 bits can have a mode with 32 bits. Programs
/// of its own platform are emulated, so that QEMU_CPU can choose a processor without AVX2.
fn runs_here(platform: &Platform, binary: &Path) -> bool {
    !platform.is_here() && shell::output(Command::new(binary).arg("--version")).is_ok()
}

/// The command before a program of the platform.
fn emulator(platform: &Platform) -> String {
    let name = platform.emulator;
    platform.libraries.map_or(name.to_owned(), |directory| format!("{name} -L {directory}"))
}

/// Builds a binary. Most are static, so that the emulator needs no libraries of the processor.
fn build(platform: &Platform) -> Result<PathBuf, String> {
    let mut command = shell::cargo();
    command.args(["build", "--locked", "--package", "packline-cli", "--target", platform.triple]);
    shell::run(configured(&mut command, platform))?;
    Ok(target().join(platform.triple).join("debug/packline"))
}

fn target() -> PathBuf {
    environment::target_directory().join("platforms")
}

/// Lets cargo build programs of a platform.
fn configured<'a>(command: &'a mut Command, platform: &Platform) -> &'a mut Command {
    platform.configure(command);
    let flags = if platform.libraries.is_none() { "-Ctarget-feature=+crt-static" } else { "" };
    command.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", target());
    command.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_INCREMENTAL", "0")
}

/// Writes a program that runs a binary. `runner` is empty, or the command of an emulator.
fn with_runner(runner: &str, binary: &Path) -> Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt as _;
    let script = binary.with_file_name("packline-emulated");
    shell::write(&script, &format!("#!/bin/sh\nexec {runner} '{}' \"$@\"\n", binary.display()))?;
    let executable = std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755));
    executable.map_err(|cause| format!("{}: {cause}", script.display()))?;
    Ok(script)
}

fn unit_tests(platform: &Platform, runner: &str) -> Result<(), String> {
    let mut command = shell::cargo();
    command.args(["test", "--locked", "--lib", "--no-fail-fast", "--target", platform.triple]);
    command.args(CRATES.iter().flat_map(|name| ["--package", name]));
    if !runner.is_empty() {
        let name = platform.triple.replace('-', "_").to_uppercase();
        command.env(format!("CARGO_TARGET_{name}_RUNNER"), runner);
    }
    shell::run(configured(command.env("PROPTEST_CASES", RANDOM_CASES), platform))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(targets: &[&str], short: bool) -> Result<Vec<&'static str>, String> {
        let lines = golden::Selection { short, ..golden::Selection::default() };
        let targets = targets.iter().map(|name| (*name).to_owned()).collect();
        let found = chosen(&Options { targets, lines, tests: false })?;
        Ok(found.iter().map(|platform| platform.machine).collect())
    }

    #[test]
    fn all_platforms_are_tried_unless_fewer_are_wanted() {
        assert_eq!(machines(&[], false).unwrap().len(), PLATFORMS.len());
        assert_eq!(machines(&[], true).unwrap(), ["aarch64", "s390x"]);
        assert_eq!(machines(&["i686-unknown-linux-gnu", "riscv64"], true).unwrap(), ["i686", "riscv64"]);
        assert_eq!(machines(&["vax"], false).unwrap_err(), "--target vax: not a known target or machine");
    }
}
