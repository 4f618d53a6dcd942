//! Where a report goes: standard output, and files that appear when they are whole.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use packline::bench::{Report, csv, html, json, markdown};
use packline::write_file;

use super::line::typed;
use crate::args::Args;
use crate::failure::Failure;
use crate::io::Io;

type Written = fn(&Report) -> String;

/// What is written.
pub struct Outputs {
    files: Vec<(PathBuf, Written)>,
    json: bool,
    /// Whether Markdown is printed.
    markdown: bool,
    force: bool,
}

impl Outputs {
    /// Reads the options.
    ///
    /// # Errors
    /// A file is there already, and was not to be replaced: said before anything is measured.
    pub fn read(args: &Args) -> Result<Outputs, Failure> {
        let (json, force) = (args.flag("json"), args.flag("force"));
        let mut files: Vec<(PathBuf, Written)> = Vec::new();
        let wanted: [(&'static str, Written); 3] = [("csv", csv), ("markdown", markdown), ("html", html)];
        for (long, written) in wanted {
            if let Some(path) = args.path(long) {
                if !force && fs::symlink_metadata(&path).is_ok() {
                    let what = format!("{}: exists already (expected --force to replace it)", path.display());
                    return Err(Failure::failed(what));
                }
                if files.iter().any(|(other, _)| *other == path) {
                    return Err(args.wrong(long, "another report goes to the same file"));
                }
                files.push((path, written));
            }
        }
        if force && files.is_empty() {
            return Err(args.wrong("force", "has no effect without --csv, --markdown or --html"));
        }
        Ok(Outputs { files, json, markdown: !json && !args.given("markdown"), force })
    }

    /// Writes the report.
    ///
    /// # Errors
    /// A file cannot be written, or standard output is gone.
    pub fn write(&self, report: &Report, io: &mut Io) -> Result<(), Failure> {
        for (path, written) in &self.files {
            write_file(path, written(report).as_bytes(), self.force, &io.temporaries)?;
        }
        if self.json {
            return io.print(&json(report));
        }
        if self.markdown { io.print(&markdown(report)) } else { Ok(()) }
    }
}

/// The command as it was typed.
pub fn command(words: &[OsString]) -> String {
    format!("packline bench {}", typed(words))
}

/// The directory that a path is in.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
