//! The one file of the test kit that reads the environment.
#![allow(clippy::disallowed_methods, reason = "reading the environment is this file's purpose")]

use std::ffi::OsString;
use std::path::PathBuf;

/// Returns whether no test may be skipped (`CI=true`).
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// Returns all cases of a slow suite, or every `step`th of them if a short form is wanted (`PACKLINE_TESTS=short`). The name of the suite decides
/// which is the first, so that suites with the same cases take different ones.
pub fn share<T>(cases: impl IntoIterator<Item = T>, step: usize, suite: &str) -> impl Iterator<Item = T> {
    let is_short = std::env::var("PACKLINE_TESTS").is_ok_and(|value| value == "short");
    let step = if is_short { step } else { 1 };
    let first = suite.bytes().map(usize::from).sum::<usize>() % step;
    cases.into_iter().skip(first).step_by(step)
}

/// `PATH`, with the two directories of system programs that are not on every user's `PATH`.
pub(crate) fn search_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for system in ["/usr/sbin", "/sbin"].map(PathBuf::from) {
        if !directories.contains(&system) {
            directories.push(system);
        }
    }
    std::env::join_paths(directories).unwrap_or(path)
}
