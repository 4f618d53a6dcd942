//! Implements the volume interface for an image; everything above this crate reads an image through it.

use std::sync::Arc;

use packline_engine::CancelToken;
use packline_tree::Xattr;
use packline_volume::{
    CheckScope, ContentPlace, DirEntry, Facts, FileData, Inode, InodeReader, Listing, Node, NodeId, Pieces, ReadError,
    SharedPlace, SharedVolume, ToVolume, Unit, UnitDecoder, Volume,
};

use super::block::FilePieces;
use super::metadata::Cursor;
use super::{BlockDecoder, DirData, Image};

impl ToVolume for Image {
    fn to_volume(&self) -> SharedVolume {
        Arc::new(self.clone())
    }
}

impl Image {
    fn directory_of(&self, inode: &Inode) -> Result<DirData, ReadError> {
        match &inode.node {
            Node::Directory(directory) => Ok(DirData::of(directory)),
            _ => {
                let what = format!("inode {}, a {}", inode.number, inode.node_type());
                Err(ReadError::corrupt(self.offset_of(inode.at), what, "a directory"))
            }
        }
    }
}

/// Reads inodes with one cursor, because neighbours are in the same metadata block.
#[derive(Debug)]
struct TableReader {
    image: Image,
    cursor: Cursor,
}

impl InodeReader for TableReader {
    fn inode(&mut self, at: NodeId) -> Result<Inode, ReadError> {
        self.image.inode_with(&mut self.cursor, at).map(Inode::from)
    }
}

impl Volume for Image {
    fn facts(&self) -> &Facts {
        self.known()
    }

    fn root(&self) -> NodeId {
        Image::root(self)
    }

    fn inode(&self, at: NodeId) -> Result<Inode, ReadError> {
        Image::inode(self, at).map(Inode::from)
    }

    fn inodes(&self) -> Box<dyn InodeReader> {
        let cursor = self.inode_cursor(self.tables().inodes.place(Image::root(self).0));
        Box::new(TableReader { image: self.clone(), cursor })
    }

    fn offset_of(&self, at: NodeId) -> u64 {
        self.tables().inodes.place(at.0).block
    }

    fn numbered(&self, number: u64) -> Result<Option<NodeId>, ReadError> {
        // No inode has the number 0.
        self.export(u32::try_from(number).unwrap_or(0))
    }

    fn has_numbers(&self) -> bool {
        self.has_exports()
    }

    fn entries(&self, directory: &Inode) -> Result<Listing, ReadError> {
        let directory = self.directory_of(directory)?;
        Ok(Listing(Box::new(self.listing(&directory))))
    }

    fn lookup(&self, directory: &Inode, name: &[u8]) -> Result<Option<DirEntry>, ReadError> {
        self.lookup_in(&self.directory_of(directory)?, name)
    }

    fn xattrs(&self, inode: &Inode) -> Result<Vec<Xattr>, ReadError> {
        self.xattr_set(inode.xattr.map(|index| index as u32))
    }

    fn content_place(&self, file: &FileData) -> ContentPlace {
        let file = super::FileData::of(file);
        let tail = file.tail.map(|tail| SharedPlace { unit: tail.fragment, offset: tail.offset });
        ContentPlace { start: (file.blocks > 0).then_some(file.start), blocks: file.blocks, tail }
    }

    fn pieces(&self, file: &FileData, from: u64) -> Box<dyn Pieces> {
        Box::new(FilePieces::new(self, &super::FileData::of(file), from))
    }

    fn shared_unit(&self, key: u32) -> Result<Unit, ReadError> {
        Ok(self.fragment(key)?.unit(self.known().largest_unit))
    }

    fn shared_fault(&self, unit: Unit, place: SharedPlace, length: usize, found: usize) -> ReadError {
        let SharedPlace { unit: fragment, offset } = place;
        let what = format!("tail end of {length} bytes at {offset} of fragment block {fragment}");
        ReadError::corrupt(unit.offset, what, format!("an end within the {found} bytes of the block"))
    }

    fn decoder(&self) -> Result<Box<dyn UnitDecoder>, ReadError> {
        Ok(Box::new(BlockDecoder::new(self)?))
    }

    fn will_read(&self, unit: Unit) {
        self.store().will_read(unit.offset, unit.stored.into());
    }

    fn stored(&self, offset: u64, out: &mut [u8]) -> Result<(), ReadError> {
        self.store().read(offset, out)
    }

    fn checked(&self, scope: CheckScope) -> SharedVolume {
        Arc::new(Image::checked(self, scope))
    }

    fn compare_data(&self, cancel: &CancelToken) -> Result<(), ReadError> {
        Image::compare_data(self, cancel)
    }
}
