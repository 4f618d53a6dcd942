//! The simulator compared with the published measurements.

use crate::published::{Column, FITTED, MAX_JOBS, TABLE, scale};
use crate::setup::Setup;

/// Largest difference allowed between simulated and published times, percent.
pub const MAX_ERROR: f64 = 5.0;

#[derive(Debug, PartialEq)]
pub struct Point {
    pub codec: &'static str,
    /// Workers; 0 for the build without threads.
    pub jobs: usize,
    /// Published time in seconds.
    pub published: f64,
    /// Simulated time in seconds.
    pub simulated: f64,
    /// Whether the simulator's parameters were fitted on this point.
    pub fitted: bool,
}

impl Point {
    /// Simulated minus published time, percent of the published.
    pub fn error(&self) -> f64 {
        (self.simulated / self.published - 1.0) * 100.0
    }
}

/// The points of a codec's column at these numbers of jobs.
pub fn points(column: &Column, jobs: &[usize]) -> Result<Vec<Point>, String> {
    let work = column.workload();
    let point = |&jobs: &usize| {
        let (simulated, _) = column.seconds(&work, &Setup::toolsng(jobs))?;
        let fitted = FITTED.iter().any(|(name, points)| *name == column.name && points.contains(&jobs));
        Ok(Point { codec: column.name, jobs, published: column.jobs[jobs - 1], simulated, fitted })
    };
    jobs.iter().map(point).collect()
}

/// The point without threads: the sum of all work. No parameter was fitted on it.
pub fn serial(column: &Column) -> Point {
    let work = column.workload();
    let simulated = (work.caller_work() + work.worker_work()) / 1e9 * scale(&work);
    Point { codec: column.name, jobs: 0, published: column.serial, simulated, fitted: false }
}

/// The table's rows in Markdown, and the points that differ by more than [`MAX_ERROR`].
pub fn table() -> Result<(Vec<String>, Vec<Point>), String> {
    let mut lines =
        vec!["| codec | jobs | published s | simulated s | difference % | |\n|---|---|---|---|---|---|".to_owned()];
    let mut wrong = Vec::new();
    let all: Vec<usize> = (1..=MAX_JOBS).collect();
    for column in &TABLE {
        lines.push(line(&serial(column)));
        for point in points(column, &all)? {
            lines.push(line(&point));
            if point.error().abs() > MAX_ERROR {
                wrong.push(point);
            }
        }
    }
    Ok((lines, wrong))
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
        // `simulate validate` checks the whole table; these are the ends and the points that are hardest to predict.
        for column in &TABLE {
            for point in points(column, &[1, 2, 3, 6, 11, 16]).unwrap() {
                assert!(point.error().abs() < MAX_ERROR, "{point:?} {:+.1} %", point.error());
            }
            let serial = serial(column);
            assert!(serial.error().abs() < 8.0, "{serial:?} {:+.1} %", serial.error());
        }
    }
}
