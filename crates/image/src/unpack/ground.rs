//! The directories of the destination: a table of all of them, and a bounded number of open handles.
//!
//! Any worker asks for the handle of any directory; one that is not open is opened again from the nearest one above it that
//! is. A directory of a million entries is 24 bytes here and its name.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_squashfs::read::InodeRef;
use packline_tree::destination::{Directory, Refusal};

use super::names::{NameRef, Names};
use crate::Error;

/// Handles that are kept open, at most; besides those in use at the moment.
const HANDLES: usize = 192;
/// Directories between the end of a long way, whose handles are kept, and the one halfway that is kept too.
const HALFWAY: usize = 2048;
/// The root's number.
pub const ROOT: u32 = 0;

/// All directories, shared by the walk and the workers.
#[derive(Debug)]
pub struct Ground {
    root: Arc<Directory>,
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    nodes: Vec<Node>,
    names: Names,
    slots: Vec<Slot>,
    /// Where the search for a slot to use again goes on.
    hand: usize,
}

#[derive(Debug)]
struct Node {
    parent: u32,
    name: NameRef,
    inode: InodeRef,
    /// Where its handle is, if it is open.
    slot: u16,
}

#[derive(Debug)]
struct Slot {
    node: u32,
    handle: Arc<Directory>,
    /// Asked for since the hand came by last.
    fresh: bool,
}

const NO_SLOT: u16 = u16::MAX;

impl Ground {
    /// The directories below `root`, none so far.
    pub fn new(root: Directory, inode: InodeRef) -> Ground {
        let mut names = Names::default();
        let name = names.add(b"").unwrap_or_else(|| unreachable!("an empty arena has room"));
        let nodes = vec![Node { parent: ROOT, name, inode, slot: NO_SLOT }];
        let table = Table { nodes, names, slots: Vec::new(), hand: 0 };
        Ground { root: Arc::new(root), table: Mutex::new(table) }
    }

    /// Lists a directory that has just been made or found and is open; its number. `None` if there are too many.
    pub fn add(&self, parent: u32, name: &[u8], inode: InodeRef, handle: Directory) -> Option<(u32, Arc<Directory>)> {
        let mut table = self.lock();
        let name = table.names.add(name)?;
        let number = u32::try_from(table.nodes.len()).ok()?;
        table.nodes.push(Node { parent, name, inode, slot: NO_SLOT });
        let handle = Arc::new(handle);
        table.keep(number, handle.clone());
        Some((number, handle))
    }

    /// The handle of a directory.
    pub fn open(&self, number: u32) -> Result<Arc<Directory>, Refusal> {
        if number == ROOT {
            return Ok(self.root.clone());
        }
        self.lock().open(number, &self.root)
    }

    /// How many there are, the root among them.
    pub fn count(&self) -> u32 {
        self.lock().nodes.len() as u32
    }

    /// The inode that a directory is in the image.
    pub fn inode(&self, number: u32) -> InodeRef {
        self.lock().nodes[number as usize].inode
    }

    /// The canonical path of something in a directory; of the directory itself for an empty name.
    pub fn path(&self, directory: u32, name: &[u8]) -> Vec<u8> {
        self.lock().path(directory, name)
    }

    /// A refusal with the path it is about, below `shown`.
    pub fn error(&self, shown: &Path, directory: u32, name: &[u8], refusal: Refusal) -> Error {
        let path = below(shown, &self.path(directory, name));
        Error::Output { path, action: refusal.action(), cause: refusal.cause() }
    }

    /// Bytes that the table takes.
    pub fn memory(&self) -> usize {
        let table = self.lock();
        table.nodes.capacity() * size_of::<Node>() + table.names.memory()
    }

    /// A table that was held by a thread that panicked is as good as any.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path on this machine of an entry below `shown`.
pub fn below(shown: &Path, entry: &[u8]) -> PathBuf {
    let entry: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(entry);
    if entry.is_empty() { shown.to_owned() } else { shown.join(entry) }
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
        // Of a long way only the end is kept: keeping all of it would drive out its own beginning. One directory halfway
        // is kept too, so that going up a very deep tree does not start at the root each time.
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

    /// The names of directories, the last one's first.
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

    /// Keeps a handle, in place of one that has not been asked for lately.
    fn keep(&mut self, number: u32, handle: Arc<Directory>) {
        let new = Slot { node: number, handle, fresh: true };
        if self.slots.len() < HANDLES {
            self.nodes[number as usize].slot = self.slots.len() as u16;
            return self.slots.push(new);
        }
        while std::mem::take(&mut self.slots[self.hand].fresh) {
            self.hand = (self.hand + 1) % HANDLES;
        }
        let old = std::mem::replace(&mut self.slots[self.hand], new);
        self.nodes[old.node as usize].slot = NO_SLOT;
        self.nodes[number as usize].slot = self.hand as u16;
        self.hand = (self.hand + 1) % HANDLES;
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
        let ground = Ground::new(Directory::root(top.path()).unwrap(), InodeRef(1));
        let mut parent = (ROOT, ground.open(ROOT).unwrap());
        for level in 0..5000u32 {
            let name = format!("d{level}");
            let made = parent.1.make(name.as_bytes()).unwrap();
            parent = ground.add(parent.0, name.as_bytes(), InodeRef(u64::from(level)), made).unwrap();
        }
        assert_eq!(ground.count(), 5001);
        for number in [600, 1, 300, 599, 2, 0, 150, 151] {
            let deepest = ground.open(number).unwrap();
            deepest.create(format!("f{number}").as_bytes()).unwrap();
            let path = ground.path(number, format!("f{number}").as_bytes());
            // A path of 600 components may be too long for one call; names are short here, so it is not.
            assert!(below(top.path(), &path).is_file(), "{number}");
        }
        // Each directory is the one it is taken for, also where one call does not lead to it.
        for number in [5000, 4000, 2100, 4990, 90] {
            let below = format!("d{number}");
            let found = ground.open(number).unwrap();
            assert_eq!(found.open(below.as_bytes()).is_ok(), number < 5000, "{number}");
        }
        assert_eq!(ground.inode(600), InodeRef(599));
        assert_eq!(ground.path(2, b""), b"d0/d1");
        assert_eq!(ground.path(ROOT, b""), b"");
        assert!(ground.lock().slots.len() <= HANDLES);
        assert!(ground.memory() > 600 * 24);
    }
}
