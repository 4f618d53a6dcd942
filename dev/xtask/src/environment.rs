//! The one file here that reads argv, the environment and the number of processors.
#![allow(clippy::disallowed_methods, reason = "reading them is this file's purpose")]

use std::path::PathBuf;

pub fn arguments() -> impl Iterator<Item = String> {
    std::env::args().skip(1)
}

pub fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::shell::root().join("target"), PathBuf::from)
}

/// The directory of cargo's registry.
pub fn cargo_home() -> Result<PathBuf, String> {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".cargo"));
    named.or_else(home).ok_or_else(|| "neither CARGO_HOME nor HOME is set".into())
}

/// Whether clippy's compiler compiles the crates of the workspace, and so checks their lints.
pub fn lints_are_compiled() -> bool {
    let wrapper = std::env::var_os(WORKSPACE_COMPILER).map(PathBuf::from);
    wrapper.is_some_and(|path| path.file_name().is_some_and(|name| name == "clippy-driver"))
}

/// The variable that names the compiler of the crates of a workspace.
pub const WORKSPACE_COMPILER: &str = "RUSTC_WORKSPACE_WRAPPER";

/// How many jobs cargo may run, if that is limited.
pub fn build_jobs() -> Option<String> {
    std::env::var("CARGO_BUILD_JOBS").ok()
}

/// The time of outputs in seconds since 1970, as text (<https://reproducible-builds.org/specs/source-date-epoch/>).
pub fn source_date() -> Option<String> {
    std::env::var("SOURCE_DATE_EPOCH").ok()
}

pub fn own_path() -> Result<String, String> {
    let path = std::env::current_exe().map_err(|cause| cause.to_string())?;
    path.into_os_string().into_string().map_err(|path| format!("{} is not UTF-8", path.display()))
}

/// The number of processors that may be used.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The directories in which Python looks for modules first.
pub fn python_path() -> Option<String> {
    std::env::var("PYTHONPATH").ok().filter(|path| !path.is_empty())
}

/// The directories in which the system looks for programs.
pub fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}
