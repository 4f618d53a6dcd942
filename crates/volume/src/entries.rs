//! Entries of directories.

use std::fmt;

use crate::{NodeId, NodeType, ReadError};

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// 1 to 255 bytes, no slash, no NUL, neither `.` nor `..`; greater than the name before it.
    pub name: Vec<u8>,
    pub inode: NodeId,
    /// The inode's number in the entry.
    pub number: u64,
    /// The inode's type in the entry.
    pub kind: NodeType,
}

/// Fields of an entry except its name.
#[derive(Debug, Clone, Copy)]
pub struct EntryFields {
    pub inode: NodeId,
    pub number: u64,
    pub kind: NodeType,
}

/// The entries of one directory as the container reads them, in the order of their names. The listing ends after the first error.
pub trait Entries: fmt::Debug + Send {
    /// Returns the next entry. [`Entries::name`] is then its name.
    fn step(&mut self) -> Option<Result<EntryFields, ReadError>>;

    /// Returns the name of the last entry read.
    fn name(&self) -> &[u8];

    /// Frees memory that only the next entry needs.
    fn release(&mut self) {}
}

/// The entries of one directory, in the order of their names. The iterator ends after the first error.
#[derive(Debug)]
pub struct Listing(pub Box<dyn Entries>);

impl Iterator for Listing {
    type Item = Result<DirEntry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let listed = self.0.step()?;
        Some(listed.map(|EntryFields { inode, number, kind }| DirEntry {
            name: self.0.name().to_vec(),
            inode,
            number,
            kind,
        }))
    }
}
