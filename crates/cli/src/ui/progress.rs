//! The progress bar on a terminal. It shows how much of the content is processed, the rate and the time left; at the end, what remains
//! to be done.

use std::cell::Cell;
use std::fmt::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use packline::requests::survey;
use packline::{Pass, Progress, Source};

/// The most redraws per second; each redraw costs a system call.
pub(super) const REDRAWS: u8 = 8;
/// The time between redraws while nothing is reported. A block may take seconds, and the shown rate falls during that time.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// The smallest content, in bytes, for which a ratio is shown.
const RATIO_LEAST: u64 = 1 << 20;

/// Template for a known number of bytes.
pub(super) const OF_TOTAL: &str =
    "{prefix}{wide_bar} {percent}% {bytes}/{total_bytes} {binary_bytes_per_sec}{msg}{left}";
/// Template for a stream, whose end is not known.
const OF_STREAM: &str = "{prefix}{bytes} {binary_bytes_per_sec}{msg}";
/// Template for the time after all content was read.
const ENDING: &str = "{spinner} {msg}";

/// The bar that is on the terminal, if any, for code on any thread that asks questions there.
#[derive(Debug, Clone, Default)]
pub struct DrawnBar(Arc<Mutex<Option<ProgressBar>>>);

impl DrawnBar {
    pub(super) fn set(&self, bar: Option<ProgressBar>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    /// Removes the bar and writes a line, for the end of the process.
    pub fn end_with(&self, line: &str) {
        if let Some(bar) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
        // What another thread draws meanwhile is on the same line.
        let text = format!("\r\x1b[2K{line}\n");
        let _: std::io::Result<()> = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    }

    /// Hides the bar while `work` reads or writes on the terminal.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let bar = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match bar {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }
}

pub struct Bar {
    bar: ProgressBar,
    place: DrawnBar,
    /// Whether progress was reported. Before that, a passphrase may be asked for, and nothing is drawn.
    shown: Cell<bool>,
    /// Whether a timer redraws the bar while nothing is reported.
    ticks: bool,
    /// The ratio shown last. The message is formatted again only when the ratio changes.
    ratio: Cell<Option<u64>>,
    /// The pass and the part that are shown.
    pass: Cell<Option<(&'static str, u64)>>,
    /// The bytes in a directory, once they are counted.
    total: Arc<OnceLock<u64>>,
}

impl Bar {
    /// Returns a bar that is not drawn before there is progress.
    pub fn new(place: &DrawnBar) -> Bar {
        Bar { place: place.clone(), ticks: true, ..Bar::on(ProgressDrawTarget::stderr_with_hz(REDRAWS)) }
    }

    fn on(target: ProgressDrawTarget) -> Bar {
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style(OF_STREAM));
        let place = DrawnBar::default();
        let shown = Cell::new(false);
        Bar { bar, place, shown, ticks: false, ratio: Cell::new(None), pass: Cell::new(None), total: Arc::default() }
    }

    /// Draws the bar from now on, also while nothing is reported.
    fn begin(&self) {
        if !self.shown.replace(true) {
            self.place.set(Some(self.bar.clone()));
            if self.ticks {
                self.bar.enable_steady_tick(TICK);
            }
        }
    }

    /// Counts the content of a directory on a separate thread, so that the time left can be shown. If the thread cannot start, the time
    /// left is not shown.
    pub fn count(&self, source: &Source) {
        count(source, &self.total);
    }

