//! CSV back into a report.

use std::str::FromStr;

use super::records::records;
use super::{COLUMNS, FIRST};
use crate::report::{Case, CodecSpeed, Cost, Input, Measured, Program, Report, Storage, Tails, Task};

/// Why a CSV could not be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct CsvError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it, and what was expected.
    pub what: String,
}

/// A report from CSV; only what CSV holds is filled, and that is all of it.
///
/// # Errors
/// [`CsvError`] names the first line that is not as [`super::csv`] writes it. Lines may end in CR LF, and comments may lack
/// their last blank: editors do that.
pub fn read_csv(text: &str) -> Result<Report, CsvError> {
    let (mut report, place, table, line) = comments(text)?;
    let mut rows = records(table, line)?.into_iter();
    let heading = rows.next();
    if heading.as_ref().is_none_or(|(_, fields)| fields[..] != COLUMNS) {
        let line = heading.map_or(line, |(line, _)| line);
        return Err(CsvError { line, what: format!("expected the heading {}", COLUMNS.join(",")) });
    }
    for (line, fields) in rows {
        Row { fields }.add_to(&mut report, place.as_deref()).map_err(|what| CsvError { line, what })?;
    }
    Ok(report)
}

/// The report so far, the place of the storage, the text after the comments, and the number of its first line.
fn comments(text: &str) -> Result<(Report, Option<String>, &str, usize), CsvError> {
    let mut report = Report::default();
    let (mut place, mut rest, mut line) = (None, text, 1);
    while rest.starts_with('#') {
        let (comment, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let comment = comment.strip_suffix('\r').unwrap_or(comment);
        match line {
            1 if comment == FIRST => {}
            1 => return Err(CsvError { line, what: format!("expected {FIRST:?}, found {comment:?}") }),
            _ => comment_into(&mut report, &mut place, comment).map_err(|what| CsvError { line, what })?,
        }
        (rest, line) = (after, line + 1);
    }
    match line {
        1 => Err(CsvError { line, what: format!("expected {FIRST:?}") }),
        _ => Ok((report, place, rest, line)),
    }
}

fn comment_into(report: &mut Report, place: &mut Option<String>, comment: &str) -> Result<(), String> {
    let (key, value) = comment.trim_start_matches('#').split_once(':').ok_or("expected `# key: value`")?;
    let value = value.strip_prefix(' ').unwrap_or(value);
    let parts = || value.split_once('\t').ok_or(format!("{}: expected two parts with a tab between", key.trim()));
    match key.trim() {
        "command" => report.command = plain(value)?,
        "date" => report.date = plain(value)?,
        "machine" => report.machine = plain(value)?,
        "warmups" => report.warmups = parsed("warmups", value)?,
        "incomplete" => report.incomplete = Some(plain(value)?),
        "failure" => report.failures.push(plain(value)?),
        "note" => report.notes.push(plain(value)?),
        "place" => *place = Some(plain(value)?),
        "input" => report.input = Input { name: plain(parts()?.0)?, bytes: parsed("input bytes", parts()?.1)? },
        "program" => report.programs.push(Program { name: plain(parts()?.0)?, version: plain(parts()?.1)? }),
        other => return Err(format!("no such key: {other:?}")),
    }
    Ok(())
}

/// The value whose `escaped` this is.
fn plain(escaped: &str) -> Result<String, String> {
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

fn parsed<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name}: expected a number, found {value:?}"))
}

/// A line of the table.
struct Row {
    fields: Vec<String>,
}

impl Row {
    fn add_to(&self, report: &mut Report, place: Option<&str>) -> Result<(), String> {
        if self.fields.len() != COLUMNS.len() {
            return Err(format!("expected {} fields, found {}", COLUMNS.len(), self.fields.len()));
        }
        match self.text("kind") {
            "run" => self.measured(&mut report.measured),
            "codec" => self.codec(&mut report.codecs),
            "storage" => {
                let place = place.ok_or("storage without a comment that names its place")?;
                report.storage = Some(self.storage(place)?);
                Ok(())
            }
            other => Err(format!("kind: expected run, codec or storage, found {other:?}")),
        }
    }

