//! A directory with generated files, in which commands run.

use packline_testkit::Random;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub struct Scene {
    /// An absolute path.
    pub program: PathBuf,
    pub directory: PathBuf,
    pub random: Random,
}

impl Scene {
    /// A command of packline, or a drop-in, with the scene as its working directory.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.directory).env("SOURCE_DATE_EPOCH", "1000000000").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end, with whatever exit status.
    pub fn run(&self, words: &[&str]) -> Result<Output, String> {
        self.command(words).output().map_err(|cause| format!("{}: {cause}", self.program.display()))
    }

    /// The standard output of a command that has to succeed.
    pub fn succeed(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        let output = self.run(words)?;
        if output.status.success() { Ok(output.stdout) } else { Err(failure(words, &output)) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        std::fs::write(self.path(name), bytes).map_err(|cause| format!("{name}: {cause}"))
    }

    /// `None` if there is no such file.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(name)).ok()
    }

    /// Removes a file or a directory, if it exists.
    pub fn remove(&self, name: &str) {
        let path = self.path(name);
        if std::fs::remove_file(&path).is_err() {
            // If another kind of file has this name, the next check fails.
            let _ = std::fs::remove_dir_all(&path);
        }
    }

    /// The names in the directory, sorted.
    pub fn names(&self) -> Result<Vec<String>, String> {
        let entries = std::fs::read_dir(&self.directory).map_err(|cause| cause.to_string())?;
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    /// Text, noise and zeros in random order, fewer than `limit` bytes; one time in eight nothing.
    pub fn content(&mut self, limit: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.random.below(8) == 0 {
            return bytes;
        }
        let length = self.random.below(limit) as usize;
        while bytes.len() < length {
            let part = 1 + self.random.below(1 + limit / 3) as usize;
            match self.random.below(3) {
                0 => bytes.extend(self.random.prose(part)),
                1 => bytes.extend(self.random.noise(part)),
                _ => bytes.resize(bytes.len() + part, 0),
            }
        }
        bytes.truncate(length);
        bytes
    }

    /// Writes a directory of `files` files, named `f0`, `f1` and so on.
    pub fn plant(&mut self, name: &str, files: u64, limit: u64) -> Result<(), String> {
        std::fs::create_dir_all(self.path(name)).map_err(|cause| format!("{name}: {cause}"))?;
        for file in 0..files {
            let content = self.content(limit);
            self.write(&format!("{name}/f{file}"), &content)?;
        }
        Ok(())
    }
}

/// An error with the command and what it printed.
pub fn failure(words: &[&str], output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stderr);
    format!("{}: {}: {}", words.join(" "), output.status, printed.trim())
}

/// An error with `text` unless the condition holds.
pub fn ensure(condition: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(text()) }
}
