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

impl Answer {
    /// The columns of a row, each with its name; `one` is the wall time with one worker (see [`one`]).
    fn fields(&self, one: f64) -> [(&'static str, String); 15] {
        let Outcome { wall, caller, workers, jobs, locks, wakes, peak_bytes, stalled } = &self.outcome;
        let speedup = one / wall;
        [
            ("workers", self.workers.to_string()),
            ("design", self.design.name()),
            ("wall_s", format!("{:.4}", wall / 1e9)),
            ("speedup", format!("{speedup:.3}")),
            ("efficiency", format!("{:.3}", speedup / self.workers as f64)),
            ("caller", format!("{caller:.3}")),
            ("worker", format!("{workers:.3}")),
            ("jobs", jobs.to_string()),
            ("locks", locks.taken.to_string()),
            ("contended", locks.contended.to_string()),
            ("skipped", locks.skipped.to_string()),
            ("longest_wait_us", format!("{:.1}", locks.longest / 1e3)),
            ("wakes", wakes.to_string()),
            ("peak_mib", format!("{:.1}", peak_bytes / f64::from(1 << 20))),
            ("stalled_s", format!("{:.4}", stalled / 1e9)),
        ]
    }
}

/// The base of speed-ups: the wall time of the design's run with the fewest workers, times their number.
fn one(answers: &[Answer], design: DesignName) -> f64 {
    let same = answers.iter().filter(|answer| answer.design == design);
    same.min_by_key(|answer| answer.workers).map_or(0.0, |answer| answer.outcome.wall * answer.workers as f64)
}

fn rows(answers: &[Answer]) -> impl Iterator<Item = [(&'static str, String); 15]> + '_ {
    answers.iter().map(|answer| answer.fields(one(answers, answer.design)))
}

/// The names of the columns and then each row, joined by `between`.
fn lines(answers: &[Answer], between: &str) -> Vec<String> {
    let head = rows(answers).take(1).map(|fields| fields.map(|(name, _)| name).join(between));
    head.chain(rows(answers).map(|fields| fields.map(|(_, value)| value).join(between))).collect()
}

pub fn markdown(answers: &[Answer]) -> String {
    let mut lines: Vec<String> = lines(answers, " | ").into_iter().map(|line| format!("| {line} |")).collect();
    lines.insert(1, format!("|{}", "---|".repeat(15)));
    lines.join("\n")
}

pub fn csv(answers: &[Answer]) -> String {
    lines(answers, ",").join("\n") + "\n"
}

pub fn json(answers: &[Answer]) -> String {
    let value = |text: String| match text.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
        Some(number) => serde_json::Value::Number(number),
        None => serde_json::Value::String(text),
    };
    let object = |fields: [(&str, String); 15]| {
        serde_json::Value::Object(fields.map(|(name, text)| (name.to_owned(), value(text))).into_iter().collect())
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
