//! Actions of mksquashfs: changes of the entries that an expression is true for, as squashfs-tools 4.7.5 have them (ACTIONS-README).
//!
//! ```text
//! uid(5)@name(*.c) && !(depth(>3) || type(d))
//! ```
//!
//! They are applied to a complete list of entries, stage by stage: `exclude`, `dereference`, attributes and storage, `move`, `prune`,
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
    /// The evaluation of an expression, in the form of squashfs-tools; names as they are.
    Log(Vec<u8>),
    /// An entry that cannot be moved, or a link that cannot be followed, names escaped.
    Warning(String),
}

/// What actions need to know of the image and its source.
pub struct ActionSettings<'s> {
    /// Block size of the image, a power of two.
    pub block_size: u32,
    /// How a directory is read that has this canonical path in the image.
    pub reading: &'s dyn Fn(&[u8]) -> DirectoryOptions,
}

/// Actions in the order given.
#[derive(Default)]
pub struct Actions(Vec<Rule>);

impl Actions {
    /// Parses an action.
    ///
    /// # Errors
    /// It is malformed, or is not supported.
    pub fn add(&mut self, text: &[u8], log: ActionLog, host: &mut dyn ActionHost) -> Result<(), ActionFault> {
        self.0.push(parser::parse(text, log, host)?);
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies them to all entries of an image.
    ///
    /// Time: each expression is evaluated at most twice for each entry.
    ///
    /// # Errors
    /// A file cannot be examined, a command of a test cannot be run, or a hard link leads to no entry.
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
