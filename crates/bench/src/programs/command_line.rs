//! The command line of a program, with its standard streams.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use packline_runtime::escape::{self, Escape};

/// The destination of the standard output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdout {
    /// To the log, with standard error.
    Log,
    Discarded,
    File(PathBuf),
    /// To a pipe, from which everything is read and discarded.
    Pipe,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program, then its arguments.
    pub words: Vec<OsString>,
    /// The file on standard input; `None` for /dev/null.
    pub stdin: Option<PathBuf>,
    /// Whether that file comes through a pipe.
    pub stdin_is_piped: bool,
    pub stdout: Stdout,
    /// Whether an exit status of 1 is not a failure, as for diff(1).
    pub status_1_is_a_result: bool,
}

impl CommandLine {
    pub fn new(program: impl AsRef<OsStr>) -> CommandLine {
        let words = vec![program.as_ref().to_owned()];
        CommandLine { words, stdin: None, stdin_is_piped: false, stdout: Stdout::Log, status_1_is_a_result: false }
    }

    pub fn with<T: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = T>) -> CommandLine {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    pub fn stdin(mut self, path: impl Into<PathBuf>) -> CommandLine {
        self.stdin = Some(path.into());
        self
    }

    /// The file comes through a pipe.
    pub fn piped_stdin(mut self, path: impl Into<PathBuf>) -> CommandLine {
        self.stdin_is_piped = true;
        self.stdin(path)
    }

    pub fn stdout(mut self, stdout: Stdout) -> CommandLine {
        self.stdout = stdout;
        self
    }

    pub fn status_1_is_a_result(mut self) -> CommandLine {
        self.status_1_is_a_result = true;
        self
    }

    /// Returns the line in the syntax of a shell.
    pub fn quoted(&self) -> String {
        let mut text = quoted_words(&self.words);
        match &self.stdin {
            Some(input) if self.stdin_is_piped => text = format!("cat {} | {text}", quoted(input.as_os_str())),
            Some(input) => text.push_str(&format!(" < {}", quoted(input.as_os_str()))),
            None => {}
        }
        match &self.stdout {
            Stdout::Log => {}
            Stdout::Discarded => text.push_str(" > /dev/null"),
            Stdout::File(path) => text.push_str(&format!(" > {}", quoted(path.as_os_str()))),
            Stdout::Pipe => text.push_str(" | cat > /dev/null"),
        }
        text
    }
}

/// Returns words in the syntax of a shell. Words with control characters use `$'...'` of bash and POSIX 2024.
pub fn quoted_words(words: &[OsString]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./:,=+@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    if word.to_str().is_none_or(|text| escape::line(text) != text) {
        return format!("$'{}'", word.escaped().replace('\'', r"\'"));
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_lines_for_a_shell() {
        let line = CommandLine::new("a").with(["b c", "", "it's", "x=1"]).stdin("/in put").stdout(Stdout::Discarded);
        assert_eq!(line.quoted(), r"a 'b c' '' 'it'\''s' x=1 < '/in put' > /dev/null");
        assert_eq!(quoted_words(&["\u{1b}'\n\\".into()]), r"$'\x1b\'\n\\'");
    }
}
