//! The background process: this program started again, in a session of its own, which announces when it is ready.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Output of `--announce`.
const READY: &str = "mounted\n";
/// Bytes of a background process's complaint that are passed on.
const SHOWN: u64 = 64 << 10;

/// Starts this program, called by a name and with these arguments, in the background, and waits until the image can be used. If it fails,
/// its messages are passed on. It is to [`announce`] that it is ready.
pub fn start(called: &str, arguments: &[&[OsString]], io: &mut Io) -> Result<(), Failure> {
    let program = io.host.program.clone().ok_or_else(|| Failure::failed("cannot find the path of this program"))?;
    let mut command = Command::new(program);
    command.arg0(called).args(arguments.concat());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |cause| Failure::failed(format!("cannot start the background process: {cause}"));
    let mut child = command.spawn().map_err(failed)?;
    if is_ready(&mut child) { Ok(()) } else { Err(complaint(&mut child, io)) }
}

fn is_ready(child: &mut Child) -> bool {
    let Some(stdout) = child.stdout.take() else { return false };
    let mut line = String::new();
    BufReader::new(stdout.take(READY.len() as u64)).read_line(&mut line).is_ok() && line == READY
}

fn complaint(child: &mut Child, io: &mut Io) -> Failure {
    let mut messages = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        // What could not be read of it could not be shown either.
        let _: std::io::Result<usize> = stderr.take(SHOWN).read_to_end(&mut messages);
    }
    let status = child.wait().ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    if messages.is_empty() {
        return Failure::failed("the background process ended before the image was mounted");
    }
    io.eprint_lines(String::from_utf8_lossy(&messages).trim_end());
    Failure::AlreadyReported(status.filter(|&status| status != 0).unwrap_or(1))
}

/// Announces that the image can be used, and leaves what the process was started in: its terminal's session, and a working directory that
/// could then not be unmounted. Leaving may fail, and nothing is lost then.
pub fn announce(called: &str, io: &mut Io) -> Result<(), Failure> {
    io.print(READY)?;
    let _: rustix::io::Result<rustix::process::Pid> = rustix::process::setsid();
    if let Err(cause) = rustix::process::chdir("/") {
        io.eprintln(&format!("{called}: cannot leave the working directory: {cause}"));
    }
    Ok(())
}
