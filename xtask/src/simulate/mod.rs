//! What a schedule would take on another machine: a simulation of the line by discrete events.
//!
//! A workload (a trace of a real run, or the one of a published table) is run by one caller and any number of workers on
//! cores that share their speed (`cores.rs`), under locks that are asked for at the moment they are wanted (`locks.rs`),
//! with one of several designs of queues (`designs/`) and one of two callers (`callers/`). Where its numbers come from is
//! said at `published.rs` and `debian.rs`; those of a machine at hand come from `cargo xtask calibrate`. Equal questions
//! have equal answers: there is no clock and no chance in it.

mod callers;
mod cores;
mod crew;
mod debian;
mod designs;
mod efficiency;
mod events;
mod locks;
pub mod machine;
mod outcome;
mod overlap;
mod published;
mod random;
mod report;
mod request;
mod setup;
mod trace;
mod validate;
mod workload;
mod world;

#[cfg(test)]
mod tests;

use crate::arguments::Arguments;
use crate::shell;
use report::Answer;
use request::Request;

/// `simulate`: prints a table of answers.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    if yes(arguments, "validate")? {
        return validate();
    }
    if yes(arguments, "efficiency")? {
        efficiency::table()?.iter().for_each(|line| shell::say(line));
        return Ok(());
    }
    arguments.only(&request::OPTIONS)?;
    answer(arguments)
}

/// Whether the command is this one of its own, which has no other options.
fn yes(arguments: &Arguments, name: &str) -> Result<bool, String> {
    match arguments.text(name) {
        None => Ok(false),
        Some("yes") if arguments.operands.is_empty() => arguments.only(&[name]).map(|()| true),
        Some(other) => Err(format!("--{name} {other} (expected yes, and nothing else)")),
    }
}

fn validate() -> Result<(), String> {
    let (lines, off) = validate::table()?;
    lines.iter().for_each(|line| shell::say(line));
    match off.is_empty() {
        true => Ok(()),
        false => Err(format!("{} points are off by more than {} %", off.len(), validate::MOST_ERROR)),
    }
}

fn answer(arguments: &Arguments) -> Result<(), String> {
    let request = Request::parse(arguments)?;
    let mut answers = Vec::new();
    for &workers in &request.workers {
        for design in &request.designs {
            let outcome = request.setup(workers, design).run(&request.machine(workers), &request.work)?;
            answers.push(Answer { workers, design: design.clone(), outcome });
        }
    }
    shell::say(&report::markdown(&answers));
    if let Some(comparison) = request.comparison(&answers) {
        shell::say(&comparison);
    }
    arguments.path("csv").map_or(Ok(()), |path| shell::write(&path, &report::csv(&answers)))?;
    arguments.path("json").map_or(Ok(()), |path| shell::write(&path, &report::json(&answers)))
}
