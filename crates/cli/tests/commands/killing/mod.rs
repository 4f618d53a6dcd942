//! Kills a program at random moments of its work.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use packline_testkit::{Random, Stopwatch};

/// A program that says nothing but on standard error.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_remove("SOURCE_DATE_EPOCH").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs to the end, which must be a good one; how long it took.
pub fn run(command: &mut Command) -> Duration {
    let watch = Stopwatch::start();
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
    watch.elapsed()
}

/// Starts it and kills it after a moment.
pub fn kill(mut command: Command, moment: Duration) {
    let mut child = command.spawn().unwrap();
    std::thread::sleep(moment);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Moments between the start and a little after the end of a run that takes `whole`.
pub fn moments(seed: u64, count: u64, whole: Duration) -> impl Iterator<Item = Duration> {
    let mut random = Random::new(seed);
    (0..count).map(move |_| whole.mul_f64(random.below(1100) as f64 / 1000.0))
}

/// What is in a directory, in order.
pub fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
