//! Examines an existing output, and decides whether it may be written.

use std::fs::{self, FileType};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::unfinished::directory_of;
use crate::escape::Escape;
use crate::{Error, Exists};

#[derive(Debug)]
pub enum Target {
    /// The path of a regular file, with links followed.
    File(PathBuf),
    /// The path of a block device, with links followed.
    Device(PathBuf),
}

/// The most links in a chain, as in Linux.
const LINKS_MOST: usize = 40;

/// Resolves `path`. Fails if it must not be written.
pub fn find_target(path: &Path, force: bool) -> Result<Target, Error> {
    if path.file_name().is_none() {
        return Err(Error::target(path, "is not the name of a file", "a file or a block device"));
    }
    match fs::metadata(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            let end = end_of_links(path)?;
            if end.file_name().is_none() || end.as_os_str().as_bytes().ends_with(b"/") {
                return Err(Error::target(path, "is not the name of a file", "a file or a block device"));
            }
            Ok(Target::File(end))
        }
        Err(cause) => Err(Error::output(path, "cannot examine the output", cause)),
        Ok(found) => existing(path, found.file_type(), force),
    }
}

fn existing(path: &Path, found: FileType, force: bool) -> Result<Target, Error> {
    if found.is_dir() {
        let expected = format!("the name of a file, such as {}", path.join("NAME").escaped());
        return Err(Error::target(path, "is a directory", expected));
    }
    if let Some(what) = refused_kind(found) {
        return Err(Error::target(path, what, "a file or a block device, which can be written at any offset"));
    }
    if !force {
        return Err(Exists::File(path.to_path_buf()).into());
    }
    let real = fs::canonicalize(path).map_err(|cause| Error::output(path, "cannot follow the link", cause))?;
    Ok(if found.is_block_device() { Target::Device(real) } else { Target::File(real) })
}

/// The path of the missing file that a symbolic link names, directly or through other links. Returns a path that is not a link
/// unchanged.
///
/// # Errors
/// [`Error::Output`] if the directory of the named path does not exist.
pub fn end_of_links(path: &Path) -> Result<PathBuf, Error> {
    let mut end = path.to_path_buf();
    for followed in 0..LINKS_MOST {
        let Ok(target) = fs::read_link(&end) else {
            return if followed > 0 { in_a_directory(path, end) } else { Ok(end) };
        };
        end = directory_of(&end).join(target);
    }
    Err(Error::output(path, "cannot follow the link", Errno::LOOP.into()))
}

/// Returns `end`, which the link at `path` names, if its directory exists.
fn in_a_directory(path: &Path, end: PathBuf) -> Result<PathBuf, Error> {
    if let Err(cause) = fs::metadata(directory_of(&end)) {
        let cause = io::Error::new(cause.kind(), format!("{}: {cause}", end.escaped()));
        return Err(Error::output(path, "cannot create the link's target", cause));
    }
    Ok(end)
}

fn refused_kind(found: FileType) -> Option<&'static str> {
    match found {
        found if found.is_fifo() => Some("is a pipe"),
        found if found.is_socket() => Some("is a socket"),
        found if found.is_char_device() => Some("is a character device"),
        _ => None,
    }
}
