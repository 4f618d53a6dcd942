//! A walk over a tree: parents before children, children in the order of their names, each directory once.

use hashbrown::HashTable;
use packline_tree::path::MAX_PATH;

use crate::{
    EntryFields, Inode, InodeReader, Listing, NodeId, NodeType, ReadError, SharedVolume, ToVolume, spread, type_fault,
};

/// Maximum number of directories of a walk: 57 MB of references when their table last grows. A compressed image of a few megabytes can have tens
/// of millions of directories, which would exhaust memory.
pub const MOST_DIRECTORIES: usize = (4 << 20) / 8 * 7;

/// An entry of the tree.
#[derive(Debug, Clone)]
pub struct Visit {
    /// Canonical path: the names from the root joined by slashes; empty for the root. At most 65,535 bytes.
    pub path: Vec<u8>,
    pub inode: Inode,
}

/// Walks depth first without recursion. A directory that is found twice (a loop, a second name) is an error and is not entered. After an error
/// the walk continues with the next entry, but it ends after [`MOST_DIRECTORIES`].
///
/// Holds a reference of 8 bytes for each directory so far (12 to 20 MB for a million), and about 200 bytes for each level.
#[derive(Debug)]
pub struct Walk {
    volume: SharedVolume,
    inodes: Box<dyn InodeReader>,
    /// Path of the last entry returned.
    path: Vec<u8>,
    levels: Vec<Level>,
    /// The start, until the first entry is returned.
    start: Option<NodeId>,
    /// The last directory returned, which is entered next.
    ahead: Option<Inode>,
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
    /// Starts with the inode at `from`, with the path `path`, and continues below it.
    pub fn new(volume: &impl ToVolume, from: NodeId, path: Vec<u8>) -> Walk {
        let volume = volume.to_volume();
        Walk {
            inodes: volume.inodes(),
            volume,
            path,
            levels: Vec::new(),
            start: Some(from),
            ahead: None,
            found: HashTable::new(),
        }
    }

    /// Skips the content of the last directory returned.
    pub fn prune(&mut self) {
        self.ahead = None;
    }

    fn enter(&mut self, directory: &Inode) -> Result<(), ReadError> {
        if let Some(above) = self.levels.last_mut() {
            above.listing.0.release();
        }
        let listing = self.volume.entries(directory)?;
        self.levels.push(Level { listing, length: self.path.len() });
        Ok(())
    }

    /// Returns the next entry of the innermost directory that has one.
    fn entry(&mut self) -> Option<Result<EntryFields, Fault>> {
        loop {
            let level = self.levels.last_mut()?;
            self.path.truncate(level.length);
            match level.listing.0.step() {
                None => self.levels.pop(),
                Some(Err(fault)) => return Some(Err((self.path.clone(), fault))),
                Some(Ok(listed)) => {
                    if !self.path.is_empty() {
                        self.path.push(b'/');
                    }
                    self.path.extend_from_slice(level.listing.0.name());
                    return Some(Ok(listed));
                }
            };
        }
    }

    fn visit(&mut self, listed: &EntryFields) -> Result<Inode, ReadError> {
        let inode = self.inodes.inode(listed.inode)?;
        let kind = inode.node_type();
        if kind != listed.kind {
            return Err(type_fault(self.volume.offset_of(inode.at), inode.number, kind, listed.kind));
        }
        if kind == NodeType::Directory {
            self.note(&inode)?;
        }
        Ok(inode)
    }

    /// Records a directory, which is entered next.
    fn note(&mut self, inode: &Inode) -> Result<(), ReadError> {
        if self.path.len() > MAX_PATH {
            let what = format!("path of {} bytes", self.path.len());
            return Err(ReadError::corrupt(self.volume.offset_of(inode.at), what, "at most 65535 bytes"));
        }
        if self.found.len() >= MOST_DIRECTORIES {
            self.levels.clear();
            let what = format!("an image of more than {MOST_DIRECTORIES} directories");
            return Err(ReadError::unsupported(what, format!("{MOST_DIRECTORIES} at most")));
        }
        let reference = inode.at.0;
        let entry = self.found.entry(spread(reference), |other| *other == reference, |other| spread(*other));
        let hashbrown::hash_table::Entry::Vacant(place) = entry else {
            let what = format!("directory, inode {}, under a second name or inside itself", inode.number);
            return Err(ReadError::corrupt(self.volume.offset_of(inode.at), what, "one name for each directory"));
        };
        place.insert(reference);
        self.ahead = Some(inode.clone());
        Ok(())
    }

    fn begin(&mut self, from: NodeId) -> Result<Inode, ReadError> {
        let inode = self.inodes.inode(from)?;
        if inode.node_type() == NodeType::Directory {
            self.note(&inode)?;
        }
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
    /// An error comes with the path of its entry.
    type Item = Result<Visit, (Vec<u8>, ReadError)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(from) = self.start.take() {
            let inode = self.begin(from);
            return Some(self.returned(inode));
        }
        if let Some(directory) = self.ahead.take()
            && let Err(fault) = self.enter(&directory)
        {
            return Some(Err((self.path.clone(), fault)));
        }
        let visited = match self.entry()? {
            Ok(listed) => self.visit(&listed),
            Err(fault) => return Some(Err(fault)),
        };
        Some(self.returned(visited))
    }
}
