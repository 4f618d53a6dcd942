//! What takes the space of an image: the stored bytes of each entry and of the metadata, which add up to the size of the file that has the image.
//!
//! Three steps. `collect.rs` walks over the tree and notes which bytes of the image each file uses; `metadata.rs` notes the bytes of the
//! structures. `sweep.rs` divides each byte among its users: a byte of one file is its own, and a byte of several files belongs to each of them in
//! equal shares. Tail ends in a shared unit take its stored bytes in proportion to their content. `tree.rs` rounds the shares, so that they add up,
//! and adds them to the directories.
//!
//! No content is read. Memory: about 160 bytes for each entry.

mod collect;
mod fixed;
mod metadata;
mod sizes;
mod sweep;
#[cfg(test)]
mod tests;
mod tree;

use packline_tree::path::upwards;
use packline_volume::NodeId;

use crate::{Error, OpenedImage};
use collect::Collector;
pub use sizes::SizesOfEntries;
use tree::Tree;
pub use tree::{UsageEntry, Use};

/// What takes the space of an image, or of another archive.
#[derive(Debug)]
pub struct Usage {
    tree: Tree,
    metadata: Vec<Structure>,
    total: u64,
    faults: Vec<Error>,
}

/// Bytes that belong to no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Structure {
    /// What the bytes are, such as `inode table`.
    pub name: &'static str,
    /// Number of bytes.
    pub bytes: u64,
    /// Whether the file system needs the bytes. Padding and bytes outside of the image are not metadata.
    pub is_metadata: bool,
}

impl Structure {
    fn metadata(name: &'static str, bytes: u64) -> Structure {
        Structure { name, bytes, is_metadata: true }
    }

    fn other(name: &'static str, bytes: u64) -> Structure {
        Structure { name, bytes, is_metadata: false }
    }
}

/// Finds the bytes of inodes.
#[derive(Debug)]
pub struct UsageById<'u> {
    usage: &'u Usage,
    order: Vec<u32>,
}

impl Usage {
    /// Accounts for each byte of the file that has the image. On a block device, bytes after the image are left out, and so are the contents of an
    /// EROFS image on other devices. `memory`: bytes that the entries may take. An entry that cannot be read is a fault, and its bytes belong to
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Read`] for an image with more entries than the memory holds, and if its superblock or its record cannot be read.
    pub fn of(image: &OpenedImage, memory: Option<u64>) -> Result<Usage, Error> {
        let mut collector = Collector::new(image)?;
        collector.collect(memory)?;
        Ok(collector.finish())
    }

    /// Size in bytes of the file that has the image. The bytes of the root and of all structures add up to it.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes that belong to no file: structures of the file system, then other bytes. Structures without bytes are left out.
    pub fn metadata(&self) -> &[Structure] {
        &self.metadata
    }

    /// The first 100 entries that could not be read.
    pub fn faults(&self) -> &[Error] {
        &self.faults
    }

    /// Returns all entries in the order of the tree, the root first.
    pub fn entries(&self) -> impl Iterator<Item = UsageEntry<'_>> {
        (0..self.tree.len()).filter_map(|number| self.tree.entry(number))
    }

    /// Returns an entry by its number.
    pub fn entry(&self, number: usize) -> Option<UsageEntry<'_>> {
        self.tree.entry(number)
    }

    /// Returns the entries of a directory, given by its number, in the order of their names.
    pub fn children(&self, directory: usize) -> impl Iterator<Item = UsageEntry<'_>> {
        let end = self.tree.entry(directory).map_or(0, |entry| entry.end);
        let mut next = directory.saturating_add(1);
        std::iter::from_fn(move || {
            let child = self.tree.entry(next).filter(|child| child.number < end)?;
            next = child.end.max(next + 1);
            Some(child)
        })
    }

    /// Returns the path of an entry: the names from the root joined by slashes.
    pub fn path(&self, number: usize) -> Vec<u8> {
        upwards(number, |number| self.tree.entry(number).filter(|_| number > 0).map(|entry| (entry.name, entry.parent)))
    }

    /// Returns the number of the entry at a canonical path; symbolic links are not followed.
    pub fn find(&self, path: &[u8]) -> Option<usize> {
        let mut entry = self.tree.entry(0)?;
        for name in path.split(|byte| *byte == b'/').filter(|_| !path.is_empty()) {
            entry = self.children(entry.number).find(|child| child.name == name)?;
        }
        Some(entry.number)
    }

    /// Returns the numbers of files whose content is stored once for all of them. The groups are in the order of their first files.
    pub fn same_content(&self) -> Vec<Vec<usize>> {
        self.tree.same_content()
    }

    /// Returns an index of the entries by inode. Further names of a file have the inode of the first one.
    pub fn by_id(&self) -> UsageById<'_> {
        UsageById { usage: self, order: self.tree.by_id() }
    }
}

impl UsageById<'_> {
    /// Returns the bytes of an inode; `None` if the inode could not be read.
    pub fn find(&self, id: NodeId) -> Option<Use> {
        let tree = &self.usage.tree;
        let place = self.order.partition_point(|number| tree.id(*number) < Some(id));
        let number = *self.order.get(place)?;
        tree.entry(number as usize).filter(|_| tree.id(number) == Some(id)).map(|entry| entry.bytes)
    }
}
