//! Sort files: the order in which files are packed, and flags for some files.
//!
//! The format is that of `gensquashfs` of squashfs-tools-ng 1.3 (gensquashfs(1), "SORT FILE FORMAT"). A line has a priority, an optional list
//! of flags in brackets, and the path of a file in the image, which may be quoted.
//!
//! ```text
//! # A simple order
//! -8000    [glob]                         bin/*
//! -100000  [dont_compress,dont_fragment]  boot/vmlinuz
//! 1337                                    "usr/share/my \"special\" file  "
//! ```

mod assign;
mod rule;

use packline_tree::text::lines;
use packline_tree::{Bytes, Error};

pub use assign::{Assigned, Sorted};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileFlags {
    /// Start the file's data at a multiple of the device block size.
    pub align: bool,
    /// Do not pack the file's tail end with those of other files.
    pub no_fragment: bool,
    /// Store the file uncompressed.
    pub no_compress: bool,
    /// Store the file even if its content is already stored.
    pub no_deduplicate: bool,
    /// Store blocks of zeros as data.
    pub no_sparse: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SortSettings {
    /// Lower priorities are packed first. Files without a line have 0.
    pub priority: i64,
    pub flags: FileFlags,
}

/// How the path of a line is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// Byte for byte.
    Literal,
    /// As a shell pattern. Only a slash matches a slash.
    Glob,
    /// As a shell pattern whose wildcards also match slashes.
    GlobAcross,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortRule {
    /// Line number, from 1.
    pub line: u64,
    /// Priority and flags of the files for which this line is the first match.
    pub settings: SortSettings,
    /// Canonical path in the image, or a pattern for such paths.
    pub path: Bytes,
    pub matching: Matching,
}

#[derive(Debug, Clone, Default)]
pub struct SortFile {
    input: String,
    rules: Vec<SortRule>,
}

impl SortFile {
    /// Parses the text of a sort file. `input` is the name of the file for errors.
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

    /// The name passed to [`SortFile::parse`].
    pub fn input(&self) -> &str {
        &self.input
    }
}
