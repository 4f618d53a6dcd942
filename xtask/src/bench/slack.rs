//! The table of the OpenZFS proposal for `slack` (pull request 15215) with records of .pln files: files of sizes round that
//! of a record are opened, written, fsynced and closed in a loop.
//!
//! There a file that is longer than a record has nothing but whole records: what follows the content of the last one is zeros,
//! which cost writes unless something takes them off. So the content here, which no codec makes smaller, is followed by zeros up
//! to whole records, and throughput counts the content alone.

use super::{machine, scratch};
use crate::arguments::Arguments;
use crate::{clock, environment, shell};
use packline::codec::Coding;
use packline::pln::{self, Machine, RecordSize, Source, Unobserved, WriteOptions};
use packline_testkit::{Random, Stopwatch};
use std::fmt::Write;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

const KNOWN: [&str; 6] = ["seconds", "sizes", "codecs", "jobs", "place", "out"];
/// Bytes of content of a file, in millions as the proposal counts.
const SIZES: [&str; 5] = ["15", "16", "17", "24", "31"];
const CODECS: [&str; 5] = ["none", "lz4", "zle", "slack", "slack+lz4"];
const RECORDS: [(&str, u64); 2] = [("128K", 128 << 10), ("16M", 16 << 20)];
/// A megabyte of the proposal: its 16 MB file is one record of 16M.
const MEGABYTE: usize = 1 << 20;

/// A file of so many bytes of content, its records and what is done to them.
struct Case {
    record: &'static str,
    size: usize,
    coding: Coding,
    options: WriteOptions,
}

/// What writing one file took.
struct Run {
    seconds: f64,
    fsync: f64,
    physical: u64,
}

/// A case with all its runs.
struct Row {
    record: &'static str,
    size: usize,
    codec: String,
    runs: Vec<Run>,
}

impl Row {
    /// Megabytes of content a second, over all runs.
    fn throughput(&self) -> f64 {
        let seconds: f64 = self.runs.iter().map(|run| run.seconds).sum();
        (self.size * self.runs.len()) as f64 / MEGABYTE as f64 / seconds
    }

    /// The run in the middle, milliseconds.
    fn fsync(&self) -> f64 {
        let mut times: Vec<f64> = self.runs.iter().map(|run| run.fsync * 1e3).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    /// Bytes that are written for a byte of content: the same in each run.
    fn cost(&self) -> f64 {
        self.runs[0].physical as f64 / self.size as f64
    }
}

/// `bench slack`: as release builds do it.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    if cfg!(debug_assertions) {
        let words = environment::arguments();
        return shell::started(shell::cargo().args(["run", "--release", "--package", "xtask", "--"]).args(words));
    }
    let place = arguments.path("place").map_or_else(scratch, Ok)?;
    let machine = Machine { workers: arguments.number("jobs", 1)?, ..Machine::default() };
    let seconds: u32 = arguments.number("seconds", 3)?;
    let mut rows = Vec::new();
    for case in cases(arguments)? {
        let row = measure(case, &machine, f64::from(seconds), &place.join("slack.pln"))?;
        shell::say(&line(&row));
        rows.push(row);
    }
    keep(arguments, &rows, &page(&machine, seconds, &rows))
}

fn cases(arguments: &Arguments) -> Result<Vec<Case>, String> {
    let (sizes, codecs) = (arguments.list("sizes", &SIZES), arguments.list("codecs", &CODECS));
    let mut cases = Vec::new();
    for (record, bytes) in RECORDS {
        let record_size = RecordSize::new(bytes).map_err(|error| error.to_string())?;
        for size in &sizes {
            let megabytes: usize = size.parse().map_err(|_| format!("--sizes: {size:?} is no number of megabytes"))?;
            for codec in &codecs {
                let coding = Coding::parse(codec).map_err(|error| format!("--codecs: {error}"))?;
                let options = WriteOptions { record_size, codings: vec![coding.clone()] };
                cases.push(Case { record, size: megabytes * MEGABYTE, coding, options });
            }
        }
    }
    Ok(cases)
}

