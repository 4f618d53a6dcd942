//! What the command line and `lrzip.conf` ask for, together.

use std::path::PathBuf;

use packline::Resources;
use packline::lrz::{BackEnd, WindowSize, WriteOptions};

use super::conf::Conf;
use super::password::{Secret, check};
use crate::args::Args;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Sizes are given in so many bytes.
const HUNDRED: u64 = 100 << 20;
/// What names of .lrz files end in.
pub const LRZ: &str = ".lrz";
/// Back ends by the options that ask for them.
const BACK_ENDS: &[(&str, BackEnd)] = &[
    ("lzma", BackEnd::Lzma),
    ("bzip2", BackEnd::Bzip2),
    ("gzip", BackEnd::Gzip),
    ("lzo", BackEnd::Lzo),
    ("no-compress", BackEnd::None),
    ("zpaq", BackEnd::Zpaq),
];

/// What is done with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are compressed.
    Compress,
    /// They are decompressed.
    Decompress,
    /// They are decompressed to nowhere.
    Test,
    /// They are described.
    Info,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Settings {
    pub mode: Mode,
    pub options: WriteOptions,
    pub secret: Secret,
    pub resources: Resources,
    pub outfile: Option<PathBuf>,
    pub outdir: Option<PathBuf>,
    pub suffix: String,
    pub force: bool,
    pub delete: bool,
    pub keep_broken: bool,
    pub recursive: bool,
    pub check: bool,
    pub hash: bool,
    pub json: bool,
    /// 0 to 2.
    pub verbosity: u8,
    /// No progress bar.
    pub quiet: bool,
    /// Nothing but errors.
    pub silent: bool,
}

impl Settings {
    /// Joins the command line and `lrzip.conf`; `preset` is what is done if no option says so. Sets the process's priority.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that contradict each other or are out of range; those of the configuration file.
    pub fn new(args: &Args, io: &Io, preset: Mode) -> Result<Settings, Failure> {
        let conf = Conf::read(&io.host)?;
        be_nice(args, &conf)?;
        Ok(Settings {
            mode: mode(args, preset)?,
            options: write_options(args, &conf)?,
            secret: secret(args, &conf)?,
            resources: resources(args, &conf, io)?,
            outfile: outfile(args)?,
            outdir: outdir(args).or_else(|| conf.outdir.filter(|_| !args.given("outfile"))),
            suffix: suffix(args)?,
            force: args.flag("force") || conf.replace,
            delete: args.flag("delete") || conf.delete,
            keep_broken: args.flag("keep-broken") || conf.keep_broken,
            recursive: args.flag("recursive"),
            check: args.flag("check") || conf.check,
            hash: args.flag("hash") || conf.hash,
            json: json(args)?,
            verbosity: args.count("verbose").max(conf.verbosity).min(2),
            quiet: args.flag("quiet") || conf.quiet,
            silent: args.flag("very-quiet"),
        })
    }

    /// Whether so many files can be done so.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub fn check_files(&self, args: &Args, files: usize) -> Result<(), Failure> {
        let stdout = self.outfile.as_ref().is_some_and(|outfile| outfile.as_os_str() == "-");
        if self.outfile.is_some() && files > 1 && !(stdout && self.mode == Mode::Decompress) {
            return Err(args.wrong("outfile", "several files cannot go into one"));
        }
        if self.recursive && (self.outfile.is_some() || files == 0) {
            return Err(args.wrong("recursive", "expected directories, and no --outfile"));
        }
        Ok(())
    }
}

fn mode(args: &Args, preset: Mode) -> Result<Mode, Failure> {
    let wanted = [("decompress", Mode::Decompress), ("test", Mode::Test), ("info", Mode::Info)];
    let mut asked = wanted.into_iter().filter(|(long, _)| args.flag(long));
    match (asked.next(), asked.next()) {
        (None, _) => Ok(preset),
        (Some((_, mode)), None) | (Some(("decompress", _)), Some((_, mode))) => Ok(mode),
        (Some((one, _)), Some((other, _))) => Err(args.wrong(one, &format!("cannot be used with --{other}"))),
    }
}

