//! Gives definitions of a pseudo file what they need from the machine: names of owners, dates, and the output of commands.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use packline_manifests::PseudoHost;
use packline_runtime::unnamed_temp_file;

use super::Host;
use super::commands::parse_date;
use super::names::Names;

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
        if self.commands { Ok(()) } else { Err("--run-commands, which permits it".to_owned()) }
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
