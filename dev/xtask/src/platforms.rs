//! `cargo xtask platforms`: the golden outputs on other processors. A static build for each processor runs under qemu's user emulation, and
//! its outputs must have the recorded hashes, which a build for x86-64 recorded.

use std::path::{Path, PathBuf};

use clap::Args;
use packline_testkit::tools;

use crate::platform::{PLATFORMS, Platform};
use crate::{clock, environment, golden, shell};

#[derive(Debug, Args)]
pub struct Options {
    /// Only these targets or machines [default: aarch64, s390x, riscv64, armv7l and i686]
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Only command lines that contain this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Run the unit tests of the crates that decide about bytes, too
    #[arg(long)]
    tests: bool,
}

/// Crates whose unit tests depend on the processor.
const CRATES: [&str; 4] = ["packline-engine", "packline-codec", "packline-squashfs", "packline-pln"];

/// Tries each platform and prints a line for each. An error names what differs, or what is missing on this machine.
pub fn run(options: &Options) -> Result<(), String> {
    let mut failures = Vec::new();
    for platform in chosen(&options.targets)? {
        let start = clock::monotonic_seconds();
        let result = try_one(&platform, options);
        let seconds = clock::monotonic_seconds() - start;
        let outcome = if result.is_ok() { "equal" } else { "failed" };
        shell::print(&format!("{}: {outcome}, {seconds:.0} s", platform.triple));
        failures.extend(result.err().map(|cause| format!("{}: {cause}", platform.triple)));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn chosen(names: &[String]) -> Result<Vec<Platform>, String> {
    if names.is_empty() {
        return Ok(PLATFORMS[1..].to_vec());
    }
    let unknown = |name: &String| format!("--target {name}: not a known target or machine");
    names.iter().map(|name| Platform::named(name).ok_or_else(|| unknown(name))).collect()
}

fn try_one(platform: &Platform, options: &Options) -> Result<(), String> {
    let mut missing = platform.missing()?;
    if !platform.is_here() && tools::find(platform.emulator).is_none() {
        missing.push(format!("{}: apt-get install qemu-user-static", platform.emulator));
    }
    if !missing.is_empty() {
        return Err(format!("missing: {}", missing.join("; ")));
    }
    let binary = build(platform)?;
    let program = if platform.is_here() { binary } else { emulated(platform, &binary)? };
    golden::run(&golden::Options::of(program, &options.only))?;
    if options.tests { unit_tests(platform) } else { Ok(()) }
}

fn target() -> PathBuf {
    environment::target_directory().join("platforms")
}

/// Builds a static binary, so that the emulator needs no libraries of the processor.
fn build(platform: &Platform) -> Result<PathBuf, String> {
    let mut command = shell::cargo();
    command.args(["build", "--release", "--locked", "--package", "packline-cli", "--target", platform.triple]);
    platform.configure(&mut command);
    shell::run(command.env("RUSTFLAGS", "-Ctarget-feature=+crt-static").env("CARGO_TARGET_DIR", target()))?;
    Ok(target().join(platform.triple).join("release/packline"))
}

/// Writes a program that runs a binary under the emulator.
fn emulated(platform: &Platform, binary: &Path) -> Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt as _;
    let script = binary.with_file_name("packline-emulated");
    shell::write(&script, &format!("#!/bin/sh\nexec {} '{}' \"$@\"\n", platform.emulator, binary.display()))?;
    let executable = std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755));
    executable.map_err(|cause| format!("{}: {cause}", script.display()))?;
    Ok(script)
}

fn unit_tests(platform: &Platform) -> Result<(), String> {
    let mut command = shell::cargo();
    command.args(["test", "--locked", "--lib", "--target", platform.triple]);
    command.args(CRATES.iter().flat_map(|name| ["--package", name]));
    platform.configure(&mut command);
    let runner = format!("CARGO_TARGET_{}_RUNNER", platform.triple.replace('-', "_").to_uppercase());
    if !platform.is_here() {
        command.env(runner, platform.emulator);
    }
    command.env("RUSTFLAGS", "-Ctarget-feature=+crt-static");
    shell::run(command.env("CARGO_TARGET_DIR", target()))
}
