//! The bytes of an image that are not contents of regular files.

use std::ops::Range;

use packline_erofs::read::PartsReader;
use packline_volume::{Inode, Node, Piece, Pieces, ReadError, Unit};

use super::sweep::{Extent, Party};
use crate::FileSystem;

/// Number of extents from which they are joined.
const MANY: usize = 64 << 10;
/// Maximum number of pieces of the metabox.
const METABOX_PIECES: u64 = 16 << 20;

/// The extents of all structures.
#[derive(Debug)]
pub(super) struct Metadata {
    names: Vec<&'static str>,
    extents: Vec<Extent>,
    /// Number of extents from which they are joined.
    join_from: usize,
    /// Keys of the shared units that have parts of a structure, and the structure's name.
    units: Vec<(u32, &'static str)>,
    /// Reads the parts of entries. The entries of a SquashFS image are in its tables.
    erofs: Option<PartsReader>,
}

impl Metadata {
    /// Returns the parts that belong to the image itself, and not to an entry.
    pub(super) fn of(file_system: &FileSystem) -> Result<Metadata, ReadError> {
        let mut metadata =
            Metadata { names: Vec::new(), extents: Vec::new(), join_from: MANY, units: Vec::new(), erofs: None };
        match file_system {
            FileSystem::SquashFs(image) => {
                for table in image.table_places() {
                    if table.name == "data" {
                        // The options of the codec precede the data.
                        metadata.add("superblock", 0..image.data_start());
                    } else {
                        metadata.add(table.name, table.start..table.end);
                    }
                }
            }
            FileSystem::Erofs(image) => {
                for part in image.image_parts()? {
                    metadata.add(part.name, part.bytes);
                }
                let mut reader = image.parts_reader();
                for node in image.special_nodes() {
                    if let Ok(parts) = reader.parts(node) {
                        metadata.add("inodes", parts.inode);
                    }
                }
                if let Some(pieces) = image.metabox_node().and_then(|node| reader.content(node).ok()) {
                    let mut left = METABOX_PIECES;
                    metadata.add_pieces("metabox", pieces, &mut left);
                }
                metadata.erofs = Some(reader);
            }
        }
        Ok(metadata)
    }

    /// Adds the parts of an entry, and takes the number of its pieces from `left`. Parts that cannot be read are left out.
    pub(super) fn add_entry(&mut self, inode: &Inode, left: &mut u64) {
        let Some(reader) = &mut self.erofs else { return };
        let Ok(parts) = reader.parts(inode.at) else { return };
        let name = match inode.node {
            Node::Directory(_) => Some("directories"),
            Node::Symlink(_) => Some("symbolic links"),
            _ => None,
        };
        let content = name.and_then(|name| Some((name, reader.content(inode.at).ok()?)));
        self.add("inodes", parts.inode);
        for range in parts.shared_xattrs {
            self.add("shared xattrs", range);
        }
        if let Some((name, pieces)) = content {
            self.add_pieces(name, pieces, left);
        }
    }

    fn add_pieces(&mut self, name: &'static str, mut pieces: Box<dyn Pieces>, left: &mut u64) {
        while *left > 0
            && let Some(piece) = pieces.next_piece()
        {
            *left -= 1;
            match piece {
                Ok(Piece::Own { unit, .. }) => self.add_unit(name, &unit),
                Ok(Piece::Shared { place, .. }) if self.units.last() != Some(&(place.unit, name)) => {
                    self.units.push((place.unit, name));
                }
                _ => {}
            }
        }
    }

    /// Returns the shared units that have parts of a structure, each once, and forgets them.
    pub(super) fn take_units(&mut self) -> Vec<(u32, &'static str)> {
        let mut units = std::mem::take(&mut self.units);
        units.sort_unstable();
        units.dedup();
        units
    }

    /// Adds the stored bytes of a unit to a structure.
    pub(super) fn add_unit(&mut self, name: &'static str, unit: &Unit) {
        self.add(name, unit.offset..unit.offset.saturating_add(unit.stored.into()));
    }

    fn add(&mut self, name: &'static str, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let known = self.names.iter().position(|known| *known == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        if self.extents.len() >= self.join_from {
            self.join();
        }
        self.extents.push(Extent { start: range.start, end: range.end, party: Party::Metadata(number as u16) });
    }

    /// Joins extents of one structure that overlap or touch.
    fn join(&mut self) {
        self.extents.sort_unstable_by_key(|extent| (extent.party, extent.start, extent.end));
        self.extents.dedup_by(|extent, before| {
            let joins = extent.party == before.party && extent.start <= before.end;
            if joins {
                before.end = before.end.max(extent.end);
            }
            joins
        });
        self.join_from = (2 * self.extents.len()).max(MANY);
    }

    /// Returns the names of the structures and their extents, of which those of one structure do not overlap.
    pub(super) fn finish(mut self) -> (Vec<&'static str>, Vec<Extent>) {
        self.join();
        (self.names, self.extents)
    }
}
