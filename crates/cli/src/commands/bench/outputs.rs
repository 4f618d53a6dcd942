//! Writes a report to standard output, and to files that appear under their names when they are complete.

use std::fs;
use std::path::{Path, PathBuf};

use packline_bench::{Report, csv, html, json, markdown, text};
use packline_runtime::{Temporaries, check_writable, must_differ, write_file};

use super::ReportArgs;
use crate::args::wrong;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

type Written = fn(&Report) -> String;

pub struct Outputs {
    files: Vec<(PathBuf, Written)>,
    json: bool,
    force: bool,
}

impl Outputs {
    /// Returns the outputs that the options name.
    ///
    /// # Errors
    /// Two reports go to the same file.
    pub fn new(args: &ReportArgs) -> Result<Outputs, Failure> {
        let mut files: Vec<(PathBuf, Written)> = Vec::new();
        let wanted: [(&str, &Option<PathBuf>, Written); 3] =
            [("csv", &args.csv, csv), ("markdown", &args.markdown, markdown), ("html", &args.html, html)];
        for (long, path, written) in wanted {
            let Some(path) = path else { continue };
            if files.iter().any(|(other, _)| named(other) == named(path)) {
                return Err(wrong(long, "another report goes to the same file"));
            }
            files.push((path.clone(), written));
        }
        if args.force && files.is_empty() {
            return Err(wrong("force", "has no effect without --csv, --markdown or --html"));
        }
        Ok(Outputs { files, json: args.json, force: args.force })
    }

    /// Checks that the files can be written, before hours are spent on the benchmark.
    ///
    /// # Errors
    /// A file cannot be written, exists without `--force`, or is the input.
    pub fn check(&self, input: Option<&Path>, temporaries: &Temporaries) -> Result<(), Failure> {
        for (path, _) in &self.files {
            input.map_or(Ok(()), |input| must_differ(input, path))?;
            check_writable(path, self.force, temporaries)?;
        }
        Ok(())
    }

    /// Writes all files and standard output, even if one fails.
    pub fn write(&self, report: &Report, io: &mut Io) -> Result<(), Failure> {
        let mut written = Ok(());
        for (path, form) in &self.files {
            let file = write_file(path, form(report).as_bytes(), self.force, &io.temporaries);
            written = written.and(file.map_err(Failure::from));
        }
        written.and(if self.json { io.print_json(&json(report)) } else { io.print(&text(report)) })
    }
}

/// Returns a path with its directory in canonical form.
fn named(path: &Path) -> PathBuf {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    directory.join(path.file_name().unwrap_or_default())
}
