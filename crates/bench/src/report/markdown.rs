//! The report as Markdown. The tables are also aligned in the source.

use super::figures::{figures, groups};
use super::tables::{self, Table};
use super::verdict::verdict;
use super::{Report, fragments, serial};

pub fn markdown(report: &Report) -> String {
    let figures = figures(report);
    let mut out = heading(report);
    list(&mut out, "In short", &verdict(report, &figures));
    list(&mut out, "Incomplete", report.incomplete.as_slice());
    list(&mut out, "Failures", &report.failures);
    for group in groups(&figures) {
        section(&mut out, &group.title(), "", Some(tables::runs(&group)));
    }
    let ways = fragments::fragments(&figures);
    section(&mut out, "Fragments", &fragments::verdict(&ways), fragments::table(&ways));
    section(
        &mut out,
        "Codecs in memory",
        "Megabytes (10^6) per second on one core.",
        tables::codecs(&report.codecs, false),
    );
    for (title, table) in serial::tables(report) {
        section(&mut out, title, "", Some(table));
    }
    list(&mut out, "Notes", &report.notes);
    out
}

/// Writes sentences below a heading, if there are any.
fn list(out: &mut String, title: &str, sentences: &[String]) {
    if !sentences.is_empty() {
        out.push_str(&format!("\n## {title}\n\n"));
    }
    for sentence in sentences {
        out.push_str(&format!("- {}\n", escaped(sentence)));
    }
}

fn heading(report: &Report) -> String {
    let mut out = format!("# Benchmark: {}\n\n", escaped(&report.input.name));
    for command in report.command.lines() {
        out.push_str(&format!("- Command: {}\n", code(command)));
    }
    for (name, value) in tables::facts(report) {
        out.push_str(&format!("- {name}: {}\n", escaped(&value)));
    }
    for program in &report.programs {
        out.push_str(&format!("- {}: {}\n", escaped(&program.name), escaped(&program.version)));
    }
    out
}

fn section(out: &mut String, title: &str, words: &str, table: Option<Table>) {
    let Some(table) = table else { return };
    out.push_str(&format!("\n## {title}\n\n"));
    if !words.is_empty() {
        out.push_str(&format!("{words}\n\n"));
    }
    out.push_str(&aligned(&table));
}

/// Returns the table, with each column as wide as its widest cell.
fn aligned(table: &Table) -> String {
    let mut lines = table.lines(escaped);
    let widths: Vec<usize> = tables::widths(&lines).into_iter().map(|width| width.max(3)).collect();
    let rule =
        |(&width, &number): (&usize, &bool)| "-".repeat(width - usize::from(number)) + if number { ":" } else { "" };
    lines.insert(1, widths.iter().zip(&table.numbers).map(rule).collect());
    lines.iter().map(|cells| format!("| {} |\n", table.padded(cells, &widths).join(" | "))).collect()
}

/// Escapes text for Markdown, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '\n' | '\r' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' => out.extend(['\\', char]),
            other => out.push(other),
        }
    }
    out
}

/// Returns text as code on one line, between more backticks than the text has in a row.
fn code(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ");
    let most = line.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(most + 1);
    let pad = if most > 0 { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}
