//! Lists the regular files in a directory and below it, for commands that accept directories.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;

/// Returns the regular files below a directory in the order of their paths. Links are not followed. A directory is read when its first
/// file is requested. A directory that cannot be read is an error, and the next files follow.
pub fn files_below(top: &Path) -> FilesBelow {
    FilesBelow { waiting: vec![(top.to_path_buf(), true)] }
}

pub struct FilesBelow {
    /// The remaining paths, each with whether it is a directory; the last one is next.
    waiting: Vec<(PathBuf, bool)>,
}

/// A directory that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    pub directory: PathBuf,
    pub cause: io::Error,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot read: {}", self.directory.escaped(), self.cause)
    }
}

impl Iterator for FilesBelow {
    type Item = Result<PathBuf, Unreadable>;

    fn next(&mut self) -> Option<Result<PathBuf, Unreadable>> {
        loop {
            let (path, is_directory) = self.waiting.pop()?;
            if !is_directory {
                return Some(Ok(path));
            }
            if let Err(cause) = self.enter(&path) {
                return Some(Err(Unreadable { directory: path, cause }));
            }
        }
    }
}

impl FilesBelow {
    /// Adds the entries of a directory, as far as they can be read.
    fn enter(&mut self, directory: &Path) -> io::Result<()> {
        let mut found = Vec::new();
        let read = fs::read_dir(directory).and_then(|entries| {
            for entry in entries {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() || kind.is_file() {
                    found.push((entry.path(), kind.is_dir()));
                }
            }
            Ok(())
        });
        found.sort_unstable_by(|one, other| other.cmp(one));
        self.waiting.append(&mut found);
        read
    }
}

#[cfg(test)]
mod tests {
    use packline_testkit::Sandbox;

    use super::*;

    #[test]
    fn lists_regular_files_in_path_order() {
        let top = Sandbox::new("");
        for name in ["b", "a/z.pln", "a/b/c", "a.pln", ".pln"] {
            top.write(name, "x");
        }
        std::os::unix::fs::symlink("a", top.at("link")).unwrap();
        std::os::unix::fs::symlink("b", top.at("link.pln")).unwrap();
        let found = |pln_only: bool| {
            let is_wanted = |path: &PathBuf| !pln_only || path.extension().is_some_and(|ending| ending == "pln");
            let found = files_below(top.path()).map(Result::unwrap).filter(is_wanted);
            found.map(|path| path.strip_prefix(top.path()).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found(false), [".pln", "a/b/c", "a/z.pln", "a.pln", "b"]);
        assert_eq!(found(true), ["a/z.pln", "a.pln"]);
        let found: Vec<_> = files_below(&top.at("none")).collect();
        let failed = found[0].as_ref().unwrap_err().to_string();
        assert!(found.len() == 1 && failed.contains("none: cannot read: "), "{failed}");
    }
}
