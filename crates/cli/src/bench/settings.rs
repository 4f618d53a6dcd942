//! What a benchmark is asked to do, from its arguments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use packline::bench::{Tails, Task};
use packline::codec::Spec;

use super::lists;
use super::outputs::Outputs;
use super::plan::at_levels;
use crate::args::Args;
use crate::failure::Failure;
use crate::io::Io;
use crate::shown::Escape;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Pack,
    Unpack,
    Codec,
    Storage,
    Report,
}

impl What {
    /// The words for them, in the order of the help.
    pub const NAMES: &'static [&'static str] = &["pack", "unpack", "codec", "storage", "report"];

    fn named(name: &str) -> Option<What> {
        let all = [What::Pack, What::Unpack, What::Codec, What::Storage, What::Report];
        Self::NAMES.iter().position(|known| *known == name).and_then(|index| all.get(index).copied())
    }

    fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Everything that was asked for.
pub struct Settings {
    pub what: What,
    /// The words that were typed, the command's name left out.
    pub typed: Vec<OsString>,
    /// What is measured; of reports the first.
    pub input: PathBuf,
    /// Reports that are joined to the first.
    pub further: Vec<PathBuf>,
    pub codecs: Vec<Spec>,
    pub block_sizes: Vec<u64>,
    pub jobs: Vec<usize>,
    pub runs: usize,
    pub warmups: usize,
    pub tails: Vec<Tails>,
    pub tasks: Vec<Task>,
    pub against: Option<OsString>,
    pub place: PathBuf,
    /// Whether the place is measured too.
    pub storage: bool,
    /// Bytes to measure it with, if they were given.
    pub bytes: Option<u64>,
    pub keep: bool,
    /// Memory that was given, bytes.
    pub memory: Option<u64>,
    /// Bytes of content that are measured in memory, if they were given.
    pub limit: Option<u64>,
    pub outputs: Outputs,
    pub bar: bool,
    pub quiet: bool,
    /// What is to be said of the arguments.
    pub notes: Vec<String>,
}

/// Codecs that are measured by `bench codec`, and in full.
const ALL_CODECS: &str = "gzip,xz,lzma,lzo,lz4,zstd,none";
/// Codecs that are measured in a few minutes: the fastest, and the two that are used the most.
const FEW_CODECS: &str = "lz4,zstd:level=3,gzip";
/// These, where levels are given.
const FEW_WITH_LEVELS: &str = "lz4,zstd,gzip";

/// Options that mean something for some benchmarks only.
const ONLY: &[(&str, &[What])] = &[
    ("full", &[What::Pack]),
    ("codec", &[What::Pack, What::Codec]),
    ("levels", &[What::Pack, What::Codec]),
    ("block-size", &[What::Pack, What::Codec]),
    ("tails", &[What::Pack]),
    ("tasks", &[What::Unpack]),
    ("jobs", &[What::Pack, What::Unpack]),
    ("runs", &[What::Pack, What::Unpack, What::Codec]),
    ("warmup", &[What::Pack, What::Unpack, What::Codec]),
    ("against", &[What::Pack, What::Unpack]),
    ("place", &[What::Pack, What::Unpack]),
    ("keep", &[What::Pack, What::Unpack]),
    ("no-storage", &[What::Pack, What::Unpack]),
    ("bytes", &[What::Pack, What::Unpack, What::Storage]),
    ("mem", &[What::Pack, What::Unpack, What::Codec]),
    ("limit", &[What::Codec]),
    ("quiet", &[What::Pack, What::Unpack, What::Codec, What::Storage]),
    ("no-progress", &[What::Pack, What::Unpack, What::Codec, What::Storage]),
];

