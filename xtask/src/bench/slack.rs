//! The table of the OpenZFS proposal for `slack` (pull request 15215) with records of .pln files: files of about the size of a
//! record are opened, written, fsynced and closed in a loop.
//!
//! In OpenZFS a file that is longer than a record consists of whole records: zeros after the content of the last one are written
//! unless a codec removes them. Therefore the incompressible content here is followed by zeros up to whole records, and the
//! throughput counts the content only.

use super::{machine, median, work_directory};
use crate::{options, shell};
use clap::Args;
use packline_codec::Coding;
use packline_pln as pln;
use packline_pln::{RecordSize, Resources, Source, Stream, Unobserved, WriteOptions};
use packline_testkit::{Random, Stopwatch};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const RECORDS: [(&str, u64); 2] = [("128K", 128 << 10), ("16M", 16 << 20)];
/// A megabyte in the proposal: its 16 MB file is one record of 16M.
const MEGABYTE: usize = 1 << 20;

#[derive(Debug, Args)]
pub struct Options {
    /// Seconds for each size and codec
    #[arg(long, value_name = "N", default_value_t = 3)]
    seconds: u32,
    /// Sizes of the content, MiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "15,16,17,24,31")]
    sizes: Vec<usize>,
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "none,lz4,zle,slack,slack+lz4")]
    codecs: Vec<String>,
    /// Worker threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Directory for the files, on the file system to measure
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    #[command(flatten)]
    output: options::Output,
}

/// A record size, a size of content, bytes, and a codec.
struct Case {
    record: &'static str,
    size: usize,
    coding: Coding,
    options: WriteOptions,
}

/// Times of writing one file, seconds, and its size.
struct Run {
    seconds: f64,
    fsync: f64,
    physical: u64,
}

struct Row {
    record: &'static str,
    size: usize,
    codec: String,
    runs: Vec<Run>,
}

impl Row {
    /// Megabytes of content a second over all runs.
    fn throughput(&self) -> f64 {
        let seconds: f64 = self.runs.iter().map(|run| run.seconds).sum();
        (self.size * self.runs.len()) as f64 / MEGABYTE as f64 / seconds
    }

    /// Median time of fsync, milliseconds.
    fn fsync(&self) -> f64 {
        median(self.runs.iter().map(|run| run.fsync * 1e3))
    }

    /// Bytes written for a byte of content: the same in each run.
    fn cost(&self) -> f64 {
        self.runs[0].physical as f64 / self.size as f64
    }
}

pub fn run(options: &Options) -> Result<(), String> {
    let path = work_directory(options.work_dir.as_deref())?.join("slack.pln");
    let resources = Resources::new(options.jobs);
    let mut rows = Vec::new();
    for case in cases(&options.sizes, &options.codecs)? {
        let row = measure(case, &resources, f64::from(options.seconds), &path)?;
        shell::print(&line(&row));
        rows.push(row);
    }
    options.output.write("slack", &csv(&rows), &page(&resources, options.seconds, &rows))
}

fn cases(sizes: &[usize], codecs: &[String]) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (record, bytes) in RECORDS {
        let record_size = RecordSize::new(bytes).map_err(|error| error.to_string())?;
        for megabytes in sizes {
            for codec in codecs {
                let coding = Coding::parse(codec).map_err(|error| format!("--codecs: {error}"))?;
                let options = WriteOptions { record_size, codings: vec![coding.clone()] };
                cases.push(Case { record, size: megabytes * MEGABYTE, coding, options });
            }
        }
    }
    Ok(cases)
}

/// Writes files for `seconds`, at least three.
fn measure(case: Case, resources: &Resources, seconds: f64, path: &Path) -> Result<Row, String> {
    let content = content(&case);
    write_one(&case, &content, resources, path)?; // warms up memory and the file system
    let (mut runs, watch) = (Vec::new(), Stopwatch::start());
    while runs.len() < 3 || watch.elapsed().as_secs_f64() < seconds {
        runs.push(write_one(&case, &content, resources, path)?);
    }
    check(path, &content, resources)?;
    std::fs::remove_file(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(Row { record: case.record, size: case.size, codec: case.coding.to_string(), runs })
}

/// Noise, then zeros up to whole records.
fn content(case: &Case) -> Vec<u8> {
    let mut content = Random::new(case.size as u64).noise(case.size);
    content.resize(case.size.next_multiple_of(case.options.record_size.bytes()), 0);
    content
}

/// Opens, writes, fsyncs and closes a file.
fn write_one(case: &Case, content: &[u8], resources: &Resources, path: &Path) -> Result<Run, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let watch = Stopwatch::start();
    let mut file = File::create(path).map_err(named)?;
    let mut source = content;
    let written =
        pln::compress(Source::Stream(&mut source), &mut Stream(&mut file), &case.options, resources, &mut Unobserved);
    let physical = written.map_err(|error| error.to_string())?.physical;
    let before = watch.elapsed().as_secs_f64();
    file.sync_all().map_err(named)?;
    let fsync = watch.elapsed().as_secs_f64() - before;
    drop(file);
    Ok(Run { seconds: watch.elapsed().as_secs_f64(), fsync, physical })
}

/// Verifies the last file.
fn check(path: &Path, content: &[u8], resources: &Resources) -> Result<(), String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", path.display());
    let (mut packed, mut back) = (Vec::new(), Vec::with_capacity(content.len()));
    File::open(path).and_then(|mut file| file.read_to_end(&mut packed)).map_err(named)?;
    let source = Source::Stream(&mut packed.as_slice());
    pln::decompress(source, pln::Span::ALL, &mut back, resources, &mut Unobserved)
        .map_err(|error| error.to_string())?;
    if back == content { Ok(()) } else { Err(format!("{}: the content differs from what was written", path.display())) }
}

/// One line for each run.
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

fn page(resources: &Resources, seconds: u32, rows: &[Row]) -> String {
    let lines: Vec<String> = rows.iter().map(line).collect();
    format!(
        "# Files of about the size of a record: open, write, fsync, close\n\n{}\n\nEach file is written by the library \
         (`packline_pln::compress`, {} worker) for {seconds} s, repeatedly under the same name. Its content is noise, followed by \
         zeros up to a whole number of records, which are part of it; throughput counts the noise only.\n\n\
         | record size | content, MiB | codec | MiB/s | fsync, ms | written, MiB | written for a byte of content | files |\n\
         |---|--:|---|--:|--:|--:|--:|--:|\n{}\n",
        machine::description(),
        resources.workers,
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_a_little_longer_than_a_record_costs_little_more_with_slack() {
        let place = tempfile::tempdir().unwrap();
        let costs = |codec: &str| -> Vec<f64> {
            let cases = cases(&[16, 17], &[codec.to_owned()]).unwrap();
            let large = cases.into_iter().filter(|case| case.record == "16M");
            let written = |case: Case| {
                let run = write_one(&case, &content(&case), &Resources::new(0), &place.path().join("x")).unwrap();
                run.physical as f64 / case.size as f64
            };
            large.map(written).collect()
        };
        let [none, slack] = ["none", "slack"].map(costs);
        assert!(none[1] > 1.8 * none[0], "{none:?}");
        assert!(slack[1] < 1.01 * slack[0], "{slack:?}");
    }
}
