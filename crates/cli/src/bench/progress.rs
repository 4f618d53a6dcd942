//! How far a benchmark is: a bar on a terminal, a line a contest elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use packline::bench::Measured;
use packline::tree::escape;

use crate::io::Io;

/// Shows what is being done.
pub struct Doing<'a> {
    io: &'a mut Io,
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl<'a> Doing<'a> {
    /// For so many runs. `bar`: draw one if there is a terminal.
    pub fn new(io: &'a mut Io, runs: usize, bar: bool, quiet: bool) -> Doing<'a> {
        let bar = (io.terminal && bar && !quiet).then(|| drawn(runs));
        Doing { io, bar, quiet }
    }

    /// A run begins.
    pub fn begin(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(escape::line(what).into_owned());
        }
    }

    /// What was made is looked at.
    pub fn say_checking(&self) {
        if let Some(bar) = &self.bar {
            bar.set_prefix("checking ");
        }
    }

    /// A run has ended.
    pub fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.set_prefix("");
            bar.inc(1);
        }
    }

    /// A contest has ended: the median wall times, in a line.
    pub fn end_contest<'m>(&mut self, name: &str, all: impl Iterator<Item = &'m Measured>) {
        let one = |measured: &Measured| format!("{} {:.3} s", measured.case.program, measured.wall().median);
        let walls: Vec<String> = all.map(one).collect();
        self.say(&format!("{name}: {}", walls.join(", ")));
    }

    /// A line, unless there is a bar that says as much or nobody wants to know.
    pub fn say(&mut self, line: &str) {
        if self.bar.is_none() && !self.quiet {
            self.io.say_lines(line);
        }
    }
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn drawn(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    let template = "{wide_bar} {pos}/{len} runs, {eta} left: {prefix}{msg}";
    // A template that is wrong is a mistake of ours; the default style would do.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
