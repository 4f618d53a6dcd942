//! Shows the progress of a benchmark: a bar on a terminal, and otherwise one line per case.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use packline_bench::Progress;
use packline_runtime::escape;

use crate::ui::io::Io;

pub struct Shown<'a> {
    pub io: &'a mut Io,
    /// Whether a bar is drawn on a terminal.
    pub draw: bool,
    pub quiet: bool,
    pub bar: Option<ProgressBar>,
}

impl Progress for Shown<'_> {
    fn plan(&mut self, summary: &str) {
        if !self.quiet {
            self.io.eprintln(&format!("plan: {summary}"));
        }
    }

    fn start(&mut self, runs: usize) {
        self.bar = (self.io.terminal && self.draw && !self.quiet).then(|| drawn(runs));
    }

    fn begin(&mut self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(escape::line(what).into_owned());
        }
    }

    fn checking(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_prefix("checking ");
        }
    }

    fn step(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_prefix("");
            bar.inc(1);
        }
    }

    /// Prints nothing where a bar shows the progress.
    fn message(&mut self, text: &str) {
        if self.bar.is_none() && !self.quiet {
            self.io.eprint_lines(text);
        }
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn drawn(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    let template = "{wide_bar} {pos}/{len} runs, {eta} left: {prefix}{msg}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
