//! An input of a command line: a file or standard input.

use std::path::{Path, PathBuf};

use packline::Input;
use packline_runtime::FileStamp;

use crate::host::streams::STDIN;
use crate::ui::failure::Failure;
use crate::ui::io::{Io, take_stdin};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandInput {
    Stdin,
    File(PathBuf),
}

impl CommandInput {
    /// Returns the name for messages.
    pub fn display_path(&self) -> &Path {
        match self {
            CommandInput::Stdin => Path::new(STDIN),
            CommandInput::File(path) => path,
        }
    }

    /// Returns the state of the file; `None` for standard input and for a file that does not exist.
    pub fn stamp(&self) -> Option<FileStamp> {
        match self {
            CommandInput::Stdin => None,
            CommandInput::File(path) => FileStamp::of_path(path).ok(),
        }
    }

    /// Returns the input for the library. Takes standard input.
    ///
    /// # Errors
    /// Standard input is a terminal, or standard output is the file itself.
    pub fn source(&self, output: Option<&Path>, io: &mut Io) -> Result<Input, Failure> {
        match self {
            CommandInput::File(path) => {
                if output.is_none() {
                    io.refuse_input(path)?;
                }
                Ok(Input::File(path.clone()))
            }
            CommandInput::Stdin => Ok(Input::Stream(STDIN.to_string(), take_stdin(output, io)?)),
        }
    }
}
