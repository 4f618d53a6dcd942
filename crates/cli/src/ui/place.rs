//! One file of a command line, or standard input.

use std::path::{Path, PathBuf};

use packline::Input;
use packline_runtime::FileStamp;

use crate::host::streams::STDIN;
use crate::ui::failure::Failure;
use crate::ui::io::{Io, take_stdin};

/// Where content comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Place {
    /// Its name in messages.
    pub fn display_path(&self) -> &Path {
        match self {
            Place::Stdin => Path::new(STDIN),
            Place::File(path) => path,
        }
    }

    /// The state of the file; `None` for standard input and a file that is not there.
    pub fn stamp(&self) -> Option<FileStamp> {
        match self {
            Place::Stdin => None,
            Place::File(path) => FileStamp::of_path(path).ok(),
        }
    }

    /// The same for the library. Standard input is taken.
    ///
    /// # Errors
    /// Those of [`take_stdin`]; standard output that is the file itself.
    pub fn source(&self, output: Option<&Path>, io: &mut Io) -> Result<Input, Failure> {
        match self {
            Place::File(path) => {
                if output.is_none() {
                    io.refuse_input(path)?;
                }
                Ok(Input::File(path.clone()))
            }
            Place::Stdin => Ok(Input::Stream(STDIN.to_string(), take_stdin(output, io)?)),
        }
    }
}
