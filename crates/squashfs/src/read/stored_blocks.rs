//! Lists all compressed blocks of an image, of data and of metadata.

use packline_engine::CancelToken;
use packline_runtime::unless_cancelled;

use super::inode::each_inode;
use super::metadata::Area;
use super::{FileData, Image, Layout, Node, ReadError};
use crate::format::wire::STORED;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredKind {
    /// A block of a file.
    Data,
    /// A fragment block.
    Fragment,
    /// A metadata block, with its header of two bytes.
    Metadata,
}

/// A compressed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredBlock {
    pub kind: StoredKind,
    /// Offset in the image in bytes.
    pub offset: u64,
    /// Bytes stored; for a metadata block, with its header.
    pub stored: u32,
    /// Length of the decoded bytes, without a header. For a fragment block, the end of its last tail end: the block may have more bytes.
    pub length: u32,
}

impl Image {
    /// Calls `visit` with each compressed block that the tables lead to: the blocks of each inode in the table, then each fragment block, then
    /// the blocks of all tables. Blocks that several files share are visited for each file, and blocks of a hostile image may overlap. A block
    /// list or a table ends at its first fault. No data block is read.
    ///
    /// # Errors
    /// [`ReadError::Unsupported`] for more than `fragments_most` fragment blocks, and if the image is not [current](Image::is_current);
    /// [`ReadError::Input`], [`ReadError::Work`].
    pub fn each_stored_block(
        &self,
        fragments_most: u32,
        cancel: &CancelToken,
        visit: &mut dyn FnMut(StoredBlock),
    ) -> Result<(), ReadError> {
        if !self.is_current() {
            let what = format!("blocks of {}", self.layout());
            return Err(ReadError::unsupported(what, Layout::CURRENT.to_string()));
        }
        let fragments = self.superblock().fragments;
        if fragments > fragments_most {
            let what = format!("an image of {fragments} fragment blocks");
            return Err(ReadError::unsupported(what, format!("at most {fragments_most}")));
        }
        let mut ends = vec![0; fragments as usize];
        let read = each_inode(self, cancel, |inode, _| {
            let Node::File(file) = &inode.node else { return };
            self.visit_blocks(file, cancel, visit);
            if let Some(tail) = file.tail {
                let length = (file.size % u64::from(self.superblock().block_size)) as u32;
                if let Some(end) = ends.get_mut(tail.fragment as usize) {
                    *end = tail.offset.saturating_add(length).max(*end);
                }
            }
        });
        sound(read)?;
        self.visit_fragments(&ends, cancel, visit)?;
        self.visit_metadata(cancel, visit)
    }

    fn visit_blocks(&self, file: &FileData, cancel: &CancelToken, visit: &mut dyn FnMut(StoredBlock)) {
        for block in self.blocks(file).map_while(|block| block.ok().filter(|_| !cancel.is_cancelled())) {
            if let Some(place) = block.place.filter(|place| place.compressed) {
                let offset = place.offset;
                let stored = place.stored;
                let length = block.length;
                visit(StoredBlock { kind: StoredKind::Data, offset, stored, length });
            }
        }
    }

    fn visit_fragments(
        &self,
        ends: &[u32],
        cancel: &CancelToken,
        visit: &mut dyn FnMut(StoredBlock),
    ) -> Result<(), ReadError> {
        for (index, &length) in (0..).zip(ends) {
            check(cancel)?;
            match self.fragment(index) {
                Ok(place) if place.compressed => {
                    let offset = place.offset;
                    let stored = place.stored;
                    visit(StoredBlock { kind: StoredKind::Fragment, offset, stored, length });
                }
                found => sound(found.map(drop))?,
            }
        }
        Ok(())
    }

    fn visit_metadata(&self, cancel: &CancelToken, visit: &mut dyn FnMut(StoredBlock)) -> Result<(), ReadError> {
        let tables = self.tables();
        let indexed = [tables.fragments.as_ref(), tables.exports.as_ref(), tables.ids.as_ref()];
        let mut areas = vec![tables.inodes, tables.directories];
        areas.extend(indexed.into_iter().flatten().map(|table| table.area));
        areas.extend(tables.xattrs.iter().flat_map(|xattrs| [xattrs.values, xattrs.sets.area]));
        areas.into_iter().try_for_each(|area| sound(self.visit_table(area, cancel, visit)))
    }

    fn visit_table(
        &self,
        area: Area,
        cancel: &CancelToken,
        visit: &mut dyn FnMut(StoredBlock),
    ) -> Result<(), ReadError> {
        let mut offset = area.start;
        while offset < area.end {
            check(cancel)?;
            let block = self.store().block(&area, offset)?;
            let mut header = [0; 2];
            self.store().read(offset, &mut header)?;
            if u16::from_le_bytes(header) & STORED == 0 {
                let stored = (block.next - offset) as u32;
                let length = block.bytes.len() as u32;
                visit(StoredBlock { kind: StoredKind::Metadata, offset, stored, length });
            }
            offset = block.next;
        }
        Ok(())
    }
}

fn check(cancel: &CancelToken) -> Result<(), ReadError> {
    Ok(unless_cancelled(cancel)?)
}

/// Ignores faults of the image.
fn sound(read: Result<(), ReadError>) -> Result<(), ReadError> {
    match read {
        Err(ReadError::Corrupt { .. }) => Ok(()),
        read => read,
    }
}
