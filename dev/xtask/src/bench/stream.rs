//! Compresses and decompresses a file with packline (.pln), zstd, lz4, xz, pigz and lrzip.

use super::{recorded, warm, work_directory};
use crate::{environment, options, shell};
use clap::{Args, ValueEnum};
use packline_testkit::peer::{Cost, Job, median};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// packline's codecs, about those of the other programs; the record size follows an `@` unless it is the default.
const CODECS: &str = "none,lz4,slack+zstd:level=3,slack+zstd:level=3@4M,gzip:level=6,xz:level=6,xz:level=6@16M";

/// Runs a command with its standard output in a file, whose path comes first.
const REDIRECTED: [&str; 3] = ["bash", "-c", "exec \"$@\" > \"$0\""];

#[derive(Debug, Args)]
pub struct Options {
    /// A large file of real data
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: usize,
    /// Threads of all programs; packline is measured with one thread too [default: number of CPUs]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// packline's codecs, each NAME[:key=value][@RECORD-SIZE]
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets of help")]
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = CODECS)]
    codecs: Vec<String>,
    /// Other programs
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "lz4,zstd,pigz,xz,lrzip")]
    peers: Vec<Peer>,
    /// Directory for temporary files
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    #[command(flatten)]
    output: options::Output,
    #[command(flatten)]
    binary: options::Binary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Peer {
    Lz4,
    Zstd,
    Pigz,
    Xz,
    Lrzip,
}

struct Candidate {
    label: String,
    compress: Job,
    decompress: Job,
}

struct Row {
    label: String,
    size: u64,
    compress: Vec<Cost>,
    decompress: Vec<Cost>,
}

struct Files {
    input: PathBuf,
    packed: PathBuf,
    unpacked: PathBuf,
}

pub fn run(options: &Options) -> Result<(), String> {
    let directory = work_directory(options.work_dir.as_deref())?;
    // lrzip reads only files with this ending.
    let packed = directory.join("stream.lrz");
    let unpacked = directory.join("stream.back");
    let files = Files { input: options.input.clone(), packed, unpacked };
    let candidates = candidates(options, &files)?;
    let mut rows: Vec<Row> = candidates.iter().map(|candidate| Row::new(&candidate.label)).collect();
    for _ in 0..options.runs {
        for (candidate, row) in candidates.iter().zip(&mut rows) {
            measure(candidate, &files, row)?;
        }
    }
    let size = size_of(&files.input)?;
    shell::print(&table(&rows, size));
    options.output.write("stream", &csv(&rows), &page(&rows, size))
}

/// packline with one worker and with all, then the other programs.
fn candidates(options: &Options, files: &Files) -> Result<Vec<Candidate>, String> {
    let binary = options.binary.path()?;
    let binary = shell::text(&binary)?;
    let jobs = options.jobs.unwrap_or_else(environment::processors);
    let mut candidates = Vec::new();
    for codec in &options.codecs {
        candidates.extend([1, jobs].map(|workers| packline(binary, codec, workers, files)));
    }
    candidates.extend(options.peers.iter().map(|peer| peer.candidate(jobs, files)));
    Ok(candidates)
}

fn packline(binary: &str, codec: &str, workers: usize, files: &Files) -> Candidate {
    let threads = format!("--quiet --threads {workers}");
    let (name, records) = match codec.split_once('@') {
        Some((name, size)) => (name, format!(" --record-size {size}")),
        None => (codec, String::new()),
    };
    let compress = format!("{binary} compress {threads} --codec {name}{records}");
    let decompress = format!("{binary} decompress {threads}");
    files.candidate(format!("packline {codec} -T{workers}"), &compress, &decompress, true)
}

impl Peer {
    /// The program at its default level, with as many threads as it supports.
    fn candidate(self, jobs: usize, files: &Files) -> Candidate {
        let (compress, decompress) = match self {
            Peer::Lz4 => ("lz4 -1".to_owned(), "lz4 -d"),
            Peer::Zstd => (format!("zstd -3 -T{jobs}"), "zstd -d"),
            Peer::Xz => (format!("xz -6 -T{jobs}"), "xz -d"),
            Peer::Pigz => (format!("pigz -6 -p {jobs}"), "pigz -d"),
            Peer::Lrzip => (format!("lrzip -q -f -n -p {jobs} -o"), "lrzip -q -f -d -o"),
        };
        files.candidate(compress.clone(), &compress, decompress, self != Peer::Lrzip)
    }
}

