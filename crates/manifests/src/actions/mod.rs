//! Actions of mksquashfs: each changes the entries for which its expression is true, as in squashfs-tools 4.7.5 (ACTIONS-README).
//!
//! ```text
//! uid(5)@name(*.c) && !(depth(>3) || type(d))
//! ```
//!
//! Actions apply to a complete list of entries, stage by stage: `exclude`, `dereference`, attributes and storage, `move`, `prune`,
//! `empty`, then extended attributes.

mod action;
mod dereference;
mod evaluate;
mod lexer;
mod moves;
mod number;
mod parser;
mod predicate;
mod run;
mod subject;
mod tree;

use std::io;
use std::path::Path;

use packline_tree::{DirectoryOptions, Error, Xattr};

use action::Rule;
pub use parser::ActionFault;
use run::Run;
pub use tree::{ActionEntry, FileStorage};

/// When the evaluation of an expression is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionLog {
    Never,
    Always,
    True,
    False,
}

/// Text for the caller about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionReport {
    /// The evaluation of an expression in the form of squashfs-tools. Names are not escaped.
    Log(Vec<u8>),
    /// An entry that cannot be moved, or a link that cannot be followed. Names are escaped.
    Warning(String),
}

/// The properties of the image and its source that actions depend on.
pub struct ActionSettings<'s> {
    /// Block size of the image, a power of two.
    pub block_size: u32,
    /// Returns how to read the directory that has a canonical path in the image.
    pub reading: &'s dyn Fn(&[u8]) -> DirectoryOptions,
}

/// Returns whether a text matches.
pub type BytesMatcher = Box<dyn Fn(&[u8]) -> bool>;

/// The file that a test examines.
#[derive(Debug, Clone, Copy)]
pub struct TestedFile<'f> {
    /// The last name of the path in the image.
    pub name: &'f [u8],
    /// The path in the image, with a leading slash.
    pub path: &'f [u8],
    /// The path on this machine.
    pub place: &'f Path,
}

/// Looks up names, compiles expressions and runs commands.
pub trait ActionHost {
    fn user(&mut self, name: &[u8]) -> Option<u32>;
    fn group(&mut self, name: &[u8]) -> Option<u32>;
    /// Compiles a POSIX extended regular expression, which may match anywhere in a text.
    ///
    /// # Errors
    /// The problem, without the text itself.
    fn regex(&mut self, text: &[u8]) -> Result<BytesMatcher, String>;
    /// Parses an extended attribute: `NAME=VALUE`.
    ///
    /// # Errors
    /// The problem, without the text itself.
    fn xattr(&mut self, text: &[u8]) -> Result<Xattr, String>;
    /// Describes a file's content as file(1) does.
    ///
    /// # Errors
    /// The program cannot be run or fails.
    fn describe(&mut self, place: &Path) -> io::Result<Vec<u8>>;
    /// Returns whether a shell command succeeds.
    ///
    /// # Errors
    /// The command cannot be run.
    fn succeeds(&mut self, command: &[u8], file: TestedFile<'_>) -> io::Result<bool>;
}

/// Actions in the order in which they were added.
#[derive(Default)]
pub struct Actions(Vec<Rule>);

impl Actions {
    /// Parses an action.
    ///
    /// # Errors
    /// The action is malformed or not supported.
    pub fn add(&mut self, text: &[u8], log: ActionLog, host: &mut dyn ActionHost) -> Result<(), ActionFault> {
        self.0.push(parser::parse(text, log, host)?);
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies the actions to all entries of an image. Each expression is evaluated at most twice for each entry.
    ///
    /// # Errors
    /// A file cannot be examined, the command of a test cannot be run, or a hard link has no target.
    pub fn apply(
        &self,
        entries: Vec<ActionEntry>,
        settings: &ActionSettings<'_>,
        host: &mut dyn ActionHost,
        report: &mut dyn FnMut(ActionReport),
    ) -> Result<Vec<(ActionEntry, FileStorage)>, Error> {
        Run::new(&self.0, entries, settings, host, report)?.finish()
    }
}

#[cfg(test)]
mod tests;
