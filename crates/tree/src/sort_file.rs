//! Sort files: in which order files are packed, and what is asked of some of them.
//!
//! The format is that of `gensquashfs` of squashfs-tools-ng 1.3 (gensquashfs(1), "SORT FILE FORMAT"): a line has a priority, a
//! list of flags in brackets if there are any, and the file's path in the image, which may stand in quotes.
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

pub use assign::Assigned;
pub use sort::Sorted;

use crate::pack_file::lines::lines;
use crate::{Bytes, Error};

/// What a sort file may ask of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileFlags {
    /// Start the file's data at a multiple of the device block size.
    pub align: bool,
    /// Pack its tail end with no other file's.
    pub no_fragment: bool,
    /// Store it uncompressed.
    pub no_compress: bool,
    /// Store it even where its content is stored already.
    pub no_deduplicate: bool,
    /// Store blocks of zeros as data.
    pub no_sparse: bool,
}

/// Where a file comes in the order of packing, and how it is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilePlace {
    /// Lower ones are packed first; 0 for files that no line names.
    pub priority: i64,
    /// What is asked of it.
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

/// A line of a sort file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortRule {
    /// Line number, from 1.
    pub line: u64,
    /// What the files get that it is the first to match.
    pub place: FilePlace,
    /// Canonical path in the image, or a pattern of one.
    pub path: Bytes,
    /// How `path` is compared.
    pub matching: Matching,
}

/// A sort file.
#[derive(Debug, Clone, Default)]
pub struct SortFile {
    input: String,
    rules: Vec<SortRule>,
}

impl SortFile {
    /// Parses the text of a sort file; `input` is its name for errors.
    ///
    /// # Errors
    /// [`Error::Line`] for the first line that is malformed: the input's fault.
    pub fn parse(input: &str, text: &[u8]) -> Result<SortFile, Error> {
        let rules = lines(input, text).map(|(place, line)| rule::parse(place, line)).collect::<Result<_, Error>>()?;
        Ok(SortFile { input: input.to_owned(), rules })
    }

    /// The lines, in order.
    pub fn rules(&self) -> &[SortRule] {
        &self.rules
    }

    /// The file's name as it was given to [`SortFile::parse`].
    pub fn input(&self) -> &str {
        &self.input
    }
}
