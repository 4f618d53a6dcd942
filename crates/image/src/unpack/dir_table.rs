//! The directories of the destination: a table of all directories, and a bounded number of open handles.
//!
//! Workers request handles by number. A closed directory is reopened from its nearest open ancestor. A directory takes 24 bytes and its name.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_tree::destination::{Directory, Refusal};
use packline_volume::NodeId;

use super::names::{NameRef, Names};
use crate::Error;

/// Maximum number of cached handles, without those in use.
const HANDLES: usize = 192;
/// Distance from the end of a deep path to the directory halfway, whose handle is cached, too.
const HALFWAY: usize = 2048;
/// The root's number.
pub const ROOT: u32 = 0;

/// All directories, shared by the walk and the workers.
#[derive(Debug)]
pub struct DirTable {
    root: Arc<Directory>,
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    nodes: Vec<Node>,
    names: Names,
    slots: Vec<Slot>,
    /// Position of the eviction clock.
    clock: usize,
}

#[derive(Debug)]
struct Node {
    parent: u32,
    name: NameRef,
    inode: NodeId,
    /// Index of the cached handle, if any.
    slot: u16,
    /// Whether files cannot be moved there from the staging directory.
    apart: bool,
}

#[derive(Debug)]
struct Slot {
    node: u32,
    handle: Arc<Directory>,
    /// Whether it was used since the clock last passed.
    fresh: bool,
}

const NO_SLOT: u16 = u16::MAX;

impl DirTable {
    /// A table with the root only.
    pub fn new(root: Directory, inode: NodeId) -> DirTable {
        let nodes = vec![Node { parent: ROOT, name: NameRef::NONE, inode, slot: NO_SLOT, apart: false }];
        let table = Table { nodes, names: Names::default(), slots: Vec::new(), clock: 0 };
        DirTable { root: Arc::new(root), table: Mutex::new(table) }
    }

    /// Adds a directory that was just created or opened, and returns its number. `None` if there are too many. The directory is on the mount of
    /// its parent unless [`DirTable::set_apart`] says otherwise.
    pub fn add(&self, parent: u32, name: &[u8], inode: NodeId, handle: Directory) -> Option<(u32, Arc<Directory>)> {
        let mut table = self.lock();
        let name = table.names.add(name)?;
        let number = u32::try_from(table.nodes.len()).ok()?;
        let apart = table.nodes[parent as usize].apart;
        table.nodes.push(Node { parent, name, inode, slot: NO_SLOT, apart });
        let handle = Arc::new(handle);
        table.keep(number, handle.clone());
        Some((number, handle))
    }

    /// Returns the handle of a directory.
    pub fn open(&self, number: u32) -> Result<Arc<Directory>, Refusal> {
        if number == ROOT {
            return Ok(self.root.clone());
        }
        self.lock().open(number, &self.root)
    }

    /// Whether files cannot be moved to a directory from the staging directory.
    pub fn is_apart(&self, number: u32) -> bool {
        self.lock().nodes[number as usize].apart
    }

    /// Sets whether files cannot be moved to a directory from the staging directory.
    pub fn set_apart(&self, number: u32, apart: bool) {
        self.lock().nodes[number as usize].apart = apart;
    }

    /// Returns the number of directories, including the root.
    pub fn count(&self) -> u32 {
        self.lock().nodes.len() as u32
    }

    /// Returns the inode of a directory in the image.
    pub fn inode(&self, number: u32) -> NodeId {
        self.lock().nodes[number as usize].inode
    }

    /// Returns the canonical path of an entry of a directory, or of the directory itself for an empty name.
    pub fn path(&self, directory: u32, name: &[u8]) -> Vec<u8> {
        self.lock().path(directory, name)
    }

    /// Adds the path, below `display_path`, to a failed system call.
    pub fn error(&self, display_path: &Path, directory: u32, name: &[u8], refusal: Refusal) -> Error {
        let path = below(display_path, &self.path(directory, name));
        Error::Output { path, action: refusal.action(), cause: refusal.cause() }
    }

    pub fn memory(&self) -> usize {
        let table = self.lock();
        table.nodes.capacity() * size_of::<Node>() + table.names.memory()
    }

