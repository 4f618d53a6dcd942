//! Writes the log of the FUSE library to standard error, one line per request.

use std::io::{self, Write, stderr};
use std::sync::OnceLock;

use log::{LevelFilter, Log, Metadata, Record};
use packline_runtime::escape;

/// The name of the program, which begins each line.
static CALLED: OnceLock<&'static str> = OnceLock::new();
static LINES: Lines = Lines;

struct Lines;

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let called = CALLED.get().unwrap_or(&"packline");
        let text = record.args().to_string();
        // A write error means that the reader is gone.
        let _: io::Result<()> = writeln!(stderr(), "{called}: {}", escape::line(&text));
    }

    fn flush(&self) {}
}

/// Starts printing lines.
pub fn start(called: &'static str) {
    CALLED.get_or_init(|| called);
    if log::set_logger(&LINES).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}
