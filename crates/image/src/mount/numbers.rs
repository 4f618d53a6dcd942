//! Inode numbers that users of the mount see: the numbers of the image, if no other inode of the image has the same number.
//!
//! The protocol identifies an inode by one 64-bit number, its node, which the inode also shows as `st_ino`. Only an answer to `getattr` may show
//! another number. A node is the image's number or, if that number is unsuitable, the inode's position with the highest bit set. The export table
//! has the position of each number. Without the table, the numbers that were looked up are recorded, at 20 bytes for each inode.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{PoisonError, RwLock};

use fuser::INodeNo;
use packline_volume::{Inode, NodeId, ReadError, SharedVolume};

/// Set in a node that is a position.
const PLACE: u64 = 1 << 63;
/// Maximum number of recorded numbers; positions identify further inodes.
const NOTED_MOST: usize = 4 << 20;
/// Memory in bytes of a recorded number, with its share of the tree.
const NOTED_BYTES: u64 = 24;
/// Inverse of the share of a memory limit for recorded numbers.
const PART: u64 = 16;

/// Returns the bytes that the numbers of an image may take under a memory limit.
pub(super) fn memory(volume: &SharedVolume, limit: u64) -> u64 {
    let all = if volume.has_numbers() { 0 } else { volume.facts().inodes.saturating_mul(NOTED_BYTES) };
    all.min(limit / PART)
}

/// The numbers of one mount.
pub(super) struct Numbers {
    root: NodeId,
    root_number: u64,
    exported: bool,
    most: usize,
    noted: RwLock<BTreeMap<u32, NodeId>>,
}

/// The kernel's number of an inode, and the number that it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeNumbers {
    /// The node.
    pub(super) node: INodeNo,
    /// The number that `st_ino` shows. If it differs from the node, only `getattr` may show it.
    pub(super) st_ino: INodeNo,
}

impl NodeNumbers {
    fn both(number: u64) -> NodeNumbers {
        NodeNumbers { node: INodeNo(number), st_ino: INodeNo(number) }
    }

    /// Whether the attributes that come with a name, and therefore show the node, are right.
    pub(super) fn shows_node(self) -> bool {
        self.node == self.st_ino
    }
}

impl Numbers {
    /// The numbers of an image that is mounted from `root` on, with this memory limit.
    pub(super) fn new(volume: &SharedVolume, root: &Inode, limit: Option<u64>) -> Numbers {
        let most = limit.map_or(u64::MAX, |limit| memory(volume, limit)) / NOTED_BYTES;
        Numbers {
            root: root.at,
            root_number: root.number,
            exported: volume.has_numbers(),
            most: usize::try_from(most).unwrap_or(usize::MAX).min(NOTED_MOST),
            noted: RwLock::default(),
        }
    }

    /// Returns the numbers of the inode at a position, which has, or claims to have, `number`.
    pub(super) fn named(&self, volume: &SharedVolume, at: NodeId, number: u64) -> NodeNumbers {
        if at == self.root {
            return NodeNumbers { node: INodeNo::ROOT, st_ino: self.root() };
        }
        let place = INodeNo(at.0 | PLACE);
        match number {
            _ if !self.belongs(volume, at, number) => NodeNumbers { node: place, st_ino: place },
            // The number 1 is the root's node.
            1 => NodeNumbers { node: place, st_ino: INodeNo(1) },
            _ => NodeNumbers::both(number),
        }
    }

    /// Returns the numbers of an inode of which only the position is known.
    pub(super) fn by_place(&self, at: NodeId) -> NodeNumbers {
        if at == self.root { NodeNumbers::both(INodeNo::ROOT.0) } else { NodeNumbers::both(at.0 | PLACE) }
    }

    /// Whether the mount's root is at this position.
    pub(super) fn is_root(&self, at: NodeId) -> bool {
        at == self.root
    }

    /// Returns the number that the root shows.
    pub(super) fn root(&self) -> INodeNo {
        INodeNo(self.root_number.max(1))
    }

    /// Returns the position of a node; `None` if the kernel never got the node.
    ///
    /// # Errors
    /// The error of reading the export table.
    pub(super) fn place(&self, volume: &SharedVolume, node: INodeNo) -> Result<Option<NodeId>, ReadError> {
        match u32::try_from(node.0) {
            _ if node == INodeNo::ROOT => Ok(Some(self.root)),
            Err(_) => Ok(Some(NodeId(node.0 & !PLACE))),
            Ok(number) if self.exported => volume.numbered(number.into()),
            Ok(number) => Ok(self.noted.read().unwrap_or_else(PoisonError::into_inner).get(&number).copied()),
        }
    }

    /// Whether the inode at this position, and no other, has a number.
    fn belongs(&self, volume: &SharedVolume, at: NodeId, number: u64) -> bool {
        if number == 0 || number == self.root_number {
            return false;
        }
        if self.exported {
            return volume.numbered(number).is_ok_and(|exported| exported == Some(at));
        }
        // A number of more bits is not recorded: the node is then the position.
        let Ok(number) = u32::try_from(number) else { return false };
        let noted = self.noted.read().unwrap_or_else(PoisonError::into_inner).get(&number).copied();
        noted.map_or_else(|| self.note(at, number), |noted| noted == at)
    }

    fn note(&self, at: NodeId, number: u32) -> bool {
        let mut noted = self.noted.write().unwrap_or_else(PoisonError::into_inner);
        let has_space = noted.len() < self.most;
        match noted.entry(number) {
            Entry::Occupied(noted) => *noted.get() == at,
            Entry::Vacant(free) if has_space => *free.insert(at) == at,
            Entry::Vacant(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_noted_for_one_place_and_as_many_as_fit() {
        let noted = RwLock::default();
        let numbers = Numbers { root: NodeId(7), root_number: 9, exported: false, most: 2, noted };
        assert!(numbers.note(NodeId(100), 5) && numbers.note(NodeId(200), 6));
        assert!(numbers.note(NodeId(100), 5) && !numbers.note(NodeId(101), 5));
        assert!(!numbers.note(NodeId(300), 8));
    }

    #[test]
    fn what_is_known_by_its_place_is_no_number_of_an_image() {
        let numbers = Numbers { root: NodeId(7), root_number: 9, exported: false, most: 2, noted: RwLock::default() };
        assert_eq!(numbers.by_place(NodeId(7)), NodeNumbers::both(1));
        assert!(numbers.by_place(NodeId(8)).node.0 > u64::from(u32::MAX));
        assert_eq!(numbers.root(), INodeNo(9));
    }
}
