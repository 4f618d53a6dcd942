//! The stored parts of an image that are not contents of regular files, for programs that account for each byte.

use std::ops::Range;

use packline_volume::{NodeId, Pieces, ReadError};

use super::chunks;
use super::image::Image;
use super::inode::Inodes;
use super::map::window::ReadBytes;
use super::record::read_record;
use crate::format::METABOX;
use crate::format::device::SLOT_BYTES as DEVICE_BYTES;
use crate::format::inode::Layout;
use crate::format::superblock::{SUPERBLOCK_START, compat, incompat};

/// Bytes of the image that belong to the image itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagePart {
    pub name: &'static str,
    /// Bytes from the start of the image.
    pub bytes: Range<u64>,
}

/// The stored parts of one inode, except its content. Parts in the metabox are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InodeParts {
    /// The inode, its extended attributes and the index of its content.
    pub inode: Range<u64>,
    /// Attributes that several inodes may share.
    pub shared_xattrs: Vec<Range<u64>>,
}

impl Image {
    /// Returns the superblock with its records, the device table, and the record of the encoder.
    ///
    /// # Errors
    /// [`ReadError::Input`]. A record of the encoder that is damaged is left out.
    pub fn image_parts(&self) -> Result<Vec<ImagePart>, ReadError> {
        let superblock = self.superblock();
        let devices = superblock.device_table;
        let devices = devices..devices.saturating_add(u64::from(superblock.devices) * DEVICE_BYTES as u64);
        let mut parts = vec![
            // The first bytes are left to boot loaders.
            ImagePart { name: "superblock", bytes: 0..self.end_of_superblock()? },
            ImagePart { name: "device table", bytes: devices },
            ImagePart { name: "xattr prefixes", bytes: self.plain_prefixes() },
        ];
        match read_record(self) {
            Ok(Some(placed)) => parts.push(ImagePart { name: "encoder record", bytes: placed.bytes() }),
            Ok(None) | Err(ReadError::Corrupt(_)) => {}
            Err(error) => return Err(error),
        }
        parts.retain(|part| !part.bytes.is_empty());
        Ok(parts)
    }

    /// Returns the bytes of the long prefixes of attribute names; none if they are in the metabox or in the packed inode.
    fn plain_prefixes(&self) -> Range<u64> {
        let superblock = self.superblock();
        let in_inode = superblock.metabox.is_some() || superblock.packed.is_some();
        if in_inode && !superblock.has_compatible(compat::PLAIN_XATTR_PREFIXES) {
            return 0..0;
        }
        superblock.xattr_prefix_start..superblock.xattr_prefix_start.saturating_add(self.prefix_bytes())
    }

    /// Returns the number of bytes of all long prefixes.
    pub(crate) fn prefix_bytes(&self) -> u64 {
        // Length, short prefix and infix, up to a multiple of 4 bytes.
        let bytes = |infix: &[u8]| (infix.len() as u64 + 3).next_multiple_of(4);
        self.xattr_prefixes().iter().map(|prefix| bytes(&prefix.infix)).sum()
    }

    /// Returns the end of the superblock and of the records of the algorithms after it.
    pub(crate) fn end_of_superblock(&self) -> Result<u64, ReadError> {
        let superblock = self.superblock();
        let mut at = SUPERBLOCK_START + superblock.bytes;
        if superblock.has(incompat::COMPRESSION_RECORDS) {
            for _ in 0..superblock.algorithms.count_ones() {
                at = at.next_multiple_of(4);
                let mut length = [0; 2];
                self.contents().store().read(at, &mut length)?;
                at += 2 + u64::from(u16::from_le_bytes(length));
            }
        }
        Ok(at)
    }

    /// Returns the inodes whose content has parts of other files or of the metadata.
    pub fn special_nodes(&self) -> Vec<NodeId> {
        let superblock = self.superblock();
        let numbers = [superblock.packed, superblock.metabox];
        numbers.into_iter().flatten().filter_map(|number| self.inode_of_number(number).ok()).collect()
    }

    /// Returns the inode with the metadata of other inodes, if the image has one.
    pub fn metabox_node(&self) -> Option<NodeId> {
        self.superblock().metabox.and_then(|number| self.inode_of_number(number).ok())
    }

    /// Returns a reader of the parts of inodes.
    pub fn parts_reader(&self) -> PartsReader {
        PartsReader { image: self.clone(), inodes: self.inodes() }
    }
}

/// Reads the parts of inodes, faster if they are neighbours.
#[derive(Debug, Clone)]
pub struct PartsReader {
    image: Image,
    inodes: Inodes,
}

impl PartsReader {
    /// Returns the parts of an inode of any type. Attributes and indexes that cannot be read are left out.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the inode breaks a rule or does not exist, [`ReadError::Input`].
    pub fn parts(&mut self, node: NodeId) -> Result<InodeParts, ReadError> {
        let placed = self.inodes.fields(node)?;
        let place = placed.place();
        let end = match place.layout {
            _ if place.size == 0 => place.end,
            Layout::Plain | Layout::Inline => place.end,
            Layout::Chunks => {
                let bits = self.image.superblock().block_bits;
                chunks::entries(&place, bits).map_or(place.end, |entries| entries.end)
            }
            Layout::CompressedFull | Layout::CompressedCompact => {
                self.image.contents().map(&place).map_or(place.end, |map| map.end())
            }
        };
        let stored = |address: u64| address & METABOX == 0;
        let inode = if stored(placed.address) { placed.address..end.max(placed.address) } else { 0..0 };
        let attributes = self.image.attributes().places(&placed).unwrap_or_default();
        let shared = attributes.into_iter().filter(|place| place.is_shared && stored(place.at));
        let shared_xattrs = shared.map(|place| place.at..place.at + place.header.bytes()).collect();
        Ok(InodeParts { inode, shared_xattrs })
    }

    /// Returns the pieces of the content of an inode of any type: the listing of a directory, or the target of a symbolic link. Offsets of units
    /// from 2^63 on are in the metabox, and all others are bytes of the image.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the inode breaks a rule or does not exist, [`ReadError::Input`].
    pub fn content(&mut self, node: NodeId) -> Result<Box<dyn Pieces>, ReadError> {
        let place = self.inodes.fields(node)?.place();
        Ok(self.image.contents().pieces(&place, 0))
    }
}
