//! Runs the commands of the machine that tests of actions need.

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
