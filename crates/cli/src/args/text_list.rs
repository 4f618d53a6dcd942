//! Reads files of names or patterns, each ended by a line feed or a NUL byte.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The end of each item in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Line,
    Nul,
}

impl Ending {
    /// Returns the ending for `--null`.
    pub fn of(null: bool) -> Ending {
        if null { Ending::Nul } else { Ending::Line }
    }
}

pub struct TextList {
    /// The name of the list in messages.
    pub name: String,
    text: Vec<u8>,
    end: u8,
}

impl TextList {
    /// Reads a file, or standard input if `path` is `-`.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the file cannot be read, or has a NUL byte although items end with line feeds.
    pub fn read(path: &Path, ending: Ending, io: &mut Io) -> Result<TextList, Failure> {
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin { STDIN.to_string() } else { path.escaped() };
        let mut text = Vec::new();
        let read = if is_stdin {
            io.take_stdin(None)?.read_to_end(&mut text).map(drop)
        } else {
            fs::read(path).map(|bytes| text = bytes)
        };
        read.map_err(|cause| Failure::failed(format!("{name}: cannot read: {cause}")))?;
        match text.iter().position(|&byte| byte == 0) {
            Some(at) if ending == Ending::Line => {
                Err(Failure::failed(format!("{name}: contains a NUL byte at byte {at} (expected lines of text)")))
            }
            _ => Ok(TextList { name, text, end: if ending == Ending::Nul { 0 } else { b'\n' } }),
        }
    }

    /// Returns the items that are not empty, with their numbers, from 1.
    pub fn items(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let items = self.text.split(|&byte| byte == self.end);
        (1..).zip(items).filter(|(_, item)| !item.is_empty())
    }

    /// Returns the failure for a fault of an item.
    pub fn fault(&self, line: u64, what: &str) -> Failure {
        Failure::failed(format!("{}: line {line}: {what}", self.name))
    }
}
