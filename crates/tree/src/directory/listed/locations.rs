//! Locations of listed files that have not been read, in 32 bytes each plus their names.

use packline_runtime::{push_tight, reserve_tight};

use crate::Bytes;
use crate::directory::found::ScannedEntry;
use crate::directory::stat::FileId;

/// Directories and files below a root, numbered in the order of listing.
#[derive(Default)]
pub(super) struct FileLocations {
    directories: Vec<Directory>,
    files: Vec<File>,
    /// Each name, after a byte with its length.
    names: Vec<u8>,
    devices: Vec<u64>,
    /// The directories from the root to the last entry's directory.
    way: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Directory {
    parent: u32,
    name: u32,
    followed: bool,
}

struct File {
    inode: u64,
    size: u64,
    parent: u32,
    name: u32,
    device: u32,
    sparse: bool,
    followed: bool,
    measured: bool,
}

/// A file, and its path below the root when it was listed.
pub(super) struct ListedFile {
    pub path: Bytes,
    pub directory: u32,
    pub id: FileId,
    pub size: u64,
    pub sparse: bool,
    pub followed: bool,
    pub measured: bool,
}

impl FileLocations {
    pub fn memory(&self) -> usize {
        self.directories.capacity() * size_of::<Directory>()
            + self.files.capacity() * size_of::<File>()
            + self.names.capacity()
    }

    /// Records an entry's directory, and the entry itself if it is a directory. Every entry must be visited, and a directory
    /// before its entries.
    pub fn visit(&mut self, path: &[u8], directory: bool, followed: bool) {
        let depth = if path.is_empty() { 0 } else { 1 + memchr::memchr_iter(b'/', path).count() };
        self.way.truncate(depth);
        if directory {
            let number = self.directories.len() as u32;
            let parent = self.parent();
            let name = self.push_name(path);
            push_tight(&mut self.directories, Directory { parent, name, followed });
            self.way.push(number);
        }
    }

    /// Adds the file that was visited last, and returns its number. `None` if there are too many files.
    pub fn add(&mut self, found: &ScannedEntry, followed: bool) -> Option<u32> {
        let number = u32::try_from(self.files.len()).ok()?;
        let (device, inode) = found.id?;
        let size = found.size()?;
        let device = self.device(device);
        let parent = self.parent();
        let name = self.push_name(&found.entry.path);
        let sparse = found.sparse;
        let measured = found.measured;
        push_tight(&mut self.files, File { inode, size, parent, name, device, sparse, followed, measured });
        Some(number)
    }

    pub fn file(&self, number: u32) -> Option<ListedFile> {
        let file = self.files.get(number as usize)?;
        Some(ListedFile {
            path: self.path(file.parent, file.name),
            directory: file.parent,
            id: (self.devices[file.device as usize], file.inode),
            size: file.size,
            sparse: file.sparse,
            followed: file.followed,
            measured: file.measured,
        })
    }

    /// The parent of a directory, the directory's name, and whether this name is a symbolic link to the directory. `None` for the
    /// root.
    pub fn directory(&self, number: u32) -> Option<(u32, &[u8], bool)> {
        let directory = self.directories.get(number as usize).filter(|_| number > 0)?;
        Some((directory.parent, self.name(directory.name), directory.followed))
    }

    pub fn directory_path(&self, number: u32) -> Bytes {
        self.directories.get(number as usize).map_or_else(Bytes::new, |own| match number {
            0 => Bytes::new(),
            _ => self.path(own.parent, own.name),
        })
    }

    fn path(&self, parent: u32, name: u32) -> Bytes {
        let mut names = vec![self.name(name)];
        let mut at = parent;
        while let Some((parent, name, _)) = self.directory(at) {
            names.push(name);
            at = parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    fn parent(&self) -> u32 {
        self.way.last().copied().unwrap_or(0)
    }

    /// Searched from the end: there are few file systems, and most files are on the last one's.
    fn device(&mut self, device: u64) -> u32 {
        let known = self.devices.iter().rposition(|known| *known == device);
        known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        }) as u32
    }

    fn push_name(&mut self, path: &[u8]) -> u32 {
        let name = memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..]);
        let start = self.names.len() as u32;
        reserve_tight(&mut self.names, name.len() + 1);
        self.names.push(name.len() as u8);
        self.names.extend_from_slice(name);
        start
    }

    fn name(&self, start: u32) -> &[u8] {
        let start = start as usize;
        &self.names[start + 1..start + 1 + usize::from(self.names[start])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::found::FileLocation;
    use crate::{Entry, Kind, Meta};

    #[test]
    fn paths_come_back() {
        let mut locations = FileLocations::default();
        let meta = Meta::default();
        let mut numbers = Vec::new();
        for (path, kind) in [
            ("", Kind::Dir),
            ("a", Kind::File { size: 1 }),
            ("b", Kind::Dir),
            ("b/c", Kind::Dir),
            ("b/c/d", Kind::File { size: 2 }),
            ("b/e", Kind::File { size: 3 }),
            ("f", Kind::Dir),
            ("g", Kind::File { size: 4 }),
        ] {
            let directory = kind == Kind::Dir;
            let entry = Entry { path: path.into(), kind, meta, xattrs: Vec::new() };
            let id = Some((numbers.len() as u64 % 2, 9));
            let found = ScannedEntry { id, ..ScannedEntry::new(entry, FileLocation::Nowhere) };
            locations.visit(path.as_bytes(), directory, false);
            numbers.extend(if directory { None } else { locations.add(&found, false) });
        }
        let files = numbers.iter().map(|number| locations.file(*number).unwrap());
        let files: Vec<_> = files.map(|file| (String::from_utf8(file.path).unwrap(), file.size, file.id)).collect();
        let expected = [("a", 1, (0, 9)), ("b/c/d", 2, (1, 9)), ("b/e", 3, (0, 9)), ("g", 4, (1, 9))];
        assert_eq!(files, expected.map(|(path, size, id)| (path.to_string(), size, id)));
        assert_eq!(locations.directory_path(2), b"b/c");
        assert!(locations.file(4).is_none());
    }
}
