//! Every run, a line each, for machines; and back.
//!
//! A block of comment lines comes first, `# key: value` (`#` as `pandas.read_csv(comment="#")` and gnuplot skip it), with
//! `\n`, `\r`, `\t` and `\\` for the characters they name; a value of two parts has a tab between them. Then one table
//! with a heading; its column `kind` says what a line is:
//!
//! - `run`: one run of a configuration; `run` counts from 1. A configuration without runs has one line with `run` empty.
//! - `codec`: one run of a codec in memory; `image_bytes` are the bytes stored.
//! - `storage`: the place; `content_bytes` are the bytes written and read.
//!
//! Fields with a comma, a quote or a line break are quoted as RFC 4180 says. Lines end in a line feed.

use super::{CodecSpeed, Measured, Report, Storage};

mod read;
mod records;

pub use read::{CsvError, read_csv};

/// The first line: what this is, and in which version of its layout.
const FIRST: &str = "# packline bench: 1";

/// The columns.
const COLUMNS: [&str; 22] = [
    "kind",
    "task",
    "codec",
    "block_size",
    "tails",
    "program",
    "jobs",
    "run",
    "content_bytes",
    "image_bytes",
    "wall_s",
    "user_s",
    "system_s",
    "peak_bytes",
    "blocks",
    "not_smaller",
    "decompressed_bytes",
    "compress_s",
    "decompress_s",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "direct",
];

/// The report as CSV.
pub fn csv(report: &Report) -> String {
    let mut out = comments(report);
    out.push_str(&line(&COLUMNS.map(String::from)));
    let measured = report.measured.iter().flat_map(measured);
    for cells in measured.chain(report.codecs.iter().flat_map(codec)).chain(report.storage.as_ref().map(storage)) {
        out.push_str(&line(&row(&cells)));
    }
    out
}

fn comments(report: &Report) -> String {
    let mut out = format!("{FIRST}\n");
    let mut say = |key: &str, value: String| out.push_str(&format!("# {key}: {value}\n"));
    say("command", escaped(&report.command));
    say("date", escaped(&report.date));
    say("machine", escaped(&report.machine));
    say("input", format!("{}\t{}", escaped(&report.input.name), report.input.bytes));
    say("warmups", report.warmups.to_string());
    for program in &report.programs {
        say("program", format!("{}\t{}", escaped(&program.name), escaped(&program.version)));
    }
    if let Some(reason) = &report.incomplete {
        say("incomplete", escaped(reason));
    }
    for failure in &report.failures {
        say("failure", escaped(failure));
    }
    for note in &report.notes {
        say("note", escaped(note));
    }
    if let Some(storage) = &report.storage {
        say("place", escaped(&storage.place));
    }
    out
}

/// Cells by column; the others are empty.
type Cells = Vec<(&'static str, String)>;

fn measured(measured: &Measured) -> Vec<Cells> {
    let case = &measured.case;
    let base: Cells = vec![
        ("kind", "run".into()),
        ("task", case.task.name().into()),
        ("codec", case.codec.clone()),
        ("block_size", case.block_size.to_string()),
        ("tails", case.tails.name().into()),
        ("program", case.program.clone()),
        ("jobs", case.jobs.to_string()),
        ("content_bytes", measured.content_bytes.to_string()),
        ("image_bytes", measured.image_bytes.to_string()),
    ];
    if measured.runs.is_empty() {
        return vec![base];
    }
    let run = |(index, cost): (usize, &super::Cost)| {
        let mut cells = base.clone();
        cells.extend([("run", (index + 1).to_string()), ("wall_s", cost.wall.to_string())]);
        cells.extend([("user_s", cost.user.to_string()), ("system_s", cost.system.to_string())]);
        cells.push(("peak_bytes", cost.peak.to_string()));
        cells
    };
    measured.runs.iter().enumerate().map(run).collect()
}

fn codec(codec: &CodecSpeed) -> Vec<Cells> {
    let base: Cells = vec![
        ("kind", "codec".into()),
        ("codec", codec.codec.clone()),
        ("block_size", codec.block_size.to_string()),
        ("content_bytes", codec.content_bytes.to_string()),
        ("image_bytes", codec.stored_bytes.to_string()),
        ("blocks", codec.blocks.to_string()),
        ("not_smaller", codec.not_smaller.to_string()),
        ("decompressed_bytes", codec.decompressed_bytes.to_string()),
    ];
    let runs = codec.compress.len().max(codec.decompress.len());
    let run = |index: usize| {
        let seconds = |all: &[f64]| all.get(index).map(f64::to_string).unwrap_or_default();
        let mut cells = base.clone();
        cells.push(("run", (index + 1).to_string()));
        cells.extend([("compress_s", seconds(&codec.compress)), ("decompress_s", seconds(&codec.decompress))]);
        cells
    };
    if runs == 0 { vec![base] } else { (0..runs).map(run).collect() }
}

fn storage(storage: &Storage) -> Cells {
    vec![
        ("kind", "storage".into()),
        ("content_bytes", storage.bytes.to_string()),
        ("read_bytes_per_s", storage.read.to_string()),
        ("write_bytes_per_s", storage.write.to_string()),
        ("direct", storage.direct.to_string()),
    ]
}

fn row(cells: &Cells) -> Vec<String> {
    let cell = |column: &&str| cells.iter().find(|(name, _)| name == column).map(|(_, cell)| cell.clone());
    COLUMNS.iter().map(|column| cell(column).unwrap_or_default()).collect()
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    cells.join(",") + "\n"
}

fn quoted(cell: &str) -> String {
    let plain = !cell.contains([',', '"', '\n', '\r', '#']);
    if plain { cell.into() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

/// A comment's value in one line, without tabs.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}
