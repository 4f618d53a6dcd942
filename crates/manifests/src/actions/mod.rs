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
mod expression;
mod host;
mod lexer;
mod moves;
mod number;
mod parser;
mod predicate;
mod run;
mod subject;
mod tree;

use packline_tree::{DirectoryOptions, Error};

use action::Rule;
pub use host::{ActionHost, BytesMatcher, TestedFile};
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
