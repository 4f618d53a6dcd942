//! The one file of the test kit that reads the environment.
#![allow(clippy::disallowed_methods, reason = "reading the environment is this file's purpose")]

use std::path::PathBuf;

/// Whether no test may be skipped: `CI=true`.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// The directories of `PATH`, and the two of system programs that are not on every user's `PATH`.
pub(crate) fn program_directories() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).collect()
}