/// Writes files for so many seconds, three at least.
fn measure(case: Case, machine: &Machine, seconds: f64, path: &Path) -> Result<Row, String> {
    let content = content(&case);
    write_one(&case, &content, machine, path)?; // memory and the file system are warm then
    let (mut runs, watch) = (Vec::new(), Stopwatch::start());
    while runs.len() < 3 || watch.elapsed().as_secs_f64() < seconds {
        runs.push(write_one(&case, &content, machine, path)?);
    }
    check(path, &content, machine)?;
    std::fs::remove_file(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(Row { record: case.record, size: case.size, codec: case.coding.to_string(), runs })
}

/// Noise, then zeros up to whole records.
fn content(case: &Case) -> Vec<u8> {
    let mut content = Random::new(case.size as u64).noise(case.size);
    content.resize(case.size.next_multiple_of(case.options.record_size.bytes()), 0);
    content
}

/// open, write, fsync, close.
fn write_one(case: &Case, content: &[u8], machine: &Machine, path: &Path) -> Result<Run, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let watch = Stopwatch::start();
    let mut file = File::create(path).map_err(named)?;
    let mut source = content;
    let written = pln::compress(Source::Stream(&mut source), &mut file, &case.options, machine, &mut Unobserved);
    let physical = written.map_err(|error| error.to_string())?.physical;
    let before = watch.elapsed().as_secs_f64();
    file.sync_all().map_err(named)?;
    let fsync = watch.elapsed().as_secs_f64() - before;
    drop(file);
    Ok(Run { seconds: watch.elapsed().as_secs_f64(), fsync, physical })
}

/// The last file is what it should be.
fn check(path: &Path, content: &[u8], machine: &Machine) -> Result<(), String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let (mut packed, mut back) = (Vec::new(), Cursor::new(Vec::with_capacity(content.len())));
    File::open(path).and_then(|mut file| file.read_to_end(&mut packed)).map_err(named)?;
    let source = Source::Stream(&mut packed.as_slice());
    pln::decompress(source, pln::Span::ALL, &mut back, machine, &mut Unobserved).map_err(|error| error.to_string())?;
    if back.get_ref() == content { Ok(()) } else { Err(format!("{}: holds something else", path.display())) }
}

fn keep(arguments: &Arguments, rows: &[Row], page: &str) -> Result<(), String> {
    let place = arguments.path("out").unwrap_or_else(|| shell::root().join("bench/results"));
    let name = format!("{}-slack", clock::today());
    shell::write(&place.join(format!("{name}.csv")), &csv(rows))?;
    shell::write(&place.join(format!("{name}.md")), page)
}

/// Every run, a line each.
fn csv(rows: &[Row]) -> String {
    let mut text = "record,content_bytes,codec,run,wall_s,fsync_s,physical_bytes\n".to_owned();
    for row in rows {
        for (run, Run { seconds, fsync, physical }) in row.runs.iter().enumerate() {
            let Row { record, size, codec, .. } = row;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{record},{size},{codec},{run},{seconds},{fsync},{physical}");
        }
    }
    text
}

fn line(row: &Row) -> String {
    let (size, physical) = (row.size / MEGABYTE, row.runs[0].physical as f64 / MEGABYTE as f64);
    format!(
        "| {} | {size} | {} | {:.0} | {:.2} | {physical:.2} | {:.3} | {} |",
        row.record,
        row.codec,
        row.throughput(),
        row.fsync(),
        row.cost(),
        row.runs.len()
    )
}

fn page(machine: &Machine, seconds: u32, rows: &[Row]) -> String {
    let lines: Vec<String> = rows.iter().map(line).collect();
    format!(
        "# Files round the size of a record: open, write, fsync, close\n\n{}\n\nEach file is written by the library \
         (`packline_pln::compress`, {} worker) for {seconds} s, again and again under the same name. Its content is noise, followed by \
         zeros up to a whole number of records, which are part of it; throughput is that of the noise.\n\n\
         | record size | content, MiB | codec | MiB/s | fsync, ms | written, MiB | written for a byte of content | files |\n\
         |---|--:|---|--:|--:|--:|--:|--:|\n{}\n",
        machine::description(),
        machine.workers,
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_a_little_longer_than_a_record_costs_little_more_with_slack() {
        let place = tempfile::tempdir().unwrap();
        let arguments = |codecs: &str| {
            let words = ["--sizes", "16,17", "--codecs", codecs].map(str::to_owned);
            Arguments::parse(words.into_iter()).unwrap()
        };
        let costs = |codec: &str| -> Vec<f64> {
            let cases = cases(&arguments(codec)).unwrap();
            let large = cases.into_iter().filter(|case| case.record == "16M");
            let written = |case: Case| {
                let run = write_one(&case, &content(&case), &Machine::default(), &place.path().join("x")).unwrap();
                run.physical as f64 / case.size as f64
            };
            large.map(written).collect()
        };
        let [none, slack] = ["none", "slack"].map(costs);
        assert!(none[1] > 1.8 * none[0], "{none:?}");
        assert!(slack[1] < 1.01 * slack[0], "{slack:?}");
    }
}
