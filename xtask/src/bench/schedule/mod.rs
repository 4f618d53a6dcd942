//! The plain queue against what took its place: the same packs under each way to schedule, interleaved, medians compared.
//!
//! The set is the one that Con Kolivas held his schedulers against, brought over to packing: what is known to go wrong with
//! queues. Everything runs in this process, so that the processor time is exactly that of the pack.

mod answer;
mod fake;
mod packing;
mod synthetic;
mod table;
mod way;
mod workload;

use super::{machine, scratch};
use crate::arguments::Arguments;
use crate::{clock, environment, shell};
use answer::Cost;
use std::path::Path;
use table::Row;
use way::Way;
use workload::{Setting, Task};

const KNOWN: [&str; 10] = ["input", "source", "runs", "jobs", "files", "percent", "only", "ways", "place", "out"];

/// `bench schedule`: as release builds do it.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    if cfg!(debug_assertions) {
        let words = environment::arguments();
        return shell::started(shell::cargo().args(["run", "--release", "--package", "xtask", "--"]).args(words));
    }
    let (setting, ways) = (Setting::new(arguments)?, Way::list(&arguments.list("ways", &["plain", "default"]))?);
    let place = arguments.path("place").map_or_else(scratch, Ok)?;
    let runs = arguments.number("runs", 5)?;
    let mut rows = Vec::new();
    for (name, make) in workload::chosen(&arguments.list("only", &[]))? {
        let task = make(&setting).map_err(|cause| format!("{name}: {cause}"))?;
        let made = compare(name, &task, &ways, runs, &place)?;
        shell::say(&table::lines(&made));
        rows.extend(made);
    }
    shell::say(&table::page(&rows));
    keep(arguments, &rows)
}

/// Runs a workload each way, again and again: those of one round side by side, every second round backwards, so that what
/// the machine does meanwhile and who comes first favour nobody.
fn compare(name: &str, task: &Task, ways: &[Way], runs: usize, place: &Path) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = ways.iter().map(|way| Row::new(name, way.name)).collect();
    // Memory and page cache are warm then, and this is the answer of all.
    let expected = task.run(&ways[0], place)?.answer;
    for round in 0..runs {
        for step in 0..ways.len() {
            let at = if round % 2 == 0 { step } else { ways.len() - 1 - step };
            let cost = task.run(&ways[at], place)?;
            same(name, ways[at].name, &cost, expected)?;
            rows[at].costs.push(cost);
        }
    }
    Ok(rows)
}

fn same(workload: &str, way: &str, cost: &Cost, expected: blake3::Hash) -> Result<(), String> {
    match cost.answer == expected {
        true => Ok(()),
        false => Err(format!("{workload}, {way}: the answer has the sum {} (expected {expected})", cost.answer)),
    }
}

fn keep(arguments: &Arguments, rows: &[Row]) -> Result<(), String> {
    let place = arguments.path("out").unwrap_or_else(|| shell::root().join("bench/results"));
    let name = format!("{}-schedule", clock::today());
    let page = format!(
        "# Ways to schedule, side by side\n\n{}\n\nMedians of interleaved runs within one process, and what they are of the \
         plain queue's; each run's image has the same sum. `best` compares the fastest runs: where it is near 1 and the \
         median is not, it was the machine.\n\n{}",
        machine::description(),
        table::page(rows)
    );
    shell::write(&place.join(format!("{name}.csv")), &table::csv(rows))?;
    shell::write(&place.join(format!("{name}.md")), &page)
}

#[cfg(test)]
mod tests {
    use super::way::WAYS;
    use super::workload::WORKLOADS;
    use super::*;

    /// Every workload that needs no directory, a hundredth of its size, gives one answer whatever the way.
    #[test]
    fn all_ways_give_the_same_answer() {
        let place = tempfile::tempdir().unwrap();
        let input = place.path().join("tree");
        crate::shell::write(&input.join("a/file"), "some text").unwrap();
        let setting = Setting { jobs: 2, files: 50, percent: 1, input: Some(input.clone()), source: Some(input) };
        for (name, make) in WORKLOADS {
            let rows = compare(name, &make(&setting).unwrap(), &WAYS, 1, place.path()).unwrap();
            assert!(rows.iter().all(|row| row.costs.len() == 1), "{name}");
        }
    }

    #[test]
    fn another_answer_is_an_error() {
        let cost = Cost { wall: 1.0, processor: 1.0, answer: blake3::hash(b"one") };
        assert!(same("x", "plain", &cost, blake3::hash(b"one")).is_ok());
        assert!(same("x", "plain", &cost, blake3::hash(b"other")).unwrap_err().starts_with("x, plain: "));
    }
}
