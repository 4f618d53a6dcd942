//! The paths of directories whose listings cannot be read.

use super::inodes::Inodes;
use crate::read::{Image, InodeRef, NodeType};

/// Directories on the longest path that is looked up.
const DEPTH: u32 = 256;
/// Entries that all lookups in an image read together.
const ENTRIES: u32 = 1 << 20;

/// Finds paths from the parents that the inodes name. A damaged image may have cycles of parents, and huge listings, so all lookups
/// together read a limited number of entries.
pub(super) struct Paths {
    /// Entries that may still be read.
    left: u32,
}

impl Paths {
    pub(super) fn new() -> Paths {
        Paths { left: ENTRIES }
    }

    /// Returns the path of a directory. `None` if it is unknown, because a listing above the directory cannot be read, or the limit is reached.
    pub(super) fn of(&mut self, image: &Image, inodes: &Inodes, directory: u32) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        let mut number = directory;
        for _ in 0..DEPTH {
            let record = inodes.get(number).filter(|record| record.is(NodeType::Directory))?;
            if record.at() == Some(image.root()) {
                names.reverse();
                return Some(names.join(&b'/'));
            }
            let parent = inodes.get(record.says)?.at()?;
            names.push(self.name_in(image, parent, number)?);
            number = record.says;
        }
        None
    }

    fn name_in(&mut self, image: &Image, parent: InodeRef, number: u32) -> Option<Vec<u8>> {
        let inode = image.inode(parent).ok().filter(|_| self.left > 0)?;
        for entry in image.entries(&inode).ok()?.map_while(Result::ok) {
            self.left = self.left.checked_sub(1)?;
            if entry.kind == NodeType::Directory && entry.number == u64::from(number) {
                return Some(entry.name);
            }
        }
        None
    }
}