/// How a file is written.
pub fn write_options(args: &Args, conf: &Conf) -> Result<WriteOptions, Failure> {
    let level = args.number("level")?.map(|level| level as u32).or(conf.level);
    Ok(WriteOptions {
        back_end: back_end(args)?.or(conf.method).unwrap_or(BackEnd::Lzma),
        level: level.unwrap_or(WriteOptions::DEFAULT_LEVEL),
        window: window(args, conf)?,
        probe: !args.flag("threshold") && !conf.no_test,
        password: None,
    })
}

fn back_end(args: &Args) -> Result<Option<BackEnd>, Failure> {
    let mut asked = BACK_ENDS.iter().filter(|(long, _)| args.flag(long)).collect::<Vec<_>>().into_iter();
    match (asked.next(), asked.next()) {
        (Some((one, _)), Some((other, _))) => Err(args.wrong(one, &format!("cannot be used with --{other}"))),
        (found, _) => Ok(found.map(|(_, back_end)| *back_end)),
    }
}

fn window(args: &Args, conf: &Conf) -> Result<WindowSize, Failure> {
    let bytes = args.number("window")?.map(|size| size as u64);
    match (args.flag("unlimited"), bytes) {
        (true, Some(_)) => Err(args.wrong("unlimited", "cannot be used with --window")),
        (true, None) => Ok(WindowSize::Whole),
        (false, Some(size)) => Ok(WindowSize::Bytes(size.saturating_mul(HUNDRED))),
        (false, None) if conf.unlimited => Ok(WindowSize::Whole),
        (false, None) => {
            Ok(conf.window.map_or(WindowSize::Default, |size| WindowSize::Bytes(size.saturating_mul(HUNDRED))))
        }
    }
}

/// The password, as far as it is known.
pub fn secret(args: &Args, conf: &Conf) -> Result<Secret, Failure> {
    let raw = args.raw("encrypt").filter(|_| args.given("encrypt"));
    match raw.map(|raw| raw.as_encoded_bytes()) {
        None if conf.encrypt => Ok(Secret::Ask),
        None => Ok(Secret::None),
        Some(b"") => Ok(Secret::Ask),
        Some(password) => check(password).map(|()| Secret::Given(password.to_vec())),
    }
}

/// What the machine gives: by default all processors and a third of the memory.
pub fn resources(args: &Args, conf: &Conf, io: &Io) -> Result<Resources, Failure> {
    let memory = args.number("maxram")?.map(|size| (size as u64).saturating_mul(HUNDRED));
    let threads = args.number("threads")?.map(|threads| threads as usize);
    Ok(Resources {
        workers: threads.unwrap_or(io.host.processors),
        memory: memory.or_else(|| io.host.third_of_memory()),
        scratch: Some(conf.scratch.clone().unwrap_or_else(|| io.host.scratch.clone())),
        ..Resources::default()
    })
}

/// Sets the priority of the process, if that is asked for.
pub fn be_nice(args: &Args, conf: &Conf) -> Result<(), Failure> {
    let Some(value) = args.number("nice-level")?.map(|value| value as i32).or(conf.nice) else { return Ok(()) };
    let set = rustix::process::setpriority_process(None, value);
    set.map_err(|cause| args.wrong("nice-level", &format!("{value}: {cause}")))
}

fn outfile(args: &Args) -> Result<Option<PathBuf>, Failure> {
    if args.given("outfile") && args.given("outdir") {
        return Err(args.wrong("outfile", "cannot be used with --outdir"));
    }
    Ok(args.path("outfile"))
}

fn outdir(args: &Args) -> Option<PathBuf> {
    args.path("outdir")
}

/// What names of compressed files end in.
pub fn suffix(args: &Args) -> Result<String, Failure> {
    let suffix = args.text("suffix")?.unwrap_or(LRZ);
    if suffix.is_empty() || suffix.contains('/') {
        return Err(args.wrong("suffix", &format!("'{suffix}' (expected something without a slash)")));
    }
    Ok(suffix.to_string())
}

fn json(args: &Args) -> Result<bool, Failure> {
    if args.flag("json") && !args.flag("info") {
        return Err(args.wrong("json", "has no effect without --info"));
    }
    Ok(args.flag("json"))
}
