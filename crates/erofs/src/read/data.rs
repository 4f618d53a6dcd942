//! The position of an inode's content.

use packline_volume::{NodeId, OpaquePosition, ReadError};

use crate::format::METABOX;
use crate::format::corrupt;
use crate::format::inode::{Layout, SLOT_BYTES};
use crate::format::superblock::{IN_METABOX, Superblock};

/// Slots that the metabox or an image can have at most, so that all positions are addresses.
const SLOTS_MOST: u64 = METABOX / SLOT_BYTES as u64 / 2;

/// How the content of an inode is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataPlace {
    pub(crate) layout: Layout,
    /// Address of the first byte after the inode and its extended attributes.
    pub(crate) end: u64,
    /// Number of a block, format of chunks, or number of compressed blocks.
    pub(crate) start: u64,
    /// Bytes of content.
    pub(crate) size: u64,
}

impl DataPlace {
    pub(crate) fn pack(self) -> OpaquePosition {
        OpaquePosition([self.layout as u64, self.end, self.start, 0, 0])
    }

    /// Unpacks the position of content of this size. A position of another volume leads to wrong content.
    pub(crate) fn unpack(place: OpaquePosition, size: u64) -> DataPlace {
        let OpaquePosition([layout, end, start, ..]) = place;
        DataPlace { layout: Layout::of_number(layout).unwrap_or(Layout::Plain), end, start, size }
    }
}

/// Returns the identity of the inode with a number of the format. The lowest bit of an identity says that the inode is in the metabox; numbers
/// have this bit at their top.
///
/// # Errors
/// [`ReadError::Corrupt`] if no image has an inode of this number. `at`: address of the number.
pub(crate) fn node_of(number: u64, at: u64) -> Result<NodeId, ReadError> {
    let slot = number & !IN_METABOX;
    if slot >= SLOTS_MOST {
        return Err(corrupt(at, format!("inode {slot}"), format!("less than {SLOTS_MOST}")));
    }
    Ok(NodeId(number.rotate_left(1)))
}

/// Returns the number that the format gives to an inode.
pub(crate) fn number_of(node: NodeId) -> u64 {
    node.0.rotate_right(1)
}

/// Returns the number that the kernel shows: the position in the image or in the metabox, with bit 31 for the metabox and the bits above moved
/// up by one, if the image has a metabox.
pub(crate) fn shown_number(superblock: &Superblock, node: NodeId) -> u64 {
    let slot = node.0 >> 1;
    if superblock.metabox.is_none() {
        return slot;
    }
    let low = (1 << 31) - 1;
    (slot & !low) << 1 | slot & low | (node.0 & 1) << 31
}

/// Returns the inode that the kernel shows with a number of 32 bits.
pub(crate) fn shown_node(superblock: &Superblock, number: u32) -> NodeId {
    let number = u64::from(number);
    if superblock.metabox.is_none() {
        return NodeId(number << 1);
    }
    NodeId((number & ((1 << 31) - 1)) << 1 | number >> 31)
}

/// Returns the address of an inode.
pub(crate) fn address_of(superblock: &Superblock, node: NodeId) -> u64 {
    let offset = (node.0 >> 1).min(SLOTS_MOST) * SLOT_BYTES as u64;
    if node.0 & 1 == 1 {
        return METABOX | offset;
    }
    offset + (u64::from(superblock.inode_block) << superblock.block_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_identities_are_equivalent() {
        for number in [0, 1, 36, 1 << 31, (1 << 40) + 5] {
            for number in [number, number | IN_METABOX] {
                let node = node_of(number, 0).unwrap();
                assert_eq!(number_of(node), number);
                assert!(node.0 < 1 << 63);
            }
        }
        assert!(node_of(SLOTS_MOST, 0).is_err());
        assert!(node_of(u64::MAX, 0).is_err());
    }
}
