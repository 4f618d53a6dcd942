//! Several directories as one source, each under a name of its own below a new root.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::vec;

use packline_tree::{Bytes, DirectoryOptions, DirectorySource, Entry, Error, Extent, Kind, Meta, Source};

/// A directory, or one entry of a directory, and its path in the image.
#[derive(Debug, Clone)]
pub struct Part {
    /// The directory that is read.
    pub directory: PathBuf,
    /// How it is read, and which of its entries are.
    pub options: DirectoryOptions,
    /// Canonical path in it of the packed entry; empty for the directory itself. Entries that are not below it are left out.
    pub from: Bytes,
    /// Canonical path of that in the image; empty for the root, if it is the only part.
    pub to: Bytes,
    /// New names of some entries in the root of the directory, if that is the root of the image.
    pub renames: BTreeMap<Bytes, Bytes>,
}

impl Part {
    /// The path in the image of an entry of the directory, if it is packed.
    pub(crate) fn moved(&self, path: &[u8]) -> Option<Bytes> {
        let rest = path.strip_prefix(self.from.as_slice())?;
        if self.from.is_empty() && self.to.is_empty() {
            return Some(self.renamed(rest));
        }
        let rest = match (self.from.is_empty(), rest) {
            (true, []) => b"",
            (true, rest) => return Some([&self.to, &b"/"[..], rest].concat()),
            (false, rest) => rest,
        };
        (rest.is_empty() || rest.starts_with(b"/")).then(|| [self.to.as_slice(), rest].concat())
    }

    /// A path with the new name of its first component.
    pub fn renamed(&self, path: &[u8]) -> Bytes {
        let (name, rest) = path.split_at(path.iter().position(|&byte| byte == b'/').unwrap_or(path.len()));
        self.renames.get(name).map_or_else(|| path.to_vec(), |name| [name, rest].concat())
    }
}

/// Reads the parts one after the other. A file with names in several parts is packed once in each.
pub(crate) struct Joined {
    root: Option<Meta>,
    current: Option<(Part, DirectorySource)>,
    rest: vec::IntoIter<Part>,
    /// Bytes of the parts that are done.
    done: u64,
    problems: Vec<Error>,
    warnings: Vec<String>,
}

impl Joined {
    pub(crate) fn new(parts: Vec<Part>, root: Meta) -> Joined {
        let has_root = parts.iter().any(|part| part.from.is_empty() && part.to.is_empty());
        Joined {
            root: Some(root).filter(|_| !has_root),
            current: None,
            rest: parts.into_iter(),
            done: 0,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The next entry of the current part; `None` at its end.
    fn next_of_part(&mut self) -> Result<Option<Entry>, Error> {
        let Some((part, source)) = &mut self.current else { return Ok(None) };
        while let Some(mut entry) = source.next_entry()? {
            let Some(path) = part.moved(&entry.path) else { continue };
            entry.path = path;
            if let Kind::HardLink(target) = &mut entry.kind {
                *target = part.moved(target).unwrap_or_default();
            }
            return Ok(Some(entry));
        }
        Ok(None)
    }
}

impl Source for Joined {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        if let Some(meta) = self.root.take() {
            return Ok(Some(Entry { path: Bytes::new(), kind: Kind::Dir, meta, xattrs: Vec::new() }));
        }
        loop {
            if let Some(entry) = self.next_of_part()? {
                return Ok(Some(entry));
            }
            if let Some((_, mut source)) = self.current.take() {
                self.done += source.progress().0;
                self.problems.append(&mut source.take_problems());
                self.warnings.append(&mut source.take_warnings());
            }
            let Some(part) = self.rest.next() else { return Ok(None) };
            let source = DirectorySource::open(&part.directory, part.options.clone())?;
            self.current = Some((part, source));
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.current.as_mut().map_or(Ok(Extent::End), |(_, source)| source.read(buffer))
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.done + self.current.as_ref().map_or(0, |(_, source)| source.progress().0), None)
    }

    fn take_problems(&mut self) -> Vec<Error> {
        let mut problems = std::mem::take(&mut self.problems);
        if let Some((_, source)) = &mut self.current {
            problems.append(&mut source.take_problems());
        }
        problems
    }

    fn take_warnings(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        if let Some((_, source)) = &mut self.current {
            warnings.append(&mut source.take_warnings());
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_tree::Names;
    use std::fs;

    const ROOT: Meta = Meta { mode: 0o777, uid: 1, gid: 2, mtime: 3 };

    #[test]
    fn parts_are_below_their_names_and_links_too() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("one/d")).unwrap();
        fs::write(top.path().join("one/d/f"), "12").unwrap();
        fs::hard_link(top.path().join("one/d/f"), top.path().join("one/d/g")).unwrap();
        fs::write(top.path().join("file"), "abc").unwrap();
        let whole = Part {
            directory: top.path().join("one"),
            options: DirectoryOptions::default(),
            from: Bytes::new(),
            to: b"name".to_vec(),
            renames: BTreeMap::new(),
        };
        let mut options = DirectoryOptions::default();
        options.only = Some(Names::existing(top.path(), "", [(1, &b"file"[..])]).unwrap());
        let (from, to, renames) = (b"file".to_vec(), b"file_1".to_vec(), BTreeMap::new());
        let file = Part { directory: top.path().to_path_buf(), options, from, to, renames };
        let mut joined = Joined::new(vec![whole, file], ROOT);
        let mut found = Vec::new();
        while let Some(entry) = joined.next_entry().unwrap() {
            while matches!(entry.kind, Kind::File { .. }) && joined.read(&mut [0; 8]).unwrap() != Extent::End {}
            let target = match entry.kind {
                Kind::HardLink(target) => format!(" -> {}", String::from_utf8_lossy(&target)),
                _ => String::new(),
            };
            found.push(format!("{}{target}", String::from_utf8_lossy(&entry.path)));
        }
        assert_eq!(found, ["", "name", "name/d", "name/d/f", "name/d/g -> name/d/f", "file_1"]);
        assert_eq!(joined.progress(), (5, None));
    }

    #[test]
    fn entries_of_the_root_have_new_names() {
        let renames = BTreeMap::from([(b"a".to_vec(), b"a_1".to_vec())]);
        let (directory, options) = (PathBuf::from("x"), DirectoryOptions::default());
        let part = Part { directory, options, from: Bytes::new(), to: Bytes::new(), renames };
        for (path, moved) in [("", ""), ("a", "a_1"), ("a/a", "a_1/a"), ("ab", "ab"), ("b/a", "b/a")] {
            assert_eq!(part.moved(path.as_bytes()).unwrap(), moved.as_bytes());
        }
    }
}
