//! The input of packing and unpacking: kind, size, and reading it into the page cache.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use packline::requests::survey;
use packline_archives::decompress;
use packline_tree::DirectoryOptions;

use crate::{Error, report};

/// Bytes of a read. Small, because the kernel never reports a smaller peak for a child than its parent has.
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
    /// Finds out the kind of an input.
    ///
    /// # Errors
    /// It cannot be opened or read, or is neither a directory nor a file.
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

    /// For the report.
    ///
    /// # Errors
    /// It is gone.
    pub fn described(&self, name: String) -> Result<report::Input, Error> {
        let bytes = match self {
            Source::Tar { path, .. } => size_of(path)?,
            Source::Directory { path } => survey(path, &DirectoryOptions::default()),
        };
        Ok(report::Input { name, bytes })
    }

    /// Reads it into the page cache. Errors are left to the program that packs it.
    pub fn read_ahead(&self) {
        match self {
            Source::Tar { path, .. } => read_file(path),
            Source::Directory { path } => read_directory(path),
        }
    }
}

/// The last name of a path; the path itself if there is none.
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

/// Bytes of a file.
///
/// # Errors
/// It is not there.
pub fn size_of(path: &Path) -> Result<u64, Error> {
    fs::metadata(path).map(|found| found.len()).map_err(|cause| Error::file("stat", path, &cause))
}
