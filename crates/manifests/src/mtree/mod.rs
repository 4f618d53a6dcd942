//! mtree manifests: one line for each entry of a tree, with its attributes and the file of the host that has its content.
//!
//! The format is mtree(5) of FreeBSD and NetBSD, which bsdtar also writes:
//!
//! ```text
//! #mtree
//! /set type=file uid=0 gid=0 mode=0644             defaults for the lines that follow
//! /unset mode                                      removes a default; `all`: all defaults
//! usr type=dir mode=0755                           a name: in the current directory; a directory becomes the current one
//!     file time=1700000000.0 size=12 contents=host/file
//! ..                                               back to the directory above
//! ./usr/lib type=dir                               a path with a slash: from the top; the current directory stays the same
//! ./dev/null type=char device=native,1,3
//! ./link type=link link=target\040with\040blanks
//! ```
//!
//! A line that ends with `\` continues on the next line. Names and values have the escapes of vis(3). Names are never patterns, unlike in
//! BSD's mtree. If two lines have the same path, the later line adds its keywords to the earlier line and replaces equal keywords.
//!
//! - The content of a file comes from the file `contents` (or `content`). The default is the file at the entry's own path. Both paths are
//!   relative to the base directory. Missing attributes are those of that file, or of a new file owned by root if it does not exist.
//! - `nochange` uses all attributes of that file. An `optional` file that does not exist is left out.
//! - Owners are `uid` and `gid`. The name of an owner is looked up if the line has no number.
//! - `size` of a file must be the size of the content. Entries with `nlink` above 1, the same file of the host and equal attributes are hard
//!   links. Without a file of the host, entries with an equal `inode` and an equal `resdevice` are hard links.
//! - These keywords have no effect: digests, which mtree(8) compares with an existing tree; `flags` and `tags`, which images do not have;
//!   `ignore`, because only entries with a line are packed.

mod escape;
mod host;
mod keywords;
mod source;
mod tree;

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use packline_tree::text::{TextLine, is_blank, lines, quote};
use packline_tree::{Bytes, Error};

use crate::PseudoHost;
use crate::pseudo_file::text::Lines;
use keywords::Keywords;
pub use source::MtreeSource;
use tree::{Nodes, ROOT};

/// How the first line of many manifests begins.
const SIGNATURE: &[u8] = b"#mtree";

/// The entries of a manifest.
pub struct Mtree {
    name: String,
    /// The host directory that relative paths start from.
    base: PathBuf,
    nodes: Nodes,
}

impl Mtree {
    /// Whether the beginning of a text is that of a manifest, by the first line or by the keywords of the first entry.
    pub fn is_manifest(head: &[u8]) -> bool {
        head.starts_with(SIGNATURE) || lines("", head).next().is_some_and(|(_, line)| is_entry(line))
    }

    /// Reads a manifest called `name`. Paths of the host are relative to `base`; `host` looks up names of owners.
    ///
    /// # Errors
    /// [`Error::Io`] if the stream cannot be read, [`Error::Line`] for a malformed line.
    pub fn read(name: &str, base: &Path, stream: impl Read, host: &mut dyn PseudoHost) -> Result<Mtree, Error> {
        let mut reader = BufReader::new(stream);
        let mut lines = Lines::without_data(name, &mut reader);
        let mut reading = Reading { host, defaults: Keywords::default(), above: Vec::new(), nodes: Nodes::new() };
        while let Some((line, text)) = lines.next()? {
            reading.line(TextLine { input: name, line }, text)?;
        }
        Ok(Mtree { name: name.to_owned(), base: base.to_owned(), nodes: reading.nodes })
    }
}

/// Whether a line has the form of an entry or of defaults. In pseudo files, the second word of a line is a letter.
fn is_entry(line: &[u8]) -> bool {
    let mut words = words(line);
    match (words.next(), words.next()) {
        (Some(b"/set" | b"/unset"), Some(word)) | (Some(_), Some(word)) => Keywords::is_keyword(word),
        _ => false,
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| is_blank(byte)).filter(|word| !word.is_empty())
}

/// The state of the parser between two lines.
struct Reading<'a> {
    host: &'a mut dyn PseudoHost,
    /// The values of `/set`.
    defaults: Keywords,
    /// The directories that have been entered. The last one is the current directory.
    above: Vec<usize>,
    nodes: Nodes,
}

impl Reading<'_> {
    fn line(&mut self, place: TextLine<'_>, text: &[u8]) -> Result<(), Error> {
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
                Err(place.error(quote(special), "'/set', '/unset', or a name that does not begin with '/'"))
            }
            Some(name) => self.entry(place, name, words),
        }
    }

    /// Handles `..`, which returns to the directory above.
    fn leave(&mut self, place: TextLine<'_>, more: Option<&[u8]>) -> Result<(), Error> {
        if let Some(word) = more {
            return Err(place.error(format!("{} after '..'", quote(word)), "the end of the line"));
        }
        let expected = "at most one '..' for each directory above";
        self.above.pop().map(drop).ok_or_else(|| place.error("one '..' too many", expected))
    }

    fn entry<'w>(
        &mut self,
        place: TextLine<'_>,
        name: &[u8],
        words: impl Iterator<Item = &'w [u8]>,
    ) -> Result<(), Error> {
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

/// Decodes the escapes of a name or value.
fn unescaped(place: TextLine<'_>, word: &[u8]) -> Result<Bytes, Error> {
    escape::unescape(word).ok_or_else(|| {
        let expected = "escapes of vis(3): '\\' and three octal digits, '\\s', '\\t', '\\n', '\\\\', '\\#'";
        place.error(format!("an unknown escape in {}", quote(word)), expected)
    })
}

#[cfg(test)]
mod tests;
