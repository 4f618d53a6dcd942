//! What the command line asks for.

use std::path::PathBuf;

use packline::codec::Coding;
use packline::pln::{RecordSize, WriteOptions};
use packline::{FileKind, Resources};

use super::file::Place;
use crate::args::Args;
use crate::args::scheduling::{self, Watched};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// What is done with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are compressed.
    Compress,
    /// They are decompressed.
    Decompress,
    /// They are decompressed to nowhere.
    Test,
}

/// What is asked for.
pub struct Settings {
    pub mode: Mode,
    /// Only where files are compressed.
    pub options: Option<WriteOptions>,
    pub resources: Resources,
    /// Output goes to standard output, by `-c`.
    pub stdout: bool,
    pub output: Option<PathBuf>,
    pub force: bool,
    pub remove: bool,
    pub keep_broken: bool,
    pub quiet: bool,
    pub verbose: bool,
    pub bar: bool,
    pub json: bool,
    /// Counters are told of.
    pub stats: bool,
    /// How lines are run.
    pub scheduled: Watched,
}

/// Options that say how files are compressed.
const OF_COMPRESSION: &[&str] = &["level", "codec", "record-size"];
/// Options that say where an output goes, and what happens then.
const OF_OUTPUT: &[&str] = &["stdout", "output", "force", "rm", "keep-broken"];

impl Settings {
    /// Reads the options; `wanted` is what is done unless `--test` says otherwise.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what is out of range, contradicts itself or has no effect.
    pub fn new(args: &Args, io: &Io, wanted: Mode) -> Result<Settings, Failure> {
        let mode = if args.flag("test") { Mode::Test } else { wanted };
        refuse_idle(args, wanted, mode)?;
        let (quiet, scheduled) = (args.flag("quiet"), scheduling::read(args, io)?);
        Ok(Settings {
            mode,
            options: if mode == Mode::Compress { Some(write_options(args)?) } else { None },
            resources: scheduled.watching(resources(args, io)?),
            stdout: args.flag("stdout"),
            output: args.path("output"),
            force: args.flag("force"),
            remove: remove(args),
            keep_broken: args.flag("keep-broken"),
            quiet,
            verbose: args.flag("verbose"),
            bar: !quiet && !args.flag("no-progress"),
            json: args.flag("json"),
            stats: args.flag("stats"),
            scheduled,
        })
    }

    /// Whether what comes of a file goes to standard output.
    pub fn to_stdout(&self, place: &Place) -> bool {
        match &self.output {
            Some(output) => output.as_os_str() == "-",
            None => self.stdout || *place == Place::Stdin,
        }
    }

    /// Whether these files can be done so.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub fn check(&self, args: &Args, places: &[Place]) -> Result<(), Failure> {
        let stdout = self.mode != Mode::Test && places.iter().any(|place| self.to_stdout(place));
        if places.len() > 1 && self.output.is_some() {
            return Err(args.wrong("output", "several files cannot go into one"));
        }
        let kind = self.output.as_deref().filter(|_| self.mode == Mode::Compress).and_then(FileKind::of_path);
        if let Some(kind) = kind.filter(|kind| *kind != FileKind::Pln) {
            let what =
                format!("the name is that of {kind} (expected a name that ends in .pln; --stdout goes anywhere)");
            return Err(args.wrong("output", &what));
        }
        if places.iter().filter(|place| **place == Place::Stdin).count() > 1 {
            return Err(Failure::usage("standard input can be read once (expected one -)"));
        }
        if places.len() > 1 && stdout && self.mode == Mode::Compress {
            return Err(Failure::usage("several .pln files behind each other are none (expected one file, or no -c)"));
        }
        if self.remove && (stdout || places.contains(&Place::Stdin)) {
            return Err(args.wrong("rm", "expected files, and outputs that are files"));
        }
        if self.json && stdout {
            return Err(args.wrong("json", "standard output is taken by the output"));
        }
        Ok(())
    }
}

