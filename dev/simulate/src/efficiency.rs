//! packline's engine compared with tools-ng's on the machine of the published table: the effect of the scheduler alone.
//!
//! Items, codecs and the cost of handling a byte are those fitted for tools-ng; only the caller's rules, the queue, the
//! wake-ups and the window are packline's. The result describes the scheduling, not the speed of either program.

use crate::published::{Column, MACHINE, MAX_JOBS, TABLE, scale};
use crate::setup::Setup;

pub fn table() -> Result<Vec<String>, String> {
    let head = "| codec | workers | packline s | efficiency | tar2sqfs s (published) | efficiency |\n|---|---|---|---|---|---|";
    let mut lines = vec![head.to_owned()];
    for column in &TABLE {
        lines.extend(rows(column)?);
    }
    Ok(lines)
}

fn rows(column: &Column) -> Result<Vec<String>, String> {
    let seconds = simulated(column)?;
    let row = |(index, simulated): (usize, &f64)| {
        let workers = index + 1;
        let published = column.jobs[index];
        let efficiency = |one: f64, many: f64| one / many / workers as f64;
        format!(
            "| {} | {workers} | {simulated:.2} | {:.3} | {published:.2} | {:.3} |",
            column.name,
            efficiency(seconds[0], *simulated),
            efficiency(column.jobs[0], published)
        )
    };
    Ok(seconds.iter().enumerate().map(row).collect())
}

/// packline's seconds with 1, 2, ... workers.
fn simulated(column: &Column) -> Result<Vec<f64>, String> {
    let work = column.workload();
    let seconds = |workers| {
        let outcome = Setup::packline(workers, work.largest_item).run(&MACHINE, &work)?;
        Ok(outcome.wall / 1e9 * scale(&work))
    };
    (1..=MAX_JOBS).map(seconds).collect()
}
