//! The streams, the machine and the environment of a command, passed by `main` so that tests can replace them.

use std::io::{self, IoSlice, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline::Output;
use packline_cache::Parts;
use packline_runtime::escape::{self, Escape};
use packline_runtime::{FileIdentity, Temporaries};

use crate::host::Host;
use crate::host::signals::ShutdownHook;
use crate::host::streams::{STDIN, STDOUT, Streams, enlarge_pipe};
use crate::ui::failure::Failure;
use crate::ui::progress::DrawnBar;
use crate::ui::target::is_stdout;

/// Bold colours of a terminal.
const YELLOW: &str = "\x1b[1;33m";
const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// Standard streams, the machine, and the files to remove when the process is stopped by a signal.
pub struct Io {
    /// The name that begins each message: the name of a drop-in if the program was called by it.
    pub called: &'static str,
    /// Standard input. The one command that reads it takes it; it is `None` if it was closed.
    pub stdin: Option<Box<dyn Read + Send>>,
    pub stdout: Box<dyn Write + Send>,
    pub stderr: Box<dyn Write + Send>,
    /// Whether standard error is a terminal. Only then a progress bar is drawn.
    pub terminal: bool,
    /// Whether messages have colours.
    pub colour: bool,
    /// Whether standard input is a terminal. No archive is read from a terminal.
    pub in_terminal: bool,
    /// Whether standard output is a terminal. No archive is written to a terminal.
    pub out_terminal: bool,
    pub streams: Streams,
    pub host: Host,
    pub temporaries: Temporaries,
    /// Actions to run before a signal ends the process.
    pub shutdown: ShutdownHook,
    pub drawn: DrawnBar,
    /// Keeps what is read from servers, for later runs.
    pub parts: Option<Arc<Parts>>,
}

impl Io {
    /// Writes text to standard output, escaped ([`escape::lines`]), and flushes it. Data (contents of files, archives, names that end
    /// with NUL) is written to `stdout` directly.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.put(escape::lines(text).as_bytes())
    }

    /// Writes JSON to standard output, escaped without changing its value ([`escape::json`]), and flushes it.
    pub fn print_json(&mut self, text: &str) -> Result<(), Failure> {
        self.put(escape::json(text).as_bytes())
    }

    /// Calls [`Io::print_json`] or [`Io::print`].
    pub fn print_as(&mut self, json: bool, text: &str) -> Result<(), Failure> {
        if json { self.print_json(text) } else { self.print(text) }
    }

    /// Writes a line (given without its end) with unescaped names, as scripts expect from a drop-in. On a terminal the names are
    /// escaped.
    pub fn print_names(&mut self, line: &[u8]) -> io::Result<()> {
        if self.out_terminal {
            writeln!(self.stdout, "{}", escape::line(&String::from_utf8_lossy(line)))
        } else {
            self.stdout.write_all(line).and_then(|()| self.stdout.write_all(b"\n"))
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stdout.write_all(bytes).and_then(|()| self.stdout.flush()).map_err(Failure::printing)
    }

    /// Takes standard input, for a command that writes to `output`, or to standard output if `output` is `None`.
    ///
    /// # Errors
    /// Standard input is closed, was already taken, or is the file that is written.
    pub fn take_stdin(&mut self, output: Option<&Path>) -> Result<Box<dyn Read + Send>, Failure> {
        if self.streams.stdin_closed {
            return Err(Failure::failed("standard input is closed (expected an input)"));
        }
        if let Some(file) = self.streams.stdin_file {
            match output {
                Some(output) if !is_stdout(output) => file.refuse_output(Path::new(STDIN), output)?,
                _ => self.refuse_stdout(file, Path::new(STDIN))?,
            }
        }
        enlarge_pipe(io::stdin());
        self.stdin.take().ok_or_else(|| Failure::failed("standard input has been read already"))
    }

    /// Returns an error if standard output is the file that is read.
    pub fn refuse_input(&self, input: &Path) -> Result<(), Failure> {
        FileIdentity::of_path(input).map_or(Ok(()), |file| self.refuse_stdout(file, input))
    }

    /// Returns an error if standard output is `file`, which is called `input` in the message.
    pub fn refuse_stdout(&self, file: FileIdentity, input: &Path) -> Result<(), Failure> {
        if self.streams.stdout_file != Some(file) {
            return Ok(());
        }
        Err(Failure::failed(format!("{STDOUT}: is the input itself ({}); choose another output", input.escaped())))
    }

    /// Takes standard output as the output of a command; later text goes to standard error.
    pub fn take_stdout(&mut self) -> Output {
        enlarge_pipe(io::stdout());
        let stderr = Shared::new(std::mem::replace(&mut self.stderr, Box::new(io::sink())));
        self.stderr = Box::new(stderr.clone());
        self.out_terminal = self.terminal;
        Output::Stream(PathBuf::from(STDOUT), std::mem::replace(&mut self.stdout, Box::new(stderr)))
    }

    /// Returns standard output as the output of a command.
    pub fn stdout_target(&mut self) -> Output {
        enlarge_pipe(io::stdout());
        Output::Stream(PathBuf::from(STDOUT), self.share_stdout())
    }

    /// Prints a summary after the output has its name. The exit status is about the output, so a failure to print is only a warning. It
    /// is ignored if the reader is gone.
    pub fn report_as(&mut self, json: bool, text: &str) {
        if let Err(Failure::Failed(what)) = self.print_as(json, text) {
            self.warn(&format!("{what} (the output is complete)"));
        }
    }

    /// Writes additional text of a command to standard output; see [`Io::excuse`].
    pub fn remark(&mut self, text: &str) {
        let printed = self.print(text);
        self.excuse(printed);
    }

    /// Continues after a failure to print, and prints nothing more to standard output. The exit status is about the work, so the failure
    /// is only a warning, and it is ignored if the reader is gone.
    pub fn excuse(&mut self, printed: Result<(), Failure>) {
        let Err(failure) = printed else { return };
        self.stdout = Box::new(io::sink());
        if let Failure::Failed(what) = failure {
            self.warn(&what.to_string());
        }
    }

    /// Writes a warning to standard error, on one line.
    pub fn warn(&mut self, what: &str) {
        let called = self.called;
        let label = self.coloured("warning:", YELLOW);
        let _: io::Result<()> = writeln!(self.stderr, "{called}: {label} {}", escape::line(what));
    }

    /// Writes the error that ends the command to standard error. `escaped` is the message, in one or more lines.
    pub fn print_error(&mut self, called: &str, escaped: &str) {
        let name = self.coloured(&format!("{called}:"), RED);
        let _: io::Result<()> = writeln!(self.stderr, "{name} {escaped}");
    }

    fn coloured(&self, label: &str, colour: &str) -> String {
        if self.colour { format!("{colour}{label}{PLAIN}") } else { label.to_string() }
    }

    /// Writes a message to standard error, on one line, after the name by which the program was called.
    pub fn print_message(&mut self, what: &str) {
        let called = self.called;
        self.eprintln(&format!("{called}: {what}"));
    }

    /// Returns an owned writer for standard output. Other writes may come in between.
    fn share_stdout(&mut self) -> Box<dyn Write + Send> {
        let shared = Shared::new(std::mem::replace(&mut self.stdout, Box::new(io::sink())));
        self.stdout = Box::new(shared.clone());
        Box::new(shared)
    }

    /// Writes one line to standard error, escaped ([`escape::line`]), so that a line feed in the text starts no new line. A write error
    /// is ignored, because it could not be reported.
    pub fn eprintln(&mut self, line: &str) {
        let _: io::Result<()> = writeln!(self.stderr, "{}", escape::line(line));
    }

    /// Writes several lines to standard error, escaped ([`escape::lines`]). Names in the text must be escaped already, because a line
    /// feed in a name would start a line.
    pub fn eprint_lines(&mut self, text: &str) {
        let _: io::Result<()> = writeln!(self.stderr, "{}", escape::lines(text));
    }
}

/// Takes standard input, unless it is a terminal.
///
/// # Errors
/// [`Failure::Usage`] for a terminal.
pub fn take_stdin(output: Option<&Path>, io: &mut Io) -> Result<Box<dyn Read + Send>, Failure> {
    if io.in_terminal {
        return Err(Failure::usage("standard input is a terminal; name a file, or pipe data to packline"));
    }
    io.take_stdin(output)
}

/// A stream with several writers.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Write + Send>>>);

impl Shared {
    fn new(stream: Box<dyn Write + Send>) -> Shared {
        Shared(Arc::new(Mutex::new(stream)))
    }

    fn lock(&self) -> MutexGuard<'_, Box<dyn Write + Send>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.lock().write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().flush()
    }
}
