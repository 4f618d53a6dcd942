//! Finds the first matching line of a sort file for each file of an image, and sorts a list of entries by the file.

use super::{FileFlags, Matching, SortFile, SortRule, SortSettings};
use packline_tree::{Bytes, Entry, Glob, Kind, Slash};
use std::collections::BTreeMap;

/// Result of matching a sort file with a list of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned<'a> {
    /// Priority and flags of each file, in the order of the list.
    pub settings: Vec<SortSettings>,
    /// For a warning, the lines that matched no file, or only files that an earlier line matched.
    pub unmatched: Vec<&'a SortRule>,
}

impl SortFile {
    /// Finds for each canonical path the first line that matches it.
    ///
    /// Time: a line with a path takes one lookup. A line with a pattern examines every file that no earlier line matched.
    pub fn assign(&self, paths: &[&[u8]]) -> Assigned<'_> {
        let mut matcher = Matcher::new(paths);
        let unmatched = self.rules().iter().filter(|rule| !matcher.apply(rule)).collect();
        Assigned { settings: matcher.settings, unmatched }
    }
}

struct Matcher<'a> {
    settings: Vec<SortSettings>,
    /// The files without a match so far, by path.
    open: BTreeMap<&'a [u8], usize>,
}

impl<'a> Matcher<'a> {
    fn new(paths: &[&'a [u8]]) -> Self {
        let open = paths.iter().enumerate().map(|(at, &path)| (path, at)).collect();
        Matcher { settings: vec![SortSettings::default(); paths.len()], open }
    }

    /// Whether the line matched any file.
    fn apply(&mut self, rule: &SortRule) -> bool {
        match rule.matching {
            Matching::Literal => self.apply_literal(rule),
            Matching::Glob => self.apply_glob(rule, Slash::Separates),
            Matching::GlobAcross => self.apply_glob(rule, Slash::Plain),
        }
    }

    fn apply_literal(&mut self, rule: &SortRule) -> bool {
        let Some(at) = self.open.remove(&rule.path[..]) else { return false };
        self.settings[at] = rule.settings;
        true
    }

    fn apply_glob(&mut self, rule: &SortRule, slash: Slash) -> bool {
        let glob = Glob::new(&rule.path, slash);
        let before = self.open.len();
        let settings = &mut self.settings;
        self.open.retain(|path, at| {
            let matches = glob.matches(path);
            if matches {
                settings[*at] = rule.settings;
            }
            !matches
        });
        self.open.len() < before
    }
}

/// A sorted list. `T` is the caller's data for each entry.
#[derive(Debug)]
pub struct Sorted<'a, T> {
    /// First all other entries in the original order, then the regular files by priority. The sort is stable.
    pub entries: Vec<(Entry, T)>,
    /// The flags of files by path, without files that have no flags.
    pub flags: BTreeMap<Bytes, FileFlags>,
    /// For a warning, the lines that matched no file, or only files that an earlier line matched.
    pub unmatched: Vec<&'a SortRule>,
}

impl SortFile {
    /// Sorts a list of entries. Sort files apply to regular files only. All other entries come first, in the original order, so that directories
    /// stay before their entries.
    pub fn sort<T>(&self, entries: Vec<(Entry, T)>) -> Sorted<'_, T> {
        let (files, mut sorted): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(entry, _)| is_file(entry));
        let paths: Vec<&[u8]> = files.iter().map(|(entry, _)| &entry.path[..]).collect();
        let assigned = self.assign(&paths);
        let mut ranked: Vec<_> = assigned.settings.into_iter().zip(files).collect();
        ranked.sort_by_key(|(settings, _)| settings.priority);
        let mut flags = BTreeMap::new();
        for (settings, (entry, with)) in ranked {
            if settings.flags != FileFlags::default() {
                flags.insert(entry.path.clone(), settings.flags);
            }
            sorted.push((entry, with));
        }
        Sorted { entries: sorted, flags, unmatched: assigned.unmatched }
    }
}

fn is_file(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::File { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_tree::Meta;

    fn priorities(text: &str, paths: &[&str]) -> (Vec<i64>, Vec<u64>) {
        let paths: Vec<_> = paths.iter().map(|path| path.as_bytes()).collect();
        let file = SortFile::parse("order", text.as_bytes()).unwrap();
        let found = file.assign(&paths);
        let settings = found.settings.iter().map(|settings| settings.priority).collect();
        (settings, found.unmatched.iter().map(|rule| rule.line).collect())
    }

    #[test]
    fn uses_the_first_matching_line() {
        let text = "1 bin/ls\n2 [glob] bin/*\n3 bin/cat\n4 [glob] *\n5 [glob_no_path] *.so\n6 none\n7 [glob] bin/*";
        let paths = ["a", "bin/cat", "bin/ls", "bin/x/y", "lib/deep/b.so"];
        assert_eq!(priorities(text, &paths), (vec![4, 2, 1, 0, 5], vec![3, 6, 7]));
    }

    #[test]
    fn literal_paths_are_not_patterns() {
        assert_eq!(priorities("1 a*", &["a*", "ab"]), (vec![1, 0], vec![]));
    }

    #[test]
    fn reads_flags() {
        let file = SortFile::parse("order", b"-5 [align] a").unwrap();
        let settings = file.assign(&[b"a", b"b"]).settings;
        assert!(settings[0].flags.align && settings[0].priority == -5);
        assert_eq!(settings[1], SortSettings::default());
    }

    fn entry(path: &str, kind: Kind) -> (Entry, usize) {
        let meta = Meta::default();
        (Entry { path: path.into(), kind, meta, xattrs: Vec::new() }, path.len())
    }

    #[test]
    fn sorts_only_files() {
        let file = || Kind::File { size: 1 };
        let link = Kind::HardLink(b"d/b".into());
        let entries = vec![
            entry("", Kind::Dir),
            entry("a", file()),
            entry("d", Kind::Dir),
            entry("d/b", file()),
            entry("d/c", link),
            entry("e", file()),
            entry("f", file()),
        ];
        let order = SortFile::parse("order", b"-5 [nosparse] f\n7 a\n1 d/c\n2 [glob] d/*\n3 d").unwrap();
        let sorted = order.sort(entries);
        let paths: Vec<_> = sorted.entries.iter().map(|(entry, _)| String::from_utf8_lossy(&entry.path)).collect();
        assert_eq!(paths, ["", "d", "d/c", "f", "e", "d/b", "a"]);
        assert!(sorted.entries.iter().all(|(entry, length)| entry.path.len() == *length));
        let expected = BTreeMap::from([(b"f".to_vec(), FileFlags { no_sparse: true, ..FileFlags::default() })]);
        assert_eq!(sorted.flags, expected);
        assert_eq!(sorted.unmatched.iter().map(|rule| rule.line).collect::<Vec<_>>(), [3, 5]);
    }
}
