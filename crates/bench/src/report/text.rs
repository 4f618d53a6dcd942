//! The report for a terminal: the summary first, then the figures, in at most 100 columns.

use super::figures::{figures, groups};
use super::tables::{self, Table};
use super::verdict::verdict;
use super::{Report, fragments, serial};

/// Upper bound for the characters of a line.
const WIDTH: usize = 100;
/// The number of spaces between two columns.
const GAP: usize = 2;
/// The minimum width of a truncated text column.
const WORDS_LEAST: usize = 6;

/// Returns the report as plain text of at most 100 columns, with the verdict first. The other formats have all figures. Control characters of
/// names are escaped.
pub fn text(report: &Report) -> String {
    let figures = figures(report);
    let mut out = String::new();
    list(&mut out, "Incomplete: ", report.incomplete.as_slice());
    list(&mut out, "Failed: ", &report.failures);
    list(&mut out, "", &verdict(report, &figures));
    for group in groups(&figures) {
        let ratios = group.figures.iter().any(|one| one.versus.is_some());
        let meaning = if ratios { " (÷: packline's figure divided by the other program's)" } else { "" };
        section(&mut out, &format!("{}{meaning}", group.title()), Some(tables::short_runs(&group)));
    }
    let ways = fragments::verdict(&fragments::fragments(&figures));
    if !ways.is_empty() {
        out.push('\n');
        list(&mut out, "", &[ways]);
    }
    section(&mut out, "Codecs in memory, on one core", tables::codecs(&report.codecs, true));
    for (title, table) in serial::tables(report) {
        section(&mut out, title, Some(table));
    }
    out.push('\n');
    facts(&mut out, report);
    list(&mut out, "- ", &report.notes);
    out
}

fn facts(out: &mut String, report: &Report) {
    let commands = report.command.lines().map(|command| format!("Command: {command}"));
    let facts = tables::facts(report).into_iter().map(|(name, value)| format!("{name}: {value}"));
    let programs = report.programs.iter().map(|program| format!("{}: {}", program.name, program.version));
    list(out, "- ", &commands.chain(facts).chain(programs).collect::<Vec<_>>());
}

fn section(out: &mut String, title: &str, table: Option<Table>) {
    let Some(table) = table else { return };
    out.push('\n');
    list(out, "", &[title.to_owned()]);
    out.push_str(&aligned(&table));
}

/// Writes wrapped sentences with a prefix.
fn list(out: &mut String, mark: &str, sentences: &[String]) {
    for sentence in sentences {
        wrap(out, &format!("{mark}{}", escaped(sentence)));
    }
}

/// Wraps a sentence. Lines after the first are indented. A word that is longer than a line is broken.
fn wrap(out: &mut String, sentence: &str) {
    let mut line = String::new();
    let mut length = 0;
    for word in sentence.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + word.len() > WIDTH {
            out.push_str(&format!("{line}\n"));
            line = "  ".to_owned();
            length = 2;
        } else if length > 0 {
            line.push(' ');
            length += 1;
        }
        while length + word.len() > WIDTH {
            line.extend(word.drain(..WIDTH - length));
            out.push_str(&format!("{line}\n"));
            line = "  ".to_owned();
            length = 2;
        }
        length += word.len();
        line.extend(word);
    }
    out.push_str(&format!("{}\n", line.trim_end()));
}

/// Returns the table in columns. If it is too wide, the widest text columns are truncated.
fn aligned(table: &Table) -> String {
    let lines = table.lines(escaped);
    let widths = widths(table, &lines);
    let line = |cells: &Vec<String>| {
        let cells: Vec<String> = cells.iter().zip(&widths).map(|(cell, &width)| cut(cell, width)).collect();
        let line = table.padded(&cells, &widths).join(&" ".repeat(GAP));
        format!("{}\n", cut(line.trim_end(), WIDTH))
    };
    lines.iter().map(line).collect()
}

fn widths(table: &Table, lines: &[Vec<String>]) -> Vec<usize> {
    let mut widths = tables::widths(lines);
    let available = WIDTH.saturating_sub(GAP * widths.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > available {
        let words = widths.iter_mut().zip(&table.numbers).filter(|(_, number)| !**number);
        match words.map(|(width, _)| width).max().filter(|width| **width > WORDS_LEAST) {
            Some(width) => *width -= 1,
            None => break,
        }
    }
    widths
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() {
        count if count <= width => text.to_owned(),
        _ => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Escapes control characters.
fn escaped(text: &str) -> String {
    let one = |char: char| match char {
        char if char.is_control() => char.escape_default().to_string(),
        char => char.to_string(),
    };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::tests::fixture::{any_report, realistic};

    fn too_wide(text: &str) -> Vec<&str> {
        text.lines().filter(|line| line.chars().count() > WIDTH || line.chars().any(char::is_control)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_line_is_wider_than_a_terminal(report in any_report()) {
            let text = text(&report);
            prop_assert_eq!(too_wide(&text), Vec::<&str>::new());
        }
    }

    #[test]
    fn realistic_report_fits_and_begins_with_its_verdict() {
        let report = realistic(&[1, 2, 4]);
        let text = text(&report);
        assert_eq!(too_wide(&text), Vec::<&str>::new());
        assert!(text.starts_with("Smallest: packline with xz"), "{text}");
        let head = text.lines().find(|line| line.starts_with("Codec")).unwrap();
        for column in ["Tails", "Program", "Jobs", "Wall s", "CPU s", "Peak MB", "Ratio %", "Wall÷", "Size÷"] {
            assert!(head.contains(column), "{column}: {head}");
        }
    }

    #[test]
    fn failures_come_first() {
        let incomplete = Some("interrupted after 3 of 9 runs".into());
        let report = Report { incomplete, failures: vec!["x: \u{1b}[2J".into()], ..realistic(&[1]) };
        let text = text(&report);
        assert!(text.starts_with("Incomplete: interrupted after 3 of 9 runs\nFailed: x: \\u{1b}[2J\n"), "{text}");
    }

    #[test]
    fn breaks_long_words_and_truncates_long_names() {
        let mut out = String::new();
        wrap(&mut out, &format!("a {} b", "x".repeat(250)));
        let lengths: Vec<usize> = out.lines().map(str::len).collect();
        assert_eq!(lengths, [1, 100, 100, 58]);
        let mut report = realistic(&[1]);
        let long = format!("tar2sqfs={}", "/deep".repeat(30));
        report.measured.iter_mut().for_each(|one| one.case.program = long.clone());
        assert!(super::text(&report).contains("…"));
    }
}
