//! What is packed or unpacked: what it is, how large, and in the page cache before anything is measured.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use packline::tree::{DirectoryOptions, decompress};
use packline::{bench, survey};

use crate::failure::Failure;
use crate::shown::Escape;

/// Bytes of a read; the process stays small, since the peak memory of a child is never below what its parent has.
pub const BUFFER: usize = 256 << 10;

/// What is packed, by its absolute path.
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
    /// Looks at what is there.
    ///
    /// # Errors
    /// It cannot be opened or read, or is neither a directory nor a file.
    pub fn open(path: &Path) -> Result<Source, Failure> {
        let refused = |cause| cannot("open", path, &cause);
        let whole = std::path::absolute(path).map_err(refused)?;
        let found = fs::metadata(path).map_err(refused)?;
        if found.is_dir() {
            return Ok(Source::Directory { path: whole });
        }
        if !found.is_file() {
            return Err(Failure::failed(format!("{}: is neither a directory nor a file", path.escaped())));
        }
        let head = File::open(path).and_then(|mut file| decompress::read_head(&mut file)).map_err(refused)?;
        Ok(Source::Tar { path: whole, compressed: decompress::detect(&head) != decompress::Format::Plain })
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        match self {
            Source::Tar { path, .. } | Source::Directory { path } => path,
        }
    }

    /// For the report, under a name of its own.
    ///
    /// # Errors
    /// It is gone.
    pub fn described(&self, name: String) -> Result<bench::Input, Failure> {
        let bytes = match self {
            Source::Tar { path, .. } => size_of(path)?,
            Source::Directory { path } => survey(path, &DirectoryOptions::default()),
        };
        Ok(bench::Input { name, bytes })
    }

    /// Brings it into the page cache. What cannot be read, whoever packs it will complain about.
    pub fn warm(&self) {
        match self {
            Source::Tar { path, .. } => warm_file(path),
            Source::Directory { path } => warm_directory(path),
        }
    }
}

/// The name of a path without directories; the path itself if there is none.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Reads a file once.
pub fn warm_file(path: &Path) {
    let mut buffer = vec![0; BUFFER];
    if let Ok(mut file) = File::open(path) {
        while file.read(&mut buffer).is_ok_and(|count| count > 0) {}
    }
}

fn warm_directory(top: &Path) {
    let mut waiting = vec![top.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(found) if found.is_dir() => waiting.push(entry.path()),
                Ok(found) if found.is_file() => warm_file(&entry.path()),
                _ => {}
            }
        }
    }
}

/// Bytes of a file.
///
/// # Errors
/// It is not there.
pub fn size_of(path: &Path) -> Result<u64, Failure> {
    fs::metadata(path).map(|found| found.len()).map_err(|cause| cannot("look at", path, &cause))
}

/// The operating system's refusal.
pub fn cannot(what: &str, path: &Path, cause: &io::Error) -> Failure {
    Failure::failed(format!("{}: cannot {what}: {cause}", path.escaped()))
}
