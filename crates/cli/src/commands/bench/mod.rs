//! `packline bench` measures packing, unpacking, codecs and storage, and compares with other programs.

mod lists;
mod outputs;
mod progress;
mod settings;

use std::ffi::OsString;
use std::path::PathBuf;

use packline_bench::{
    Benchmark, Clock, Error, Interruption, Machine, Outcome, PACKERS, ProgramKind, Session, Setting, UNPACKERS,
};

use packline_bench::report::{Container, Step, Tails, Task};
use packline_squashfs::BlockSize;

use crate::args::value::{List, list, number, one_of, size};
use crate::args::{Command, Invocation};
use crate::host::Host;
use crate::host::{clock, machine};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::time::Moment;
use outputs::Outputs;
use settings::BenchKind;

/// Measure packing, unpacking, codecs or storage
#[derive(Debug, clap::Args)]
pub struct Bench {
    /// What to measure; report merges and shows earlier reports
    #[arg(value_parser = one_of(BenchKind::ALL.map(|what| (what.name(), what))))]
    what: BenchKind,
    /// pack: a directory, a tar, or synthetic:NAME[:SIZE] with zeros, random, text or mixed. unpack: an image. codec: a directory, a tar,
    /// or any file. serial: tars and directories. storage: a directory. report: files written by --csv
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets of help")]
    #[arg(value_name = "INPUT", required = true, value_hint = clap::ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    runs: RunArgs,
    #[command(flatten)]
    report: ReportArgs,
}

/// The codecs, block sizes, jobs and other choices of the cases.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What is measured")]
struct Choice {
    /// Measure all codecs of SquashFS with 1, 2, 4 and so on jobs, after a warm-up run; this takes hours (pack)
    #[arg(long)]
    full: bool,
    /// Measure these codecs, separated by commas, each NAME[:key=value,...] (pack, codec, serial) [default: a few of SquashFS]
    #[arg(short, long, value_name = "CODECS")]
    codec: Vec<String>,
    /// Measure these levels, such as 1,5-9, for each codec that has levels (pack, codec, serial) [default: the codec's own]
    #[arg(long, value_name = "LIST", value_parser = list(lists::levels))]
    levels: Option<List<i64>>,
    /// Measure these block sizes, powers of two from 4K to 1M (pack, codec, serial)
    #[arg(short, long, value_name = "SIZES", default_value = BlockSize::DEFAULT_TEXT, value_parser = list(lists::block_sizes))]
    block_size: List<u64>,
    /// Choose whose tail ends share fragment blocks, as pack --fragments: always, small, never (pack)
    #[arg(long, alias = "tails", value_name = "LIST", default_value = "always", value_parser = list(lists::fragments))]
    fragments: List<Tails>,
    /// Unpack to these outputs: directory, tar (unpack)
    #[arg(long, value_name = "LIST", default_value = "directory,tar", value_parser = list(lists::tasks))]
    tasks: List<Task>,
    /// Measure these numbers of worker threads, such as 1,2,4-8 (pack, unpack, serial) [default: number of CPUs]
    #[arg(short, long, value_name = "LIST", value_parser = list(lists::jobs))]
    jobs: Option<List<usize>>,
    /// Measure these steps (serial): pack-stream packs a tar from a pipe, tar writes a tar
    #[arg(long, value_name = "LIST", default_value = "pack-tar,pack-stream,pack-directory,unpack,tar,verify")]
    #[arg(value_parser = list(lists::steps))]
    steps: List<Step>,
    /// Measure these formats: squashfs, lrz, pln (serial)
    #[arg(long, value_name = "LIST", default_value = "squashfs", value_parser = list(lists::containers))]
    containers: List<Container>,
    /// Keep the trace of the last run of each case in DIR (serial)
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Compare with these programs, each NAME or NAME=PATH, or with all or none (pack, unpack) [default: installed ones for SquashFS]
    #[arg(long, value_name = "PROGRAMS")]
    against: Option<OsString>,
    /// Measure at most this many bytes of content (codec) [default: 256M, or less if memory is short]
    #[arg(long, value_name = "SIZE", value_parser = size(1 << 20..=1 << 40))]
    limit: Option<u64>,
}

/// How the cases are measured.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Runs")]
struct RunArgs {
    /// Measure this many runs
    #[arg(short = 'n', long, value_name = "N", default_value = "3", value_parser = number::<usize>(1..=1000))]
    runs: usize,
    /// Run each program this many times before the measured runs (pack, unpack, codec, serial) [default: 0 for pack, otherwise 1]
    #[arg(long, value_name = "N", value_parser = number::<usize>(0..=1000))]
    warmup: Option<usize>,
    /// Write temporary files to DIR and delete them afterwards (pack, unpack, serial)
    #[arg(long, alias = "place", value_name = "DIR", default_value = ".")]
    work_dir: PathBuf,
    /// Stop at the first wrong result and keep the temporary files (pack, unpack)
    #[arg(long)]
    keep: bool,
    /// Limit the memory of each program; programs without such an option are left out
    #[arg(long, value_name = "SIZE", value_parser = size(0..=u64::MAX))]
    mem: Option<u64>,
    /// Do not measure the storage of --work-dir (pack, unpack)
    #[arg(long)]
    no_storage: bool,
    /// Write and read this many bytes, three times, to measure storage (pack, unpack, storage) [default: 1G, or a tenth of the free space]
    #[arg(long, value_name = "SIZE", value_parser = size(1 << 20..=1 << 50))]
    bytes: Option<u64>,
}

