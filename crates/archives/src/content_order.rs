//! The order in which the contents of files are read and stored, independent of the order of their names.

use packline_tree::text::{TextLine, lines, trim_end};
use packline_tree::{Bytes, Error};

#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ContentOrder {
    /// Files that come first.
    pub first: FileList,
    /// The order of all other files.
    pub rest: RestOrder,
}

impl ContentOrder {
    /// The files of a list first, then all others.
    pub fn new(first: FileList, rest: RestOrder) -> ContentOrder {
        ContentOrder { first, rest }
    }

    /// Whether this is the order of paths.
    pub fn is_by_path(&self) -> bool {
        self.first.is_empty() && self.rest == RestOrder::Path
    }
}

/// The order of files that are not on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RestOrder {
    /// By path, as in a directory source.
    #[default]
    Path,
    /// Files smaller than a block by similarity, after the larger files by path.
    Similar,
}

/// Paths of files, one for each line; for example, the files read at boot.
#[derive(Debug, Clone, Default)]
pub struct FileList {
    input: String,
    paths: Vec<(u64, Bytes)>,
}

impl FileList {
    /// Parses the text of a list. `input` is its name for messages. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// [`Error::Line`] for the first line that is not a path in an image.
    pub fn parse(input: &str, text: &[u8]) -> Result<FileList, Error> {
        let path = |(place, line): (TextLine<'_>, _)| place.canonical(trim_end(line)).map(|path| (place.line, path));
        Ok(FileList { input: input.to_owned(), paths: lines(input, text).map(path).collect::<Result<_, Error>>()? })
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The name that was passed to [`FileList::parse`].
    pub(crate) fn input(&self) -> &str {
        &self.input
    }

    /// Line numbers, from 1, and canonical paths.
    pub(crate) fn paths(&self) -> &[(u64, Bytes)] {
        &self.paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_one_path_for_each_line() {
        let list = FileList::parse("boot", b"# at boot\n\n/usr/bin/init \r\n./etc/a b\n  x//y").unwrap();
        let paths: Vec<_> = list.paths().iter().map(|(line, path)| (*line, path.as_slice())).collect();
        assert_eq!(paths, [(3, &b"usr/bin/init"[..]), (4, b"etc/a b"), (5, b"x/y")]);
    }

    #[test]
    fn rejects_a_path_outside_the_image() {
        let error = FileList::parse("boot", b"a\n../b").unwrap_err().to_string();
        assert!(error.contains("boot: line 2") && error.contains("'..'"), "{error}");
    }
}
