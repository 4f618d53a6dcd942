//! How an inode and its content are stored, for programs that show it.

use std::sync::Arc;

use packline_volume::{Missing, NodeId, ReadError};

use super::chunks::Chunks;
use super::data::{DataPlace, node_of};
use super::flat::blocks_of_inline;
use super::image::Image;
use super::map::{ExtentKind, ExtentReader};
use crate::format::METABOX;
use crate::format::chunk::ChunkStart;
use crate::format::inode::{Layout, NOT_STORED};
use crate::format::superblock::SUPERBLOCK_START;

/// The sizes of an inode and of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InodeLayout {
    /// Number of the content's layout in the format, 0 to 4.
    pub number: u8,
    /// Bytes of the inode: 32 or 64.
    pub inode_bytes: u64,
    /// Bytes of the extended attributes with their header; 0 without attributes.
    pub xattr_bytes: u64,
    /// Bytes of content.
    pub size: u64,
    /// Bytes of the blocks of compressed content, as the inode says; `None` if the content is not compressed.
    pub compressed: Option<u64>,
}

/// A range of content that is stored together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredExtent {
    /// Offset in the content in bytes.
    pub start: u64,
    /// Bytes of content, at least one. Content in blocks has whole blocks, so that the last extent may end after the content.
    pub length: u64,
    pub place: ExtentPlace,
}

/// Where an extent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtentPlace {
    /// Zeros that are not stored.
    Hole,
    /// A part of the packed inode.
    Packed,
    Stored {
        /// Byte of the image, of the metabox, or of the device.
        offset: u64,
        bytes: u64,
        /// Number of the device that a chunk names; 0 for the image, and for a device that only its block numbers name.
        device: u16,
    },
}

impl Image {
    /// Returns the inode with a number of the format. The highest bit of the number is set for an inode in the metabox.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if no image has an inode of this number.
    pub fn inode_of_number(&self, number: u64) -> Result<NodeId, ReadError> {
        node_of(number, SUPERBLOCK_START)
    }

    /// Reads the sizes of an inode.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the inode breaks a rule or does not exist, [`ReadError::Input`].
    pub fn layout(&self, node: NodeId) -> Result<InodeLayout, ReadError> {
        let inode = self.inodes().fields(node)?;
        let is_compressed = matches!(inode.raw.layout, Layout::CompressedFull | Layout::CompressedCompact);
        let blocks = inode.raw.start.saturating_mul(self.superblock().block_size());
        Ok(InodeLayout {
            number: inode.raw.layout as u8,
            inode_bytes: inode.raw.bytes(),
            xattr_bytes: inode.raw.xattr_bytes,
            size: inode.raw.size,
            compressed: is_compressed.then_some(blocks),
        })
    }

    /// Returns the fingerprint of an inode's content; `None` if the inode or the image has no fingerprints.
    ///
    /// # Errors
    /// Errors of [`Image::layout`], and of reading extended attributes.
    pub fn fingerprint(&self, node: NodeId) -> Result<Option<Vec<u8>>, ReadError> {
        let inode = self.inodes().fields(node)?;
        self.attributes().fingerprint(&inode)
    }

    /// Returns the extents of the content of an inode of any type, in order.
    ///
    /// # Errors
    /// Errors of [`Image::layout`]; [`ReadError::Corrupt`] if the start of the index breaks a rule.
    pub fn extents(&self, node: NodeId) -> Result<Extents, ReadError> {
        let place = self.inodes().fields(node)?.place();
        let contents = self.contents();
        let source = match place.layout {
            Layout::Plain | Layout::Inline => ExtentSource::Flat,
            Layout::Chunks => {
                let bits = self.superblock().block_bits;
                ExtentSource::Chunks(Chunks::new(contents.store(), bits, &place)?)
            }
            Layout::CompressedFull | Layout::CompressedCompact => {
                ExtentSource::Compressed(ExtentReader::new(&Arc::new(contents.map(&place)?), 0))
            }
        };
        Ok(Extents { image: self.clone(), place, source, at: 0 })
    }
}

/// The extents of the content of an inode, in order. The iterator ends after the first error.
#[derive(Debug, Clone)]
pub struct Extents {
    image: Image,
    place: DataPlace,
    source: ExtentSource,
    /// Offset of the next extent.
    at: u64,
}

#[derive(Debug, Clone)]
enum ExtentSource {
    Flat,
    Chunks(Chunks),
    Compressed(ExtentReader),
}

impl Extents {
    fn next_extent(&mut self) -> Option<Result<StoredExtent, ReadError>> {
        let start = self.at;
        match &mut self.source {
            ExtentSource::Flat => Some(Ok(self.flat())),
            ExtentSource::Chunks(chunks) => {
                let chunk = chunks.chunk(start);
                Some(chunk.and_then(|(length, chunk)| {
                    let stored = chunk.map(|chunk| self.chunk_place(chunk, length)).transpose()?;
                    Ok(StoredExtent { start, length, place: stored.unwrap_or(ExtentPlace::Hole) })
                }))
            }
            ExtentSource::Compressed(reader) => Some(match reader.next_extent()? {
                Ok(extent) => Ok(StoredExtent {
                    start: extent.start,
                    length: extent.length,
                    place: match extent.kind {
                        ExtentKind::Hole => ExtentPlace::Hole,
                        ExtentKind::Fragment(_) => ExtentPlace::Packed,
                        ExtentKind::Stored(stored) => self.stored(stored.offset, stored.bytes.into()),
                    },
                }),
                Err(Missing { error, .. }) => Err(error),
            }),
        }
    }

    fn flat(&self) -> StoredExtent {
        let DataPlace { layout, end, start, size } = self.place;
        let bits = self.image.superblock().block_bits;
        if start == NOT_STORED {
            return StoredExtent { start: 0, length: size, place: ExtentPlace::Hole };
        }
        let in_blocks = match layout {
            Layout::Inline => blocks_of_inline(size, bits),
            _ => size.next_multiple_of(1 << bits),
        };
        let regions = self.image.contents().store().regions();
        let (length, offset) = match in_blocks {
            _ if self.at >= in_blocks => (size - self.at, end),
            blocks => (blocks, regions.address_of(start, 0)),
        };
        StoredExtent { start: self.at, length, place: self.stored(offset, length) }
    }

    /// Returns the position of bytes at an address.
    fn stored(&self, address: u64, bytes: u64) -> ExtentPlace {
        let regions = self.image.contents().store().regions();
        let offset = if address & METABOX == 0 { regions.offset_of(address) } else { address & !METABOX };
        ExtentPlace::Stored { offset, bytes, device: 0 }
    }

    /// Returns the position of a chunk.
    fn chunk_place(&self, chunk: ChunkStart, bytes: u64) -> Result<ExtentPlace, ReadError> {
        let regions = self.image.contents().store().regions();
        let offset = regions.address_of(chunk.block, 0);
        Ok(match regions.device_of(chunk, self.place.end)? {
            None => self.stored(offset, bytes),
            Some((index, _)) => ExtentPlace::Stored { offset, bytes, device: index as u16 + 1 },
        })
    }
}

impl Iterator for Extents {
    type Item = Result<StoredExtent, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.place.size {
            return None;
        }
        let extent = self.next_extent();
        self.at = match &extent {
            Some(Ok(extent)) => extent.start.saturating_add(extent.length),
            _ => self.place.size,
        };
        extent
    }
}
