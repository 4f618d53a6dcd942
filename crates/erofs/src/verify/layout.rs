//! Where the image stores each inode, its attributes and its content. Each extent of an index is checked.

use std::sync::Arc;

use packline_volume::{Missing, NodeType, Piece, ReadError, Report};

use super::space::{Space, Use};
use super::{VerifySettings, check_cancelled};
use crate::format::corrupt;
use crate::format::device::SLOT_BYTES as DEVICE_BYTES;
use crate::format::inode::{Layout, NOT_STORED, SLOT_BYTES};
use crate::format::superblock::{SUPERBLOCK_START, compat, incompat};
use crate::read::Image;
use crate::read::data::{DataPlace, node_of};
use crate::read::flat::blocks_of_inline;
use crate::read::inode::PlacedInode;
use crate::read::map::{Coded, Extent, ExtentKind, ExtentReader, Form, Stored};
use crate::read::record::read_record;

/// Set in the address of a byte of the packed inode. No image has as many bytes.
pub(super) const PACKED: u64 = 1 << 62;

/// Finds the parts of an image.
pub(super) struct Layouts<'l> {
    pub(super) image: &'l Image,
    settings: &'l VerifySettings,
    pub(super) space: Space,
    /// Features of [`incompat`] that something in the image needs.
    pub(super) features: u32,
    /// Size of the packed inode in bytes.
    packed_size: u64,
}

/// An inode and its name in messages.
#[derive(Clone, Copy)]
pub(super) struct NamedInode<'n> {
    pub(super) path: Option<&'n [u8]>,
    pub(super) placed: &'n PlacedInode,
}

impl NamedInode<'_> {
    /// Reports a violated rule.
    pub(super) fn fault(
        &self,
        address: u64,
        what: String,
        expected: impl Into<String>,
        report: &mut Report<'_>,
    ) -> Result<(), ReadError> {
        report.unread(self.path, corrupt(address, what, expected))
    }
}

