//! Where a report goes: standard output, and files that appear when they are whole.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use packline::bench::{Report, csv, html, json, markdown, text};
use packline::{Temporaries, check_writable, must_differ, write_file};

use super::line::typed;
use crate::args::Args;
use crate::failure::Failure;
use crate::io::Io;

type Written = fn(&Report) -> String;

/// What is written.
pub struct Outputs {
    files: Vec<(PathBuf, Written)>,
    json: bool,
    force: bool,
}

impl Outputs {
    /// Reads the options.
    ///
    /// # Errors
    /// Two reports go to the same file.
    pub fn read(args: &Args) -> Result<Outputs, Failure> {
        let (json, force) = (args.flag("json"), args.flag("force"));
        let mut files: Vec<(PathBuf, Written)> = Vec::new();
        let wanted: [(&'static str, Written); 3] = [("csv", csv), ("markdown", markdown), ("html", html)];
        for (long, written) in wanted {
            if let Some(path) = args.path(long) {
                if files.iter().any(|(other, _)| named(other) == named(&path)) {
                    return Err(args.wrong(long, "another report goes to the same file"));
                }
                files.push((path, written));
            }
        }
        if force && files.is_empty() {
            return Err(args.wrong("force", "has no effect without --csv, --markdown or --html"));
        }
        Ok(Outputs { files, json, force })
    }

    /// Finds out whether the files can be written, before hours are spent on what goes into them.
    ///
    /// # Errors
    /// One cannot, or is there already and was not to be replaced, or is what is measured.
    pub fn check(&self, input: Option<&Path>, temporaries: &Temporaries) -> Result<(), Failure> {
        for (path, _) in &self.files {
            input.map_or(Ok(()), |input| must_differ(input, path))?;
            check_writable(path, self.force, temporaries)?;
        }
        Ok(())
    }

    /// Writes the report: each file, and standard output, even if one before it fails.
    ///
    /// # Errors
    /// The first that cannot be written.
    pub fn write(&self, report: &Report, io: &mut Io) -> Result<(), Failure> {
        let mut written = Ok(());
        for (path, form) in &self.files {
            let file = write_file(path, form(report).as_bytes(), self.force, &io.temporaries);
            written = written.and(file.map_err(Failure::from));
        }
        written.and(if self.json { io.print_json(&json(report)) } else { io.print(&text(report)) })
    }
}

/// A path whose directory is written in one way only.
fn named(path: &Path) -> PathBuf {
    let directory = fs::canonicalize(directory_of(path)).unwrap_or_else(|_| directory_of(path).to_path_buf());
    directory.join(path.file_name().unwrap_or_default())
}

/// The command as it was typed.
pub fn command(words: &[OsString]) -> String {
    format!("packline bench {}", typed(words))
}

/// The directory that a path is in.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
