//! Lists of names: of all entries of a directory only these, as GNU tar takes them with `-T`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use packline_runtime::escape::Escape;

use crate::{Bytes, Error, path};

/// Entries of a directory, each with all below it and the directories that lead to it. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct Names {
    names: Arc<[Bytes]>,
    /// Without what is below each entry.
    alone: bool,
}

impl Names {
    /// Names of existing entries of the directory `root`, each with its line in a list called `input`. Order and
    /// repetitions do not matter.
    ///
    /// # Errors
    /// [`Error::Line`] for a path that is malformed, leads to nothing, or leads there through a symbolic link.
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

    /// The same without what is below each entry, but for what is named itself.
    pub fn alone(self) -> Names {
        Names { alone: true, ..self }
    }

    /// The first components of the names.
    pub fn in_root(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| name.split(|&byte| byte == b'/').next().unwrap_or_default())
    }

    /// Whether an entry at a canonical path is named, below a directory that is named with all below it, or leads to an entry that is named.
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

/// A fault of a name, and what was expected.
type Wrong = (String, String);

/// Whether there is an entry at a canonical path, reached through directories alone. `known` is a directory that was found to be reached
/// so: the next name is often in the same one.
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
    let place = root.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
    place.symlink_metadata().map(|found| found.file_type()).map_err(|cause| match cause.kind() {
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
    fn what_is_named_and_what_leads_to_it_is_reached() {
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
    fn names_that_lead_to_nothing_or_out_are_refused_with_their_line() {
        let top = tree();
        for (name, expected) in [
            ("none", "names: line 2: 'none': there is no such entry (expected the path of an entry below "),
            ("../x", "names: line 2: '../x': the name holds a `..` component (expected"),
            ("link/b", "names: line 2: 'link/b': link is a symbolic link (expected a path that follows no link"),
            ("f/x", "names: line 2: 'f/x': f is not a directory (expected"),
            ("a/x\n", "names: line 2: 'a/x\\n': there is no such entry (expected"),
        ] {
            let error = names(top.path(), &["a/b/c", name]).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
