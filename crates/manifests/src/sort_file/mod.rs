//! Sort files: the order in which files are packed, and flags for some of them.
//!
//! The format is that of `gensquashfs` of squashfs-tools-ng 1.3 (gensquashfs(1), "SORT FILE FORMAT"): a line has a priority, an optional
//! list of flags in brackets, and the file's path in the image, which may be quoted.
//!
//! ```text
//! # A simple order
//! -8000    [glob]                         bin/*
//! -100000  [dont_compress,dont_fragment]  boot/vmlinuz
//! 1337                                    "usr/share/my \"special\" file  "
//! ```

mod assign;
mod rule;
mod sort;

use packline_tree::text::lines;
use packline_tree::{Bytes, Error};

pub use assign::Assigned;
pub use sort::Sorted;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileFlags {
    /// Start the file's data at a multiple of the device block size.
    pub align: bool,
    /// Do not pack its tail end with those of other files.
    pub no_fragment: bool,
    /// Store it uncompressed.
    pub no_compress: bool,
    /// Store it even if its content is already stored.
    pub no_deduplicate: bool,
    /// Store blocks of zeros as data.
    pub no_sparse: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilePlace {
    /// Lower ones are packed first; 0 for files without a line.
    pub priority: i64,
    pub flags: FileFlags,
}

/// How a line's path is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// Byte for byte.
    Literal,
    /// As a shell pattern; only a slash matches a slash.
    Glob,
    /// As a shell pattern whose wild cards match slashes too.
    GlobAcross,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortRule {
    /// Line number, from 1.
    pub line: u64,
    /// Priority and flags of the files that it is the first to match.
    pub place: FilePlace,
    /// Canonical path in the image, or a pattern of one.
    pub path: Bytes,
    pub matching: Matching,
}

#[derive(Debug, Clone, Default)]
pub struct SortFile {
    input: String,
    rules: Vec<SortRule>,
}

impl SortFile {
    /// Parses the text of a sort file; `input` is its name for errors.
    ///
    /// # Errors
    /// [`Error::Line`] for the first malformed line.
    pub fn parse(input: &str, text: &[u8]) -> Result<SortFile, Error> {
        let rules = lines(input, text).map(|(place, line)| rule::parse(place, line)).collect::<Result<_, Error>>()?;
        Ok(SortFile { input: input.to_owned(), rules })
    }

    pub fn rules(&self) -> &[SortRule] {
        &self.rules
    }

    /// The file's name as passed to [`SortFile::parse`].
    pub fn input(&self) -> &str {
        &self.input
    }
}
