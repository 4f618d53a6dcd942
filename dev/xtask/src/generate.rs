//! Writes generated inputs: tars, to standard output without holding a whole tar in memory, and the hostile images, as files.

use clap::ValueEnum;
use packline_testkit::{generate, hostile};
use std::io::{self, BufWriter, Write};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Small files, all different
    Unique,
    /// Empty files in one directory
    Flat,
    /// Files, each with a hard link
    Links,
    /// Files of 20 to 60 KiB
    Once,
    /// Files of 20 to 60 KiB, each with one copy
    Twice,
    /// Small files, every third a copy
    Many,
    /// One file that is a hole
    Sparse,
    /// Mixed files as in a root file system
    Bulk,
}

pub fn tar(kind: Kind, count: u64) -> Result<(), String> {
    let mut sink = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let written = kind.write(count, &mut sink).and_then(|()| sink.flush());
    written.map_err(|cause| format!("standard output: {cause}"))
}

impl Kind {
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub fn write(self, count: u64, sink: &mut dyn Write) -> io::Result<()> {
        match self {
            Kind::Unique => generate::unique_small_files(sink, count),
            Kind::Flat => generate::flat_directory(sink, count),
            Kind::Links => generate::hard_link_pairs(sink, count),
            Kind::Once => generate::duplicated(sink, count, 1),
            Kind::Twice => generate::duplicated(sink, count, 2),
            Kind::Many => generate::many_files(sink, count),
            Kind::Sparse => generate::one_sparse_file(sink, count),
            Kind::Bulk => generate::mixed_bulk(sink, count),
        }
    }
}

/// Writes the hostile images as files, to try them with any program.
pub fn zoo(directory: &Path) -> Result<(), String> {
    hostile::write_all(directory).map_err(|cause| format!("{}: {cause}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_filled() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("zoo");
        zoo(&directory).unwrap();
        let images = std::fs::read_dir(&directory).unwrap().count() - 1;
        assert_eq!(images, hostile::all().len());
    }
}
