//! Log lines on standard error: decisions of our libraries (`--log`, `PACKLINE_LOG`) and requests of the kernel (`squashfuse -d`).

use std::io::{self, Write, stderr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use log::{LevelFilter, Log, Metadata, Record};
use packline_runtime::escape;

use crate::ui::io::Io;
use crate::ui::progress::DrawnBar;

/// The levels by their names. A level includes those before it.
pub const LEVELS: [(&str, LevelFilter); 5] = [
    ("error", LevelFilter::Error),
    ("warn", LevelFilter::Warn),
    ("info", LevelFilter::Info),
    ("debug", LevelFilter::Debug),
    ("trace", LevelFilter::Trace),
];

static SINK: Sink = Sink { own: AtomicUsize::new(0), others: AtomicUsize::new(0), output: OnceLock::new() };

struct Sink {
    /// The level of our own crates.
    own: AtomicUsize,
    /// The level of other crates.
    others: AtomicUsize,
    output: OnceLock<LineOutput>,
}

/// What a line needs besides its text.
struct LineOutput {
    /// The name of the program, with which each line begins.
    called: &'static str,
    /// The progress bar, which is hidden while a line is printed.
    bar: DrawnBar,
}

impl Sink {
    fn level(&self, target: &str) -> &AtomicUsize {
        if target.starts_with("packline") { &self.own } else { &self.others }
    }

    fn start(&'static self, level: &AtomicUsize, filter: LevelFilter, io: &Io) {
        level.store(filter as usize, Ordering::Relaxed);
        self.output.get_or_init(|| LineOutput { called: io.called, bar: io.drawn.clone() });
        // Fails if the sink is set already.
        let _: Result<(), log::SetLoggerError> = log::set_logger(self);
        log::set_max_level(log::max_level().max(filter));
    }
}

impl Log for Sink {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() as usize <= self.level(metadata.target()).load(Ordering::Relaxed)
    }

    fn log(&self, record: &Record<'_>) {
        let Some(LineOutput { called, bar }) = self.output.get().filter(|_| self.enabled(record.metadata())) else {
            return;
        };
        let text = record.args().to_string();
        let text = escape::line(&text);
        let line = if record.target().starts_with("packline") {
            format!("{called}: {}: {text}\n", record.level().as_str().to_ascii_lowercase())
        } else {
            format!("{called}: {text}\n")
        };
        // A closed standard error does not stop the work.
        let _: io::Result<()> = bar.aside(|| stderr().write_all(line.as_bytes()));
    }

    fn flush(&self) {}
}

/// Starts to print what our libraries decide.
pub fn start(level: LevelFilter, io: &Io) {
    SINK.start(&SINK.own, level, io);
}

/// Starts to print what other libraries log: a line for each request of the kernel.
#[cfg(feature = "mount")]
pub fn start_requests(io: &Io) {
    SINK.start(&SINK.others, LevelFilter::Debug, io);
}

/// Parses the name of a level.
///
/// # Errors
/// A message that lists the levels.
pub fn level(text: &str) -> Result<LevelFilter, String> {
    let found = LEVELS.iter().find(|(name, _)| *name == text).map(|(_, level)| *level);
    let names = LEVELS.map(|(name, _)| name).join(", ");
    found.ok_or_else(|| format!("invalid level '{text}' (expected one of {names})"))
}
