//! mtree manifests: the entries of a tree, one a line, each with its attributes and the file of the host that has its content.
//!
//! The format is that of mtree(5) of FreeBSD and NetBSD, which bsdtar writes too:
//!
//! ```text
//! #mtree
//! /set type=file uid=0 gid=0 mode=0644             values of the lines that follow
//! /unset mode                                      none any more; `all`: none at all
//! usr type=dir mode=0755                           a name alone: in the current directory, and a directory becomes that
//!     file time=1700000000.0 size=12 contents=host/file
//! ..                                               back to the directory above
//! ./usr/lib type=dir                               a name with a slash: from the top, and the current directory stays
//! ./dev/null type=char device=native,1,3
//! ./link type=link link=target\040with\040blanks
//! ```
//!
//! A line that ends with `\` continues on the next. Names and values are as vis(3) writes them; those that BSD's mtree takes for patterns
//! are names. Of two lines for one path the later adds to the earlier, and replaces what both say.
//!
//! - The content of a file is that of the file `contents` (or `content`), or else of the one at the entry's own path, both relative to the
//!   base directory. Attributes that no line gives are those of that file; without one they are those of a new file, owned by root.
//! - `nochange` takes them all from there. An `optional` file that is not there is left out.
//! - Owners are `uid` and `gid`. Names of owners are looked up where a line has no number beside them.
//! - `size` of a file must be that of the content. Entries with `nlink` above 1, the same file of the host and equal attributes are
//!   hard links; where there is no such file, those with an equal `inode` of an equal `resdevice` are.
//! - No effect: digests, which mtree(8) compares with a tree that exists; `flags` and `tags`, which images do not have; `ignore`, since
//!   nothing is packed that no line names.

mod escape;
mod host;
mod keywords;
mod source;
mod tree;

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use packline_tree::text::{Place, is_blank, lines, quote};
use packline_tree::{Bytes, Error};

use crate::PseudoHost;
use crate::pseudo_file::text::Lines;
use keywords::Keywords;
pub use source::MtreeSource;
use tree::{Nodes, ROOT};

/// The first line of many manifests, or its beginning.
const SIGNATURE: &[u8] = b"#mtree";

/// The entries of a manifest.
pub struct Mtree {
    name: String,
    /// The directory that relative paths of the host are in.
    base: PathBuf,
    nodes: Nodes,
}

impl Mtree {
    /// Whether a text that begins so is a manifest: by its first line, or by the keywords of the first entry.
    pub fn is_one(head: &[u8]) -> bool {
        head.starts_with(SIGNATURE) || lines("", head).next().is_some_and(|(_, line)| is_entry(line))
    }

    /// Reads a manifest called `name`. Paths of the host are relative to `base`; `host` looks up names of owners.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Line`] for a malformed line.
    pub fn read(name: &str, base: &Path, stream: impl Read, host: &mut dyn PseudoHost) -> Result<Mtree, Error> {
        let mut reader = BufReader::new(stream);
        let mut lines = Lines::without_data(name, &mut reader);
        let mut reading = Reading { host, defaults: Keywords::default(), above: Vec::new(), nodes: Nodes::new() };
        while let Some((line, text)) = lines.next()? {
            reading.line(Place { input: name, line }, text)?;
        }
        Ok(Mtree { name: name.to_owned(), base: base.to_owned(), nodes: reading.nodes })
    }
}

/// Whether a line, not a comment, has the form of an entry or of defaults. Definitions of pseudo files have a letter as second word.
fn is_entry(line: &[u8]) -> bool {
    let mut words = words(line);
    match (words.next(), words.next()) {
        (Some(b"/set" | b"/unset"), Some(word)) | (Some(_), Some(word)) => Keywords::is_one(word),
        _ => false,
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| is_blank(byte)).filter(|word| !word.is_empty())
}

/// The state between two lines.
struct Reading<'a> {
    host: &'a mut dyn PseudoHost,
    /// Of `/set`.
    defaults: Keywords,
    /// The directories that have been entered; the last is the current one.
    above: Vec<usize>,
    nodes: Nodes,
}

impl Reading<'_> {
    fn line(&mut self, place: Place<'_>, text: &[u8]) -> Result<(), Error> {
        let mut words = words(text);
        match words.next() {
            None => Ok(()),
            Some(b"/set") => {
                let given = Keywords::parse(place, words, self.host)?;
                self.defaults.merge(given);
                Ok(())
            }
            Some(b"/unset") => words.try_for_each(|word| self.defaults.unset(place, word)),
            Some(b"..") => self.leave(place, words.next()),
            Some(special) if special[0] == b'/' => {
                Err(place.error(quote(special), "`/set`, `/unset`, or a name that does not begin with `/`"))
            }
            Some(name) => self.entry(place, name, words),
        }
    }

    /// `..`: back to the directory above.
    fn leave(&mut self, place: Place<'_>, more: Option<&[u8]>) -> Result<(), Error> {
        if let Some(word) = more {
            return Err(place.error(format!("{} after `..`", quote(word)), "the end of the line"));
        }
        let expected = "as many as there are directories above";
        self.above.pop().map(drop).ok_or_else(|| place.error("one `..` too many", expected))
    }

    fn entry<'w>(&mut self, place: Place<'_>, name: &[u8], words: impl Iterator<Item = &'w [u8]>) -> Result<(), Error> {
        let path = unescaped(place, name)?;
        let full = path.contains(&b'/');
        let start = if full { ROOT } else { self.above.last().copied().unwrap_or(ROOT) };
        let node = self.nodes.insert(place, start, &place.canonical(&path)?)?;
        let mut keywords = self.defaults.clone();
        keywords.merge(Keywords::parse(place, words, self.host)?);
        if !full && keywords.is_directory() {
            self.above.push(node);
        }
        self.nodes[node].define(place.line, keywords);
        Ok(())
    }
}

/// A name or value without its escapes.
fn unescaped(place: Place<'_>, word: &[u8]) -> Result<Bytes, Error> {
    escape::unescape(word).ok_or_else(|| {
        let expected = "escapes of vis(3): `\\` and three octal digits, `\\s`, `\\t`, `\\n`, `\\\\`, `\\#`";
        place.error(format!("an unknown escape in {}", quote(word)), expected)
    })
}

#[cfg(test)]
mod tests;
