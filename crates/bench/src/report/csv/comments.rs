//! The comments before the table.

use super::{CsvError, FIRST};
use crate::report::{Input, Program, Report};

pub(super) fn write(report: &Report) -> String {
    let mut out = format!("{FIRST}\n");
    let mut put = |key: &str, value: String| out.push_str(&format!("# {key}: {value}\n"));
    put("command", escaped(&report.command));
    put("date", escaped(&report.date));
    put("machine", escaped(&report.machine));
    put("input", format!("{}\t{}", escaped(&report.input.name), report.input.bytes));
    put("warmups", report.warmups.to_string());
    for program in &report.programs {
        put("program", format!("{}\t{}", escaped(&program.name), escaped(&program.version)));
    }
    if let Some(reason) = &report.incomplete {
        put("incomplete", escaped(reason));
    }
    report.failures.iter().for_each(|failure| put("failure", escaped(failure)));
    report.notes.iter().for_each(|note| put("note", escaped(note)));
    if let Some(storage) = &report.storage {
        put("place", escaped(&storage.place));
    }
    out
}

/// Escapes a value, so that it is on one line and has no tabs.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

/// The result of reading the comments.
pub(super) struct Header<'a> {
    /// The parts of the report that the comments have.
    pub report: Report,
    pub directory: Option<String>,
    /// The text after the comments.
    pub table: &'a str,
    /// The number of the first line after the comments.
    pub line: usize,
}

pub(super) fn read(text: &str) -> Result<Header<'_>, CsvError> {
    let mut header = Header { report: Report::default(), directory: None, table: text, line: 1 };
    while header.table.starts_with('#') {
        let (comment, rest) = header.table.split_once('\n').unwrap_or((header.table, ""));
        let comment = comment.strip_suffix('\r').unwrap_or(comment);
        let line = header.line;
        match line {
            1 if comment == FIRST => {}
            1 => return Err(CsvError { line, what: format!("expected {FIRST:?}, found {comment:?}") }),
            _ => header.add(comment).map_err(|what| CsvError { line, what })?,
        }
        header.table = rest;
        header.line = line + 1;
    }
    match header.line {
        1 => Err(CsvError { line: 1, what: format!("expected {FIRST:?}") }),
        _ => Ok(header),
    }
}

impl Header<'_> {
    fn add(&mut self, comment: &str) -> Result<(), String> {
        let (key, value) = comment.trim_start_matches('#').split_once(':').ok_or("expected `# key: value`")?;
        let value = value.strip_prefix(' ').unwrap_or(value);
        let parts = || value.split_once('\t').ok_or(format!("{}: expected two parts with a tab between", key.trim()));
        let report = &mut self.report;
        match key.trim() {
            "command" => report.command = unescaped(value)?,
            "date" => report.date = unescaped(value)?,
            "machine" => report.machine = unescaped(value)?,
            "warmups" => report.warmups = number("warmups", value)? as usize,
            "incomplete" => report.incomplete = Some(unescaped(value)?),
            "failure" => report.failures.push(unescaped(value)?),
            "note" => report.notes.push(unescaped(value)?),
            "place" => self.directory = Some(unescaped(value)?),
            "input" => report.input = Input { name: unescaped(parts()?.0)?, bytes: number("input bytes", parts()?.1)? },
            "program" => {
                let (name, version) = parts()?;
                report.programs.push(Program { name: unescaped(name)?, version: unescaped(version)? });
            }
            other => return Err(format!("no such key: {other:?}")),
        }
        Ok(())
    }
}

/// Reverses [`escaped`].
fn unescaped(escaped: &str) -> Result<String, String> {
    let mut value = String::new();
    let mut chars = escaped.chars();
    while let Some(char) = chars.next() {
        value.push(match char {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('\\') => '\\',
                other => return Err(format!("a backslash before {other:?}, expected n, r, t or a backslash")),
            },
            other => other,
        });
    }
    Ok(value)
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name}: expected a number, found {value:?}"))
}
