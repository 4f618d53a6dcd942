//! Writes a report as CSV, with every run on a line, and reads it.
//!
//! A block of comment lines comes first, `# key: value` (skipped by `pandas.read_csv(comment="#")` and gnuplot), with
//! `\n`, `\r`, `\t` and `\\` for the characters they name; a value of two parts has a tab between them. Then one table
//! with a heading; its column `kind` is one of:
//!
//! - `run`: one run of a configuration; `run` counts from 1. A configuration without runs has one line with `run` empty.
//! - `codec`: one run of a codec in memory; `image_bytes` are the bytes stored.
//! - `serial`: one run of which the threads were accounted for; `user_s` and `system_s` are of all threads, `blocks` are results in order.
//! - `storage`: the storage; `content_bytes` are the bytes that were written and read.
//!
//! Fields with a comma, a quote, a line break or `#` are quoted (RFC 4180). Lines end in a line feed.

use super::Report;
use row::Row;

mod comments;
mod row;

/// The first line: the kind of file, and the version of its layout.
const FIRST: &str = "# packline bench: 1";

#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct CsvError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The fault, and the expected form.
    pub what: String,
}

pub fn csv(report: &Report) -> String {
    let mut writer = csv::WriterBuilder::new().comment(Some(b'#')).has_headers(false).from_writer(Vec::new());
    // Writing to memory does not fail, and every row has the same fields.
    let _: csv::Result<()> = writer.write_record(Row::COLUMNS.split(','));
    let _: csv::Result<()> = Row::all(report).try_for_each(|row| writer.serialize(row));
    let table = writer.into_inner().unwrap_or_default();
    comments::write(report) + &String::from_utf8_lossy(&table)
}

/// Reads a report from CSV. The report is complete.
///
/// # Errors
/// [`CsvError`] names the first line that differs from the output of [`csv()`]. Lines may end in CR LF, and comments may lack their last
/// space, because some editors change them so.
pub fn read_csv(text: &str) -> Result<Report, CsvError> {
    let comments::Header { mut report, directory, table, line: first } = comments::read(text)?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
    let mut record = csv::StringRecord::new();
    let error = |line: u64, what: String| CsvError { line: first + line.saturating_sub(1) as usize, what };
    let mut line = 1;
    let mut heading = true;
    while reader.read_record(&mut record).map_err(|cause| error(line_of(&cause, line), described(&cause)))? {
        line = record.position().map_or(line, csv::Position::line);
        if std::mem::take(&mut heading) {
            let known = [Row::FORMER, usize::MAX];
            if !known.iter().any(|&count| record.iter().eq(Row::COLUMNS.split(',').take(count))) {
                return Err(error(line, expected_heading()));
            }
            continue;
        }
        (record.len()..Row::COLUMNS.split(',').count()).for_each(|_| record.push_field(""));
        let row: Row = record.deserialize(None).map_err(|cause| error(line, described(&cause)))?;
        row.add_to(&mut report, directory.as_deref()).map_err(|what| error(line, what))?;
    }
    if heading { Err(error(line, expected_heading())) } else { Ok(report) }
}

fn expected_heading() -> String {
    format!("expected the heading {}", Row::COLUMNS)
}

fn line_of(cause: &csv::Error, otherwise: u64) -> u64 {
    cause.position().map_or(otherwise, csv::Position::line)
}

/// Describes the fault of a row, with the name of the column.
fn described(cause: &csv::Error) -> String {
    match cause.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("expected {expected_len} fields, found {len}")
        }
        csv::ErrorKind::Deserialize { err, .. } => {
            let column = err.field().and_then(|field| Row::COLUMNS.split(',').nth(field as usize));
            column.map_or_else(|| err.kind().to_string(), |column| format!("{column}: {}", err.kind()))
        }
        _ => cause.to_string(),
    }
}