    pub fn show(&self, progress: &Progress) {
        if progress.pass.is_none() && self.pass.get().is_some() {
            // All passes are done, and the last one stays visible.
            return;
        }
        let whole = progress.source_total.or(self.total.get().copied());
        let (done, total) = progress.pass.map_or((progress.source_bytes, whole), |pass| (pass.done, pass.total));
        if done == 0 && total.is_none_or(|total| total == 0) && !self.shown.get() {
            return;
        }
        self.begin_pass(progress.pass);
        match total.map(|total| total.max(done)) {
            Some(total) if self.bar.length() != Some(total) => {
                self.bar.set_length(total);
                self.bar.set_style(style(OF_TOTAL));
            }
            None if self.bar.length().is_some() => {
                self.bar.unset_length();
                self.bar.set_style(style(OF_STREAM));
            }
            _ => {}
        }
        let ratio = ratio(progress);
        if self.ratio.replace(ratio) != ratio {
            self.bar.set_message(ratio.map_or(String::new(), |percent| format!(", ratio {percent}%")));
        }
        self.bar.set_position(done);
        self.begin();
    }

    /// Names the pass. The rate and the time left are those of this pass.
    fn begin_pass(&self, pass: Option<Pass>) {
        let pass = pass.map(|pass| (pass.name, pass.part));
        if self.pass.replace(pass) == pass {
            return;
        }
        self.bar.reset();
        self.bar.set_prefix(match pass {
            Some((name, 1)) => format!("{name} "),
            Some((name, part)) => format!("chunk {part}, {name} "),
            None => String::new(),
        });
    }

    /// Shows what remains to be done after all content is read.
    pub fn ending(&self, what: &'static str) {
        self.bar.set_style(style(ENDING));
        self.bar.set_message(what);
        self.begin();
        self.bar.tick();
    }

    /// Hides the bar while `work` writes to the terminal.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    pub fn clear(self) {
        self.place.set(None);
        self.bar.finish_and_clear();
    }
}

/// Sets `total` to the bytes of content in the directories, on a separate thread.
fn count(source: &Source, total: &Arc<OnceLock<u64>>) {
    let directories = match source {
        Source::Directory { path, options } => vec![(path.clone(), options.clone())],
        Source::Directories { parts, .. } => {
            parts.iter().map(|part| (part.directory.clone(), part.options.clone())).collect()
        }
        _ => return,
    };
    let total = total.clone();
    let counting = move || total.set(directories.iter().map(|(path, options)| survey(path, options)).sum());
    let _: std::io::Result<_> = thread::Builder::new().name("survey".to_string()).spawn(counting);
}

/// The percentage of the processed content, for programs that read it.
pub struct Percentage {
    shown: Cell<Option<u64>>,
    total: Arc<OnceLock<u64>>,
}

impl Percentage {
    pub fn of(source: &Source) -> Percentage {
        let percentage = Percentage { shown: Cell::new(None), total: Arc::default() };
        count(source, &percentage.total);
        percentage
    }

    /// Returns the percentage if it changed and the total is known; 100 only at the end.
    pub fn next(&self, progress: &Progress) -> Option<u64> {
        let total = progress.source_total.or(self.total.get().copied())?;
        let percent = (progress.source_bytes.min(total) * 100).checked_div(total)?.min(99);
        (self.shown.replace(Some(percent)) < Some(percent)).then_some(percent)
    }
}

/// Uses the default style if the template is invalid; the tests check the templates.
pub(super) fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("left", show_time_left)
}

/// Shows nothing until there is a rate, and nothing at the end, which may take longer than "0s" promises.
fn show_time_left(state: &ProgressState, out: &mut dyn Write) {
    let seconds = state.eta().as_secs();
    if state.pos() > 0 && seconds > 0 {
        let _: std::fmt::Result = match seconds {
            ..60 => write!(out, ", {seconds}s left"),
            60..3600 => write!(out, ", {}m {:02}s left", seconds / 60, seconds % 60),
            _ => write!(out, ", {}h {:02}m left", seconds / 3600, seconds / 60 % 60),
        };
    }
}

