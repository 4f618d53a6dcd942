//! Lists of names: selects these entries of a directory, as `-T` of GNU tar does.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use packline_runtime::escape::Escape;

use crate::{Bytes, Error, path};

/// Entries of a directory, each with everything below it and the directories above it. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct Names {
    names: Arc<[Bytes]>,
    /// Without the entries below each name.
    alone: bool,
}

impl Names {
    /// Names of existing entries of the directory `root`, each with its line in a list called `input`. Their order and
    /// repetitions are ignored.
    ///
    /// # Errors
    /// [`Error::Line`] for a path that is malformed, that does not exist, or that contains a symbolic link.
    pub fn existing<'n>(
        root: &Path,
        input: &str,
        listed: impl IntoIterator<Item = (u64, &'n [u8])>,
    ) -> Result<Names, Error> {
        let mut names = Vec::new();
        let mut known = Bytes::new();
        for (line, name) in listed {
            let found = path::canonical(name).map_err(|fault| (fault.to_string(), fault.expected().to_string()));
            let found = found.and_then(|name| check(root, &name, &mut known).map(|()| name));
            let refused = |(what, expected)| Error::Line {
                input: input.to_string(),
                line,
                what: format!("'{}': {what}", name.escaped()),
                expected,
            };
            names.push(found.map_err(refused)?);
        }
        names.sort_unstable();
        names.dedup();
        Ok(Names { names: names.into(), alone: false })
    }

    /// The same names without the entries below them, except entries that are named themselves.
    pub fn alone(self) -> Names {
        Names { alone: true, ..self }
    }

    /// The first components of the names.
    pub fn in_root(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| name.split(|&byte| byte == b'/').next().unwrap_or_default())
    }

    /// Whether an entry at a canonical path is named, is below a named directory (unless entries below are excluded), or is above
    /// a named entry.
    pub fn reach(&self, path: &[u8]) -> bool {
        let named = |path: &[u8]| self.names.binary_search_by(|name| name.as_slice().cmp(path)).is_ok();
        let mut above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end]);
        named(path) || !self.alone && (named(b"") || above.any(named)) || self.leads_to(path)
    }

    fn leads_to(&self, path: &[u8]) -> bool {
        let below = self.names.partition_point(|name| name.iter().lt(path.iter().chain(b"/")));
        self.names.get(below).and_then(|name| name.strip_prefix(path)).is_some_and(|rest| rest.starts_with(b"/"))
    }
}

/// A fault of a name, and the expected value.
type Wrong = (String, String);

/// Whether there is an entry at a canonical path that is reached only through directories. `known` is a directory that is already
/// known to be reached so, because the next name is often in the same directory.
fn check(root: &Path, path: &[u8], known: &mut Bytes) -> Result<(), Wrong> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    for end in slashes.map(|(end, _)| end) {
        if known.len() >= end && known[..end] == path[..end] && matches!(known.get(end), None | Some(b'/')) {
            continue;
        }
        check_directory(root, &path[..end])?;
        known.clear();
        known.extend_from_slice(&path[..end]);
    }
    examine(root, path).map(drop)
}

fn check_directory(root: &Path, path: &[u8]) -> Result<(), Wrong> {
    let kind = examine(root, path)?;
    if kind.is_symlink() {
        let expected = "a path that follows no link, or the link itself";
        Err((format!("{} is a symbolic link", path.escaped()), expected.to_string()))
    } else if !kind.is_dir() {
        Err((format!("{} is not a directory", path.escaped()), "the path of an entry".to_string()))
    } else {
        Ok(())
    }
}

fn examine(root: &Path, path: &[u8]) -> Result<fs::FileType, Wrong> {
    let full_path = root.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
    full_path.symlink_metadata().map(|found| found.file_type()).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => {
            ("there is no such entry".to_string(), format!("the path of an entry below {}", root.escaped()))
        }
        _ => (cause.to_string(), "an entry that can be examined".to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(top: &Path, listed: &[&str]) -> Result<Names, String> {
        let lines = listed.iter().enumerate().map(|(at, name)| (at as u64 + 1, name.as_bytes()));
        Names::existing(top, "names", lines).map_err(|error| error.to_string())
    }

    fn tree() -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("a/b")).unwrap();
        fs::create_dir(top.path().join("a-b")).unwrap();
        fs::write(top.path().join("a/b/c"), "").unwrap();
        fs::write(top.path().join("f"), "").unwrap();
        std::os::unix::fs::symlink("a", top.path().join("link")).unwrap();
        top
    }

    #[test]
    fn reaches_named_entries_and_the_directories_above_them() {
        let top = tree();
        let reached = names(top.path(), &["./a//b/", "f", "f"]).unwrap();
        for path in ["a", "a/b", "a/b/c", "a/b/x/y", "f", "f/x"] {
            assert!(reached.reach(path.as_bytes()), "{path}");
        }
        for path in ["a-b", "a/c", "a/bc", "link", "ab", "g"] {
            assert!(!reached.reach(path.as_bytes()), "{path}");
        }
        assert!(names(top.path(), &["."]).unwrap().reach(b"x/y") && !names(top.path(), &[]).unwrap().reach(b"x"));
        assert!(names(top.path(), &["link"]).unwrap().reach(b"link"));
        let alone = names(top.path(), &["a/b", "f", "."]).unwrap().alone();
        assert!(["a", "a/b", "f"].iter().all(|path| alone.reach(path.as_bytes())));
        assert!(["a/b/c", "a-b", "link"].iter().all(|path| !alone.reach(path.as_bytes())));
    }

    #[test]
    fn rejects_missing_names_and_names_outside_with_their_line() {
        let top = tree();
        for (name, expected) in [
            ("none", "names: line 2: 'none': there is no such entry (expected the path of an entry below "),
            ("../x", "names: line 2: '../x': the path contains '..' (expected"),
            ("link/b", "names: line 2: 'link/b': link is a symbolic link (expected a path that follows no link"),
            ("f/x", "names: line 2: 'f/x': f is not a directory (expected"),
            ("a/x\n", "names: line 2: 'a/x\\n': there is no such entry (expected"),
        ] {
            let error = names(top.path(), &["a/b/c", name]).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