/// The outputs of the report.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Report")]
struct ReportArgs {
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Write all runs as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the report with all figures as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replace existing report files
    #[arg(short, long)]
    force: bool,
    /// Suppress the plan and progress
    #[arg(short, long)]
    quiet: bool,
    /// Suppress the progress bar
    #[arg(long)]
    no_progress: bool,
}

impl Command for Bench {
    const NAME: &'static str = "bench";
    const ESSENTIAL: &'static [&'static str] =
        &["codec", "levels", "block-size", "jobs", "against", "full", "runs", "work-dir", "html", "json"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline bench pack rootfs.tar -c zstd,xz --levels 3,6 --against tar2sqfs,mksquashfs",
        "packline bench unpack rootfs.sqfs --jobs 1-4 --html unpack.html",
        "packline bench codec rootfs.tar -c zstd:level=3,lz4 -b 128K,1M",
        "packline bench serial rootfs.tar /usr/share/doc -c lz4,zstd:level=1",
        "packline bench storage /mnt/disk",
        "packline bench report monday.csv tuesday.csv --html all.html",
    ];

    fn details() -> String {
        let names = |kinds: &[ProgramKind]| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        format!(
            "# Runs\n\
             Each run is a separate process, with the input in the page cache. Programs run in turn and their outputs are \
             compared. A program with a wrong result has no figures in that case, and the exit status is 1. Images of \
             packline must be identical for any number of jobs. If a benchmark is interrupted, it still reports the results \
             so far.\n\
             By default bench pack takes about 15 minutes per GB, divided by the number of processors; with --full it takes \
             hours. The plan is printed before the first run, and a summary of at most 100 columns at the end. --markdown, \
             --html, --csv and --json have all figures.\n\
             # Defaults\n\
             pack measures lz4, zstd:level=3 and gzip, codec and --full all codecs of SquashFS, and serial none, lz4, \
             zstd:level=1, gzip and zstd. unpack and --full also run with 1, 2, 4 and so on workers, after a warm-up run.\n\
             Programs for pack: {}. Programs for unpack: {}. packline=PATH is another build of packline.\n\
             codec compresses, decompresses and compares blocks in memory on one thread.\n\
             serial counts the processor time of packline's main thread, which reads, decides and writes, and of its workers, \
             and prints the bound on the speed with any number of workers. Run it on an idle machine.",
            names(PACKERS),
            names(UNPACKERS)
        )
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let benchmark = settings::read(&self, invocation, io)?;
        let outputs = Outputs::new(&self.report)?;
        outputs.check(benchmark.input(), &io.temporaries)?;
        let interruption = Interruption::default();
        let watched = interruption.clone();
        io.shutdown.set_first(move || watched.interrupt());
        let outcome = self.measure(&benchmark, &interruption, io)?;
        finish(outcome, &outputs, &interruption, io)
    }
}

impl Bench {
    fn measure(&self, benchmark: &Benchmark, interruption: &Interruption, io: &mut Io) -> Result<Outcome, Failure> {
        let machine = machine_of(&io.host);
        let temporaries = io.temporaries.clone();
        let draw = !self.report.no_progress;
        let quiet = self.report.quiet;
        let mut progress = progress::Shown { io, draw, quiet, bar: None };
        let mut session = Session { machine, temporaries, interruption: interruption.clone(), progress: &mut progress };
        benchmark.run(&mut session).map_err(Failure::from)
    }
}

fn machine_of(host: &Host) -> Machine {
    let date = Moment::of(host.now.into()).iso();
    Machine {
        program: host.program.clone(),
        description: machine::description(),
        date: date.split(' ').next().unwrap_or_default().to_owned(),
        memory_limit: (host.memory_limit)((host.processors)()),
        peak_memory: host.peak_memory,
        clock: Clock { wall: clock::wall_time, thread: clock::thread_time },
    }
}

/// Writes the report, and returns all failures as one.
fn finish(outcome: Outcome, outputs: &Outputs, interruption: &Interruption, io: &mut Io) -> Result<(), Failure> {
    if interruption.is_requested() {
        io.eprintln("interrupted: reporting what was measured");
    }
    let written = if outcome.has_results() { outputs.write(&outcome.report, io) } else { Ok(()) };
    if let (true, Err(Failure::Failed(message))) = (interruption.is_requested(), &written) {
        io.eprintln(&message.to_string());
    }
    interruption.finish();
    let Outcome { mut failures, ended, .. } = outcome;
    for end in [ended.map_err(Failure::from), written] {
        match end {
            Err(Failure::Failed(message)) => failures.push(message.to_string()),
            Err(other) if failures.is_empty() => return Err(other),
            _ => {}
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure::failed(failures.join("\n"))) }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Setting { setting, reason } => Failure::Usage(format!("--{}: {reason}", option_of(setting))),
            Error::Failed(message) => Failure::failed(message),
            Error::Stopped => Failure::AlreadyReported(1),
        }
    }
}

fn option_of(setting: Setting) -> &'static str {
    match setting {
        Setting::Against => "against",
        Setting::Memory => "mem",
        Setting::Limit => "limit",
    }
}