/// Returns the bytes written per byte read, in percent, if the output is smaller.
fn ratio(progress: &Progress) -> Option<u64> {
    let percent = (progress.image_bytes * 100).checked_div(progress.content_bytes)?;
    (progress.content_bytes >= RATIO_LEAST && percent < 100).then_some(percent)
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
            pass: None,
        };
        bar.show(&progress);
        let shown = terminal.contents();
        assert!(shown.contains(" 50% 50.00 MiB/100.00 MiB") && shown.contains("B/s, ratio 40%"), "{shown}");
        bar.ending("writing tables");
        let shown = terminal.contents();
        assert!(shown.ends_with("writing tables") && !shown.contains('%') && !shown.contains("left"), "{shown}");
        bar.clear();
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn draws_nothing_before_progress() {
        let terminal = InMemoryTerm::new(2, 100);
        let place = DrawnBar::default();
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let bar = Bar { place: place.clone(), ticks: true, ..Bar::on(target) };
        thread::sleep(TICK * 2);
        assert_eq!(terminal.contents(), "");
        bar.show(&Progress { source_bytes: 3 << 20, ..Progress::default() });
        thread::sleep(TICK * 4);
        assert!(terminal.contents().starts_with("3.00 MiB"), "{}", terminal.contents());
        assert_eq!(place.aside(|| terminal.contents()), "", "hidden for the time of a question");
        bar.clear();
        assert!(place.0.lock().unwrap().is_none());
    }

    #[test]
    fn counts_directory_to_show_time_left() {
        let top = Sandbox::new("");
        top.write("file", vec![1; 3 << 20]);
        let terminal = InMemoryTerm::new(2, 100);
        let bar = Bar::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.count(&Source::Directory { path: top.path().to_path_buf(), options: Default::default() });
        bar.total.wait();
        bar.show(&Progress { source_bytes: 1 << 20, ..Progress::default() });
        bar.bar.tick();
        assert!(terminal.contents().contains("33% 1.00 MiB/3.00 MiB"), "{}", terminal.contents());
    }

    #[test]
    fn percentages_rise_and_stay_below_the_end() {
        let percentage = Percentage { shown: Cell::new(None), total: Arc::default() };
        let shown = [0, 10, 10, 5, 90, 200].map(|done| percentage.next(&Progress::of_source(done, Some(200))));
        assert_eq!(shown, [Some(0), Some(5), None, None, Some(45), Some(99)]);
        assert_eq!(percentage.next(&Progress::of_source(1, None)), None);
    }

    #[test]
    fn shows_no_bar_without_total() {
        let terminal = InMemoryTerm::new(2, 100);
        let bar = Bar::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        bar.show(&Progress { source_bytes: 3 << 20, ..Progress::default() });
        bar.bar.tick();
        let shown = terminal.contents();
        assert!(shown.starts_with("3.00 MiB") && !shown.contains('%'), "{shown}");
    }

    #[test]
    fn each_pass_has_name_and_starts_at_zero() {
        let terminal = InMemoryTerm::new(2, 100);
        let bar = Bar::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        let shown = |name, part, done, total| {
            let pass = Some(Pass { name, part, done, total });
            bar.show(&Progress { pass, ..Progress::of_source(77 << 20, Some(99 << 20)) });
            bar.bar.tick();
            terminal.contents()
        };
        let reading = shown("reading", 1, 5 << 20, None);
        assert!(reading.starts_with("reading 5.00 MiB ") && !reading.contains('%'), "{reading}");
        let matching = shown("matching", 1, 4 << 20, Some(8 << 20));
        assert!(matching.starts_with("matching ") && matching.contains(" 50% 4.00 MiB/8.00 MiB "), "{matching}");
        let compressing = shown("compressing", 2, 0, Some(8 << 20));
        assert!(compressing.starts_with("chunk 2, compressing ") && compressing.contains(" 0% 0 B/8"), "{compressing}");
        assert!(!compressing.contains("left"), "{compressing}");
        bar.show(&Progress::of_source(99 << 20, Some(99 << 20)));
        bar.bar.tick();
        assert_eq!(terminal.contents(), compressing);
    }
}
