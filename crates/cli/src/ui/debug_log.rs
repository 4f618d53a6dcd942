//! What the library that talks to the kernel logs, on standard error: a line for each request.

use std::io::{self, Write, stderr};
use std::sync::OnceLock;

use log::{LevelFilter, Log, Metadata, Record};
use packline_runtime::escape;

/// What each line begins with: the name of the program.
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
        // A reader who is gone misses it.
        let _: io::Result<()> = writeln!(stderr(), "{called}: {}", escape::line(&text));
    }

    fn flush(&self) {}
}

/// From here on lines are printed.
pub fn start(called: &'static str) {
    CALLED.get_or_init(|| called);
    if log::set_logger(&LINES).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}
