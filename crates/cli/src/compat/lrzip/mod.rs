//! `lrzip`, `lrunzip` and `lrzcat`: .lrz files both ways, with the options and exit codes of lrzip 0.651.

mod conf;
mod file;
mod names;
mod options;
mod settings;
pub mod tar;

use std::path::{Path, PathBuf};

use crate::args::{Command, Compat, Invocation, wrong};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::place::Place;
use conf::Conf;
use file::open_asking;
use options::Options;
use settings::{Mode, Settings};

#[derive(Debug, clap::Args)]
struct FileOptions {
    /// The files; - or none at all: standard input, to standard output
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// Show what is in a file; with -v its chunks and blocks, with -vv their offsets
    #[arg(short, long)]
    info: bool,
    /// With --info: as JSON, one object a line
    #[arg(long)]
    json: bool,
    /// Decompress without an output, to see whether a file is intact
    #[arg(short, long, conflicts_with = "info")]
    test: bool,
    /// Read what was decompressed to a file again and compare it
    #[arg(short, visible_short_alias = 'C', long)]
    check: bool,
    /// Enter directories and process each file by itself
    #[arg(short, long)]
    recursive: bool,
    /// Delete a file after its output was read back and verified. A file that changed while it was read stays
    #[arg(short = 'D', long, help_heading = "Output")]
    delete: bool,
    /// Keep what could not be decompressed to its end
    #[arg(short = 'K', visible_short_alias = 'k', long, help_heading = "Output")]
    keep_broken: bool,
}

/// Compress files of any size, repeats far apart included (drop-in for lrzip)
#[derive(Debug, clap::Args)]
pub struct Lrzip {
    #[command(flatten)]
    options: FileOptions,
}

/// Decompress .lrz files (drop-in for lrunzip)
#[derive(Debug, clap::Args)]
pub struct Lrunzip {
    #[command(flatten)]
    options: FileOptions,
}

/// Decompress .lrz files to standard output (drop-in for lrzcat)
#[derive(Debug, clap::Args)]
pub struct Lrzcat {
    #[command(flatten)]
    options: FileOptions,
}

const DIFFERENCES: &[&str] = &[
    "The bytes written depend on the input and the options alone, never on processors, memory or time.",
    "An option of the command line overrides one of lrzip.conf.",
    "A file to decompress must have the suffix.",
];

impl Command for Lrzip {
    const NAME: &'static str = "lrzip";
    const COMPAT: Compat = Compat::ExitTwo;
    const DIFFERENCES: &'static [&'static str] = DIFFERENCES;

    fn details() -> String {
        details()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.options.run(Mode::Compress, false, io)
    }
}

impl Command for Lrunzip {
    const NAME: &'static str = "lrunzip";
    const COMPAT: Compat = Compat::ExitTwo;
    const DIFFERENCES: &'static [&'static str] = DIFFERENCES;

    fn details() -> String {
        details()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.options.run(Mode::Decompress, false, io)
    }
}

impl Command for Lrzcat {
    const NAME: &'static str = "lrzcat";
    const COMPAT: Compat = Compat::ExitTwo;
    const DIFFERENCES: &'static [&'static str] = DIFFERENCES;

    fn details() -> String {
        details()
    }

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.options.run(Mode::Decompress, true, io)
    }
}

fn details() -> String {
    "Settings are read from lrzip.conf in the current directory, ~/.lrzip or /etc/lrzip, the first that exists, unless \
     LRZIP=NOCONFIG; options override them. What does not fit into memory goes to TMPDIR, or /var/tmp."
        .to_string()
}

impl FileOptions {
    /// Processes the files; `preset` is what is done unless an option says otherwise.
    fn run(self, preset: Mode, to_stdout: bool, io: &mut Io) -> Result<(), Failure> {
        let (mut settings, files) = self.settings(preset, io)?;
        if to_stdout {
            settings.outfile.get_or_insert_with(|| PathBuf::from("-"));
            settings.silent = true;
        }
        settings.check_files(files.len())?;
        refuse_inputs(&settings, &files)?;
        if files.is_empty() {
            return file::run(&settings, &Place::Stdin, io);
        }
        files.iter().try_for_each(|path| one(&settings, path, io))
    }

    fn settings(self, preset: Mode, io: &Io) -> Result<(Settings, Vec<PathBuf>), Failure> {
        if self.json && !self.info {
            return Err(wrong("json", "has no effect without --info"));
        }
        let conf = Conf::read(&io.host)?;
        let mode = self.mode().unwrap_or(preset);
        let shared = Settings::new(self.options, &conf, mode, &io.host)?;
        let settings = Settings {
            delete: self.delete || conf.delete,
            keep_broken: self.keep_broken || conf.keep_broken,
            recursive: self.recursive,
            check: self.check || conf.check,
            json: self.json,
            ..shared
        };
        Ok((settings, self.files))
    }

    /// `--test` and `--info` override `--decompress`.
    fn mode(&self) -> Option<Mode> {
        let modes = [(self.test, Mode::Test), (self.info, Mode::Info), (self.options.decompress, Mode::Decompress)];
        modes.into_iter().find_map(|(given, mode)| given.then_some(mode))
    }
}

/// Refuses an output that is one of the inputs, which may not have been read by then. Without --force no file is replaced: an output beside its
/// file that exists is an error of that file alone.
fn refuse_inputs(settings: &Settings, files: &[PathBuf]) -> Result<(), Failure> {
    let replaces = settings.force || settings.outfile.is_some();
    if !matches!(settings.mode, Mode::Compress | Mode::Decompress) || !replaces {
        return Ok(());
    }
    let read: Vec<PathBuf> = files.iter().filter(|path| !file::is_skipped(settings, path)).cloned().collect();
    // A file without an output is refused when it is processed.
    let outputs = read.iter().filter_map(|input| names::output_of(input, settings).ok());
    Ok(packline_runtime::all_must_differ(&read, outputs.collect::<Vec<_>>())?)
}

fn one(settings: &Settings, path: &Path, io: &mut Io) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return file::run(settings, &Place::Stdin, io);
    }
    let about = std::fs::metadata(path).map_err(|cause| cannot_open(path, &cause))?;
    if !about.is_dir() {
        return file::run(settings, &Place::File(path.to_path_buf()), io);
    }
    if settings.recursive {
        return below(settings, path, io);
    }
    let what = "is a directory (expected a file; -r enters directories, lrztar packs one)";
    Err(Failure::failed(format!("{}: {what}", path.escaped())))
}

/// Each file below a directory, by name. Links are ignored; so is a file without the suffix, to decompress.
fn below(settings: &Settings, top: &Path, io: &mut Io) -> Result<(), Failure> {
    let mut waiting = vec![top.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let about = std::fs::symlink_metadata(&path).map_err(|cause| cannot_open(&path, &cause))?;
        if about.is_dir() {
            let mut names: Vec<PathBuf> = list(&path)?;
            names.sort_unstable_by(|one, other| other.cmp(one));
            waiting.append(&mut names);
        } else if about.is_file() && (settings.mode == Mode::Compress || names::has_suffix(&path, &settings.suffix)) {
            file::run(settings, &Place::File(path), io)?;
        }
    }
    Ok(())
}

fn list(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(path).map_err(|cause| cannot_open(path, &cause))?;
    let names: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    names.map_err(|cause| cannot_open(path, &cause))
}

fn cannot_open(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::failed(format!("{}: cannot open: {cause}", path.escaped()))
}
