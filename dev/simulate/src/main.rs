//! Predicts how long a schedule takes on another machine: a simulation of the pipeline by discrete events.
//!
//! One caller and any number of workers run a workload (a trace of a real run, or the workload of a published table) on
//! cores that share their speed (`cores.rs`), under locks with waiting times (`locks.rs`), with one of several queue designs
//! (`designs/`) and one of two callers (`callers/`). `published.rs` and `debian.rs` give the source of their numbers;
//! `calibrate/` measures those of this machine. Equal inputs give equal results: nothing depends on the clock or
//! on unseeded random numbers.

mod calibrate;
mod callers;
mod cores;
mod debian;
mod designs;
mod efficiency;
mod events;
mod host;
mod locks;
mod machine;
mod outcome;
mod overlap;
mod published;
mod random;
mod report;
mod request;
mod setup;
mod trace;
mod validate;
mod workers;
mod workload;
mod world;

#[cfg(test)]
mod tests;

use clap::Parser;
use report::Answer;
use request::{Options, Request};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Predict how long a schedule takes on another machine
#[derive(Parser)]
#[command(name = "simulate")]
enum Command {
    /// Simulate a traced or a published workload with 1 to 1024 workers
    Run(Box<Options>),
    /// Compare the simulator with the published table; fails if a point differs by more than 5 %
    Validate,
    /// Compare packline's rules with those of tar2sqfs on the machine of that table
    Efficiency,
    /// Measure what locks, wake-ups, caches and memory cost on this machine, as JSON
    Calibrate {
        /// File to write, instead of standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

#[allow(clippy::print_stderr, reason = "this is a program for a terminal")]
fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("simulate: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), String> {
    match command {
        Command::Run(options) => simulate(&options),
        Command::Validate => validate(),
        Command::Efficiency => efficiency::table().map(|lines| print(&lines.join("\n"))),
        Command::Calibrate { out } => calibrate(out.as_deref()),
    }
}

#[allow(clippy::print_stdout, reason = "this is a program for a terminal")]
fn print(text: &str) {
    println!("{text}");
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|cause| format!("{}: {cause}", path.display()))
}

fn simulate(options: &Options) -> Result<(), String> {
    let request = Request::new(options)?;
    let mut answers = Vec::new();
    for &workers in &options.workers {
        for &design in &options.design {
            let outcome = request.setup(workers, design).run(&request.machine(workers), &request.work)?;
            answers.push(Answer { workers, design, outcome });
        }
    }
    print(&report::markdown(&answers));
    if let Some(comparison) = request.comparison(&answers) {
        print(&comparison);
    }
    options.csv.as_ref().map_or(Ok(()), |path| write(path, &report::csv(&answers)))?;
    options.json.as_ref().map_or(Ok(()), |path| write(path, &report::json(&answers)))
}

fn validate() -> Result<(), String> {
    let (lines, wrong) = validate::table()?;
    print(&lines.join("\n"));
    match wrong.len() {
        0 => Ok(()),
        count => Err(format!("{count} points differ by more than {} %", validate::MAX_ERROR)),
    }
}

fn calibrate(out: Option<&Path>) -> Result<(), String> {
    let text = calibrate::measure(host::processors()).to_json();
    match out {
        Some(path) => write(path, &text),
        None => {
            print(text.trim_end());
            Ok(())
        }
    }
}
