//! The one file here that reads argv, the environment and the number of processors.
#![allow(clippy::disallowed_methods, reason = "reading them is this file's purpose")]

use std::path::PathBuf;

pub fn arguments() -> impl Iterator<Item = String> {
    std::env::args().skip(1)
}

pub fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::shell::root().join("target"), PathBuf::from)
}

pub fn own_path() -> Result<String, String> {
    let path = std::env::current_exe().map_err(|cause| cause.to_string())?;
    path.into_os_string().into_string().map_err(|path| format!("{} is not UTF-8", path.display()))
}

/// The number of processors that may be used.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