    fn text(&self, column: &str) -> &str {
        let at = COLUMNS.iter().position(|name| *name == column);
        at.and_then(|at| self.fields.get(at)).map_or("", String::as_str)
    }

    fn number<T: FromStr>(&self, column: &str) -> Result<T, String> {
        parsed(column, self.text(column))
    }

    /// A number that is one: neither infinite nor none.
    fn real(&self, column: &str) -> Result<f64, String> {
        let number: f64 = self.number(column)?;
        if number.is_finite() { Ok(number) } else { Err(format!("{column}: expected a finite number, found {number}")) }
    }

    fn measured(&self, all: &mut Vec<Measured>) -> Result<(), String> {
        let found = Measured {
            case: self.case()?,
            content_bytes: self.number("content_bytes")?,
            image_bytes: self.number("image_bytes")?,
            runs: Vec::new(),
        };
        if self.text("run").is_empty() {
            all.push(found);
            return Ok(());
        }
        let cost = Cost {
            wall: self.real("wall_s")?,
            user: self.real("user_s")?,
            system: self.real("system_s")?,
            peak: self.number("peak_bytes")?,
        };
        let run: usize = self.number("run")?;
        match all.last_mut() {
            Some(last)
                if run > 1
                    && last.runs.len() + 1 == run
                    && (Measured { runs: Vec::new(), ..last.clone() }) == found =>
            {
                last.runs.push(cost);
            }
            _ if run == 1 => all.push(Measured { runs: vec![cost], ..found }),
            _ => return Err(format!("run: expected 1 or the next of the line before, found {run}")),
        }
        Ok(())
    }

    fn case(&self) -> Result<Case, String> {
        let (task, tails) = (self.text("task"), self.text("tails"));
        let task_of = Task::ALL.into_iter().find(|one| one.name() == task);
        let tails_of = Tails::ALL.into_iter().find(|one| one.name() == tails);
        Ok(Case {
            task: task_of.ok_or(format!("task: expected pack, unpack or tar, found {task:?}"))?,
            codec: self.text("codec").into(),
            block_size: self.number("block_size")?,
            tails: tails_of.ok_or(format!("tails: no such way: {tails:?}"))?,
            program: self.text("program").into(),
            jobs: self.number("jobs")?,
        })
    }

    fn codec(&self, all: &mut Vec<CodecSpeed>) -> Result<(), String> {
        let found = CodecSpeed {
            codec: self.text("codec").into(),
            block_size: self.number("block_size")?,
            blocks: self.number("blocks")?,
            not_smaller: self.number("not_smaller")?,
            content_bytes: self.number("content_bytes")?,
            stored_bytes: self.number("image_bytes")?,
            compress: Vec::new(),
            decompress: Vec::new(),
            decompressed_bytes: self.number("decompressed_bytes")?,
        };
        let run = if self.text("run").is_empty() { 0 } else { self.number("run")? };
        if run <= 1 {
            all.push(found.clone());
        }
        let same = |last: &&mut CodecSpeed| {
            let bare = CodecSpeed { compress: Vec::new(), decompress: Vec::new(), ..(**last).clone() };
            bare == found && last.compress.len().max(last.decompress.len()) + 1 == run.max(1)
        };
        let last = all.last_mut().filter(same).ok_or(format!("run: expected 1 or the next, found {run}"))?;
        for (column, seconds) in [("compress_s", &mut last.compress), ("decompress_s", &mut last.decompress)] {
            match self.text(column).is_empty() {
                true => {}
                false if seconds.len() + 1 == run => seconds.push(self.real(column)?),
                false => return Err(format!("{column}: a run before this one has none")),
            }
        }
        Ok(())
    }

    fn storage(&self, place: &str) -> Result<Storage, String> {
        Ok(Storage {
            place: place.into(),
            bytes: self.number("content_bytes")?,
            read: self.real("read_bytes_per_s")?,
            write: self.real("write_bytes_per_s")?,
            direct: self.text("direct").parse().map_err(|_| "direct: expected true or false".to_string())?,
        })
    }
}
