//! One file through the compressors of streams: .pln beside zstd, lz4, xz, pigz and lrzip, there and back.

use super::{binary, machine, scratch, warm};
use crate::arguments::Arguments;
use crate::{clock, environment, shell};
use packline_testkit::Stopwatch;
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use wait4::Wait4;

const KNOWN: [&str; 8] = ["input", "runs", "jobs", "codecs", "place", "out", "peers", "binary"];
/// What packline compresses with, each beside the peer that makes about the same of it; behind an `@` the size of records, where it
/// is not the default.
const CODINGS: [&str; 7] =
    ["none", "lz4", "slack+zstd:level=3", "slack+zstd:level=3@4M", "gzip:level=6", "xz:level=6", "xz:level=6@16M"];
const PEERS: [&str; 5] = ["lz4", "zstd", "pigz", "xz", "lrzip"];

/// One way to compress a file.
struct Way {
    label: String,
    there: Step,
    back: Step,
}

/// A program and its words; what it reads and writes, or what it is told to.
struct Step {
    words: Vec<String>,
    from: PathBuf,
    to: PathBuf,
    /// Whether it is given files as standard input and output.
    piped: bool,
}

/// Seconds and bytes of one run of a program.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    /// User and system time.
    processor: f64,
    peak: u64,
}

/// What a way came to, run by run.
struct Row {
    label: String,
    size: u64,
    there: Vec<Cost>,
    back: Vec<Cost>,
}

/// Where the files of a run lie.
struct Files {
    input: PathBuf,
    packed: PathBuf,
    back: PathBuf,
}

/// `bench stream`: `--input` is any large file.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    let input = arguments.path("input").ok_or("--input: name a large file of real data")?;
    let place = arguments.path("place").map_or_else(scratch, Ok)?;
    // lrzip reads only what is named so.
    let files = Files { input, packed: place.join("stream.lrz"), back: place.join("stream.back") };
    let ways = ways(arguments, &files)?;
    let mut rows: Vec<Row> = ways.iter().map(|way| Row::new(&way.label)).collect();
    for _ in 0..arguments.number("runs", 3)? {
        for (way, row) in ways.iter().zip(&mut rows) {
            measure(way, &files, row)?;
        }
    }
    let size = size_of(&files.input)?;
    shell::say(&table(&rows, size));
    keep(arguments, &rows, size)
}

/// Ours with one worker and with all, then the peers with all.
fn ways(arguments: &Arguments, files: &Files) -> Result<Vec<Way>, String> {
    let ours = binary(arguments)?;
    let ours = shell::text(&ours)?;
    let jobs: usize = arguments.number("jobs", environment::processors())?;
    let mut ways = Vec::new();
    for coding in arguments.list("codecs", &CODINGS) {
        for workers in [1, jobs] {
            ways.push(our_way(ours, &coding, workers, files));
        }
    }
    for peer in arguments.list("peers", &PEERS) {
        ways.push(peer_way(&peer, jobs, files)?);
    }
    Ok(ways)
}

fn our_way(program: &str, coding: &str, workers: usize, files: &Files) -> Way {
    let threads = format!("--quiet --threads {workers}");
    let (codec, records) = coding
        .split_once('@')
        .map_or((coding, String::new()), |(codec, size)| (codec, format!(" --record-size {size}")));
    let there = format!("{program} compress {threads} --codec {codec}{records}");
    let back = format!("{program} decompress {threads}");
    files.way(format!("packline {coding} -T{workers}"), &there, &back, true)
}

/// A peer at its usual level, with as many threads as it can use.
fn peer_way(peer: &str, jobs: usize, files: &Files) -> Result<Way, String> {
    let (there, back) = match peer {
        "lz4" => ("lz4 -1".to_owned(), "lz4 -d"),
        "zstd" => (format!("zstd -3 -T{jobs}"), "zstd -d"),
        "xz" => (format!("xz -6 -T{jobs}"), "xz -d"),
        "pigz" => (format!("pigz -6 -p {jobs}"), "pigz -d"),
        "lrzip" => (format!("lrzip -q -f -n -p {jobs} -o"), "lrzip -q -f -d -o"),
        _ => return Err(format!("--peers: unknown {peer} (expected some of {PEERS:?})")),
    };
    Ok(files.way(there.clone(), &there, back, peer != "lrzip"))
}

impl Files {
    fn way(&self, label: String, there: &str, back: &str, piped: bool) -> Way {
        let step = |line: &str, from: &Path, to: &Path| {
            let words = line.split(' ').map(str::to_owned).collect();
            Step { words, from: from.to_owned(), to: to.to_owned(), piped }
        };
        let (there, back) = (step(there, &self.input, &self.packed), step(back, &self.packed, &self.back));
        Way { label, there, back }
    }
}

