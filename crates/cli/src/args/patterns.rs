//! Patterns on command lines: the options that take them, and the language, described once.

use std::ffi::{OsStr, OsString};

use packline::Selection;
use packline_tree::Patterns;

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// `--exclude`.
#[derive(Debug, clap::Args)]
pub struct Exclude {
    /// Leave out the entries that match, and all below them; see Patterns
    #[arg(short = 'x', long, value_name = "PATTERN")]
    exclude: Vec<OsString>,
}

impl Exclude {
    /// # Errors
    /// [`Failure::Usage`] for a text that is not a pattern.
    pub fn patterns(&self) -> Result<Patterns, Failure> {
        patterns(&self.exclude)
    }

    /// The entries that `include` names and these patterns leave out.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a text that is not a pattern.
    pub fn selection(&self, include: &[OsString]) -> Result<Selection, Failure> {
        Ok(Selection { include: patterns(include)?, exclude: self.patterns()?, ..Selection::all() })
    }
}

/// The language, for the help of each command that has it.
pub const LANGUAGE: &str = "\
Patterns: one without '/' is compared with names, at any depth: '*.gz', bin. One with '/' is compared with whole paths, and a '/' or \
'./' in front means no more than that: 'etc/*.conf', /bin. A '/' at the end means directories only.\n\
'*' is any run of characters and '?' any one, but no '/'; '**' is any run, '/' included: 'usr/**/*.h'. '[a-z]', '[!a-z]' and \
'[[:digit:]]' are one character of a set, or not of it; '{gz,xz}' is one or the other; a backslash takes the character after it \
as it is. What matches a directory includes all below it; '/' is everything. An --exclude that matches nothing is a warning.";

fn patterns(texts: &[impl AsRef<OsStr>]) -> Result<Patterns, Failure> {
    let mut patterns = Patterns::new();
    for text in texts.iter().map(AsRef::as_ref) {
        let added = patterns.add(text.as_encoded_bytes());
        added.map_err(|fault| Failure::usage(format!("pattern '{}': {fault}", text.escaped())))?;
    }
    Ok(patterns)
}
