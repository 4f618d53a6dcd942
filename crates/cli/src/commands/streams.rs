//! Processes each file of a command for compressed files: name, open, run, report, remove.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::{Input, Observer, Output};
use packline_runtime::FileStamp;

use crate::host::streams::STDIN;
use crate::ui::elapsed::Started;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::{Io, take_stdin};
use crate::ui::observer::{ReadSource, remove_source, with_observer_and_sync};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Compress,
    Decompress,
    /// Decompress without writing.
    Test,
    /// Describe the files.
    Describe,
}

impl Mode {
    /// Returns whether the mode has outputs.
    pub fn writes(self) -> bool {
        matches!(self, Mode::Compress | Mode::Decompress)
    }
}

/// The differences between the commands.
#[derive(Debug, Clone)]
pub struct Style {
    pub mode: Mode,
    /// The suffix of the names of compressed files.
    pub suffix: String,
    /// The output that an option names; `-` is standard output.
    pub output: Option<PathBuf>,
    /// The directory of outputs without an explicit name; `None` for the directory of each file.
    pub directory: Option<PathBuf>,
    /// The options that name an output, for messages.
    pub output_options: &'static str,
    /// The hint for an output that would go to a terminal; `None` if a terminal is allowed.
    pub instead_of_terminal: Option<&'static str>,
    /// Replace existing files.
    pub force: bool,
    /// Compress even files whose names have the suffix.
    pub compresses_again: bool,
    /// Skip files with the suffix without a message.
    pub skips_silently: bool,
    /// Draw a progress bar if there is a terminal.
    pub bar: bool,
    /// Remove each file once its output is verified.
    pub remove: bool,
}

/// The file that is processed.
pub struct StreamFile<'f> {
    pub place: &'f CommandInput,
    /// `None` for standard output, and in a mode without outputs.
    pub output: Option<&'f Path>,
    pub started: Started,
}