impl Step {
    /// Runs it to its end.
    fn run(&self) -> Result<Cost, String> {
        let named = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
        warm(&self.from)?;
        let _ = std::fs::remove_file(&self.to);
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if self.piped {
            command.stdin(File::open(&self.from).map_err(|cause| named(&self.from, cause))?);
            command.stdout(File::create(&self.to).map_err(|cause| named(&self.to, cause))?);
        } else {
            command.arg(&self.to).arg(&self.from);
        }
        let shown = self.words.join(" ");
        let watch = Stopwatch::start();
        let mut child = command.spawn().map_err(|cause| format!("{shown}: {cause}"))?;
        let ended = child.wait4().map_err(|cause| format!("{shown}: {cause}"))?;
        let wall = watch.elapsed().as_secs_f64();
        if !ended.status.success() {
            return Err(format!("{shown}: {}", ended.status));
        }
        let (used, peak) = (ended.rusage.utime + ended.rusage.stime, ended.rusage.maxrss);
        Ok(Cost { wall, processor: used.as_secs_f64(), peak })
    }
}

impl Row {
    fn new(label: &str) -> Row {
        Row { label: label.to_owned(), size: 0, there: Vec::new(), back: Vec::new() }
    }
}

/// There and back; what came back is compared once.
fn measure(way: &Way, files: &Files, row: &mut Row) -> Result<(), String> {
    row.there.push(way.there.run()?);
    row.size = size_of(&files.packed)?;
    row.back.push(way.back.run()?);
    if row.back.len() == 1 {
        shell::run(Command::new("cmp").arg(&files.input).arg(&files.back))?;
    }
    [&files.packed, &files.back]
        .into_iter()
        .try_for_each(|path| std::fs::remove_file(path).map_err(|cause| format!("{}: {cause}", path.display())))
}

fn size_of(path: &Path) -> Result<u64, String> {
    std::fs::metadata(path).map(|data| data.len()).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// The figure in the middle.
fn middle(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> f64 {
    let mut all: Vec<f64> = costs.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// Medians, a line for each way.
fn table(rows: &[Row], size: u64) -> String {
    let mut text = "| way | bytes | of input | compress, s | CPU, s | peak, MB | decompress, s | CPU, s | peak, MB |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for row in rows {
        let share = row.size as f64 / size.max(1) as f64;
        // Writing to a String cannot fail.
        let _ = write!(text, "| {} | {} | {share:.3} |", row.label, row.size);
        for costs in [&row.there, &row.back] {
            let (wall, used) = (middle(costs, |cost| cost.wall), middle(costs, |cost| cost.processor));
            let _ = write!(text, " {wall:.2} | {used:.2} | {:.0} |", middle(costs, |cost| cost.peak as f64) / 1e6);
        }
        text.push('\n');
    }
    text
}

/// Every run, a line each.
fn csv(rows: &[Row]) -> String {
    let mut text = "way,bytes,direction,run,wall_s,cpu_s,peak_bytes\n".to_owned();
    for row in rows {
        for (direction, costs) in [("compress", &row.there), ("decompress", &row.back)] {
            for (run, Cost { wall, processor, peak }) in costs.iter().enumerate() {
                let _ = writeln!(text, "{},{},{direction},{run},{wall},{processor},{peak}", row.label, row.size);
            }
        }
    }
    text
}

fn keep(arguments: &Arguments, rows: &[Row], size: u64) -> Result<(), String> {
    let place = arguments.path("out").unwrap_or_else(|| shell::root().join("bench/results"));
    let name = format!("{}-stream", clock::today());
    let page = format!(
        "# One file of {size} bytes, compressed and decompressed\n\n{}\n\nMedians of interleaved runs, files in the page \
         cache; what came back was compared with what there was.\n\n{}",
        machine::description(),
        table(rows, size)
    );
    shell::write(&place.join(format!("{name}.csv")), &csv(rows))?;
    shell::write(&place.join(format!("{name}.md")), &page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_medians() {
        let cost = |wall| Cost { wall, processor: 2.0 * wall, peak: 3_000_000 };
        let mut row = Row::new("packline lz4 -T2");
        row.size = 250;
        row.there = vec![cost(3.0), cost(1.0), cost(2.0)];
        row.back = vec![cost(0.5)];
        let line = "| packline lz4 -T2 | 250 | 0.250 | 2.00 | 4.00 | 3 | 0.50 | 1.00 | 3 |";
        assert_eq!(table(&[row], 1000).lines().last(), Some(line));
    }
}
