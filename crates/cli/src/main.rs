//! The packline command, and the drop-ins that run when the program is called by their names.

mod args;
mod commands;
mod compat;
mod dispatch;
mod host;
#[cfg(test)]
#[cfg(feature = "mount")]
mod tests;
mod ui;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::ffi::OsString;
use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use packline_runtime::Temporaries;
use packline_runtime::escape;

use crate::host::signals::ShutdownHook;
use crate::host::{Host, environment, streams};
use crate::ui::io::Io;

#[allow(clippy::disallowed_methods, reason = "main reads argv for everyone")]
fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_panic));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let mut io = standard_io();
    match ShutdownHook::of_process(io.temporaries.clone()) {
        Ok(shutdown) => {
            if io.terminal {
                let drawn = io.drawn.clone();
                shutdown.set_notice(move || drawn.end_with("packline: stopped; incomplete outputs were removed"));
            }
            io.shutdown = shutdown;
        }
        Err(cause) => {
            io.eprintln(&format!("packline: cannot handle signals: {cause}"));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::from(dispatch::run(&arguments, &mut io))
}

/// Like the standard library's hook, but escapes the message, which may quote a name.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let mut text = format!("thread '{}' {panic}\n", thread.name().unwrap_or("<unnamed>"));
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("stack backtrace:\n{trace}"));
    }
    let _: std::io::Result<()> = stderr().write_all(escape::lines(&text).as_bytes());
}

fn standard_io() -> Io {
    Io {
        called: "packline",
        stdin: streams::input(),
        stdout: streams::output(),
        stderr: Box::new(stderr()),
        terminal: stderr().is_terminal(),
        colour: stderr().is_terminal() && environment::permits_colour(),
        in_terminal: stdin().is_terminal(),
        out_terminal: stdout().is_terminal(),
        streams: streams::Streams::of_process(),
        host: Host::of_process(),
        temporaries: Temporaries::default().with_scratch(environment::scratch()),
        shutdown: ShutdownHook::default(),
        drawn: ui::progress::DrawnBar::default(),
        parts: None,
    }
}
