//! The results: medians and their ratios to one shared queue's.

use super::cost::Cost;
use std::fmt::Write;

#[derive(Debug)]
pub struct Row {
    pub workload: String,
    pub variant: String,
    /// One for each run.
    pub costs: Vec<Cost>,
}

impl Row {
    pub fn new(workload: &str, variant: &str) -> Row {
        Row { workload: workload.to_owned(), variant: variant.to_owned(), costs: Vec::new() }
    }

    fn median(&self, of: impl Fn(&Cost) -> f64) -> f64 {
        super::median(self.costs.iter().map(of))
    }

    fn best(&self, of: impl Fn(&Cost) -> f64) -> f64 {
        self.costs.iter().map(of).fold(f64::NAN, f64::min)
    }
}

/// One line for each variant of a workload; the ratios are to the first.
pub fn lines(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let (wall, processor) = (|cost: &Cost| cost.wall, |cost: &Cost| cost.processor);
        let base = &rows[0];
        // Writing to a String cannot fail.
        let _ = write!(text, "| {} | {} |", row.workload, row.variant);
        let _ = write!(text, " {:.3} | {:.3} |", row.median(wall), row.median(processor));
        let _ = write!(text, " {:.3} |", row.median(wall) / base.median(wall));
        let _ = write!(text, " {:.3} |", row.median(processor) / base.median(processor));
        let _ = write!(text, " {:.3} |", row.best(wall) / base.best(wall));
        let _ = writeln!(text, " {:.3} |", row.best(processor) / base.best(processor));
    }
    text.trim_end().to_owned()
}

pub fn page(rows: &[Row]) -> String {
    let mut text =
        "| workload | variant | wall, s | CPU, s | wall of one queue | CPU of one queue | best wall | best CPU |\n\
                    |---|---|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    for group in rows.chunk_by(|one, next| one.workload == next.workload) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", lines(group));
    }
    text
}

/// One line for each run.
pub fn csv(rows: &[Row]) -> String {
    let mut text = "workload,variant,run,wall_s,cpu_s\n".to_owned();
    for row in rows {
        for (run, cost) in row.costs.iter().enumerate() {
            let _ = writeln!(text, "{},{},{run},{},{}", row.workload, row.variant, cost.wall, cost.processor);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(workload: &str, variant: &str, walls: &[f64]) -> Row {
        let cost = |&wall: &f64| Cost { wall, processor: 2.0 * wall, hash: blake3::hash(b"") };
        Row { costs: walls.iter().map(cost).collect(), ..Row::new(workload, variant) }
    }

    #[test]
    fn medians_and_ratios_to_the_first() {
        let rows = [row("xz", "plain", &[2.0, 9.0, 1.0]), row("xz", "default", &[1.5, 3.0, 8.0])];
        let made = lines(&rows);
        assert_eq!(made.lines().last(), Some("| xz | default | 3.000 | 6.000 | 1.500 | 1.500 | 1.500 | 1.500 |"));
        let others = [row("lz4", "plain", &[4.0]), row("lz4", "default", &[1.0])];
        let page = page(&rows.into_iter().chain(others).collect::<Vec<_>>());
        assert_eq!(page.lines().count(), 6);
        assert!(page.ends_with("| lz4 | default | 1.000 | 2.000 | 0.250 | 0.250 | 0.250 | 0.250 |\n"));
    }

    #[test]
    fn each_run_is_a_line() {
        let text = csv(&[row("xz", "plain", &[2.0, 0.5])]);
        assert_eq!(text, "workload,variant,run,wall_s,cpu_s\nxz,plain,0,2,4\nxz,plain,1,0.5,1\n");
    }
}
