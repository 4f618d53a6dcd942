//! Results as a Markdown table, as CSV and as JSON.

use crate::designs::DesignName;
use crate::outcome::Outcome;

/// The result for one number of workers and one design.
#[derive(Debug, Clone)]
pub struct Answer {
    pub workers: usize,
    pub design: DesignName,
    pub outcome: Outcome,
}

/// Names of the columns, in the order of [`Answer::fields`].
const COLUMNS: [&str; 15] = [
    "workers",
    "design",
    "wall_s",
    "speedup",
    "efficiency",
    "caller",
    "worker",
    "jobs",
    "locks",
    "contended",
    "skipped",
    "longest_wait_us",
    "wakes",
    "peak_mib",
    "stalled_s",
];

impl Answer {
    /// One row as text; `one` is the wall time with one worker (see [`one`]).
    fn fields(&self, one: f64) -> [String; 15] {
        let Outcome { wall, caller, workers, jobs, locks, wakes, peak_bytes, stalled } = &self.outcome;
        let speedup = one / wall;
        [
            self.workers.to_string(),
            self.design.name(),
            format!("{:.4}", wall / 1e9),
            format!("{speedup:.3}"),
            format!("{:.3}", speedup / self.workers as f64),
            format!("{caller:.3}"),
            format!("{workers:.3}"),
            jobs.to_string(),
            locks.taken.to_string(),
            locks.contended.to_string(),
            locks.skipped.to_string(),
            format!("{:.1}", locks.longest / 1e3),
            wakes.to_string(),
            format!("{:.1}", peak_bytes / f64::from(1 << 20)),
            format!("{:.4}", stalled / 1e9),
        ]
    }
}

/// The base of speed-ups: the wall time of the design's run with the fewest workers, times their number.
fn one(answers: &[Answer], design: DesignName) -> f64 {
    let same = answers.iter().filter(|answer| answer.design == design);
    same.min_by_key(|answer| answer.workers).map_or(0.0, |answer| answer.outcome.wall * answer.workers as f64)
}

fn rows(answers: &[Answer]) -> impl Iterator<Item = [String; 15]> + '_ {
    answers.iter().map(|answer| answer.fields(one(answers, answer.design)))
}

pub fn markdown(answers: &[Answer]) -> String {
    let head = format!("| {} |\n|{}", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len()));
    let lines = rows(answers).map(|fields| format!("| {} |", fields.join(" | ")));
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

pub fn csv(answers: &[Answer]) -> String {
    let lines = rows(answers).map(|fields| fields.join(","));
    std::iter::once(COLUMNS.join(",")).chain(lines).map(|line| line + "\n").collect()
}

pub fn json(answers: &[Answer]) -> String {
    let value = |text: String| match text.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
        Some(number) => serde_json::Value::Number(number),
        None => serde_json::Value::String(text),
    };
    let object = |fields: [String; 15]| {
        let pairs = COLUMNS.iter().zip(fields).map(|(name, text)| ((*name).to_owned(), value(text)));
        serde_json::Value::Object(pairs.collect())
    };
    format!("{:#}\n", serde_json::Value::Array(rows(answers).map(object).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::LockCounts;

    fn made() -> Vec<Answer> {
        let outcome = |wall| Outcome {
            wall,
            caller: 0.5,
            workers: 0.25,
            jobs: 7,
            locks: LockCounts { taken: 14, contended: 1, skipped: 0, waited: 100.0, longest: 100.0 },
            wakes: 3,
            peak_bytes: 1_048_576.0,
            stalled: 0.0,
        };
        let answer = |workers, wall| Answer { workers, design: DesignName::Heap, outcome: outcome(wall) };
        vec![answer(2, 4e9), answer(8, 2e9)]
    }

    #[test]
    fn speedup_and_efficiency_count_from_the_fewest_workers() {
        let text = csv(&made());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("workers,design,wall_s,speedup,efficiency"));
        assert!(lines[1].starts_with("2,heap,4.0000,2.000,1.000,0.500,0.250,7,14,1,0,0.1,3,1.0,0.0000"));
        assert!(lines[2].starts_with("8,heap,2.0000,4.000,0.500"));
    }

    #[test]
    fn the_same_figures_everywhere() {
        let table = markdown(&made());
        assert_eq!(table.lines().count(), 4);
        assert!(table.contains("| 8 | heap | 2.0000 | 4.000 |"));
        let read: serde_json::Value = serde_json::from_str(&json(&made())).unwrap();
        assert_eq!((&read[1]["workers"], &read[0]["design"]), (&8.0.into(), &"heap".into()));
    }
}
