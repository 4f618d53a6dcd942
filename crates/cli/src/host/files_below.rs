//! Regular files in a directory and below, for commands that take directories.

use std::fs;
use std::path::{Path, PathBuf};

use packline_runtime::escape::Escape;

/// Wanted regular files below a directory in the order of their paths. No link is followed. What cannot be read is reported.
pub fn files_below(top: &Path, is_wanted: &dyn Fn(&Path) -> bool, failed: &mut dyn FnMut(String)) -> Vec<PathBuf> {
    let (mut files, mut waiting) = (Vec::new(), vec![top.to_path_buf()]);
    while let Some(directory) = waiting.pop() {
        let read = fs::read_dir(&directory).and_then(|entries| {
            for entry in entries {
                let entry = entry?;
                let (kind, path) = (entry.file_type()?, entry.path());
                if kind.is_dir() {
                    waiting.push(path);
                } else if kind.is_file() && is_wanted(&path) {
                    files.push(path);
                }
            }
            Ok(())
        });
        if let Err(cause) = read {
            failed(format!("{}: cannot read: {cause}", directory.escaped()));
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use packline_testkit::Sandbox;

    use super::*;

    #[test]
    fn only_regular_files_in_the_order_of_their_paths() {
        let top = Sandbox::new("");
        for name in ["b", "a/z.pln", "a/b/c", "a.pln", ".pln"] {
            top.write(name, "x");
        }
        std::os::unix::fs::symlink("a", top.at("link")).unwrap();
        std::os::unix::fs::symlink("b", top.at("link.pln")).unwrap();
        let found = |pln_only: bool| {
            let is_wanted = |path: &Path| !pln_only || path.extension().is_some_and(|ending| ending == "pln");
            let found = files_below(top.path(), &is_wanted, &mut |what| panic!("{what}"));
            found.iter().map(|path| path.strip_prefix(top.path()).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found(false), [".pln", "a/b/c", "a/z.pln", "a.pln", "b"]);
        assert_eq!(found(true), ["a/z.pln", "a.pln"]);
        let mut failed = Vec::new();
        assert_eq!(files_below(&top.at("none"), &|_| true, &mut |what| failed.push(what)), Vec::<PathBuf>::new());
        assert!(failed[0].contains("none: cannot read: "), "{failed:?}");
    }
}
