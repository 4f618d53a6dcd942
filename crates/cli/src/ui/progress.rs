//! The progress bar: bytes, throughput, ratio and time left, on a terminal.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use packline::requests::survey;
use packline::{Progress, Source};

/// Redraws per second at most; each costs a system call.
const REDRAWS: u8 = 8;

/// A bar on standard error.
pub struct Bar {
    bar: ProgressBar,
    /// The ratio shown last: the message is formatted again only when it changes.
    percent: Cell<Option<u64>>,
    /// Bytes in a directory, once they are counted.
    total: Arc<OnceLock<u64>>,
}

impl Bar {
    /// A bar that is not drawn yet.
    pub fn new() -> Bar {
        Bar::on(ProgressDrawTarget::stderr_with_hz(REDRAWS))
    }

    fn on(target: ProgressDrawTarget) -> Bar {
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style("{bytes} {binary_bytes_per_sec} {msg}"));
        Bar { bar, percent: Cell::new(None), total: Arc::default() }
    }

    /// Counts the content of a directory on a separate thread, so that the time left can be shown. It is not shown if the thread cannot be
    /// started.
    pub fn count(&self, source: &Source) {
        if let Source::Directory { path, options } = source {
            let (total, path, options) = (self.total.clone(), path.clone(), options.clone());
            let counting = move || total.set(survey(&path, &options));
            let _: std::io::Result<_> = thread::Builder::new().name("survey".to_string()).spawn(counting);
        }
    }

    pub fn show(&self, progress: &Progress) {
        if let Some(total) = progress.source_total.or(self.total.get().copied())
            && self.bar.length() != Some(total.max(progress.source_bytes))
        {
            self.bar.set_length(total.max(progress.source_bytes));
            self.bar.set_style(style("{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {msg} {eta} left"));
        }
        let percent = ratio(progress);
        if self.percent.replace(percent) != percent {
            self.bar.set_message(percent.map_or(String::new(), |percent| format!("{percent}%")));
        }
        self.bar.set_position(progress.source_bytes);
    }

    /// Shows that only the end of the output is left to write.
    pub fn finishing(&self, progress: &Progress) {
        self.show(progress);
        self.bar.set_message("writing tables");
        self.bar.tick();
    }

    /// Runs something that writes to the terminal while the bar is hidden.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    pub fn clear(self) {
        self.bar.finish_and_clear();
    }
}

/// Falls back to the default style; the tests check the templates.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Bytes written per byte read, percent.
fn ratio(progress: &Progress) -> Option<u64> {
    (progress.image_bytes * 100).checked_div(progress.content_bytes)
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;
    use packline_testkit::Sandbox;

    use super::*;

    #[test]
    fn the_bar_shows_bytes_rate_ratio_and_time_left() {
        let terminal = InMemoryTerm::new(2, 100);
        let bar = Bar::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        let progress = Progress {
            entries: 1,
            source_bytes: 50 << 20,
            source_total: Some(100 << 20),
            content_bytes: 50 << 20,
            image_bytes: 20 << 20,
        };
        bar.show(&progress);
        let shown = terminal.contents();
        assert!(shown.contains("50.00 MiB/100.00 MiB"), "{shown}");
        assert!(shown.contains("/s 40% ") && shown.contains(" left"), "{shown}");
        bar.finishing(&progress);
        assert!(terminal.contents().contains("writing tables"), "{}", terminal.contents());
        bar.clear();
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn a_directory_is_counted_so_that_there_is_a_time_left() {
        let top = Sandbox::new("");
        top.write("file", vec![1; 3 << 20]);
        let terminal = InMemoryTerm::new(2, 100);
        let bar = Bar::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.count(&Source::Directory { path: top.path().to_path_buf(), options: Default::default() });
        bar.total.wait();
        bar.finishing(&Progress { source_bytes: 1 << 20, ..Progress::default() });
        assert!(terminal.contents().contains("1.00 MiB/3.00 MiB"), "{}", terminal.contents());
    }

    #[test]
    fn without_a_total_there_is_no_bar_to_fill() {
        let terminal = InMemoryTerm::new(2, 100);
        let bar = Bar::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.finishing(&Progress { source_bytes: 3 << 20, ..Progress::default() });
        let shown = terminal.contents();
        assert!(shown.starts_with("3.00 MiB") && !shown.contains("100%"), "{shown}");
    }
}
