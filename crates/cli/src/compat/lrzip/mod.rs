//! `lrzip`, `lrunzip` and `lrzcat` convert .lrz files both ways, with the options and exit codes of lrzip 0.651.

mod conf;
mod file;
mod options;
mod settings;
pub mod tar;

use std::path::{Path, PathBuf};

use crate::args::{Command, Compat, Invocation, wrong};
use crate::commands::streams::{CommandInput, Mode, Style};
use crate::host::files_below::files_below;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use conf::Conf;
use file::open_asking;
use options::Options;
use settings::Settings;

#[derive(Debug, clap::Args)]
struct FileOptions {
    /// The files to read; - or no file reads standard input and writes standard output
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// Show the headers of a file; with -v also its chunks and blocks, with -vv also their offsets
    #[arg(short, long, help_heading = None::<&'static str>)]
    info: bool,
    /// With --info, print one JSON object per line
    #[arg(long, help_heading = None::<&'static str>)]
    json: bool,
    /// Decompress without writing, to check whether the file is intact
    #[arg(short, long, conflicts_with = "info", help_heading = None::<&'static str>)]
    test: bool,
    /// Read the decompressed file again and compare it
    #[arg(short, visible_short_alias = 'C', long, help_heading = None::<&'static str>)]
    check: bool,
    /// Process each file in directories, to any depth
    #[arg(short, long, help_heading = None::<&'static str>)]
    recursive: bool,
    /// Remove each input file after its output was read back and verified. A file that changed while it was read is kept
    #[arg(short = 'D', long, help_heading = "Output")]
    delete: bool,
    /// Keep an output that could not be decompressed completely
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
    "The output depends only on the input and the options, never on processors, memory or time.",
    "An option on the command line overrides lrzip.conf.",
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
    /// Processes the files; `preset` is the mode unless an option selects another.
    fn run(self, preset: Mode, to_stdout: bool, io: &mut Io) -> Result<(), Failure> {
        let (mut settings, files) = self.settings(preset, io)?;
        if to_stdout {
            settings.style.output.get_or_insert_with(|| PathBuf::from("-"));
            settings.style.bar = false;
            settings.silent = true;
        }
        settings.check_files(files.len())?;
        let place =
            |path: PathBuf| if path.as_os_str() == "-" { CommandInput::Stdin } else { CommandInput::File(path) };
        let mut places: Vec<CommandInput> = files.into_iter().map(place).collect();
        if places.is_empty() {
            places.push(CommandInput::Stdin);
        }
        settings.style.refuse_inputs(&places)?;
        places.iter().try_for_each(|place| one(&settings, place, io))
    }

    fn settings(self, preset: Mode, io: &Io) -> Result<(Settings, Vec<PathBuf>), Failure> {
        if self.json && !self.info {
            return Err(wrong("json", "has no effect without --info"));
        }
        let conf = Conf::read(&io.host)?;
        let mode = self.mode().unwrap_or(preset);
        let shared = Settings::new(self.options, &conf, mode, &io.host)?;
        let remove = mode.writes() && (self.delete || conf.delete);
        let settings = Settings {
            style: Style { remove, ..shared.style },
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
        let modes = [(self.test, Mode::Test), (self.info, Mode::Describe), (self.options.decompress, Mode::Decompress)];
        modes.into_iter().find_map(|(given, mode)| given.then_some(mode))
    }
}

fn one(settings: &Settings, place: &CommandInput, io: &mut Io) -> Result<(), Failure> {
    let CommandInput::File(path) = place else { return file::run(settings, place, io) };
    let about = std::fs::metadata(path).map_err(|cause| cannot_open(path, &cause))?;
    if !about.is_dir() {
        return file::run(settings, place, io);
    }
    if settings.recursive {
        return below(settings, path, io);
    }
    let what = "is a directory; -r enters directories, lrztar packs one";
    Err(Failure::failed(format!("{}: {what}", path.escaped())))
}

/// Processes each file below a directory, by name. Links are ignored, and so are files without the suffix when decompressing.
fn below(settings: &Settings, top: &Path, io: &mut Io) -> Result<(), Failure> {
    if top.is_symlink() {
        return Ok(());
    }
    for found in files_below(top) {
        let path = found.map_err(|unreadable| cannot_open(&unreadable.directory, &unreadable.cause))?;
        if settings.style.mode == Mode::Compress || settings.style.has_suffix(&path) {
            file::run(settings, &CommandInput::File(path), io)?;
        }
    }
    Ok(())
}

fn cannot_open(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::failed(format!("{}: cannot open: {cause}", path.escaped()))
}
