//! The user's patterns, with a record of the patterns that have matched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Pattern, PatternFault};

/// Patterns in the given order. Clones share the record of matches.
#[derive(Debug, Clone, Default)]
pub struct Patterns(Vec<Arc<UserPattern>>);

#[derive(Debug)]
struct UserPattern {
    pattern: Pattern,
    matched: AtomicBool,
}

impl Patterns {
    /// An empty list, which matches nothing.
    pub fn new() -> Patterns {
        Patterns::default()
    }

    pub fn add(&mut self, text: &[u8]) -> Result<(), PatternFault> {
        self.push(text, false)
    }

    /// Adds a pattern that need not match: it counts as matched from the start.
    pub fn add_optional(&mut self, text: &[u8]) -> Result<(), PatternFault> {
        self.push(text, true)
    }

    fn push(&mut self, text: &[u8], matched: bool) -> Result<(), PatternFault> {
        let pattern = Pattern::new(text)?;
        self.0.push(Arc::new(UserPattern { pattern, matched: AtomicBool::new(matched) }));
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the result of [`Patterns::matches`] may depend on whether an entry is a directory.
    pub fn distinguish_directories(&self) -> bool {
        self.0.iter().any(|given| given.pattern.directories_only())
    }

    /// Whether a pattern matches the root. Does not record matches.
    pub fn match_root(&self) -> bool {
        self.0.iter().any(|given| given.pattern.matches(b"", true))
    }

    /// Whether a pattern matches the entry at a canonical path itself. Records each pattern that matches.
    pub fn matches(&self, path: &[u8], directory: bool) -> bool {
        // After a match, only patterns that have not matched before must still be compared.
        self.0.iter().fold(false, |matched, given| {
            let known = matched && given.matched.load(Ordering::Relaxed);
            matched | (!known && given.matches(path, directory))
        })
    }

    /// Whether a pattern matches the entry at a canonical path or a directory above it, except the root. Compares nothing below a
    /// matching directory, like a walk that skips it.
    pub fn cover(&self, path: &[u8], directory: bool) -> bool {
        !self.is_empty()
            && !path.is_empty()
            && (above(path).any(|above| self.matches(above, true)) || self.matches(path, directory))
    }

    /// Whether a pattern matches the entry at a canonical path or a directory above it, including the root. Compares all of them,
    /// because the source may have no entries for the directories.
    pub fn reach(&self, path: &[u8], directory: bool) -> bool {
        let own = self.matches(path, directory) | self.matches(b"", true);
        above(path).fold(own, |found, above| found | self.matches(above, true))
    }

    pub fn all_matched(&self) -> bool {
        self.unmatched().next().is_none()
    }

    /// The patterns that have not matched so far.
    pub fn unmatched(&self) -> impl Iterator<Item = &Pattern> {
        self.0.iter().filter(|given| !given.matched.load(Ordering::Relaxed)).map(|given| &given.pattern)
    }
}

/// The directories above a path, without the root.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end])
}

impl UserPattern {
    fn matches(&self, path: &[u8], directory: bool) -> bool {
        let matches = self.pattern.matches(path, directory);
        if matches {
            self.matched.store(true, Ordering::Relaxed);
        }
        matches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Patterns {
        let mut patterns = Patterns::new();
        texts.iter().for_each(|text| patterns.add(text.as_bytes()).unwrap());
        patterns
    }

    fn unmatched(patterns: &Patterns) -> Vec<&[u8]> {
        patterns.unmatched().map(Pattern::text).collect()
    }

    #[test]
    fn records_each_pattern_that_matches() {
        let patterns = patterns(&["*.o", "a.o", "b.o", "*"]);
        assert!(!patterns.all_matched() && patterns.clone().matches(b"x/a.o", false));
        assert_eq!(unmatched(&patterns), [b"b.o"]);
        let mut optional = super::Patterns::new();
        optional.add_optional(b"x").unwrap();
        assert!(optional.all_matched() && optional.matches(b"x", false) && optional.add_optional(b"[").is_err());
        assert!(patterns.matches(b"b.o", false) && patterns.all_matched());
    }

    #[test]
    fn covers_entries_below_a_match_without_comparing_them() {
        let patterns = patterns(&["a/b", "deep", "c/"]);
        assert!(
            patterns.cover(b"a/b/deep/x", false) && patterns.cover(b"a/b", false) && patterns.cover(b"x/c/y", false)
        );
        assert!(!patterns.cover(b"", true) && !patterns.cover(b"a", true) && !patterns.cover(b"a/c", false));
        assert_eq!(unmatched(&patterns), [b"deep"]);
        assert!(patterns.distinguish_directories() && !super::Patterns::new().cover(b"a", true));
    }

    #[test]
    fn directories_that_are_not_entries_are_reached() {
        let found = patterns(&["a", "b", "a/b/c", "/"]);
        assert!(found.reach(b"a/b/c", false) && found.all_matched());
        assert!(!patterns(&["c", "b/"]).reach(b"a/b", false));
    }
}
