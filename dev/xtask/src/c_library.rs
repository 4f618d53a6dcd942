//! `cargo xtask install-library` and `cargo xtask c-header`: the C library of `crates/capi`.

use std::path::PathBuf;

use clap::Args;
use packline_testkit::c_library::{self, CLibrary};

use crate::{environment, shell};

#[derive(Debug, Args)]
pub struct Options {
    /// Directory below which programs find the library, the header and the file for pkg-config
    #[arg(long, value_name = "DIR", default_value = "/usr/local")]
    prefix: PathBuf,
    /// Directory of libraries below the prefix
    #[arg(long, value_name = "DIR", default_value = "lib")]
    libdir: String,
    /// Write below this directory instead of the root, for a package
    #[arg(long, value_name = "DIR")]
    destdir: Option<PathBuf>,
    /// The static library to install [default: a fresh release build]
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
}

/// Installs the library.
pub fn install(options: &Options) -> Result<(), String> {
    let prefix =
        std::path::absolute(&options.prefix).map_err(|cause| format!("{}: {cause}", options.prefix.display()))?;
    let archive = options.archive.clone().map_or_else(build, Ok)?;
    let library = CLibrary {
        sources: &shell::root().join("crates/capi"),
        archive: &archive,
        version: env!("CARGO_PKG_VERSION"),
        prefix: &prefix,
        libraries: &options.libdir,
        root: options.destdir.as_deref(),
    };
    library.install()
}

/// Builds the static library. Returns its path.
fn build() -> Result<PathBuf, String> {
    shell::run(shell::cargo().args(["build", "--release", "--locked", "--package", "packline-capi"]))?;
    Ok(environment::target_directory().join("release/libpackline_capi.a"))
}

/// Makes the header.
pub fn make_header() -> Result<(), String> {
    let sources = shell::root().join("crates/capi");
    c_library::make_header(&sources, &sources.join("include/packline.h"))
}
