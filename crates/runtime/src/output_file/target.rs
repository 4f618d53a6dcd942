//! Examines an existing output: whether it may be written.

use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::{Error, Exists};

/// Where the output goes.
#[derive(Debug)]
pub enum Target {
    /// A regular file: the path to give it, links followed.
    File(PathBuf),
    /// A block device, links followed.
    Device(PathBuf),
}

/// Resolves `path`; refuses what must not be written.
pub fn find_target(path: &Path, force: bool) -> Result<Target, Error> {
    if path.file_name().is_none() {
        return Err(Error::target(path, "is not the name of a file", "a file or a block device"));
    }
    match fs::symlink_metadata(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(Target::File(path.to_path_buf())),
        Err(cause) => Err(Error::output(path, "cannot look at the output", cause)),
        Ok(_) => existing(path, force),
    }
}

fn existing(path: &Path, force: bool) -> Result<Target, Error> {
    let real = fs::canonicalize(path).map_err(|cause| Error::output(path, "cannot follow the link", cause))?;
    let found =
        fs::metadata(&real).map_err(|cause| Error::output(path, "cannot look at the output", cause))?.file_type();
    if let Some(what) = refused_kind(found) {
        return Err(Error::target(path, what, "a file or a block device, which can be written at any offset"));
    }
    if !force {
        return Err(Exists::File(path.to_path_buf()).into());
    }
    Ok(if found.is_block_device() { Target::Device(real) } else { Target::File(real) })
}

fn refused_kind(found: FileType) -> Option<&'static str> {
    match found {
        found if found.is_dir() => Some("is a directory"),
        found if found.is_fifo() => Some("is a pipe"),
        found if found.is_socket() => Some("is a socket"),
        found if found.is_char_device() => Some("is a character device"),
        _ => None,
    }
}
