//! Starts the background process: this program in a new session, which announces when the image can be used.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The output of `--announce`.
const READY: &str = "mounted\n";
/// The most bytes of a background process's messages that are shown.
const SHOWN: u64 = 64 << 10;

/// Starts this program in the background, with a program name and arguments, and waits until the image can be used. If it fails, its
/// messages are printed. The process must call [`announce`] when it is ready.
pub fn start(called: &str, arguments: &[&[OsString]], io: &mut Io) -> Result<(), Failure> {
    let program = io.host.program.clone().ok_or_else(|| Failure::failed("cannot find the path of this program"))?;
    let mut command = Command::new(program);
    command.arg0(called).args(arguments.concat());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |cause| Failure::failed(format!("cannot start the background process: {cause}"));
    let mut child = command.spawn().map_err(failed)?;
    if is_ready(&mut child) { Ok(()) } else { Err(startup_failure(&mut child, io)) }
}

fn is_ready(child: &mut Child) -> bool {
    let Some(stdout) = child.stdout.take() else { return false };
    let mut line = String::new();
    BufReader::new(stdout.take(READY.len() as u64)).read_line(&mut line).is_ok() && line == READY
}

fn startup_failure(child: &mut Child, io: &mut Io) -> Failure {
    let mut messages = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // Messages that cannot be read cannot be shown.
        let _: std::io::Result<usize> = stderr.take(SHOWN).read_to_end(&mut messages);
    }
    let status = child.wait().ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    if messages.is_empty() {
        return Failure::failed("the background process ended before the image was mounted");
    }
    io.eprint_lines(String::from_utf8_lossy(&messages).trim_end());
    Failure::AlreadyReported(status.filter(|&status| status != 0).unwrap_or(1))
}

/// Announces that the image can be used. Then leaves the session of the terminal, and the working directory, which could not be
/// unmounted otherwise. Leaving may fail without harm.
pub fn announce(called: &str, io: &mut Io) -> Result<(), Failure> {
    io.print(READY)?;
    let _: rustix::io::Result<rustix::process::Pid> = rustix::process::setsid();
    if let Err(cause) = rustix::process::chdir("/") {
        io.eprintln(&format!("{called}: cannot leave the working directory: {cause}"));
    }
    Ok(())
}
