//! `packline bench`: measures packing, unpacking, codecs and storage beside other programs.

mod lists;
mod outputs;
mod progress;
mod settings;

use packline_bench::{
    Benchmark, Clock, Error, Interruption, Machine, Outcome, PACKERS, ProgramKind, Session, Setting, UNPACKERS,
};

use crate::args::Args;
use crate::host::{clock, machine};
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::failure::Failure;
use crate::ui::io::{Host, Io};
use crate::ui::time::Moment;
use outputs::Outputs;
use settings::What;

const CHOICE: &str = "What is measured";
const RUNS: &str = "Runs";
const REPORT: &str = "Report";

const CHOICE_OPTIONS: &[Opt] = &[
    Opt::flag("full", "All codecs of SquashFS, with 1, 2, 4 and so on jobs, after a warm-up run: takes hours (pack)")
        .group(CHOICE),
    Opt::with(
        "codec",
        "CODECS",
        Takes::Text,
        "Codecs, separated by commas, each NAME[:key=value,...]; may be given several times (pack, codec) \
         [default: lz4, zstd:level=3, gzip; codec and --full: all of SquashFS]",
    )
    .short('c')
    .repeats()
    .group(CHOICE),
    Opt::with(
        "levels",
        "LIST",
        Takes::Text,
        "Levels, such as 1,5-9, for each codec that has levels (pack, codec) [default: the codec's own]",
    )
    .group(CHOICE),
    Opt::with("block-size", "SIZES", Takes::Text, "Block sizes, powers of two from 4K to 1M (pack, codec)")
        .short('b')
        .default("128K")
        .group(CHOICE),
    Opt::with(
        "fragments",
        "LIST",
        Takes::Text,
        "Which tail ends share fragment blocks, as --fragments of pack: always, small, never (pack)",
    )
    .alias("tails")
    .default("always")
    .group(CHOICE),
    Opt::with("tasks", "LIST", Takes::Text, "What an image is unpacked to: directory, tar (unpack)")
        .default("directory,tar")
        .group(CHOICE),
    Opt::with(
        "jobs",
        "LIST",
        Takes::Text,
        "Numbers of worker threads, such as 1,2,4-8 (pack, unpack) [default: number of CPUs; unpack and --full: 1, 2, 4 and so on too]",
    )
    .short('j')
    .group(CHOICE),
    Opt::with(
        "against",
        "PROGRAMS",
        Takes::Path,
        "Programs to compare with, separated by commas, each NAME or NAME=PATH; all that are installed; or none (pack, unpack) \
         [default: those for SquashFS that are installed]",
    )
    .group(CHOICE),
    Opt::with(
        "limit",
        "SIZE",
        Takes::Size { least: 1 << 20, most: 1 << 40 },
        "Most bytes of content that are measured (codec) [default: 256M, or less if memory is short]",
    )
    .group(CHOICE),
];

const RUN_OPTIONS: &[Opt] = &[
    Opt::with("runs", "COUNT", Takes::Number { least: 1, most: 1000 }, "Measured runs")
        .short('n')
        .default("3")
        .group(RUNS),
    Opt::with(
        "warmup",
        "COUNT",
        Takes::Number { least: 0, most: 1000 },
        "Runs before the measured ones (pack, unpack, codec) [default: 0; unpack, codec and --full: 1]",
    )
    .group(RUNS),
    Opt::with(
        "work-dir",
        "DIR",
        Takes::Path,
        "Directory for temporary benchmark files; they are deleted afterwards (pack, unpack) [default: .]",
    )
    .alias("place")
    .group(RUNS),
    Opt::flag("keep", "Stop at the first wrong result and keep the temporary files (pack, unpack)").group(RUNS),
    Opt::with(
        "mem",
        "SIZE",
        Takes::Size { least: 0, most: u64::MAX },
        "Memory limit of each program; those without such an option are left out (pack, unpack). Memory limit (codec)",
    )
    .group(RUNS),
    Opt::flag("no-storage", "Do not measure the storage of --work-dir (pack, unpack)").group(RUNS),
    Opt::with(
        "bytes",
        "SIZE",
        Takes::Size { least: 1 << 20, most: 1 << 50 },
        "Bytes written and read, three times, to measure storage (pack, unpack, storage) [default: 1G, or a tenth of what is free]",
    )
    .group(RUNS),
];

