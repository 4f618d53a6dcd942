//! Compares one shared run queue with the scheduler's other variants on the same workloads: interleaved runs, medians.
//!
//! The workloads are those that Con Kolivas measured his schedulers with, adapted to packing: they are difficult for queues.
//! Everything runs in this process, so that the processor time is that of the packing alone.

mod cost;
mod packing;
mod spin;
mod synthetic;
mod table;
mod variant;
mod workload;

use super::{machine, median, work_directory};
use crate::{options, shell};
use clap::Args;
use cost::Cost;
use std::path::{Path, PathBuf};
use table::Row;
use variant::Variant;
use workload::{Settings, Task, WORKLOADS, Workload};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    settings: Settings,
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Only these workloads
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = workload::parse)]
    only: Vec<Workload>,
    /// Ways of scheduling; one-queue is always included
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = variant::parse, default_value = "default")]
    variants: Vec<Variant>,
    /// Directory for temporary files
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    #[command(flatten)]
    output: options::Output,
}

pub fn run(options: &Options) -> Result<(), String> {
    let variants = variant::with_plain(&options.variants);
    let directory = work_directory(options.work_dir.as_deref())?;
    let workloads = if options.only.is_empty() { &WORKLOADS[..] } else { &options.only };
    let mut rows = Vec::new();
    for (name, make) in workloads {
        let task = make(&options.settings).map_err(|cause| format!("{name}: {cause}"))?;
        let measured = compare(name, &task, &variants, options.runs, &directory)?;
        shell::print(&table::lines(&measured));
        rows.extend(measured);
    }
    shell::print(&table::page(&rows));
    options.output.write("schedule", &table::csv(&rows), &page(&rows))
}

/// Runs a workload with each variant, in rounds, every second one in reverse order, so that neither changes of the machine nor the
/// order favour a variant.
fn compare(name: &str, task: &Task, variants: &[Variant], runs: usize, directory: &Path) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = variants.iter().map(|variant| Row::new(name, variant.name)).collect();
    // This run warms up memory and page cache, and its hash is the expected one.
    let expected = task.run(&variants[0], directory)?.hash;
    for round in 0..runs {
        for step in 0..variants.len() {
            let index = if round % 2 == 0 { step } else { variants.len() - 1 - step };
            let cost = task.run(&variants[index], directory)?;
            check(name, variants[index].name, &cost, expected)?;
            rows[index].costs.push(cost);
        }
    }
    Ok(rows)
}

fn check(workload: &str, variant: &str, cost: &Cost, expected: blake3::Hash) -> Result<(), String> {
    match cost.hash == expected {
        true => Ok(()),
        false => Err(format!("{workload}, {variant}: the output has the hash {} (expected {expected})", cost.hash)),
    }
}

fn page(rows: &[Row]) -> String {
    format!(
        "# Ways of scheduling\n\n{}\n\nMedians of interleaved runs within one process, and their ratios to one shared queue's; the \
         images of all runs are equal. `best` compares the fastest runs: where it is near 1 and the median is not, the machine \
         was disturbed.\n\n{}",
        machine::description(),
        table::page(rows)
    )
}

#[cfg(test)]
mod tests {
    use super::variant::VARIANTS;
    use super::*;

    /// Every workload at a hundredth of its size.
    #[test]
    fn all_ways_give_the_same_answer() {
        let directory = tempfile::tempdir().unwrap();
        let input = directory.path().join("tree");
        crate::shell::write(&input.join("a/file"), "some text").unwrap();
        let settings = Settings { jobs: 2, files: 50, percent: 1, input: Some(input.clone()), source: Some(input) };
        for (name, make) in WORKLOADS {
            let rows = compare(name, &make(&settings).unwrap(), &VARIANTS, 1, directory.path()).unwrap();
            assert!(rows.iter().all(|row| row.costs.len() == 1), "{name}");
        }
    }

    #[test]
    fn another_answer_is_an_error() {
        let cost = Cost { wall: 1.0, processor: 1.0, hash: blake3::hash(b"one") };
        assert!(check("x", "plain", &cost, blake3::hash(b"one")).is_ok());
        assert!(check("x", "plain", &cost, blake3::hash(b"other")).unwrap_err().starts_with("x, plain: "));
    }
}