impl Settings {
    /// Reads the arguments.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what cannot be, or means nothing here.
    pub fn read(args: &Args, io: &Io) -> Result<Settings, Failure> {
        let what = args.operand("WHAT").and_then(|word| What::named(word.to_str()?));
        let what =
            what.ok_or_else(|| Failure::usage(format!("missing argument: WHAT ({})", What::NAMES.join(", "))))?;
        refuse_misplaced(args, what)?;
        let in_full = args.flag("full") || what != What::Pack;
        let (codecs, notes) = codecs(args, in_full)?;
        if what == What::Pack {
            let fits = codecs.iter().try_for_each(packline::image::check_codec);
            fits.map_err(|error| args.wrong("codec", &error.to_string()))?;
        }
        let (input, further) = inputs(args, what)?;
        Ok(Settings {
            what,
            typed: args.typed().to_vec(),
            input,
            further,
            codecs,
            notes,
            block_sizes: list(args, "block-size", lists::block_sizes)?.unwrap_or_default(),
            jobs: list(args, "jobs", lists::jobs)?.unwrap_or_else(|| usual_jobs(io.host.processors, in_full)),
            runs: args.number("runs")?.unwrap_or(3) as usize,
            warmups: args.number("warmup")?.unwrap_or(i64::from(in_full)) as usize,
            tails: list(args, "tails", lists::tails)?.unwrap_or_default(),
            tasks: list(args, "tasks", lists::tasks)?.unwrap_or_default(),
            against: args.raw("against").map(OsString::from),
            place: args.path("place").unwrap_or_else(|| PathBuf::from(".")),
            storage: !args.flag("no-storage"),
            bytes: args.size("bytes")?,
            keep: args.flag("keep"),
            memory: args.size("mem")?,
            limit: args.size("limit")?,
            outputs: Outputs::read(args)?,
            bar: !args.flag("no-progress"),
            quiet: args.flag("quiet"),
        })
    }
}

impl Settings {
    /// The file that is measured, which no report may replace.
    pub fn measured_file(&self) -> Option<&Path> {
        (self.what != What::Report).then_some(&self.input)
    }

    /// Prints what is going to be measured.
    pub fn print_plan(&self, plan: &str, io: &mut Io) {
        if !self.quiet {
            io.say(&format!("plan: {plan}"));
        }
    }
}

/// As many jobs as there are processors; in full 1, 2, 4 and so on too.
fn usual_jobs(processors: usize, in_full: bool) -> Vec<usize> {
    if in_full { lists::usual_jobs(processors) } else { vec![processors.max(1)] }
}

/// What is measured, and with reports what else is joined to it.
fn inputs(args: &Args, what: What) -> Result<(PathBuf, Vec<PathBuf>), Failure> {
    let mut inputs = args.operands("INPUT...").into_iter().map(PathBuf::from);
    let first = inputs.next().ok_or_else(|| Failure::usage("missing argument: INPUT"))?;
    let further: Vec<PathBuf> = inputs.collect();
    match further.first() {
        Some(second) if what != What::Report => {
            let what = format!("unexpected argument '{}' (bench {} takes one input)", second.escaped(), what.name());
            Err(Failure::Usage(what))
        }
        _ => Ok((first, further)),
    }
}

/// An option that would have no effect is a mistake, not something to ignore.
fn refuse_misplaced(args: &Args, what: What) -> Result<(), Failure> {
    for (long, places) in ONLY {
        if args.given(long) && !places.contains(&what) {
            let right: Vec<String> = places.iter().map(|place| format!("bench {}", place.name())).collect();
            let wrong = format!("has no effect on bench {} (it belongs to {})", what.name(), right.join(", "));
            return Err(args.wrong(long, &wrong));
        }
    }
    if args.given("bytes") && args.flag("no-storage") {
        return Err(args.wrong("bytes", "has no effect with --no-storage"));
    }
    Ok(())
}

/// The codecs at the levels that were asked for, and notes of levels that they do not have.
fn codecs(args: &Args, in_full: bool) -> Result<(Vec<Spec>, Vec<String>), Failure> {
    let mut all = Vec::new();
    let usual = match in_full {
        true => ALL_CODECS,
        false if args.given("levels") => FEW_WITH_LEVELS,
        false => FEW_CODECS,
    };
    let named = Some(args.all("codec")).filter(|named| !named.is_empty());
    for text in named.unwrap_or_else(|| vec![usual.into()]) {
        let text = text.to_str().ok_or_else(|| args.wrong("codec", "the value is not UTF-8"))?;
        let codecs = lists::codecs(text).map_err(|what| args.wrong("codec", &what))?;
        codecs.into_iter().for_each(|codec| lists::put(&mut all, codec));
    }
    let levels = list(args, "levels", lists::levels)?.unwrap_or_default();
    at_levels(all, &levels).map_err(|what| args.wrong("levels", &what))
}

fn list<T>(
    args: &Args,
    long: &'static str,
    parse: fn(&str) -> Result<Vec<T>, String>,
) -> Result<Option<Vec<T>>, Failure> {
    args.text(long)?.map(parse).transpose().map_err(|what| args.wrong(long, &what))
}
