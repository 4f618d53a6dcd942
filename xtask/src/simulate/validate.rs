//! The simulator against what was measured.

use super::published::{Column, FITTED, MOST_JOBS, TABLE, scale};
use super::setup::Setup;

/// Most that a prediction may be off, in percent.
pub const MOST_ERROR: f64 = 5.0;

/// One point of the published table.
#[derive(Debug, PartialEq)]
pub struct Point {
    /// The codec.
    pub codec: &'static str,
    /// Workers; 0 for the build without threads.
    pub jobs: usize,
    /// Seconds.
    pub published: f64,
    /// Seconds.
    pub simulated: f64,
    /// Whether parameters were fitted on this point.
    pub fitted: bool,
}

impl Point {
    /// How far the simulator is off, percent.
    pub fn error(&self) -> f64 {
        (self.simulated / self.published - 1.0) * 100.0
    }
}

/// A codec's column with these numbers of jobs.
///
/// # Errors
/// See [`Setup::run`].
pub fn points(column: &Column, jobs: &[usize]) -> Result<Vec<Point>, String> {
    let work = column.workload();
    let point = |&jobs: &usize| {
        let (simulated, _) = column.seconds(&work, &Setup::toolsng(jobs))?;
        let fitted = FITTED.iter().any(|(name, points)| *name == column.name && points.contains(&jobs));
        Ok(Point { codec: column.name, jobs, published: column.jobs[jobs - 1], simulated, fitted })
    };
    jobs.iter().map(point).collect()
}

/// The time without threads: all work, one after the other. No parameter was fitted on it.
pub fn serial(column: &Column) -> Point {
    let work = column.workload();
    let simulated = (work.caller_work() + work.worker_work()) / 1e9 * scale(&work);
    Point { codec: column.name, jobs: 0, published: column.serial, simulated, fitted: false }
}

/// The whole table, as lines, and the points that are off by more than [`MOST_ERROR`].
///
/// # Errors
/// See [`Setup::run`].
pub fn table() -> Result<(Vec<String>, Vec<Point>), String> {
    let mut lines =
        vec!["| codec | jobs | published s | simulated s | off % | |\n|---|---|---|---|---|---|".to_owned()];
    let mut off = Vec::new();
    let all: Vec<usize> = (1..=MOST_JOBS).collect();
    for column in &TABLE {
        lines.push(line(&serial(column)));
        for point in points(column, &all)? {
            lines.push(line(&point));
            if point.error().abs() > MOST_ERROR {
                off.push(point);
            }
        }
    }
    Ok((lines, off))
}

fn line(point: &Point) -> String {
    let Point { codec, jobs, published, simulated, .. } = point;
    let jobs = if *jobs == 0 { "serial".to_owned() } else { jobs.to_string() };
    let kind = if point.fitted { "fitted" } else { "predicted" };
    format!("| {codec} | {jobs} | {published:.2} | {simulated:.2} | {:+.1} | {kind} |", point.error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table_within_five_percent() {
        // The whole table is for `simulate --validate yes`; these are the ends and what is hardest between them.
        for column in &TABLE {
            for point in points(column, &[1, 2, 3, 6, 11, 16]).unwrap() {
                assert!(point.error().abs() < MOST_ERROR, "{point:?} {:+.1} %", point.error());
            }
            let serial = serial(column);
            assert!(serial.error().abs() < 8.0, "{serial:?} {:+.1} %", serial.error());
        }
    }
}
