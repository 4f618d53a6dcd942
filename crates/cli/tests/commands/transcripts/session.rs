//! A session at a shell as text: commands after `$ `, and the output of each command.

use std::fmt::Write as _;

/// One command of a session.
pub struct Step {
    /// Whether an empty line separates the command from the output before it.
    is_apart: bool,
    /// Comments before the command.
    lead: String,
    pub command: String,
    expected: Vec<String>,
}

/// Returns the steps of a session. A command continues on the next line if its line ends with a backslash.
pub fn parse(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lead = String::new();
    for line in text.lines() {
        if let Some(step) = steps.last_mut().filter(|step| step.expected.is_empty() && step.command.ends_with('\\')) {
            step.command.push('\n');
            step.command.push_str(line);
        } else if let Some(command) = line.strip_prefix("$ ") {
            let lead = std::mem::take(&mut lead);
            let is_apart = steps.last_mut().is_some_and(without_empty_end);
            steps.push(Step { is_apart, lead, command: command.to_string(), expected: Vec::new() });
        } else if line.starts_with('#') || line.is_empty() && (steps.is_empty() || !lead.is_empty()) {
            lead.push_str(line);
            lead.push('\n');
        } else if let Some(step) = steps.last_mut().filter(|_| lead.is_empty()) {
            step.expected.push(line.to_string());
        }
    }
    if let Some(step) = steps.last_mut() {
        without_empty_end(step);
    }
    steps
}

/// Removes the empty lines after an output. Returns whether there were any.
fn without_empty_end(step: &mut Step) -> bool {
    let end = step.expected.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let has_empty_end = end < step.expected.len();
    step.expected.truncate(end);
    has_empty_end
}

/// Returns the text of a session in which each command has the output that `run` returns. Lines that match the expected ones are kept.
pub fn rewritten(text: &str, run: impl Fn(&str) -> Vec<String>) -> String {
    let mut whole = String::new();
    for Step { is_apart, lead, command, expected } in parse(text) {
        let gap = if is_apart { "\n" } else { "" };
        let _ = write!(whole, "{gap}{lead}$ {command}\n{}", merged(&expected, &run(&command)));
    }
    whole
}

fn merged(expected: &[String], lines: &[String]) -> String {
    let mut merged = String::new();
    for (at, line) in lines.iter().enumerate() {
        let known = expected.get(at).filter(|known| is_alike(known, line)).unwrap_or(line);
        let _ = writeln!(merged, "{known}");
    }
    merged
}

/// Returns whether a line matches the expected line, in which `[..]` is any text. Times and peaks of memory may differ.
fn is_alike(expected: &str, line: &str) -> bool {
    matches(expected, line) || matches(&without_measurements(expected), &without_measurements(line))
}

fn matches(expected: &str, line: &str) -> bool {
    let Some((head, rest)) = expected.split_once("[..]") else { return expected == line };
    let Some(mut tail) = line.strip_prefix(head) else { return false };
    loop {
        if matches(rest, tail) {
            return true;
        }
        let mut letters = tail.chars();
        if letters.next().is_none() {
            return false;
        }
        tail = letters.as_str();
    }
}

/// A line of output with `[..]` for the time at its end, and for a rate after the time.
pub fn without_time(line: &str) -> String {
    let is_of = |text: &str, unit: &str| {
        text.strip_suffix(unit).is_some_and(|number| !number.is_empty() && number.parse::<f64>().is_ok())
    };
    let (head, last) = line.rsplit_once(", ").unwrap_or((line, ""));
    let is_rate = [" MB/s", " KiB/s", " MiB/s"].iter().any(|unit| is_of(last, unit));
    let (head, last) = if is_rate { head.rsplit_once(", ").unwrap_or((head, "")) } else { (head, last) };
    if is_of(last, " ms") || is_of(last, " s") { format!("{head}, [..]") } else { line.to_string() }
}

/// The label of the line with measurements in a summary.
const RUN: &str = "run:       ";

/// [`without_time`], and also without the number of workers and the peak of memory before the time.
fn without_measurements(line: &str) -> String {
    let line = without_time(line);
    let Some((head, rest)) = line.split_once(" peak memory") else { return line };
    let label = if head.starts_with(RUN) { RUN } else { "" };
    format!("{label}[..] peak memory{rest}")
}

#[test]
fn times_at_the_ends_of_summaries_are_any_text() {
    for (line, expected) in [
        ("1 worker, 5.0 MiB peak memory, 12 ms", "1 worker, 5.0 MiB peak memory, [..]"),
        ("x: 5 MiB, 1.25 s, 4 MB/s", "x: 5 MiB, [..]"),
        ("x: 5 MiB, 1.25 s, 4 MiB/s", "x: 5 MiB, [..]"),
        ("x: 5 KiB, 1.25 s, 4 KiB/s", "x: 5 KiB, [..]"),
        ("2 files, 3 ms of", "2 files, 3 ms of"),
        ("waits, s", "waits, s"),
        ("", ""),
    ] {
        assert_eq!(without_time(line), expected);
    }
}

#[test]
fn measured_values_match_any_others() {
    assert!(is_alike("2 workers, 35.1 MiB peak memory, 12 ms", "1 worker, 5.0 MiB peak memory, 1.2 s"));
    assert!(is_alike("a: 5 MiB, [..]", "a: 5 MiB, 12 ms"));
    assert!(!is_alike("a: 5 MiB, 12 ms", "a: 6 MiB, 12 ms"));
}

#[test]
fn commands_continue_after_a_backslash() {
    let text = "$ echo a \\\n    b\na b\n\n$ true\n";
    let commands: Vec<String> = parse(text).into_iter().map(|step| step.command).collect();
    assert_eq!(commands, ["echo a \\\n    b", "true"]);
    assert_eq!(
        rewritten(text, |command| command
            .strip_prefix("echo")
            .map(|_| vec!["a b".into()])
            .into_iter()
            .flatten()
            .collect()),
        text
    );
}
