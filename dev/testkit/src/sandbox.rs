//! A temporary directory in which a test runs programs.
#![allow(clippy::panic, clippy::unwrap_used, reason = "these are assertions for tests")]

use crate::model::Node;
use crate::snapshot::{self, Snapshot};
use crate::{plant, tar, tools};
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory that is removed when it goes out of scope, and the packline that is run in it. Names are relative to the directory.
#[derive(Debug)]
pub struct Sandbox {
    directory: tempfile::TempDir,
    packline: PathBuf,
}

impl Sandbox {
    /// `packline` is `env!("CARGO_BIN_EXE_packline")` in a test of the program.
    pub fn new(packline: &str) -> Sandbox {
        Sandbox { directory: tempfile::tempdir().unwrap(), packline: packline.into() }
    }

    /// In a directory that exists: on another file system than temporary files usually are.
    pub fn within(packline: &str, parent: impl AsRef<Path>) -> Sandbox {
        Sandbox { directory: tempfile::tempdir_in(parent).unwrap(), packline: packline.into() }
    }

    /// Creates a sandbox in memory if `/dev/shm` exists and is writable, and otherwise in the directory for temporary files.
    pub fn in_memory(packline: &str) -> Sandbox {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Sandbox { directory: directory.unwrap(), packline: packline.into() }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// The absolute path as an argument.
    pub fn arg(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    /// Names in the directory, sorted.
    pub fn names(&self) -> Vec<String> {
        self.names_in("")
    }

    pub fn names_in(&self, directory: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.at(directory)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.at(name);
        fs::read(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
    }

    pub fn read_text(&self, name: impl AsRef<Path>) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Also creates the directories that lead to the file.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Changes the content of a file as bit rot does: the file keeps its time.
    pub fn damage(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.at(name);
        let modified = path.metadata().unwrap().modified().unwrap();
        fs::write(&path, bytes).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    }

    /// An executable shell script.
    pub fn script(&self, name: &str, lines: &str) -> String {
        let path = self.write(name, format!("#!/bin/sh\n{lines}\n"));
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        self.arg(name)
    }

    /// Creates a directory and the directories that lead to it. An existing directory stays.
    pub fn create_dir(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Removes a file, a directory with its content, or nothing.
    pub fn remove(&self, name: impl AsRef<Path>) {
        let path = self.at(name);
        let is_directory = path.symlink_metadata().map(|status| status.is_dir());
        match is_directory {
            Ok(true) => fs::remove_dir_all(path).unwrap(),
            Ok(false) => fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
    }

    /// A new directory with this tree.
    pub fn plant(&self, name: &str, nodes: &[Node]) -> PathBuf {
        let path = self.create_dir(name);
        plant::plant(nodes, &path).unwrap();
        path
    }

    pub fn write_tar(&self, name: impl AsRef<Path>, nodes: &[Node]) -> PathBuf {
        self.write(name, tar::to_bytes(nodes))
    }

    pub fn snapshot(&self, name: impl AsRef<Path>) -> Snapshot {
        snapshot::of_directory(&self.at(name)).unwrap()
    }

    /// `packline ARGUMENTS` in the directory, without standard input and without settings that change what it does.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        self.program(&self.packline, arguments)
    }

    /// As [`Sandbox::command`] with another program.
    pub fn program(&self, program: impl AsRef<OsStr>, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(program);
        tools::with_system_programs(&mut command).args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.env_remove("SOURCE_DATE_EPOCH").env_remove("PACKLINE_CACHE").env_remove("PACKLINE_LOG");
        command.env("LRZIP", "NOCONFIG").env("TZ", "UTC").env("NO_COLOR", "1");
        command
    }

    /// Runs `packline ARGUMENTS`.
    pub fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    /// Runs `packline ARGUMENTS`, which must succeed.
    #[track_caller]
    pub fn good(&self, arguments: &[impl AsRef<OsStr>]) -> Ran {
        Ran::good(&mut self.command(arguments))
    }

    /// Runs `packline ARGUMENTS <INPUT`, which must succeed.
    #[track_caller]
    pub fn good_on(&self, arguments: &[impl AsRef<OsStr>], input: &str) -> Ran {
        Ran::good(self.command(arguments).stdin(self.open(input)))
    }

    /// Runs another program, which must succeed.
    #[track_caller]
    pub fn peer(&self, program: &str, arguments: &[impl AsRef<OsStr>]) -> Ran {
        Ran::good(&mut self.program(program, arguments))
    }

    /// Runs `packline ARGUMENTS`, which must exit with this status. Returns its standard error.
    #[track_caller]
    pub fn bad(&self, status: i32, arguments: &[impl AsRef<OsStr>]) -> String {
        let mut command = self.command(arguments);
        let ran = Ran::of(&mut command);
        assert_eq!(ran.status, status, "{command:?}: {ran:?}");
        ran.stderr
    }

    /// Runs `packline ARGUMENTS`, which must be refused: see [`Sandbox::refusal`].
    #[track_caller]
    pub fn refused(&self, arguments: &[impl AsRef<OsStr>]) -> String {
        self.refusal(&mut self.command(arguments))
    }

    /// Runs a command that must fail with exit code 1 and one line that begins with the program's name, and leave no other names in the
    /// directory than there were. Returns the line.
    #[track_caller]
    pub fn refusal(&self, command: &mut Command) -> String {
        let before = self.names();
        let ran = Ran::of(command);
        assert_eq!((ran.status, ran.stderr.lines().count()), (1, 1), "{command:?}: {ran:?}");
        assert!(ran.stderr.starts_with("packline: "), "{command:?}: the line begins with the program's name: {ran:?}");
        assert_eq!(self.names(), before, "{command:?}: nothing is left");
        ran.stderr.trim_end().to_owned()
    }

    /// Runs a shell script in which `$P` is packline.
    pub fn shell(&self, script: &str) -> Ran {
        Ran::of(self.program("sh", &["-c", script]).env("P", &self.packline))
    }

    /// A file to be a program's standard input.
    pub fn open(&self, name: &str) -> File {
        File::open(self.at(name)).unwrap()
    }
}

/// The result of a program that ran to its end.
pub struct Ran {
    /// Exit status; -1 if a signal ended it.
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    pub fn of(command: &mut Command) -> Ran {
        command.output().unwrap_or_else(|cause| panic!("{command:?}: {cause}")).into()
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub fn good(command: &mut Command) -> Ran {
        let ran = Ran::of(command);
        assert_eq!(ran.status, 0, "{command:?}: {ran:?}");
        ran
    }

    /// Standard output.
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }
}

impl From<Output> for Ran {
    fn from(Output { status, stdout, stderr }: Output) -> Ran {
        Ran { status: status.code().unwrap_or(-1), stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    }
}

impl fmt::Debug for Ran {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stdout = self.stdout[..self.stdout.len().min(4000)].escape_ascii();
        write!(to, "status {}, stdout \"{stdout}\", stderr {:?}", self.status, self.stderr)
    }
}

/// Returns the memory that a message names as sufficient, as an option's value: `29M`.
#[track_caller]
pub fn needed_memory(message: &str) -> &str {
    let before = message.split(" or more is needed").next().filter(|before| before.len() < message.len());
    before.and_then(|before| before.rsplit(' ').next()).unwrap_or_else(|| panic!("no size is named: {message}"))
}

/// Returns the exact bytes of memory that the debug log names as sufficient.
#[track_caller]
pub fn least_memory(log: &str) -> u64 {
    let bytes = log.rsplit("debug: at least ").next().and_then(|rest| rest.split(' ').next());
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("no number is logged: {log}"))
}
