//! Where a report is written: standard output, and files that appear under their names when they are complete.

use std::fs;
use std::path::{Path, PathBuf};

use packline::{Temporaries, check_writable, must_differ, write_file};
use packline_bench::{Report, csv, html, json, markdown, text};

use crate::args::Args;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

type Written = fn(&Report) -> String;

/// The outputs of a benchmark.
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

    /// Checks that the files can be written, before hours are spent on the benchmark.
    ///
    /// # Errors
    /// One cannot be written, exists and is not to be replaced, or is the input.
    pub fn check(&self, input: Option<&Path>, temporaries: &Temporaries) -> Result<(), Failure> {
        for (path, _) in &self.files {
            input.map_or(Ok(()), |input| must_differ(input, path))?;
            check_writable(path, self.force, temporaries)?;
        }
        Ok(())
    }

    /// Writes all files and standard output, even if one fails.
    ///
    /// # Errors
    /// The first failure.
    pub fn write(&self, report: &Report, io: &mut Io) -> Result<(), Failure> {
        let mut written = Ok(());
        for (path, form) in &self.files {
            let file = write_file(path, form(report).as_bytes(), self.force, &io.temporaries);
            written = written.and(file.map_err(Failure::from));
        }
        written.and(if self.json { io.print_json(&json(report)) } else { io.print(&text(report)) })
    }
}

/// A path with its directory in canonical form.
fn named(path: &Path) -> PathBuf {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    directory.join(path.file_name().unwrap_or_default())
}
