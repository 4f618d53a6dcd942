//! Runs the binary under test as a user does.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[derive(Debug, Clone)]
pub struct Packer {
    binary: PathBuf,
}

impl Packer {
    /// The binary at a path: `env!("CARGO_BIN_EXE_packline")` in a test.
    pub fn new(binary: impl Into<PathBuf>) -> Packer {
        Packer { binary: binary.into() }
    }
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// `packline pack SOURCE IMAGE OPTIONS`, in an environment without settings that change the output.
    pub fn command(&self, source: &Path, image: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("pack").arg(source).arg(image).args(options);
        command.env_remove("SOURCE_DATE_EPOCH").stdin(Stdio::null());
        command
    }

    /// Packs; panics unless that succeeds. Returns the output.
    #[allow(clippy::panic, reason = "this is an assertion for tests")]
    pub fn pack(&self, source: &Path, image: &Path, options: &[&str]) -> Output {
        let mut command = self.command(source, image, options);
        crate::tools::run(&mut command).unwrap_or_else(|cause| panic!("{cause}"))
    }

    /// Runs the binary under the name of a drop-in with a file on its standard input; panics unless that succeeds.
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

    /// Packs an invalid source into `directory`, which is empty before and must be after. Returns the error's line.
    pub fn refused(&self, source: &Path, directory: &Path, options: &[&str]) -> String {
        let image = directory.join("refused.sqfs");
        let command = self.command(source, &image, options);
        refusal(command, directory)
    }
}

/// Runs a command that must fail with exit code 1, one line that begins with the program's name, and nothing left in `directory`. Returns
/// the line.
#[allow(clippy::panic, reason = "this is an assertion for tests")]
pub fn refusal(mut command: Command, directory: &Path) -> String {
    let shown = format!("{command:?}");
    let output = command.output().unwrap_or_else(|cause| panic!("{shown}: {cause}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{shown}: exit code (stderr: {stderr:?})");
    assert_eq!(stderr.lines().count(), 1, "{shown}: one line (stderr: {stderr:?})");
    assert!(stderr.starts_with("packline: "), "{shown}: the line begins with the program's name: {stderr:?}");
    assert_eq!(left_in(directory), Vec::<PathBuf>::new(), "{shown}: nothing is left");
    stderr.trim_end().to_owned()
}

#[allow(clippy::panic, reason = "this is an assertion for tests")]
pub fn left_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|cause| panic!("{}: {cause}", directory.display()));
    entries.flatten().map(|entry| entry.path()).collect()
}
