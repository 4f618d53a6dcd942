//! Runs commands of the machine: for tests of actions, and for dates.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the output of `file -b` for a file.
///
/// # Errors
/// The program does not exist, or fails.
pub fn describe(place: &Path) -> io::Result<Vec<u8>> {
    let ran = Command::new("file").arg("-b").arg("--").arg(place).stdin(Stdio::null()).output()?;
    if ran.status.success() { Ok(ran.stdout) } else { Err(io::Error::other(ran.status.to_string())) }
}

/// Returns whether a shell command succeeds, with variables in its environment. Its output is dropped.
pub fn succeeds(command: &[u8], variables: [(&str, &OsStr); 3]) -> io::Result<bool> {
    let mut shell = Command::new("/bin/sh");
    let shell = shell.arg("-c").arg(OsStr::from_bytes(command)).envs(variables);
    let shell = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(shell.status()?.success())
}

/// Returns a date in seconds since 1970, parsed by date(1), because the formats that date(1) accepts are described nowhere. Returns `None` if
/// date(1) cannot read the date, or if it does not fit into 32 bits.
pub fn parse_date(text: &str) -> Option<u32> {
    let option = format!("--date={text}");
    let ran = Command::new("date").args([&option, "+%s"]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let printed = String::from_utf8(ran.stdout).ok().filter(|_| ran.status.success())?;
    printed.trim().parse().ok()
}
