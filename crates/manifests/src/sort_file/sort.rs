//! Sorts a list of entries by a sort file.

use std::collections::BTreeMap;

use packline_tree::{Bytes, Entry, Kind};

use super::{FileFlags, SortFile, SortRule};

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

    fn entry(path: &str, kind: Kind) -> (Entry, usize) {
        let meta = Meta { mode: 0, uid: 0, gid: 0, mtime: 0 };
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
