//! Runs commands of the machine: for tests of actions, for dates, for definitions of a pseudo file, and for credentials.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use packline_manifests::PseudoHost;
use packline_runtime::unnamed_temp_file;

use super::Host;
use super::names::Names;

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

/// Largest answer of a program that keeps credentials, in bytes.
const ANSWER_MOST: u64 = 1 << 20;
/// The answer of such a program that has none for a server.
const NO_CREDENTIALS: &str = "credentials not found";

/// Returns what `PROGRAM get` answers about the credentials for a server, also that there are none.
///
/// # Errors
/// The program does not exist, or fails.
pub fn credential_helper(program: &str, server: &str) -> io::Result<Vec<u8>> {
    let mut helper = Command::new(program);
    let mut helper = helper.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let mut answer = Vec::new();
    // A program that ends without reading its input is judged by its exit status.
    let _ = helper.stdin.take().map_or(Ok(()), |mut input| input.write_all(server.as_bytes()));
    let read = helper.stdout.take().map_or(Ok(0), |output| output.take(ANSWER_MOST).read_to_end(&mut answer));
    let status = helper.wait()?;
    read?;
    let words = String::from_utf8_lossy(&answer);
    if status.success() || words.contains(NO_CREDENTIALS) {
        return Ok(answer);
    }
    let line = words.lines().next().filter(|line| !line.is_empty());
    Err(io::Error::other(line.map_or_else(|| status.to_string(), str::to_string)))
}

/// Gives definitions of a pseudo file what they need from the machine: names of owners, dates, and the output of commands.
pub struct DefinitionHost {
    names: Names,
    /// The directory of the files that commands write their output to.
    scratch: PathBuf,
    /// Whether commands may run.
    commands: bool,
}

impl DefinitionHost {
    pub fn new(host: &Host, commands: bool) -> DefinitionHost {
        DefinitionHost { names: (host.names)(), scratch: host.scratch.clone(), commands }
    }
}

impl PseudoHost for DefinitionHost {
    fn user(&mut self, name: &str) -> Option<u32> {
        self.names.user_number(name.as_bytes())
    }

    fn group(&mut self, name: &str) -> Option<u32> {
        self.names.group_number(name.as_bytes())
    }

    fn time(&mut self, date: &str) -> Option<u32> {
        parse_date(date)
    }

    fn permits_commands(&self) -> Result<(), String> {
        if self.commands { Ok(()) } else { Err("--run-commands permits it".to_owned()) }
    }

    fn run(&mut self, command: &[u8]) -> io::Result<File> {
        let file = unnamed_temp_file(&self.scratch)?;
        // The command gets no standard input, because it could be the definitions themselves.
        let mut shell = Command::new("/bin/sh");
        let shell = shell.arg("-c").arg(OsStr::from_bytes(command)).stdin(Stdio::null()).stdout(file.try_clone()?);
        let status = shell.status()?;
        if status.success() { Ok(file) } else { Err(io::Error::other(status.to_string())) }
    }
}
