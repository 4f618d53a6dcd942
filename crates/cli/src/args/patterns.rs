//! Patterns on command lines: their options, and the one description of their language.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use packline_image::Selection;
use packline_tree::Patterns;

use crate::args::text_list::{Ending, TextList};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// `--exclude` and `--exclude-from`.
#[derive(Debug, clap::Args)]
pub struct Exclude {
    /// Leave out the entries that match PATTERN, such as '*.o' or /var/cache, and everything below them
    #[arg(short = 'x', long, value_name = "PATTERN")]
    exclude: Vec<OsString>,
    /// Leave out what matches the patterns in FILE, one per line; - reads standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    exclude_from: Vec<PathBuf>,
}

impl Exclude {
    /// # Errors
    /// [`Failure::Usage`] for an argument that is not a pattern, and for the root; [`Failure::Failed`] for a file that cannot be read or
    /// has a line that is not a pattern.
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
            let expected = "expected a pattern below the root, such as 'etc'";
            return Err(Failure::usage(format!(
                "an exclude pattern for the root would leave out everything ({expected})"
            )));
        }
        Ok(patterns)
    }

    /// Returns the selection of entries that match `include` and do not match these patterns.
    pub fn selection(&self, include: &[OsString], ending: Ending, io: &mut Io) -> Result<Selection, Failure> {
        Ok(Selection { include: patterns(include)?, exclude: self.patterns(ending, io)?, ..Selection::all() })
    }

    /// Returns whether a file of patterns is given.
    pub fn has_files(&self) -> bool {
        !self.exclude_from.is_empty()
    }

    /// Returns whether patterns are read from standard input.
    pub fn takes_stdin(&self) -> bool {
        self.exclude_from.iter().any(|path| path.as_os_str() == "-")
    }
}

/// The language of patterns, a section of the manual page of each command that has patterns.
pub const LANGUAGE: &str = "\
# Patterns\n\
A pattern without '/' matches names at any depth: '*.gz', bin. A pattern with '/' matches complete paths, and a leading '/' \
or './' means only that: 'etc/*.conf', /bin. A trailing '/' matches directories only.\n\
'*' matches any characters except '/', '?' matches one character except '/', and '**' matches any characters: 'usr/**/*.h'. '[a-z]' \
matches one character of a set, '[!a-z]' one that is not in the set, and '[[:digit:]]' one of a class. '{gz,xz}' matches either word. \
A backslash makes the next character literal. A pattern that matches a directory also matches everything below it. '/' matches \
everything and cannot be excluded. If an --exclude pattern matches nothing, packline warns.\n\
In an --exclude-from file each line is one pattern, including its blanks and '#', as with tar -X. Empty lines are ignored, and a \
pattern that matches nothing causes no warning.";

pub fn patterns(texts: &[impl AsRef<OsStr>]) -> Result<Patterns, Failure> {
    let mut patterns = Patterns::new();
    for text in texts.iter().map(AsRef::as_ref) {
        let added = patterns.add(text.as_encoded_bytes());
        added.map_err(|fault| Failure::usage(format!("pattern '{}': {fault}", text.escaped())))?;
    }
    Ok(patterns)
}
