//! Inode numbers as users of the mount see them: those of the image, where no other inode of it has the same.
//!
//! The protocol names an inode by one 64-bit number, its node, which is also what the inode shows as `st_ino`; only an answer to
//! `getattr` may show another. A node is the image's number, or, if that is not good for one, the inode's place with the highest
//! bit set. The export table has the place of each number; an image without one has the numbers that were looked up
//! noted, so that what is mounted costs nothing and what is read 20 bytes an inode.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{PoisonError, RwLock};

use fuser::INodeNo;
use packline_volume::{Inode, NodeId, ReadError, SharedVolume};

/// Set in a node that is a place.
const PLACE: u64 = 1 << 63;
/// Maximum number of recorded numbers; further inodes are named by their places.
const NOTED_MOST: usize = 4 << 20;
/// Memory of a recorded number, with its share of the tree, bytes.
const NOTED_BYTES: u64 = 24;
/// The inverse share of a memory limit for recorded numbers.
const PART: u64 = 16;

/// Bytes that the numbers of an image may take where memory is limited.
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
pub(super) struct Named {
    /// The node.
    pub(super) node: INodeNo,
    /// `st_ino`. Where it is not the node, only `getattr` may show it.
    pub(super) display_path: INodeNo,
}

impl Named {
    fn both(number: u64) -> Named {
        Named { node: INodeNo(number), display_path: INodeNo(number) }
    }

    /// Whether attributes that come with a name, and so show the node, are right.
    pub(super) fn shows_node(self) -> bool {
        self.node == self.display_path
    }
}

impl Numbers {
    /// Those of an image mounted from this directory on, where memory has this limit.
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

    /// The node of the inode at a place that has, or claims to have, a number.
    pub(super) fn named(&self, volume: &SharedVolume, at: NodeId, number: u64) -> Named {
        if at == self.root {
            return Named { node: INodeNo::ROOT, display_path: self.root() };
        }
        let place = INodeNo(at.0 | PLACE);
        match number {
            _ if !self.belongs(volume, at, number) => Named { node: place, display_path: place },
            // That is the root's node.
            1 => Named { node: place, display_path: INodeNo(1) },
            _ => Named::both(number),
        }
    }

    /// The name of an inode of which nothing but its place is known.
    pub(super) fn by_place(&self, at: NodeId) -> Named {
        if at == self.root { Named::both(INodeNo::ROOT.0) } else { Named::both(at.0 | PLACE) }
    }

    /// Whether this is the place of the mount's root.
    pub(super) fn is_root(&self, at: NodeId) -> bool {
        at == self.root
    }

    /// The number that the root shows.
    pub(super) fn root(&self) -> INodeNo {
        INodeNo(self.root_number.max(1))
    }

    /// The place of a node; none if the kernel was never given it.
    ///
    /// # Errors
    /// The export table cannot be read.
    pub(super) fn place(&self, volume: &SharedVolume, node: INodeNo) -> Result<Option<NodeId>, ReadError> {
        match u32::try_from(node.0) {
            _ if node == INodeNo::ROOT => Ok(Some(self.root)),
            Err(_) => Ok(Some(NodeId(node.0 & !PLACE))),
            Ok(number) if self.exported => volume.numbered(number.into()),
            Ok(number) => Ok(self.noted.read().unwrap_or_else(PoisonError::into_inner).get(&number).copied()),
        }
    }

    /// Whether a number is that of the inode at this place, and of no other.
    fn belongs(&self, volume: &SharedVolume, at: NodeId, number: u64) -> bool {
        if number == 0 || number == self.root_number {
            return false;
        }
        if self.exported {
            return volume.numbered(number).is_ok_and(|exported| exported == Some(at));
        }
        // A number of more bits is not noted: its node is the place.
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
        assert_eq!(numbers.by_place(NodeId(7)), Named::both(1));
        assert!(numbers.by_place(NodeId(8)).node.0 > u64::from(u32::MAX));
        assert_eq!(numbers.root(), INodeNo(9));
    }
}
