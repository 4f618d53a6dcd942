//! Builds and runs the fuzz targets with libFuzzer. Stable Rust is enough: its compiler has the coverage pass, and the targets
//! are safe Rust, which needs no memory sanitizer.
#![allow(clippy::disallowed_methods, reason = "a panic where no thread starts is acceptable here")]

use crate::{environment, shell};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags that cargo-fuzz passes: edge counters, traced comparisons and the `fuzzing` cfg.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions=yes";

pub const SECONDS: u32 = 8;

/// Builds all targets and runs one.
pub fn single_target(name: &str, seconds: u32) -> Result<(), String> {
    one_target(&build()?, name, seconds)
}

/// Targets that share a processor, so that a short run of all takes minutes.
const AT_ONCE: usize = 3;

/// Builds all targets and runs each for `seconds`, [`AT_ONCE`] on each processor at a time. An error if one finds something.
pub fn each_target(seconds: u32) -> Result<(), String> {
    let programs = build()?;
    targets()?.chunks(AT_ONCE * environment::processors()).try_for_each(|some| side_by_side(&programs, some, seconds))
}

fn side_by_side(programs: &Path, names: &[String], seconds: u32) -> Result<(), String> {
    std::thread::scope(|scope| {
        let run = |name| move || one_target(programs, name, seconds);
        let runs: Vec<_> = names.iter().map(|name| scope.spawn(run(name.as_str()))).collect();
        // Waits for all; the first failure is returned.
        let outcomes: Vec<_> =
            runs.into_iter().map(|run| run.join().unwrap_or_else(|_| Err("a run panicked".into()))).collect();
        outcomes.into_iter().collect()
    })
}

/// The workspace of the programs.
fn workspace() -> PathBuf {
    shell::root().join("dev/fuzz/libfuzzer")
}

fn targets() -> Result<Vec<String>, String> {
    let files = shell::files(&workspace().join("src/bin"))?;
    let names: Vec<String> =
        files.iter().filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    if names.is_empty() { Err("dev/fuzz/libfuzzer/src/bin holds no targets".into()) } else { Ok(names) }
}

/// Directory of the seeds, with a directory for each target.
fn seeds() -> PathBuf {
    environment::target_directory().join("fuzz/seeds")
}

/// Makes the seeds with an example that the tests have already built. It is built as part of the whole workspace, because otherwise
/// the libraries would be compiled again with other features.
fn make_seeds() -> Result<(), String> {
    shell::run(shell::cargo().args(["build", "--quiet", "--workspace", "--bin", "xtask", "--example", "seeds"]))?;
    shell::run(Command::new(environment::target_directory().join("debug/examples/seeds")).arg(seeds()))
}

/// Builds all targets and makes their seeds. Returns the directory of the programs.
fn build() -> Result<PathBuf, String> {
    make_seeds()?;
    let host = host()?;
    // With --target the flags do not apply to build scripts.
    let target = environment::target_directory().join("fuzz");
    let mut command = shell::cargo();
    command.args(["build", "--release", "--bins", "--manifest-path"]).arg(workspace().join("Cargo.toml"));
    command.args(["--target", &host]);
    command.env_remove(environment::WORKSPACE_COMPILER);
    shell::run(command.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join(host).join("release"))
}

/// The target triple of this machine.
pub fn host() -> Result<String, String> {
    let version = shell::output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV prints no host".into())
}

fn one_target(programs: &Path, name: &str, seconds: u32) -> Result<(), String> {
    let corpus = workspace().join("corpus").join(name);
    let artifacts = workspace().join("artifacts").join(name);
    for directory in [&corpus, &artifacts] {
        std::fs::create_dir_all(directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    }
    let mut command = Command::new(programs.join(name));
    command.arg(format!("-max_total_time={seconds}")).args([
        "-timeout=30",
        "-rss_limit_mb=1024",
        "-print_final_stats=1",
    ]);
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus).arg(seeds().join(name));
    shell::run(&mut command)
}
