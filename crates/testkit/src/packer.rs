//! The binary under test, run as a user runs it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The binary under test.
#[derive(Debug, Clone)]
pub struct Packer {
    binary: PathBuf,
}

impl Packer {
    /// The binary at a path: `env!("CARGO_BIN_EXE_packline")` in a test.
    pub fn new(binary: impl Into<PathBuf>) -> Packer {
        Packer { binary: binary.into() }
    }

    /// Where the binary is.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// `packline pack SOURCE IMAGE OPTIONS`, ready to run, in an environment that changes nothing.
    pub fn command(&self, source: &Path, image: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("pack").arg(source).arg(image).args(options);
        command.env_remove("SOURCE_DATE_EPOCH").stdin(Stdio::null());
        command
    }

    /// Packs; fails unless that succeeds. Gives back what it printed.
    #[allow(clippy::panic, reason = "this is an assertion for tests")]
    pub fn pack(&self, source: &Path, image: &Path, options: &[&str]) -> Output {
        let mut command = self.command(source, image, options);
        crate::tools::run(&mut command).unwrap_or_else(|cause| panic!("{cause}"))
    }

    /// Runs the binary under the name of a drop-in, a file on its standard input; fails unless that succeeds.
    #[allow(clippy::panic, reason = "this is an assertion for tests")]
    pub fn drop_in(&self, name: &str, arguments: &[&str], image: &Path, input: Option<&Path>) -> Output {
        let mut command = Command::new(&self.binary);
        command.arg(name).args(arguments).arg(image).env_remove("SOURCE_DATE_EPOCH").stdin(Stdio::null());
        if let Some(input) = input {
            let file = File::open(input).unwrap_or_else(|cause| panic!("{}: {cause}", input.display()));
            command.stdin(file);
        }
        crate::tools::run(&mut command).unwrap_or_else(|cause| panic!("{cause}"))
    }

    /// Packs what cannot be packed into `directory`, which is empty before and must be after. Gives back the error's line.
    pub fn refused(&self, source: &Path, directory: &Path, options: &[&str]) -> String {
        let image = directory.join("refused.sqfs");
        let command = self.command(source, &image, options);
        refusal(command, directory)
    }
}

/// Runs a command that must fail as an error of the input does: exit code 1, one line that names the program, nothing
/// left in `directory`. Gives back the line.
#[allow(clippy::panic, reason = "this is an assertion for tests")]
pub fn refusal(mut command: Command, directory: &Path) -> String {
    let shown = format!("{command:?}");
    let output = command.output().unwrap_or_else(|cause| panic!("{shown}: {cause}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{shown}: exit code (it said {said:?})");
    assert_eq!(said.lines().count(), 1, "{shown}: one line (it said {said:?})");
    assert!(said.starts_with("packline: "), "{shown}: the line begins with the program's name: {said:?}");
    assert_eq!(left_in(directory), Vec::<PathBuf>::new(), "{shown}: nothing is left");
    said.trim_end().to_owned()
}

/// The files in a directory.
#[allow(clippy::panic, reason = "this is an assertion for tests")]
pub fn left_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|cause| panic!("{}: {cause}", directory.display()));
    entries.flatten().map(|entry| entry.path()).collect()
}
