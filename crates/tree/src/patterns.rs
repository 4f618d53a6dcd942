//! The user's patterns, with a record of which have matched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Pattern, PatternFault};

/// Patterns in the order given. Clones share the record of matches.
#[derive(Debug, Clone, Default)]
pub struct Patterns(Vec<Arc<Given>>);

#[derive(Debug)]
struct Given {
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

    /// Adds a pattern that need not match anything: it counts as one that has.
    pub fn add_optional(&mut self, text: &[u8]) -> Result<(), PatternFault> {
        self.push(text, true)
    }

    fn push(&mut self, text: &[u8], matched: bool) -> Result<(), PatternFault> {
        let pattern = Pattern::new(text)?;
        self.0.push(Arc::new(Given { pattern, matched: AtomicBool::new(matched) }));
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the result of [`Patterns::matches`] may depend on whether an entry is a directory.
    pub fn distinguish_directories(&self) -> bool {
        self.0.iter().any(|given| given.pattern.directories_only())
    }

    /// Whether a pattern is that of the root. Records nothing.
    pub fn match_root(&self) -> bool {
        self.0.iter().any(|given| given.pattern.matches(b"", true))
    }

    /// Whether a pattern matches the entry at a canonical path itself. Records each that does.
    pub fn matches(&self, path: &[u8], directory: bool) -> bool {
        // A pattern that has matched before need not be compared once another one matches.
        self.0.iter().fold(false, |matched, given| {
            let known = matched && given.matched.load(Ordering::Relaxed);
            matched | (!known && given.matches(path, directory))
        })
    }

    /// Whether a pattern matches the entry at a canonical path or a directory above it, except the root. As in a walk that skips matching
    /// directories, nothing below one is compared.
    pub fn cover(&self, path: &[u8], directory: bool) -> bool {
        !self.is_empty()
            && !path.is_empty()
            && (above(path).any(|above| self.matches(above, true)) || self.matches(path, directory))
    }

    /// Whether a pattern matches the entry at a canonical path or a directory above it, the root included. All of them are compared: the
    /// source may have no entries for the directories.
    pub fn reach(&self, path: &[u8], directory: bool) -> bool {
        let own = self.matches(path, directory) | self.matches(b"", true);
        above(path).fold(own, |found, above| found | self.matches(above, true))
    }

    pub fn all_matched(&self) -> bool {
        self.unmatched().next().is_none()
    }

    /// The patterns without a match so far.
    pub fn unmatched(&self) -> impl Iterator<Item = &Pattern> {
        self.0.iter().filter(|given| !given.matched.load(Ordering::Relaxed)).map(|given| &given.pattern)
    }
}

/// The directories above a path, without the root.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end])
}

impl Given {
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
    fn each_pattern_that_matches_is_noted() {
        let patterns = patterns(&["*.o", "a.o", "b.o", "*"]);
        assert!(!patterns.all_matched() && patterns.clone().matches(b"x/a.o", false));
        assert_eq!(unmatched(&patterns), [b"b.o"]);
        let mut optional = super::Patterns::new();
        optional.add_optional(b"x").unwrap();
        assert!(optional.all_matched() && optional.matches(b"x", false) && optional.add_optional(b"[").is_err());
        assert!(patterns.matches(b"b.o", false) && patterns.all_matched());
    }

    #[test]
    fn what_is_below_a_match_is_covered_and_not_compared() {
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
