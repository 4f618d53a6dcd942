//! The long-range stage alone on a file: speed a core, what it finds, and its memory, with one worker and with more.

use crate::arguments::Arguments;
use crate::{environment, shell};
use packline_longrange::{Match, Settings, Window, find};
use packline_testkit::Stopwatch;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const KNOWN: [&str; 5] = ["level", "least", "jobs", "runs", "offsets"];
/// Bytes that a run of literals, or a part of a match, can have in a `.lrz`.
const OPCODE_MOST: u64 = 65_535;
/// Ticks of a second in which Linux counts processor time for programs.
const TICKS: f64 = 100.0;

/// A file that is read at offsets.
struct Offsets(File, u64);

impl Window for Offsets {
    fn length(&self) -> u64 {
        self.1
    }

    fn read(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.0.read_exact_at(into, at)
    }
}

/// What was found, counted.
#[derive(Default, PartialEq, Eq)]
struct Tally {
    matches: u64,
    matched: u64,
    /// Opcodes of literals and of matches, as a `.lrz` has them.
    literal_codes: u64,
    match_codes: u64,
    end: u64,
}

impl Tally {
    fn add(&mut self, found: Match) {
        self.matches += 1;
        self.matched += found.length;
        self.literal_codes += (found.at - self.end).div_ceil(OPCODE_MOST);
        self.match_codes += found.length.div_ceil(OPCODE_MOST);
        self.end = found.end();
    }

    /// Bytes of literals and opcodes for a window of `length` bytes: what `lrzip -n` would write.
    fn left(&self, length: u64) -> u64 {
        let width = u64::from((64 - length.leading_zeros()).div_ceil(8).max(1));
        let literal_codes = self.literal_codes + (length - self.end).div_ceil(OPCODE_MOST);
        length - self.matched + literal_codes * 3 + self.match_codes * (3 + width)
    }
}

/// `bench longrange FILE`: as release builds do it.
pub fn run(file: &Path, arguments: &Arguments) -> Result<(), String> {
    arguments.only(&KNOWN)?;
    if cfg!(debug_assertions) {
        let words = environment::arguments();
        return shell::started(shell::cargo().args(["run", "--release", "--package", "xtask", "--"]).args(words));
    }
    let window = opened(file, arguments.text("offsets").is_some())?;
    let length = window.length();
    let settings = Settings::new(arguments.number("level", 7)?, length).with_least(arguments.number("least", 32)?);
    shell::say(&format!("{}: {length} bytes, a sample in {}\n", file.display(), settings.gap()));
    shell::say(
        "| workers | wall s | MB/s | CPU s | MB/s a core | matches | matched | left with opcodes | memory bound |",
    );
    shell::say("|---|---|---|---|---|---|---|---|---|");
    let mut first = None;
    for jobs in arguments.list("jobs", &["1", "2"]) {
        let workers = jobs.parse().map_err(|_| format!("--jobs: {jobs:?} is no number of workers"))?;
        let tally = measure(&*window, &settings, workers, arguments.number("runs", 3)?)?;
        if *first.get_or_insert_with(|| tally.left(length)) != tally.left(length) {
            return Err(format!("{workers} workers find something else"));
        }
    }
    Ok(())
}

fn opened(file: &Path, offsets: bool) -> Result<Box<dyn Window>, String> {
    let named = |cause: std::io::Error| format!("{}: {cause}", file.display());
    if offsets {
        let opened = File::open(file).map_err(named)?;
        let length = opened.metadata().map_err(named)?.len();
        return Ok(Box::new(Offsets(opened, length)));
    }
    Ok(Box::new(std::fs::read(file).map_err(named)?))
}

/// Says the best of several runs.
fn measure(window: &dyn Window, settings: &Settings, workers: usize, runs: u32) -> Result<Tally, String> {
    let (mut wall, mut processor, mut tally) = (f64::MAX, f64::MAX, Tally::default());
    for _ in 0..runs.max(1) {
        tally = Tally::default();
        let (before, watch) = (processor_seconds()?, Stopwatch::start());
        let each = &mut |found| {
            tally.add(found);
            Ok::<(), std::convert::Infallible>(())
        };
        find(window, settings, workers, &|| false, each).map_err(|cause| cause.to_string())?;
        wall = wall.min(watch.elapsed().as_secs_f64());
        processor = processor.min(processor_seconds()? - before);
    }
    let (length, megabytes) = (window.length(), window.length() as f64 / 1e6);
    let (speed, a_core) = (megabytes / wall, megabytes / processor.max(1.0 / TICKS));
    let found = format!("{} | {} | {}", tally.matches, tally.matched, tally.left(length));
    let memory = settings.memory(workers) >> 20;
    shell::say(&format!(
        "| {workers} | {wall:.2} | {speed:.0} | {processor:.2} | {a_core:.0} | {found} | {memory} MiB |"
    ));
    Ok(tally)
}

/// Processor time of this process so far (proc(5): fields 14 and 15 of `stat`, counted behind the name).
fn processor_seconds() -> Result<f64, String> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|cause| format!("/proc/self/stat: {cause}"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    Ok(fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS)
}
