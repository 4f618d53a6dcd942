//! Several directories as one source, each under a name of its own below a new root.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::vec;

use packline_tree::{
    Bookmark, Bytes, DirectoryOptions, DirectorySource, Entry, Error, Extent, Kind, ListedDirectory, Meta, Source,
    UnreadPart,
};

/// A directory, or one entry of a directory, and its path in the image.
#[derive(Debug, Clone)]
pub struct Part {
    /// The directory that is read.
    pub directory: PathBuf,
    /// How the directory is read, and which of its entries are read.
    pub options: DirectoryOptions,
    /// Canonical path of the packed entry in the directory; empty for the directory itself. Entries outside that path are left out.
    pub from: Bytes,
    /// Canonical path of the packed entry in the image; empty for the root, if this is the only part.
    pub to: Bytes,
    /// New names of some entries in the root of the directory, if the directory is the root of the image.
    pub renames: BTreeMap<Bytes, Bytes>,
    /// Whether only the content of the directory is packed, into the root, and not the directory itself.
    pub without_root: bool,
}

impl Part {
    /// Packs everything in `directory` at the canonical path `to` in the image. An empty `to` is the root.
    pub fn new(directory: impl Into<PathBuf>, options: DirectoryOptions, to: Bytes) -> Part {
        let from = Bytes::new();
        let renames = BTreeMap::new();
        Part { directory: directory.into(), options, from, to, renames, without_root: false }
    }

    /// The name of a source in the root: the last component of its path. A path that ends in `.` or `..` is resolved first. `None` for `/`.
    pub fn name_of(path: &Path) -> Option<Bytes> {
        let whole = match path.components().next_back() {
            Some(Component::ParentDir) => std::fs::canonicalize(path),
            _ => std::path::absolute(path),
        };
        match whole.ok()?.components().next_back() {
            Some(Component::Normal(name)) => Some(name.as_bytes().to_vec()),
            _ => None,
        }
    }

    /// Whether the directory is the root of the image.
    pub(crate) fn is_root(&self) -> bool {
        self.from.is_empty() && self.to.is_empty() && !self.without_root
    }

    /// Returns the path in the image of an entry of the directory; `None` if the entry is not packed.
    pub(crate) fn moved(&self, path: &[u8]) -> Option<Bytes> {
        if self.without_root && path.is_empty() {
            return None;
        }
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

    /// Replaces the first component of a path by its new name.
    pub fn renamed(&self, path: &[u8]) -> Bytes {
        let (name, rest) = path.split_at(path.iter().position(|&byte| byte == b'/').unwrap_or(path.len()));
        self.renames.get(name).map_or_else(|| path.to_vec(), |name| [name, rest].concat())
    }
}

/// Reads the parts one after the other. A file with names in several parts is packed once.
pub(crate) struct ConcatenatedDirectories {
    root: Option<Meta>,
    current: Option<(Part, DirectorySource)>,
    rest: vec::IntoIter<Part>,
    /// The first paths in the image of files with several names, if there are several parts.
    linked: Option<BTreeMap<(u64, u64), Bytes>>,
    /// Bytes of the finished parts.
    done: u64,
    problems: Vec<Error>,
    warnings: Vec<String>,
}

impl ConcatenatedDirectories {
    pub(crate) fn new(parts: Vec<Part>, root: Meta) -> ConcatenatedDirectories {
        let has_root = parts.iter().any(Part::is_root);
        ConcatenatedDirectories {
            root: Some(root).filter(|_| !has_root),
            current: None,
            linked: (parts.len() > 1).then(BTreeMap::new),
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
            } else if let (Some(linked), Some(file)) = (&mut self.linked, source.shared_file()) {
                link_to_first(&mut entry, file, linked);
            }
            return Ok(Some(entry));
        }
        Ok(None)
    }
}

/// Turns an entry into a hard link, if an earlier part had another name of the same file.
pub(crate) fn link_to_first(entry: &mut Entry, file: (u64, u64), linked: &mut BTreeMap<(u64, u64), Bytes>) {
    match linked.get(&file) {
        Some(first) => entry.kind = Kind::HardLink(first.clone()),
        None => drop(linked.insert(file, entry.path.clone())),
    }
}

/// A part as a layer: it is listed before its contents are read.
pub(crate) struct ListedPart {
    part: Part,
    source: ListedDirectory,
}

impl ListedPart {
    pub(crate) fn open(part: Part) -> Result<ListedPart, Error> {
        let source = ListedDirectory::open(&part.directory, part.options.clone())?;
        Ok(ListedPart { part, source })
    }
}

impl Source for ListedPart {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        while let Some(mut entry) = self.source.next_entry()? {
            let Some(path) = self.part.moved(&entry.path) else { continue };
            entry.path = path;
            if let Kind::HardLink(target) = &mut entry.kind {
                *target = self.part.moved(target).unwrap_or_default();
            }
            return Ok(Some(entry));
        }
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.source.read(buffer)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        self.source.read_later(most)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        self.source.data_ranges(most)
    }

    fn shared_file(&self) -> Option<(u64, u64)> {
        self.source.shared_file()
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        self.source.bookmark()
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        self.source.recall(bookmark, path)
    }

    fn expect(&mut self, order: &mut dyn Iterator<Item = Bookmark>) {
        self.source.expect(order);
    }

    fn memory(&self) -> usize {
        self.source.memory()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.source.progress()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.source.take_warnings()
    }
}

impl Source for ConcatenatedDirectories {
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

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        self.current.as_mut().map_or(Ok(None), |(_, source)| source.read_later(most))
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        self.current.as_mut().map_or(Ok(None), |(_, source)| source.data_ranges(most))
    }

    fn read_again(&mut self) -> Option<u64> {
        self.current.as_mut().and_then(|(_, source)| source.read_again())
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

    const ROOT: Meta = Meta::new(0o777, 1, 2, 3);

    #[test]
    fn parts_and_their_links_are_below_their_names() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("one/d")).unwrap();
        fs::write(top.path().join("one/d/f"), "12").unwrap();
        fs::hard_link(top.path().join("one/d/f"), top.path().join("one/d/g")).unwrap();
        fs::write(top.path().join("file"), "abc").unwrap();
        let whole = Part::new(top.path().join("one"), DirectoryOptions::default(), b"name".to_vec());
        let mut options = DirectoryOptions::default();
        options.only = Some(Names::existing(top.path(), "", [(1, &b"file"[..])]).unwrap());
        let file = Part { from: b"file".to_vec(), ..Part::new(top.path(), options, b"file_1".to_vec()) };
        let mut joined = ConcatenatedDirectories::new(vec![whole, file], ROOT);
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
        let part = Part { renames, ..Part::new("x", DirectoryOptions::default(), Bytes::new()) };
        for (path, moved) in [("", ""), ("a", "a_1"), ("a/a", "a_1/a"), ("ab", "ab"), ("b/a", "b/a")] {
            assert_eq!(part.moved(path.as_bytes()).unwrap(), moved.as_bytes());
        }
    }
}
