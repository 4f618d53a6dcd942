//! Kills a program at random moments.

mod images;
mod streams;

use std::process::{Command, Stdio};
use std::time::Duration;

use packline_testkit::{Ran, Random, Stopwatch};

/// Runs a command, which must succeed; the time it took.
pub fn run(command: &mut Command) -> Duration {
    let watch = Stopwatch::start();
    Ran::good(command);
    watch.elapsed()
}

/// Starts it and kills it after a moment.
pub fn kill(mut command: Command, moment: Duration) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(moment);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Moments between the start and a little after the end of a run that takes `whole`.
pub fn moments(seed: u64, count: u64, whole: Duration) -> impl Iterator<Item = Duration> {
    let mut random = Random::new(seed);
    (0..count).map(move |_| whole.mul_f64(random.below(1100) as f64 / 1000.0))
}
