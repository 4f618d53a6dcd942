//! Measures the long-range stage alone on a file, by number of workers: throughput, matches and memory.

use crate::{clock, shell};
use clap::Args;
use packline_longrange::{Match, Settings, Window, find};
use packline_testkit::Stopwatch;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest length of a run of literals, or of a part of a match, in a `.lrz`.
const MAX_OPCODE: u64 = 65_535;

#[derive(Debug, Args)]
pub struct Options {
    file: PathBuf,
    #[arg(long, value_name = "N", default_value_t = 7)]
    level: u32,
    /// Shortest match, bytes
    #[arg(long, value_name = "N", default_value_t = 32)]
    min_length: u64,
    /// Numbers of workers
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2")]
    jobs: Vec<usize>,
    /// Runs, of which the best is reported
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u32,
    /// Read the file at offsets instead of holding it in memory
    #[arg(long)]
    offsets: bool,
}

struct Offsets(File, u64);

impl Window for Offsets {
    fn length(&self) -> u64 {
        self.1
    }

    fn read(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.0.read_exact_at(into, at)
    }
}

#[derive(Default, PartialEq, Eq)]
struct MatchStats {
    matches: u64,
    matched: u64,
    /// Opcodes of literals and of matches in a `.lrz`.
    literal_codes: u64,
    match_codes: u64,
    end: u64,
}

impl MatchStats {
    fn add(&mut self, found: Match) {
        self.matches += 1;
        self.matched += found.length;
        self.literal_codes += (found.at - self.end).div_ceil(MAX_OPCODE);
        self.match_codes += found.length.div_ceil(MAX_OPCODE);
        self.end = found.end();
    }

    /// Bytes of literals and opcodes for a window of `length` bytes: the output of `lrzip -n`.
    fn left(&self, length: u64) -> u64 {
        let width = u64::from((64 - length.leading_zeros()).div_ceil(8).max(1));
        let literal_codes = self.literal_codes + (length - self.end).div_ceil(MAX_OPCODE);
        length - self.matched + literal_codes * 3 + self.match_codes * (3 + width)
    }
}

pub fn run(options: &Options) -> Result<(), String> {
    let window = opened(&options.file, options.offsets)?;
    let length = window.length();
    let settings = Settings::new(options.level, length).with_least(options.min_length);
    shell::print(&format!("{}: {length} bytes, a sample in {}\n", options.file.display(), settings.gap()));
    shell::print(
        "| workers | wall s | MB/s | CPU s | MB/s a core | matches | matched | left with opcodes | memory bound |",
    );
    shell::print("|---|---|---|---|---|---|---|---|---|");
    let mut first = None;
    for &workers in &options.jobs {
        let stats = measure(&window, &settings, workers, options.runs)?;
        if *first.get_or_insert_with(|| stats.left(length)) != stats.left(length) {
            return Err(format!("the matches of {workers} workers differ from those of {}", options.jobs[0]));
        }
    }
    Ok(())
}

fn opened(file: &Path, offsets: bool) -> Result<Arc<dyn Window>, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", file.display());
    if offsets {
        let opened = File::open(file).map_err(named)?;
        let length = opened.metadata().map_err(named)?.len();
        return Ok(Arc::new(Offsets(opened, length)));
    }
    Ok(Arc::new(std::fs::read(file).map_err(named)?))
}

/// Prints the best of several runs.
fn measure(window: &Arc<dyn Window>, settings: &Settings, workers: usize, runs: u32) -> Result<MatchStats, String> {
    let (mut wall, mut processor, mut stats) = (f64::MAX, f64::MAX, MatchStats::default());
    for _ in 0..runs.max(1) {
        stats = MatchStats::default();
        let (before, watch) = (clock::processor_seconds(), Stopwatch::start());
        let each = &mut |found| {
            stats.add(found);
            Ok::<(), std::convert::Infallible>(())
        };
        find(Arc::clone(window), settings, workers, &|| false, each).map_err(|cause| cause.to_string())?;
        wall = wall.min(watch.elapsed().as_secs_f64());
        processor = processor.min(clock::processor_seconds() - before);
    }
    let (length, megabytes) = (window.length(), window.length() as f64 / 1e6);
    let (speed, a_core) = (megabytes / wall, megabytes / processor);
    let found = format!("{} | {} | {}", stats.matches, stats.matched, stats.left(length));
    let memory = settings.memory(workers) >> 20;
    shell::print(&format!(
        "| {workers} | {wall:.2} | {speed:.0} | {processor:.2} | {a_core:.0} | {found} | {memory} MiB |"
    ));
    Ok(stats)
}