    /// The table is consistent even if a thread panicked.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the path of an entry below the destination.
pub fn below(display_path: &Path, entry: &[u8]) -> PathBuf {
    let entry: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(entry);
    if entry.is_empty() { display_path.to_owned() } else { display_path.join(entry) }
}

impl Table {
    fn open(&mut self, number: u32, root: &Arc<Directory>) -> Result<Arc<Directory>, Refusal> {
        let mut missing = Vec::new();
        let mut at = number;
        let mut handle = loop {
            match self.known(at, root) {
                Some(handle) => break handle,
                None => missing.push(at),
            }
            at = self.nodes[at as usize].parent;
        };
        // Only the end of a deep path is cached: caching all of it would evict its own start. One directory halfway is cached, too, so that
        // walking up a very deep tree does not start at the root each time.
        let near = missing.len().min(HANDLES / 2);
        let halfway = missing.len().min(near + HALFWAY);
        for range in [halfway..missing.len(), near..halfway] {
            let first = range.start;
            if let Some(far) = handle.open_way(&self.names_of(&missing[range]))? {
                handle = self.reopened(missing[first], far);
            }
        }
        for &number in missing[..near].iter().rev() {
            let opened = handle.open(self.name(number))?;
            handle = self.reopened(number, opened);
        }
        Ok(handle)
    }

    /// Returns the names of directories in reverse order.
    fn names_of(&self, numbers: &[u32]) -> Vec<&[u8]> {
        numbers.iter().rev().map(|&number| self.name(number)).collect()
    }

    fn name(&self, number: u32) -> &[u8] {
        self.names.get(self.nodes[number as usize].name)
    }

    fn reopened(&mut self, number: u32, handle: Directory) -> Arc<Directory> {
        let handle = Arc::new(handle);
        self.keep(number, handle.clone());
        handle
    }

    fn known(&mut self, number: u32, root: &Arc<Directory>) -> Option<Arc<Directory>> {
        if number == ROOT {
            return Some(root.clone());
        }
        let slot = self.slots.get_mut(usize::from(self.nodes[number as usize].slot))?;
        slot.fresh = true;
        Some(slot.handle.clone())
    }

    /// Caches a handle, and evicts a handle that was not used recently.
    fn keep(&mut self, number: u32, handle: Arc<Directory>) {
        let new = Slot { node: number, handle, fresh: true };
        if self.slots.len() < HANDLES {
            self.nodes[number as usize].slot = self.slots.len() as u16;
            return self.slots.push(new);
        }
        while std::mem::take(&mut self.slots[self.clock].fresh) {
            self.clock = (self.clock + 1) % HANDLES;
        }
        let old = std::mem::replace(&mut self.slots[self.clock], new);
        self.nodes[old.node as usize].slot = NO_SLOT;
        self.nodes[number as usize].slot = self.clock as u16;
        self.clock = (self.clock + 1) % HANDLES;
    }

    fn path(&self, directory: u32, name: &[u8]) -> Vec<u8> {
        let mut parts = if name.is_empty() { Vec::new() } else { vec![name] };
        let mut at = directory;
        while at != ROOT {
            let node = &self.nodes[at as usize];
            parts.push(self.names.get(node.name));
            at = node.parent;
        }
        parts.reverse();
        parts.join(&b'/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_directories_than_handles() {
        let top = tempfile::tempdir().unwrap();
        let dirs = DirTable::new(Directory::root(top.path()).unwrap(), NodeId(1));
        let mut parent = (ROOT, dirs.open(ROOT).unwrap());
        for level in 0..5000u32 {
            let name = format!("d{level}");
            let made = parent.1.make(name.as_bytes()).unwrap();
            parent = dirs.add(parent.0, name.as_bytes(), NodeId(u64::from(level)), made).unwrap();
        }
        assert_eq!(dirs.count(), 5001);
        for number in [600, 1, 300, 599, 2, 0, 150, 151] {
            let deepest = dirs.open(number).unwrap();
            deepest.create(format!("f{number}").as_bytes()).unwrap();
            let path = dirs.path(number, format!("f{number}").as_bytes());
            // A path of 600 components can exceed the limit of one call, but these names are short enough.
            assert!(below(top.path(), &path).is_file(), "{number}");
        }
        // Handles belong to the right directories, also beyond the limit of one call.
        for number in [5000, 4000, 2100, 4990, 90] {
            let below = format!("d{number}");
            let found = dirs.open(number).unwrap();
            assert_eq!(found.open(below.as_bytes()).is_ok(), number < 5000, "{number}");
        }
        assert_eq!(dirs.inode(600), NodeId(599));
        assert_eq!(dirs.path(2, b""), b"d0/d1");
        assert_eq!(dirs.path(ROOT, b""), b"");
        assert!(dirs.lock().slots.len() <= HANDLES);
        assert!(dirs.memory() > 600 * 24);
    }
}
