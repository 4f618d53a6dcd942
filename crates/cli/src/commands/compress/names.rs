//! Names of outputs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// Ending of names of .pln files.
const SUFFIX: &[u8] = b".pln";

/// Whether a name ends in `.pln`, and is more than that.
pub fn has_suffix(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    name.len() > SUFFIX.len() && name.ends_with(SUFFIX)
}

/// The name of a file compressed.
pub fn with_suffix(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_bytes();
    path.with_file_name(OsStr::from_bytes(&[name, SUFFIX].concat()))
}

/// The name of a file decompressed.
///
/// # Errors
/// [`Failure::Failed`] if it does not end in `.pln`.
pub fn without_suffix(path: &Path) -> Result<PathBuf, Failure> {
    if !has_suffix(path) {
        let what = "its name does not end in '.pln' (expected that, or --output, or --stdout)";
        return Err(Failure::failed(format!("{}: {what}", path.escaped())));
    }
    let name = path.file_name().unwrap_or_default().as_bytes();
    Ok(path.with_file_name(OsStr::from_bytes(&name[..name.len() - SUFFIX.len()])))
}
