//! A walk over a tree: parents before children, children in the order of their names, each directory once.

use packline_tree::path::MAX_PATH;

use super::metadata::Cursor;
use super::metadata_cache::hash;
use super::{DirData, Image, Inode, InodeRef, Listing, Node, ReadError};
use crate::format::directory::listing::Listed;
use hashbrown::HashTable;

/// Maximum number of directories of a walk: 57 MB of references when their table last grows. Tens of millions of directories fit into a few
/// megabytes, compressed, and would exhaust memory.
pub const MOST_DIRECTORIES: usize = (4 << 20) / 8 * 7;

/// An entry of the tree.
#[derive(Debug, Clone)]
pub struct Visit {
    /// Canonical path: the names from the root joined by slashes; empty for the root. At most 65,535 bytes.
    pub path: Vec<u8>,
    pub inode: Inode,
}

/// Walks depth first without recursion. A directory that is found twice (a loop, a second name) is an error and is not entered. After an
/// error the walk continues with the next entry; but it ends after [`MOST_DIRECTORIES`].
///
/// Holds a reference of 8 bytes for each directory found so far (12 to 20 MB for a million), and some 200 bytes for each level.
#[derive(Debug)]
pub struct Walk {
    image: Image,
    inodes: Cursor,
    /// Path of the last entry returned.
    path: Vec<u8>,
    levels: Vec<Level>,
    /// The start, until the first entry is returned.
    start: Option<InodeRef>,
    /// The last directory returned, which is entered next.
    ahead: Option<DirData>,
    found: HashTable<u64>,
}

/// A directory whose entries are being visited.
#[derive(Debug)]
struct Level {
    listing: Listing,
    /// Length of its path.
    length: usize,
}

type Fault = (Vec<u8>, ReadError);

impl Walk {
    /// A walk that starts with the inode at `from`, with the path `path`, and continues below it.
    pub fn new(image: &Image, from: InodeRef, path: Vec<u8>) -> Walk {
        let inodes = image.inode_cursor(image.tables().inodes.place(from.0));
        let (levels, found) = (Vec::new(), HashTable::new());
        Walk { image: image.clone(), inodes, path, levels, start: Some(from), ahead: None, found }
    }

    /// Skips the content of the last directory returned.
    pub fn prune(&mut self) {
        self.ahead = None;
    }

    fn enter(&mut self, directory: &DirData) {
        if let Some(above) = self.levels.last_mut() {
            above.listing.release();
        }
        self.levels.push(Level { listing: self.image.listing(directory), length: self.path.len() });
    }

    /// The next entry of the innermost directory that has one.
    fn entry(&mut self) -> Option<Result<Listed, Fault>> {
        loop {
            let level = self.levels.last_mut()?;
            self.path.truncate(level.length);
            match level.listing.step() {
                None => self.levels.pop(),
                Some(Err(fault)) => return Some(Err((self.path.clone(), fault))),
                Some(Ok(listed)) => {
                    if !self.path.is_empty() {
                        self.path.push(b'/');
                    }
                    self.path.extend_from_slice(level.listing.name());
                    return Some(Ok(listed));
                }
            };
        }
    }

    fn visit(&mut self, listed: &Listed) -> Result<Inode, ReadError> {
        let inode = self.image.inode_with(&mut self.inodes, listed.inode)?;
        check_kind(listed, &inode)?;
        self.note(&inode)?;
        Ok(inode)
    }

    /// Records a directory, to be entered next.
    fn note(&mut self, inode: &Inode) -> Result<(), ReadError> {
        let Node::Directory(directory) = &inode.node else { return Ok(()) };
        let offset = self.inodes.area().place(inode.at.0).block;
        if self.path.len() > MAX_PATH {
            let what = format!("path of {} bytes", self.path.len());
            return Err(ReadError::corrupt(offset, what, "at most 65535 bytes"));
        }
        if self.found.len() >= MOST_DIRECTORIES {
            self.levels.clear();
            let what = format!("an image of more than {MOST_DIRECTORIES} directories");
            return Err(ReadError::unsupported(what, format!("{MOST_DIRECTORIES} at most")));
        }
        let reference = inode.at.0;
        let entry = self.found.entry(hash(reference), |other| *other == reference, |other| hash(*other));
        let hashbrown::hash_table::Entry::Vacant(place) = entry else {
            let what = format!("directory, inode {}, under a second name or inside itself", inode.number);
            return Err(ReadError::corrupt(offset, what, "one name for each directory"));
        };
        place.insert(reference);
        self.ahead = Some(directory.clone());
        Ok(())
    }

    fn begin(&mut self, from: InodeRef) -> Result<Inode, ReadError> {
        let inode = self.image.inode_with(&mut self.inodes, from)?;
        self.note(&inode)?;
        Ok(inode)
    }

    fn returned(&self, inode: Result<Inode, ReadError>) -> Result<Visit, Fault> {
        let path = self.path.clone();
        match inode {
            Ok(inode) => Ok(Visit { path, inode }),
            Err(fault) => Err((path, fault)),
        }
    }
}

impl Iterator for Walk {
    /// An error is returned with its path.
    type Item = Result<Visit, (Vec<u8>, ReadError)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(from) = self.start.take() {
            let inode = self.begin(from);
            return Some(self.returned(inode));
        }
        if let Some(directory) = self.ahead.take() {
            self.enter(&directory);
        }
        let visited = match self.entry()? {
            Ok(listed) => self.visit(&listed),
            Err(fault) => return Some(Err(fault)),
        };
        Some(self.returned(visited))
    }
}

/// Checks that an entry's type is that of its inode.
pub(super) fn check_kind(listed: &Listed, inode: &Inode) -> Result<(), ReadError> {
    if inode.node_type() == listed.kind {
        return Ok(());
    }
    let what = format!("inode {}, a {:?}, listed as a {:?}", inode.number, inode.node_type(), listed.kind);
    Err(ReadError::corrupt(inode.at.0 >> 16, what, "the same type in both"))
}
