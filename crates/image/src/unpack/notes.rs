//! What workers bring back: counts, warnings, errors that did not stop the rest.

use std::collections::BTreeSet;
use std::path::Path;

use packline_runtime::escape::Escape;
use packline_tree::Xattr;

use super::request::UnpackCounts;
use super::window::FileKey;
use crate::Error;

/// What a warning is about: one of each kind is enough.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The file system has no attributes with this prefix.
    Unsupported(Vec<u8>),
    /// Attributes with this prefix may not be set.
    Forbidden(Vec<u8>),
    /// The file system cannot share blocks.
    NotShared,
    /// Devices were left out.
    Device,
}

/// A warning.
#[derive(Debug)]
pub struct Note {
    /// What it is about.
    pub topic: Topic,
    /// The words.
    pub text: String,
}

impl Note {
    /// An attribute that was not set; `why` is what the system thinks of it.
    pub fn xattr(path: &Path, xattr: &Xattr, forbidden: bool) -> Note {
        let prefix = xattr.name.split_inclusive(|&byte| byte == b'.').next().unwrap_or_default().to_vec();
        let why = if forbidden { "they may not be set" } else { "the file system does not store them" };
        let text = format!(
            "{}: attribute {} is left out, here and elsewhere those that begin with {}: {why}",
            path.escaped(),
            xattr.name.escaped(),
            prefix.escaped(),
        );
        let topic = if forbidden { Topic::Forbidden(prefix) } else { Topic::Unsupported(prefix) };
        Note { topic, text }
    }

    /// Blocks that were not shared.
    pub fn not_shared(path: &Path) -> Note {
        let text = format!(
            "{}: the file system cannot share blocks: equal files are copied, here and elsewhere",
            path.escaped()
        );
        Note { topic: Topic::NotShared, text }
    }

    /// A device that was left out.
    pub fn device(path: &Path) -> Note {
        Note { topic: Topic::Device, text: format!("{}: devices are left out, here and elsewhere", path.escaped()) }
    }
}

/// What a piece of work came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was done.
    pub counts: UnpackCounts,
    /// Warnings, in order.
    pub notes: Vec<Note>,
    /// Errors that did not stop the rest, in order.
    pub problems: Vec<Error>,
    /// What became of files with several names, where what fails does not stop the rest.
    pub written: Written,
    go_on: bool,
}

/// What became of files with several names.
#[derive(Debug, Default)]
pub struct Written {
    /// Those that are there, whole.
    pub made: BTreeSet<FileKey>,
    /// Those whose content cannot be read, so that another name would be no better. What is in neither set could not be made.
    pub unreadable: BTreeSet<FileKey>,
}

impl Written {
    /// Adds what became of other files.
    pub fn add(&mut self, mut other: Written) {
        self.made.append(&mut other.made);
        self.unreadable.append(&mut other.unreadable);
    }
}

impl Outcome {
    /// Nothing so far. If `go_on`, errors are kept; else they are handed up.
    pub fn new(go_on: bool) -> Outcome {
        Outcome { go_on, ..Outcome::default() }
    }

    /// What was made of something; `None` if it failed and the rest goes on.
    pub fn keep<T>(&mut self, made: Result<T, Error>) -> Result<Option<T>, Error> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) if self.go_on => {
                self.problems.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