const REPORT_OPTIONS: &[Opt] = &[
    Opt::flag("json", "Print the report as JSON").group(REPORT),
    Opt::with("csv", "FILE", Takes::Path, "Write all runs as CSV").group(REPORT),
    Opt::with("markdown", "FILE", Takes::Path, "Write the report with all figures as Markdown").group(REPORT),
    Opt::with("html", "FILE", Takes::Path, "Write a page with charts").group(REPORT),
    Opt::flag("force", "Replace existing report files").short('f').group(REPORT),
    Opt::flag("quiet", "Suppress the plan and progress").short('q').group(REPORT),
    Opt::flag("no-progress", "No progress bar").group(REPORT),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "bench",
    about: "Measure packing, unpacking, codecs or storage, beside other programs",
    details,
    options: &[CHOICE_OPTIONS, RUN_OPTIONS, REPORT_OPTIONS],
    operands: &[
        Operand {
            name: "WHAT",
            help: "What to measure: pack, unpack, codec, storage; or report, which merges and shows earlier reports",
            required: true,
            of: What::NAMES,
        },
        Operand {
            name: "INPUT...",
            help: "pack: a directory, a tar, or synthetic:NAME[:SIZE] with zeros, random, text or mixed. unpack: an image. \
                   codec: a directory, a tar, or any file. storage: a directory. report: files that --csv wrote",
            required: true,
            of: &[],
        },
    ],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    let names = |kinds: &[ProgramKind]| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    format!(
        "Each run is a process of its own, with the input in the page cache. Programs run in turn and their outputs are compared: \
         a program with a wrong result has no figures in that case, and the exit status is 1. Images of packline must be identical \
         for any number of jobs. An interruption still reports the results so far.\n\
         By default bench pack takes about 15 minutes a GB, divided by the number of processors; with --full hours. The plan is \
         printed before the first run. A summary of at most 100 columns is printed at the end; all figures are in --markdown, \
         --html, --csv and --json.\n\
         Programs for pack: {}. For unpack: {}. packline=PATH is another build of packline.\n\
         codec compresses, decompresses and compares blocks in memory on one thread.\n\
         Examples: packline bench pack rootfs.tar -c zstd,xz --levels 3,6 --against tar2sqfs,mksquashfs\n          \
         packline bench unpack rootfs.sqfs --jobs 1-4 --html unpack.html\n          \
         packline bench codec rootfs.tar -c zstd:level=3,lz4 -b 128K,1M\n          \
         packline bench storage /mnt/disk\n          \
         packline bench report monday.csv tuesday.csv --html all.html",
        names(PACKERS),
        names(UNPACKERS)
    )
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let (benchmark, outputs) = (settings::read(args, io)?, Outputs::read(args)?);
    outputs.check(benchmark.input(), &io.temporaries)?;
    let interruption = Interruption::default();
    let watched = interruption.clone();
    io.shutdown.set_first(move || watched.interrupt());
    let outcome = measure(&benchmark, args, &interruption, io)?;
    finish(outcome, &outputs, &interruption, io)
}

fn measure(benchmark: &Benchmark, args: &Args, interruption: &Interruption, io: &mut Io) -> Result<Outcome, Failure> {
    let (machine, temporaries) = (machine_of(&io.host), io.temporaries.clone());
    let (draw, quiet) = (!args.flag("no-progress"), args.flag("quiet"));
    let mut progress = progress::Shown { io, draw, quiet, bar: None };
    let mut session = Session { machine, temporaries, interruption: interruption.clone(), progress: &mut progress };
    benchmark.run(&mut session).map_err(Failure::from)
}

fn machine_of(host: &Host) -> Machine {
    let date = Moment::of(host.now.into()).iso();
    Machine {
        program: host.program.clone(),
        description: machine::description(),
        date: date.split(' ').next().unwrap_or_default().to_owned(),
        memory_limit: host.memory_limit,
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
        io.eprintln(message);
    }
    interruption.finish();
    let Outcome { mut failures, ended, .. } = outcome;
    for end in [ended.map_err(Failure::from), written] {
        match end {
            Err(Failure::Failed(message)) => failures.push(message),
            Err(other) if failures.is_empty() => return Err(other),
            _ => {}
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failure::Failed(failures.join("\n"))) }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Setting { setting, reason } => Failure::Usage(format!("--{}: {reason}", option_of(setting))),
            Error::Failed(message) => Failure::Failed(message),
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
