//! Which paths are left out.

use crate::{Glob, Slash};

/// Patterns of paths to leave out; what is below a directory that is left out is left out too.
///
/// A pattern without a `/` is matched against the last name of each path, at any depth: `*.o`. One with a `/` is matched
/// against the whole path below the root, and its `*` and `?` do not match a `/`: `usr/share/doc`, `/build` (a leading
/// slash only says that the pattern is of this sort), `home/*/.cache`. A trailing slash is ignored. Syntax: [`Glob`].
#[derive(Debug, Clone, Default)]
pub struct Excludes {
    names: Vec<Glob>,
    paths: Vec<Glob>,
}

impl Excludes {
    /// Leaves nothing out.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out what `pattern` matches, by the rules above.
    pub fn add(&mut self, pattern: &[u8]) {
        let pattern = match pattern {
            [start @ .., b'/'] if !start.is_empty() => start,
            _ => pattern,
        };
        match pattern.contains(&b'/') {
            true => self.paths.push(Glob::new(pattern.strip_prefix(b"/").unwrap_or(pattern), Slash::Separates)),
            false => self.names.push(Glob::new(pattern, Slash::Plain)),
        }
    }

    /// Leaves out each path that `glob` matches as a whole.
    pub fn add_path(&mut self, glob: Glob) {
        self.paths.push(glob);
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.paths.is_empty()
    }

    /// Whether the entry at a canonical path is left out for its own sake; the root never is.
    pub fn matches(&self, path: &[u8]) -> bool {
        if path.is_empty() {
            return false;
        }
        let name = memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..]);
        self.names.iter().any(|glob| glob.matches(name)) || self.paths.iter().any(|glob| glob.matches(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excludes(pattern: &str, path: &str) -> bool {
        let mut excludes = Excludes::new();
        excludes.add(pattern.as_bytes());
        excludes.matches(path.as_bytes())
    }

    #[test]
    fn without_a_slash_the_name_counts() {
        assert!(excludes("*.o", "a.o") && excludes("*.o", "src/deep/a.o") && excludes("build/", "x/build"));
        assert!(!excludes("*.o", "a.oo") && !excludes("src", "src2") && !excludes("a", "a/b"));
    }

    #[test]
    fn with_a_slash_the_path_counts() {
        assert!(excludes("/build", "build") && excludes("a/*/c", "a/b/c") && excludes("a/b/", "a/b"));
        assert!(!excludes("/build", "x/build") && !excludes("a/*", "a/b/c") && !excludes("a/b", "x/a/b"));
    }

    #[test]
    fn the_root_stays() {
        assert!(!excludes("*", "") && !excludes("/", "") && !excludes("/*", ""));
    }

    #[test]
    fn a_glob_of_whole_paths_may_cross_slashes() {
        let mut excludes = Excludes::new();
        excludes.add_path(Glob::new(b"usr/*.h", Slash::Plain));
        assert!(excludes.matches(b"usr/include/sys/x.h") && !excludes.matches(b"opt/x.h"));
    }
}
