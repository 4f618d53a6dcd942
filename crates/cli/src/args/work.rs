//! Options of commands that write one file from others: resources, scheduling and reports.

use std::path::Path;

use serde_json::Value;

use super::Invocation;
use super::run_options::{Machine, Reporting, RunOptions, SchedulingOptions};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

#[derive(Debug, clap::Args)]
pub struct WorkOptions {
    #[command(flatten)]
    pub machine: Machine,
    #[command(flatten)]
    scheduling: SchedulingOptions,
    #[command(flatten)]
    pub reporting: Reporting,
}

impl WorkOptions {
    /// Starts the clock. `inputs`, with their names in the usage, are read at any offset. The trace must not be one of the inputs or of
    /// `others`.
    ///
    /// # Errors
    /// [`Failure::Usage`] if an input is standard input.
    pub fn start(
        &self,
        inputs: &[(&str, &Path)],
        others: &[&Path],
        force: bool,
        io: &Io,
    ) -> Result<RunOptions, Failure> {
        if let Some((name, _)) = inputs.iter().find(|(_, path)| path.as_os_str() == "-") {
            let why = "because it is read at any offset; name a file (./- is a file named '-')";
            return Err(Failure::usage(format!("{name} cannot be standard input, {why}")));
        }
        let files: Vec<&Path> = inputs.iter().map(|(_, path)| *path).chain(others.iter().copied()).collect();
        self.scheduling.start(self.reporting.stats, Some(force), &files, io)
    }

    /// Prints the summary, and writes the trace.
    pub fn report(
        &self,
        (object, text): (Value, String),
        bytes: u64,
        options: &RunOptions,
        invocation: &Invocation,
        io: &mut Io,
    ) {
        self.print((object, text), bytes, options, io);
        options.write_trace_or_warn(invocation, io);
    }

    /// Prints the summary of one of several files.
    pub fn print(&self, (object, text): (Value, String), bytes: u64, options: &RunOptions, io: &mut Io) {
        let Reporting { json, quiet, .. } = self.reporting;
        options.report((json, quiet), object, text, bytes, io);
    }
}
