//! An image as a volume: clusters of files are own units, clusters of the packed inode are shared units.

use std::sync::Arc;

use packline_engine::CancelToken;
use packline_tree::Xattr;
use packline_volume::{
    CheckScope, ContentPlace, DirEntry, Facts, FileData, Inode, InodeReader, Listing, Node, NodeId, Piece, Pieces,
    ReadError, SharedPlace, SharedVolume, ToVolume, Unit, UnitDecoder, Volume,
};

use super::Image;
use super::data::{DataPlace, address_of, shown_node};
use super::directory::DirListing;
use super::inode::Inodes;
use super::map::window::ReadBytes;
use crate::format::{METABOX, corrupt};

impl ToVolume for Image {
    fn to_volume(&self) -> SharedVolume {
        Arc::new(self.clone())
    }
}

impl InodeReader for Inodes {
    fn inode(&mut self, at: NodeId) -> Result<Inode, ReadError> {
        Inodes::inode(self, at)
    }
}

impl Image {
    fn listing(&self, inode: &Inode) -> Result<DirListing, ReadError> {
        let Node::Directory(directory) = &inode.node else {
            let what = format!("inode {}, a {}", inode.number, inode.node_type());
            return Err(corrupt(address_of(self.superblock(), inode.at), what, "a directory"));
        };
        let place = DataPlace::unpack(directory.place, directory.size);
        Ok(DirListing::new(self.shared_superblock(), self.contents(), place))
    }

    /// Returns the entries of a directory, with `.` and `..` if the directory has them.
    ///
    /// # Errors
    /// Errors of [`Volume::entries`].
    pub fn stored_entries(&self, directory: &Inode) -> Result<Listing, ReadError> {
        Ok(Listing(Box::new(self.listing(directory)?.with_dots())))
    }

    /// Returns the piece of a file with a byte.
    fn piece(&self, place: &DataPlace, at: u64) -> Option<Piece> {
        let mut pieces = self.contents().pieces(place, at);
        loop {
            let start = pieces.offset();
            let piece = pieces.next_piece()?.ok()?;
            if at - start < piece.length() {
                return Some(piece);
            }
        }
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
        Image::inodes(self).inode(at)
    }

    fn inodes(&self) -> Box<dyn InodeReader> {
        Box::new(Image::inodes(self))
    }

    fn offset_of(&self, at: NodeId) -> u64 {
        address_of(self.superblock(), at)
    }

    fn numbered(&self, number: u64) -> Result<Option<NodeId>, ReadError> {
        // Every number is a position. Numbers of more than 32 bits are not offered, as mounts use them for other positions.
        Ok(u32::try_from(number).ok().map(|number| shown_node(self.superblock(), number)))
    }

    fn has_numbers(&self) -> bool {
        true
    }

    fn entries(&self, directory: &Inode) -> Result<Listing, ReadError> {
        Ok(Listing(Box::new(self.listing(directory)?)))
    }

    fn lookup(&self, directory: &Inode, name: &[u8]) -> Result<Option<DirEntry>, ReadError> {
        self.listing(directory)?.find(name)
    }

    fn xattrs(&self, inode: &Inode) -> Result<Vec<Xattr>, ReadError> {
        let Some(node) = inode.xattr else { return Ok(Vec::new()) };
        self.attributes().read(&Image::inodes(self).fields(NodeId(node))?)
    }

    /// Reads the index of compressed files: their inodes do not say where the content is.
    fn content_place(&self, file: &FileData) -> ContentPlace {
        let place = DataPlace::unpack(file.place, file.size);
        let first = if place.size == 0 { None } else { self.piece(&place, 0) };
        if let Some(Piece::Shared { place: tail, length }) = first
            && u64::from(length) == place.size
        {
            return ContentPlace { start: None, blocks: 0, tail: Some(tail) };
        }
        let last = place.size.checked_sub(1).and_then(|last| self.piece(&place, last));
        let tail = match last {
            Some(Piece::Shared { place, .. }) => Some(place),
            _ => None,
        };
        let start = match first {
            Some(Piece::Own { unit, .. }) => unit.offset,
            // Content in several shared units counts as units of the file. Without a position, only `pieces` says why.
            Some(Piece::Shared { place, .. }) => self.shared_unit(place.unit).map_or(0, |unit| unit.offset),
            Some(Piece::Hole { .. }) | None => 0,
        };
        let blocks = place.size.div_ceil(self.known().block_size.into());
        ContentPlace { start: (place.size > 0).then_some(start), blocks, tail }
    }

    /// Only the end of a file is shared.
    fn shared_keys(&self, file: &FileData, note: &mut dyn FnMut(u32)) {
        let place = DataPlace::unpack(file.place, file.size);
        let Some(last) = place.size.checked_sub(1).filter(|_| self.contents().packed().is_some()) else { return };
        let mut pieces = self.contents().pieces(&place, last);
        while let Some(piece) = pieces.next_piece() {
            if let Ok(Piece::Shared { place, .. }) = piece {
                note(place.unit);
            }
        }
    }

    fn pieces(&self, file: &FileData, from: u64) -> Box<dyn Pieces> {
        self.contents().pieces(&DataPlace::unpack(file.place, file.size), from)
    }

    fn shared_unit(&self, key: u32) -> Result<Unit, ReadError> {
        match self.contents().packed() {
            Some(packed) => packed.unit(key),
            None => Err(ReadError::corrupt(0, format!("shared unit {key}"), "none, without a packed inode")),
        }
    }

    fn shared_fault(&self, unit: Unit, place: SharedPlace, length: usize, found: usize) -> ReadError {
        let what = format!("end of a file of {length} bytes at {} of its cluster", place.offset);
        corrupt(unit.offset, what, format!("an end within the {found} bytes of the cluster"))
    }

    fn decoder(&self) -> Result<Box<dyn UnitDecoder>, ReadError> {
        let decoder = match self.check() {
            Some(check) => self.contents().checked_decoder(check),
            None => self.contents().decoder(),
        };
        Ok(Box::new(decoder))
    }

    fn will_read(&self, unit: Unit) {
        // What is in the metabox is metadata.
        if unit.offset & METABOX == 0 {
            self.contents().store().regions().will_read(unit.offset, unit.stored.into());
        }
    }

    fn stored(&self, offset: u64, out: &mut [u8]) -> Result<(), ReadError> {
        self.contents().store().read(offset, out)
    }

    fn checked(&self, scope: CheckScope) -> SharedVolume {
        self.with_check(scope).to_volume()
    }

    fn compare_data(&self, cancel: &CancelToken) -> Result<(), ReadError> {
        let read = |at, buffer: &mut [u8]| self.contents().store().read(at, buffer);
        self.check().map_or(Ok(()), |check| check.compare(&read, cancel))
    }
}