impl Files {
    fn candidate(&self, label: String, compress: &str, decompress: &str, piped: bool) -> Candidate {
        let job = |line: &str, from: &Path, to: &Path| {
            let words = line.split(' ');
            let from_text = from.to_string_lossy();
            let to_text = to.to_string_lossy();
            if piped {
                Job::new(line, &REDIRECTED.into_iter().chain([&*to_text]).chain(words).collect::<Vec<_>>())
                    .reading(from)
            } else {
                Job::new(line, &words.chain([&*to_text, &*from_text]).collect::<Vec<_>>())
            }
        };
        let compress = job(compress, &self.input, &self.packed);
        Candidate { label, compress, decompress: job(decompress, &self.packed, &self.unpacked) }
    }
}

impl Row {
    fn new(label: &str) -> Row {
        Row { label: label.to_owned(), size: 0, compress: Vec::new(), decompress: Vec::new() }
    }
}

/// Compresses and decompresses. The first result is compared with the input.
fn measure(candidate: &Candidate, files: &Files, row: &mut Row) -> Result<(), String> {
    warm(&files.input)?;
    row.compress.push(candidate.compress.measure()?);
    row.size = size_of(&files.packed)?;
    row.decompress.push(candidate.decompress.measure()?);
    if row.decompress.len() == 1 {
        shell::run(Command::new("cmp").arg(&files.input).arg(&files.unpacked))?;
    }
    [&files.packed, &files.unpacked]
        .into_iter()
        .try_for_each(|path| std::fs::remove_file(path).map_err(|cause| format!("{}: {cause}", path.display())))
}

fn size_of(path: &Path) -> Result<u64, String> {
    std::fs::metadata(path).map(|data| data.len()).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Medians, one line for each candidate.
fn table(rows: &[Row], size: u64) -> String {
    let mut text =
        "| program | bytes | of input | compress, s | CPU, s | peak, MB | decompress, s | CPU, s | peak, MB |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    for row in rows {
        let share = row.size as f64 / size.max(1) as f64;
        // Writing to a String cannot fail.
        let _ = write!(text, "| {} | {} | {share:.3} |", row.label, row.size);
        for costs in [&row.compress, &row.decompress] {
            let wall = median(costs, |cost| cost.wall);
            let used = median(costs, Cost::cpu);
            let peak = median(costs, |cost| cost.peak as f64) / 1e6;
            let _ = write!(text, " {wall:.2} | {used:.2} | {peak:.0} |");
        }
        text.push('\n');
    }
    text
}

/// One line for each run.
fn csv(rows: &[Row]) -> String {
    let mut text = "program,bytes,direction,run,wall_s,cpu_s,peak_bytes\n".to_owned();
    for row in rows {
        for (direction, costs) in [("compress", &row.compress), ("decompress", &row.decompress)] {
            for (run, cost) in costs.iter().enumerate() {
                let wall = cost.wall;
                let processor = cost.cpu();
                let peak = cost.peak;
                let _ = writeln!(text, "{},{},{direction},{run},{wall},{processor},{peak}", row.label, row.size);
            }
        }
    }
    text
}

fn page(rows: &[Row], size: u64) -> String {
    format!(
        "# One file of {size} bytes, compressed and decompressed\n\n{}\n\nMedians of interleaved runs with the files in the page \
         cache; each result was compared with the input.\n\n{}",
        recorded::machine_description(),
        table(rows, size)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_medians() {
        let cost = |wall| Cost { wall, user: 2.0 * wall, system: 0.0, peak: 3_000_000 };
        let mut row = Row::new("packline lz4 -T2");
        row.size = 250;
        row.compress = vec![cost(3.0), cost(1.0), cost(2.0)];
        row.decompress = vec![cost(0.5)];
        let line = "| packline lz4 -T2 | 250 | 0.250 | 2.00 | 4.00 | 3 | 0.50 | 1.00 | 3 |";
        assert_eq!(table(&[row], 1000).lines().last(), Some(line));
    }
}