impl<'l> Layouts<'l> {
    pub(super) fn new(image: &'l Image, space: Space, settings: &'l VerifySettings) -> Layouts<'l> {
        Layouts { image, settings, space, features: 0, packed_size: 0 }
    }

    /// Adds the parts that belong to the image itself.
    pub(super) fn add_image(&mut self, report: &mut Report<'_>) -> Result<(), ReadError> {
        let superblock = self.image.superblock();
        self.space.add(0, self.image.end_of_superblock()?, Use::Plain);
        let devices = u64::from(superblock.devices) * DEVICE_BYTES as u64;
        self.space.add(superblock.device_table, devices, Use::Plain);
        self.add_prefixes();
        self.add_record(report)?;
        for (number, name) in [(superblock.packed, "packed inode"), (superblock.metabox, "metabox inode")] {
            let Some(number) = number else { continue };
            let placed = match self.special(number) {
                Ok(placed) => placed,
                Err(error) => {
                    report.unread(None, error)?;
                    continue;
                }
            };
            if placed.raw.kind != NodeType::File {
                report.fault(placed.address, format!("{name} that is a {}", placed.raw.kind), "a regular file");
            }
            if Some(number) == superblock.packed {
                self.packed_size = placed.raw.size;
            } else {
                self.features |= incompat::METABOX;
            }
            self.add_inode(NamedInode { path: None, placed: &placed }, report)?;
        }
        Ok(())
    }

    fn special(&self, number: u64) -> Result<PlacedInode, ReadError> {
        self.image.inodes().fields(node_of(number, SUPERBLOCK_START)?)
    }

    /// Adds the record at the end, and the lengths and the text before it.
    fn add_record(&mut self, report: &mut Report<'_>) -> Result<(), ReadError> {
        match read_record(self.image) {
            Ok(Some(placed)) => {
                let bytes = placed.bytes();
                self.space.add(bytes.start, bytes.end - bytes.start, Use::Plain);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) => report.unread(None, error),
        }
    }

    /// Adds the long prefixes of attribute names.
    fn add_prefixes(&mut self) {
        let superblock = self.image.superblock();
        let area = match superblock.packed {
            _ if superblock.has_compatible(compat::PLAIN_XATTR_PREFIXES) => 0,
            _ if superblock.metabox.is_some() => crate::format::METABOX,
            Some(_) => PACKED,
            None => 0,
        };
        self.space.add(area | superblock.xattr_prefix_start, self.image.prefix_bytes(), Use::Plain);
    }

    /// Adds the parts of an inode.
    pub(super) fn add_inode(&mut self, inode: NamedInode<'_>, report: &mut Report<'_>) -> Result<(), ReadError> {
        let placed = inode.placed;
        let has_content = matches!(placed.raw.kind, NodeType::Directory | NodeType::File | NodeType::Symlink);
        let place = placed.place();
        let end = if has_content && place.size > 0 { self.add_content(inode, &place, report)? } else { place.end };
        let end = end.checked_next_multiple_of(SLOT_BYTES as u64).unwrap_or(end);
        self.space.add(placed.address, end.saturating_sub(placed.address), Use::Plain);
        // Unreadable attributes are reported where they are checked.
        for place in self.image.attributes().places(placed).unwrap_or_default() {
            if place.is_shared {
                self.space.add(place.at, place.header.bytes(), Use::Plain);
            }
        }
        Ok(())
    }

    /// Adds the parts of content. Returns the end of what follows the inode.
    fn add_content(
        &mut self,
        inode: NamedInode<'_>,
        place: &DataPlace,
        report: &mut Report<'_>,
    ) -> Result<u64, ReadError> {
        let block_bits = self.image.superblock().block_bits;
        match place.layout {
            Layout::Plain | Layout::Inline => {
                let is_inline = place.layout == Layout::Inline;
                let in_blocks = if is_inline { blocks_of_inline(place.size, block_bits) } else { place.size };
                if place.start != NOT_STORED {
                    let start = self.image.contents().store().regions().address_of(place.start, 0);
                    self.space.add(start, in_blocks, Use::Plain);
                }
                Ok(place.end.saturating_add(place.size - in_blocks))
            }
            Layout::Chunks => {
                // mkfs.erofs 1.9.3 sets only the other feature for an index of a tar.
                let has_devices = self.image.superblock().has(incompat::DEVICES);
                self.features |= if has_devices { 0 } else { incompat::CHUNKS };
                self.add_chunks(place)
            }
            Layout::CompressedFull | Layout::CompressedCompact => self.add_extents(inode, place, report),
        }
    }

    /// Adds the parts of chunks. Chunks that cannot be read are reported with the content.
    fn add_chunks(&mut self, place: &DataPlace) -> Result<u64, ReadError> {
        let mut pieces = self.image.contents().pieces(place, 0);
        while let Some(piece) = pieces.next_piece() {
            check_cancelled(self.settings)?;
            if let Ok(Piece::Own { unit, .. }) = piece {
                self.space.add(unit.offset, unit.stored.into(), Use::Plain);
            }
        }
        let entries = crate::read::chunks::entries(place, self.image.superblock().block_bits);
        Ok(entries.map_or(place.end, |entries| entries.end))
    }

    fn add_extents(
        &mut self,
        inode: NamedInode<'_>,
        place: &DataPlace,
        report: &mut Report<'_>,
    ) -> Result<u64, ReadError> {
        let map = match self.image.contents().map(place) {
            Ok(map) => Arc::new(map),
            Err(error) => {
                report.unread(inode.path, error)?;
                return Ok(place.end);
            }
        };
        self.features |= map.features();
        let index_end = map.end();
        let mut end = index_end;
        let mut reader = ExtentReader::new(&map, 0);
        while let Some(extent) = reader.next_extent() {
            check_cancelled(self.settings)?;
            match extent {
                // Reading the content reports it.
                Err(Missing { .. }) => {}
                Ok(Extent { kind: ExtentKind::Stored(stored), .. }) if stored.offset == index_end => {
                    end = index_end + u64::from(stored.bytes);
                }
                Ok(extent) => self.add_extent(inode, &extent, report)?,
            }
        }
        Ok(end)
    }

    fn add_extent(&mut self, inode: NamedInode<'_>, extent: &Extent, report: &mut Report<'_>) -> Result<(), ReadError> {
        match extent.kind {
            ExtentKind::Hole => Ok(()),
            ExtentKind::Fragment(start) => {
                self.space.add(PACKED | start.min(PACKED - 1), extent.length, Use::Plain);
                let end = start.saturating_add(extent.length);
                if end <= self.packed_size {
                    return Ok(());
                }
                let what = format!("end of a file from {start} to {end} of the packed inode");
                let expected = format!("an end within its {} bytes", self.packed_size);
                inode.fault(extent.entry, what, expected, report)
            }
            ExtentKind::Stored(Stored { offset, bytes, form: Form::Coded(coded) }) => {
                let Coded { algorithm, is_partial } = coded;
                report.totals.blocks += 1;
                self.space.add(offset, bytes.into(), Use::Cluster(algorithm));
                if u64::from(bytes) <= extent.length || is_partial {
                    return Ok(());
                }
                let what = format!("extent of {} bytes, compressed to {bytes}", extent.length);
                inode.fault(extent.entry, what, "compressed bytes that are not more than the content", report)
            }
            ExtentKind::Stored(Stored { offset, bytes, .. }) => {
                self.space.add(offset, bytes.into(), Use::Plain);
                Ok(())
            }
        }
    }
}