/// Refuses options that would change nothing.
fn refuse_idle(args: &Args, wanted: Mode, mode: Mode) -> Result<(), Failure> {
    let given = |longs: &[&'static str]| longs.iter().copied().find(|long| args.given(long));
    if mode != Mode::Compress
        && args.has("level")
        && let Some(long) = given(OF_COMPRESSION)
    {
        return Err(args.wrong(long, "has no effect on what is decompressed"));
    }
    if mode == Mode::Test
        && let Some(long) = given(OF_OUTPUT)
    {
        return Err(args.wrong(long, "has no effect with --test, which writes nothing"));
    }
    if wanted == Mode::Compress && mode == Mode::Compress && args.given("keep-broken") {
        return Err(args.wrong("keep-broken", "has no effect on what is compressed"));
    }
    if args.given("stdout") && args.given("output") {
        return Err(args.wrong("stdout", "cannot be used with --output"));
    }
    if args.given("quiet") && args.given("verbose") {
        return Err(args.wrong("quiet", "cannot be used with --verbose"));
    }
    Ok(())
}

/// Whether files that were read are removed: by the last of `--rm` and `--keep`.
fn remove(args: &Args) -> bool {
    args.position("rm") > args.position("keep")
}

fn write_options(args: &Args) -> Result<WriteOptions, Failure> {
    let size = args.size("record-size")?.unwrap_or_default();
    let record_size = RecordSize::new(size).map_err(|error| args.wrong("record-size", &error.to_string()))?;
    let codings = codings(args)?;
    for coding in &codings {
        let fits = coding.validate(record_size.bytes());
        fits.map_err(|error| args.wrong("codec", &error.to_string()))?;
    }
    Ok(WriteOptions { record_size, codings })
}

fn codings(args: &Args) -> Result<Vec<Coding>, Failure> {
    let asked = args.all("codec");
    let level = args.number("level")?;
    if let (Some(level), false) = (level, asked.is_empty()) {
        let what = format!("cannot be used with --codec (expected the codec's own, such as zstd:level={level})");
        return Err(args.wrong("level", &what));
    }
    if asked.is_empty() {
        let level = level.unwrap_or(DEFAULT_LEVEL);
        return Ok(vec![coding(args, &format!("slack+zstd:level={level}"))?]);
    }
    let mut all = Vec::new();
    for text in &asked {
        let text = text.to_str().ok_or_else(|| args.wrong("codec", "the value is not UTF-8"))?;
        match text {
            AUTO => all.append(&mut WriteOptions::auto().map_err(|error| args.wrong("codec", &error.to_string()))?),
            text => all.push(coding(args, text)?),
        }
    }
    Ok(all)
}

/// The level where none is asked for, as zstd(1) has it.
const DEFAULT_LEVEL: i64 = 3;
/// A list of codings to try.
const AUTO: &str = "auto";

fn coding(args: &Args, text: &str) -> Result<Coding, Failure> {
    Coding::parse(text).map_err(|error| args.wrong("codec", &error.to_string()))
}

/// The answer to `--codec NAME:help`, if that is asked.
///
/// # Errors
/// [`Failure::Usage`] if there is no such name.
pub fn codec_help(args: &Args, mode: Mode) -> Result<Option<String>, Failure> {
    if mode != Mode::Compress {
        return Ok(None);
    }
    let asked = args.text("codec")?.and_then(|codec| codec.strip_suffix(":help"));
    let help = asked.map(|name| Coding::help(name.trim_start_matches("slack+")));
    help.transpose().map_err(|error| args.wrong("codec", &error.to_string()))
}

fn resources(args: &Args, io: &Io) -> Result<Resources, Failure> {
    let threads = args.number("threads")?.filter(|threads| *threads > 0);
    Ok(Resources {
        workers: threads.map_or(io.host.processors, |threads| threads as usize),
        memory: args.size("mem")?.or(io.host.memory_limit),
        ..io.host.resources()
    })
}