/// Processes one file: `open` builds the request, `run` does the work, and `report` may return a reason to keep the file.
///
/// # Errors
/// A step fails, a name lacks the suffix, or a file that was to be removed changed while it was read.
pub fn run<Request, Done>(
    style: &Style,
    place: &CommandInput,
    io: &mut Io,
    open: impl FnOnce(&StreamFile<'_>, &mut Io) -> Result<Request, Failure>,
    run: impl FnOnce(Request, &mut dyn Observer) -> Result<Done, packline::Error>,
    report: impl FnOnce(&StreamFile<'_>, &Done, &mut Io) -> Result<Option<&'static str>, Failure>,
) -> Result<(), Failure> {
    if let CommandInput::File(path) = place
        && style.is_skipped(path)
    {
        if !style.skips_silently {
            io.eprintln(&format!("{}: already has the suffix {}, skipped", path.escaped(), style.suffix));
        }
        return Ok(());
    }
    let output = style.output_of(place)?;
    let file = StreamFile { place, output: output.as_deref(), started: Started::now(&io.host) };
    let before = place.stamp();
    let request = open(&file, io)?;
    let (done, synced) = with_observer_and_sync(io, style.bar, |observer| run(request, observer));
    let kept = report(&file, &done?, io)?;
    let CommandInput::File(path) = place else { return Ok(()) };
    if !style.remove {
        return Ok(());
    }
    let no_file = file.output.is_none().then_some("standard output cannot be read again");
    match no_file.or(kept) {
        Some(reason) => io.warn(&format!("{}: not removed, because {reason}", path.escaped())),
        None => remove_source(path, ReadSource { before, synced }, io)?,
    }
    Ok(())
}

impl Style {
    /// Returns whether a name ends in the suffix, and is longer than the suffix.
    pub fn has_suffix(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().as_bytes();
        name.len() > self.suffix.len() && name.ends_with(self.suffix.as_bytes())
    }

    /// Returns whether a file is skipped because its name has the suffix.
    fn is_skipped(&self, path: &Path) -> bool {
        let compresses = self.mode == Mode::Compress && !self.compresses_again && self.output.is_none();
        compresses && self.has_suffix(path)
    }

    /// Returns the output of a file; `None` for standard output, and in a mode without outputs.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the name of a file to decompress does not end in the suffix.
    pub fn output_of(&self, place: &CommandInput) -> Result<Option<PathBuf>, Failure> {
        let output = match (&self.output, place) {
            _ if !self.mode.writes() => None,
            (Some(output), _) => Some(output.clone()),
            (None, CommandInput::File(path)) => Some(self.output_beside(path)?),
            (None, CommandInput::Stdin) => None,
        };
        Ok(output.filter(|output| output.as_os_str() != "-"))
    }

    fn output_beside(&self, path: &Path) -> Result<PathBuf, Failure> {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let name = if self.mode == Mode::Compress {
            [name, self.suffix.as_bytes()].concat()
        } else if self.has_suffix(path) {
            name[..name.len() - self.suffix.len()].to_vec()
        } else {
            let suffix = &self.suffix;
            let options = self.output_options;
            let what = format!("the name does not end in '{suffix}'; use {options}");
            return Err(Failure::failed(format!("{}: {what}", path.escaped())));
        };
        let name = OsStr::from_bytes(&name);
        Ok(self.directory.as_ref().map_or_else(|| path.with_file_name(name), |directory| directory.join(name)))
    }

    /// Rejects an output that is one of the inputs, because the input may not have been read yet. Without `--force` no file is replaced,
    /// and an existing output is an error of its own file.
    pub fn refuse_inputs(&self, places: &[CommandInput]) -> Result<(), Failure> {
        let replaces = self.force || self.output.is_some();
        if !self.mode.writes() || !replaces {
            return Ok(());
        }
        let is_read = |place: &&CommandInput| matches!(place, CommandInput::File(path) if !self.is_skipped(path));
        let read = places.iter().filter(is_read);
        // A file without a valid output name is rejected later, when it is processed.
        let outputs = read.clone().filter_map(|place| self.output_of(place).ok().flatten());
        let inputs: Vec<PathBuf> = read.map(|place| place.display_path().to_path_buf()).collect();
        Ok(packline_runtime::all_must_differ(&inputs, outputs)?)
    }

    /// Opens the output of a file.
    ///
    /// # Errors
    /// Standard output is a terminal, or the file itself.
    pub fn target(&self, file: &StreamFile<'_>, io: &mut Io) -> Result<Output, Failure> {
        if let Some(path) = file.output {
            return Ok(Output::File { path: path.to_path_buf(), force: self.force });
        }
        if let CommandInput::File(input) = file.place {
            io.refuse_input(input)?;
        }
        if let Some(instead) = self.instead_of_terminal.filter(|_| io.out_terminal) {
            return Err(Failure::usage(format!("standard output is a terminal; use {instead}")));
        }
        Ok(io.stdout_target())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandInput {
    Stdin,
    File(PathBuf),
}

impl CommandInput {
    /// Returns the name for messages.
    pub fn display_path(&self) -> &Path {
        match self {
            CommandInput::Stdin => Path::new(STDIN),
            CommandInput::File(path) => path,
        }
    }

    /// Returns the state of the file; `None` for standard input and for a file that does not exist.
    pub fn stamp(&self) -> Option<FileStamp> {
        match self {
            CommandInput::Stdin => None,
            CommandInput::File(path) => FileStamp::of_path(path).ok(),
        }
    }

    /// Returns the input for the library. Takes standard input.
    ///
    /// # Errors
    /// Standard input is a terminal, or standard output is the file itself.
    pub fn source(&self, output: Option<&Path>, io: &mut Io) -> Result<Input, Failure> {
        match self {
            CommandInput::File(path) => {
                if output.is_none() {
                    io.refuse_input(path)?;
                }
                Ok(Input::File(path.clone()))
            }
            CommandInput::Stdin => Ok(Input::Stream(STDIN.to_string(), take_stdin(output, io)?)),
        }
    }
}
