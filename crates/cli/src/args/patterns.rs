//! Patterns on command lines: the options that take them, and the language, described once.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use packline::Selection;
use packline_tree::Patterns;

use crate::args::text_list::{Ending, TextList};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// `--exclude` and `--exclude-from`.
#[derive(Debug, clap::Args)]
pub struct Exclude {
    /// Leave out the entries that match, and all below them; see Patterns
    #[arg(short = 'x', long, value_name = "PATTERN")]
    exclude: Vec<OsString>,
    /// Leave out what matches the patterns in FILE, one a line, or those on standard input if FILE is -
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    exclude_from: Vec<PathBuf>,
}

impl Exclude {
    /// # Errors
    /// [`Failure::Usage`] for an argument that is not a pattern, and for the root; [`Failure::Failed`] for a file that cannot be read, and for a line of it
    /// that is not a pattern.
    pub fn patterns(&self, ending: Ending, io: &mut Io) -> Result<Patterns, Failure> {
        let mut patterns = patterns(&self.exclude)?;
        for path in &self.exclude_from {
            let list = TextList::read(path, ending, io)?;
            for (line, text) in list.items() {
                let added = patterns.add_optional(text);
                added.map_err(|fault| list.fault(line, &format!("pattern '{}': {fault}", text.escaped())))?;
            }
        }
        if patterns.match_root() {
            let expected = "expected a pattern for what is in it, such as 'etc'";
            return Err(Failure::usage(format!(
                "an exclude pattern that is the root leaves out everything ({expected})"
            )));
        }
        Ok(patterns)
    }

    /// The entries that `include` names and these patterns leave out.
    ///
    /// # Errors
    /// As [`Exclude::patterns`].
    pub fn selection(&self, include: &[OsString], ending: Ending, io: &mut Io) -> Result<Selection, Failure> {
        Ok(Selection { include: patterns(include)?, exclude: self.patterns(ending, io)?, ..Selection::all() })
    }

    /// Whether a file of patterns was given.
    pub fn has_files(&self) -> bool {
        !self.exclude_from.is_empty()
    }

    /// Whether standard input holds patterns.
    pub fn takes_stdin(&self) -> bool {
        self.exclude_from.iter().any(|path| path.as_os_str() == "-")
    }
}

/// The language, for the help of each command that has it.
pub const LANGUAGE: &str = "\
Patterns: one without '/' is compared with names, at any depth: '*.gz', bin. One with '/' is compared with whole paths, and a '/' or \
'./' in front means no more than that: 'etc/*.conf', /bin. A '/' at the end means directories only.\n\
'*' is any run of characters and '?' any one, but no '/'; '**' is any run, '/' included: 'usr/**/*.h'. '[a-z]', '[!a-z]' and \
'[[:digit:]]' are one character of a set, or not of it; '{gz,xz}' is one or the other; a backslash takes the character after it \
as it is. What matches a directory includes all below it; '/' is everything, and cannot be excluded. An --exclude that matches nothing is a warning.\n\
In a file of --exclude-from each line is a pattern as it is, blanks and '#' included, as for tar -X. Empty lines count for nothing, \
and a pattern that matches nothing is no warning.";

/// # Errors
/// [`Failure::Usage`] for what is not a pattern.
pub fn patterns(texts: &[impl AsRef<OsStr>]) -> Result<Patterns, Failure> {
    let mut patterns = Patterns::new();
    for text in texts.iter().map(AsRef::as_ref) {
        let added = patterns.add(text.as_encoded_bytes());
        added.map_err(|fault| Failure::usage(format!("pattern '{}': {fault}", text.escaped())))?;
    }
    Ok(patterns)
}
