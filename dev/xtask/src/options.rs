//! Options that several commands share.

use crate::shell;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Binary {
    /// The packline to run [default: a fresh release build]
    #[arg(long = "binary", value_name = "PROGRAM")]
    path: Option<PathBuf>,
}

impl Binary {
    /// The path of the program, built if none was given.
    pub fn path(&self) -> Result<PathBuf, String> {
        self.path.clone().map_or_else(shell::release_binary, Ok)
    }
}

#[derive(Debug, Args)]
pub struct Output {
    /// Directory for the results [default: bench/results]
    #[arg(long = "out", value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Output {
    pub fn directory(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| shell::root().join("bench/results"))
    }

    /// Writes `DATE-NAME.csv` and `DATE-NAME.md`.
    pub fn write(&self, name: &str, csv: &str, page: &str) -> Result<(), String> {
        let name = format!("{}-{name}", crate::clock::today());
        shell::write(&self.directory().join(format!("{name}.csv")), csv)?;
        shell::write(&self.directory().join(format!("{name}.md")), page)
    }
}
