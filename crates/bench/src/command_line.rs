//! A command line with its streams, and what it leaves.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use packline::tree::escape::{self, Escape};

/// Where what a program prints goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Printed {
    /// Beside its error messages, read only if it fails.
    Log,
    /// Nowhere.
    Discarded,
    /// To a file.
    To(PathBuf),
}

/// One program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The program, then its arguments.
    pub words: Vec<OsString>,
    /// The file on its standard input; nothing if there is none.
    pub input: Option<PathBuf>,
    /// Where its standard output goes.
    pub printed: Printed,
    /// Whether an exit status of 1 is an answer and no failure, as diff(1) has it.
    pub one_is_an_answer: bool,
}

impl Line {
    /// A program without arguments yet, that reads nothing.
    pub fn new(program: impl AsRef<OsStr>) -> Line {
        let words = vec![program.as_ref().to_owned()];
        Line { words, input: None, printed: Printed::Log, one_is_an_answer: false }
    }

    /// With further arguments.
    pub fn with<T: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = T>) -> Line {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Reading a file.
    pub fn reading(mut self, path: impl Into<PathBuf>) -> Line {
        self.input = Some(path.into());
        self
    }

    /// Printing to somewhere.
    pub fn printing(mut self, printed: Printed) -> Line {
        self.printed = printed;
        self
    }

    /// As a user would type it, for messages and tests.
    pub fn shown(&self) -> String {
        let mut text = typed(&self.words);
        if let Some(input) = &self.input {
            text.push_str(&format!(" < {}", quoted(input.as_os_str())));
        }
        match &self.printed {
            Printed::Log => {}
            Printed::Discarded => text.push_str(" > /dev/null"),
            Printed::To(path) => text.push_str(&format!(" > {}", quoted(path.as_os_str()))),
        }
        text
    }
}

/// Words as a shell takes them; bash and POSIX 2024 know `$'...'`, for those with bytes that a terminal would obey.
pub fn typed(words: &[OsString]) -> String {
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
    fn lines_are_shown_as_they_would_be_typed() {
        let line = Line::new("a").with(["b c", "", "it's", "x=1"]).reading("/in put").printing(Printed::Discarded);
        assert_eq!(line.shown(), r"a 'b c' '' 'it'\''s' x=1 < '/in put' > /dev/null");
        assert_eq!(typed(&["\u{1b}'\n\\".into()]), r"$'\x1b\'\n\\'");
    }
}
