//! The input of packing and unpacking: its kind and size, and how it is read into the page cache.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use packline::requests::survey;
use packline_archives::decompress;
use packline_tree::DirectoryOptions;

use crate::{Error, report};

/// Bytes of a read. The number is small, because the kernel never reports a smaller peak for a child than for its parent.
pub const BUFFER: usize = 256 << 10;

/// The input of packing, with its absolute path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Tar {
        path: PathBuf,
        /// Whether the tar itself is compressed.
        compressed: bool,
    },
    Directory {
        path: PathBuf,
    },
}

impl Source {
    /// Determines the kind of an input.
    ///
    /// # Errors
    /// Returns an error if the input cannot be opened or read, or is neither a directory nor a file.
    pub fn open(path: &Path) -> Result<Source, Error> {
        let refused = |cause| Error::file("open", path, &cause);
        let whole = std::path::absolute(path).map_err(refused)?;
        let found = fs::metadata(path).map_err(refused)?;
        if found.is_dir() {
            return Ok(Source::Directory { path: whole });
        }
        if !found.is_file() {
            return Err(Error::at(path, "is neither a directory nor a file"));
        }
        let head = File::open(path).and_then(|mut file| decompress::read_head(&mut file)).map_err(refused)?;
        Ok(Source::Tar { path: whole, compressed: decompress::detect(&head) != decompress::Format::Plain })
    }

    pub fn path(&self) -> &Path {
        match self {
            Source::Tar { path, .. } | Source::Directory { path } => path,
        }
    }

    /// Returns the input's name and size for the report.
    ///
    /// # Errors
    /// Returns an error if the input does not exist any more.
    pub fn described(&self, name: String) -> Result<report::Input, Error> {
        let bytes = match self {
            Source::Tar { path, .. } => size_of(path)?,
            Source::Directory { path } => survey(path, &DirectoryOptions::default()),
        };
        Ok(report::Input { name, bytes })
    }

    /// Reads the input into the page cache. Errors are ignored, because the program that packs the input reports them.
    pub fn read_ahead(&self) {
        match self {
            Source::Tar { path, .. } => read_file(path),
            Source::Directory { path } => read_directory(path),
        }
    }
}

/// Returns the last name of a path, or the path itself if there is none.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Reads a file into the page cache.
pub fn read_file(path: &Path) {
    let mut buffer = vec![0; BUFFER];
    if let Ok(mut file) = File::open(path) {
        while file.read(&mut buffer).is_ok_and(|count| count > 0) {}
    }
}

fn read_directory(top: &Path) {
    let mut waiting = vec![top.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(found) if found.is_dir() => waiting.push(entry.path()),
                Ok(found) if found.is_file() => read_file(&entry.path()),
                _ => {}
            }
        }
    }
}

/// Returns the size of a file in bytes.
///
/// # Errors
/// Returns an error if the file does not exist.
pub fn size_of(path: &Path) -> Result<u64, Error> {
    fs::metadata(path).map(|found| found.len()).map_err(|cause| Error::file("stat", path, &cause))
}
