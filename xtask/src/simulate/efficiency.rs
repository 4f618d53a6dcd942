//! Packline's engine beside tools-ng's on the machine of the published table: what the scheduler alone changes.
//!
//! Items, codecs and the cost of handling a byte are those fitted for tools-ng; only the caller's rules, the queue, the
//! waking and the window are packline's. So this is a statement on scheduling, not on the speed of either program.

use super::published::{Column, MACHINE, MOST_JOBS, TABLE, scale};
use super::setup::Setup;

/// The table, as lines.
///
/// # Errors
/// See [`Setup::run`].
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
    let row = |(at, seconds_now): (usize, &f64)| {
        let (workers, published) = (at + 1, column.jobs[at]);
        let efficiency = |first: f64, now: f64| first / now / workers as f64;
        format!(
            "| {} | {workers} | {seconds_now:.2} | {:.3} | {published:.2} | {:.3} |",
            column.name,
            efficiency(seconds[0], *seconds_now),
            efficiency(column.jobs[0], published)
        )
    };
    Ok(seconds.iter().enumerate().map(row).collect())
}

/// Packline's seconds with 1, 2, ... workers.
fn simulated(column: &Column) -> Result<Vec<f64>, String> {
    let work = column.workload();
    let seconds = |workers| {
        let outcome = Setup::packline(workers, work.block).run(&MACHINE, &work)?;
        Ok(outcome.wall / 1e9 * scale(&work))
    };
    (1..=MOST_JOBS).map(seconds).collect()
}
