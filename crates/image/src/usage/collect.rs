//! Finds the stored bytes that each entry of an image uses.

use std::ops::Range;

use hashbrown::HashTable;
use packline_volume::{Inode, Node, NodeType, Piece, ReadError, Visit, Walk, spread};

use super::fixed::Fixed;
use super::metadata::Metadata;
use super::sweep::{Extent, Party, covered, join, sweep};
use super::tree::{NewEntry, Tree};
use super::{Structure, Usage};
use crate::{Error, OpenedImage};

/// Maximum number of entries.
const MOST_ENTRIES: u64 = 32 << 20;
/// Bytes of memory of one entry with its name and its extents.
const ENTRY_BYTES: u64 = 192;
/// Minimum number of pieces that are examined. Inodes of a hostile image may share one index.
const MOST_PIECES: u64 = 64 << 20;
/// Bytes of an image for which there may be four pieces more.
const PIECE_BYTES: u64 = 4096;
/// Maximum number of faults that are kept.
const FAULTS: usize = 100;

/// Finds the entries and their extents.
pub(super) struct Collector<'i> {
    image: &'i OpenedImage,
    tree: Tree,
    metadata: Metadata,
    /// Bytes of the image that files use.
    stored: Vec<Extent>,
    /// Bytes of the contents of shared units that files use, at [`unit_start`].
    contents: Vec<Extent>,
    /// The directories above the last entry, the root first.
    above: Vec<u32>,
    /// First names of files with several names.
    linked: HashTable<u32>,
    /// Number of pieces that may still be examined.
    pieces_left: u64,
    faults: Vec<Error>,
    /// Ranges of one file, in the image and in shared units.
    ranges: [Vec<Range<u64>>; 2],
}

/// Returns the maximum number of pieces that are examined.
fn most_pieces(image: &OpenedImage) -> u64 {
    MOST_PIECES.max(image.volume.facts().bytes / PIECE_BYTES * 4)
}

/// Returns the address of the content of a shared unit.
fn unit_start(unit: u32) -> u64 {
    u64::from(unit) << 32
}

impl<'i> Collector<'i> {
    pub(super) fn new(image: &'i OpenedImage) -> Result<Collector<'i>, Error> {
        let metadata = Metadata::of(&image.file_system).map_err(|cause| image.fault(cause))?;
        let pieces_left = most_pieces(image);
        Ok(Collector {
            image,
            tree: Tree::default(),
            metadata,
            stored: Vec::new(),
            contents: Vec::new(),
            above: Vec::new(),
            linked: HashTable::new(),
            pieces_left,
            faults: Vec::new(),
            ranges: Default::default(),
        })
    }

    /// Visits all entries. `memory`: bytes that the entries may take.
    pub(super) fn collect(&mut self, memory: Option<u64>) -> Result<(), Error> {
        let most = memory.map_or(MOST_ENTRIES, |memory| (memory / ENTRY_BYTES).min(MOST_ENTRIES));
        for visit in Walk::new(&self.image.volume, self.image.volume.root(), Vec::new()) {
            match visit {
                Ok(visit) => self.visit(&visit)?,
                Err((path, cause)) => self.fault(&path, cause),
            }
            if self.tree.len() as u64 > most {
                return Err(self.too_many(most, "entries"));
            }
        }
        Ok(())
    }

    fn too_many(&self, most: u64, what: &str) -> Error {
        let found = format!("an image of more than {most} {what}");
        self.image.fault(ReadError::unsupported(found, format!("at most {most}")))
    }

    fn fault(&mut self, path: &[u8], cause: ReadError) {
        if self.faults.len() < FAULTS {
            self.faults.push(self.image.fault_at(path, cause));
        }
    }

    fn visit(&mut self, visit: &Visit) -> Result<(), Error> {
        let Visit { path, inode } = visit;
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let depth = if path.is_empty() { 0 } else { path.iter().filter(|byte| **byte == b'/').count() + 1 };
        self.above.truncate(depth);
        let kind = inode.node_type();
        let parent = self.above.last().copied().unwrap_or(0);
        let is_link = kind != NodeType::Directory && inode.links > 1 && self.is_known(inode);
        let size = match &inode.node {
            Node::File(file) if !is_link => file.size,
            _ => 0,
        };
        let entry = NewEntry { parent, name, id: inode.at, kind, size, is_link };
        let Some(number) = self.tree.add(entry) else {
            return Err(self.too_many(u32::MAX.into(), "entries or letters"));
        };
        if kind == NodeType::Directory {
            self.above.push(number);
        } else if inode.links > 1 && !is_link {
            let hash = |number: &u32| self.tree.id(*number).map_or(0, |id| spread(id.0));
            self.linked.insert_unique(spread(inode.at.0), number, hash);
        }
        if is_link {
            return Ok(());
        }
        self.metadata.add_entry(inode, &mut self.pieces_left);
        self.add_content(path, inode, number);
        if self.pieces_left == 0 {
            return Err(self.too_many(most_pieces(self.image), "pieces of files"));
        }
        Ok(())
    }

    fn is_known(&self, inode: &Inode) -> bool {
        self.linked.find(spread(inode.at.0), |number| self.tree.id(*number) == Some(inode.at)).is_some()
    }

    /// Adds the extents of a regular file.
    fn add_content(&mut self, path: &[u8], inode: &Inode, number: u32) {
        let Node::File(file) = &inode.node else { return };
        let mut pieces = self.image.volume.pieces(file, 0);
        let mut signature = 0;
        while self.pieces_left > 0
            && let Some(piece) = pieces.next_piece()
        {
            self.pieces_left -= 1;
            let words = match piece {
                Ok(Piece::Own { unit, start, length }) => {
                    self.ranges[0].push(unit.offset..unit.offset.saturating_add(unit.stored.into()));
                    [unit.offset, u64::from(start), u64::from(length)]
                }
                Ok(Piece::Shared { place, length }) => {
                    let start = unit_start(place.unit) + u64::from(place.offset);
                    // Ranges of two units do not touch.
                    let end = (start + u64::from(length)).min(unit_start(place.unit) + u64::from(u32::MAX));
                    self.ranges[1].push(start..end);
                    [u64::MAX, start, end]
                }
                Ok(Piece::Hole { length }) => [0, 0, length],
                Err(missing) => {
                    self.fault(path, missing.error);
                    [0, 1, missing.length]
                }
            };
            signature = words.into_iter().fold(signature, |sum: u64, word| spread(sum.rotate_left(7) ^ word));
        }
        self.tree.sign(number, signature);
        let party = Party::File(number);
        for (ranges, extents) in self.ranges.iter_mut().zip([&mut self.stored, &mut self.contents]) {
            join(ranges);
            let ranges = ranges.drain(..).filter(|range| !range.is_empty());
            extents.extend(ranges.map(|range| Extent { start: range.start, end: range.end, party }));
        }
    }

    /// Divides all bytes of the file that has the image.
    pub(super) fn finish(mut self) -> Usage {
        let facts = self.image.volume.facts();
        let origin = facts.origin;
        let image_end = facts.bytes;
        let end = self.image.bytes_with_rest().max(image_end);
        self.contents.sort_unstable();
        self.add_units();
        self.add_units_of_metadata();
        let (names, extents) = self.metadata.finish();
        self.stored.extend(extents);
        self.stored.sort_unstable();
        let mut units = Vec::new();
        let tree = &mut self.tree;
        let structures = names.len();
        let swept = sweep(&self.stored, 0..end, structures, &mut |used| match used.party {
            Party::File(number) => tree.charge(number, (Fixed::whole(used.own), used.share), used.shared, used.parties),
            Party::Unit(unit) => units.push((unit, Fixed::whole(used.own).plus(used.share))),
            Party::Metadata(_) => {}
        });
        let after = unused(&self.stored, image_end.min(end)..end);
        drop(self.stored);
        units.sort_unstable();
        divide_units(&units, &self.contents, tree);
        tree.finish(swept.used);
        let parts = names.into_iter().zip(&swept.metadata);
        let mut metadata: Vec<Structure> = parts.map(|(name, bytes)| Structure::metadata(name, *bytes)).collect();
        metadata.push(Structure::other("before the image", origin));
        metadata.push(Structure::other("padding and gaps", swept.unused - after));
        metadata.push(Structure::other("after the image", after));
        metadata.retain(|structure| structure.bytes > 0);
        Usage { tree: self.tree, metadata, total: origin.saturating_add(end), faults: self.faults }
    }

    /// Adds the stored bytes of the shared units that files use.
    fn add_units(&mut self) {
        let mut last = None;
        for index in 0..self.contents.len() {
            let unit = (self.contents[index].start >> 32) as u32;
            if last == Some(unit) {
                continue;
            }
            last = Some(unit);
            match self.image.volume.shared_unit(unit) {
                Ok(place) => {
                    let end = place.offset.saturating_add(place.stored.into());
                    self.stored.push(Extent { start: place.offset, end, party: Party::Unit(unit) });
                }
                Err(cause) => self.fault(b"", cause),
            }
        }
    }

    /// Adds the stored bytes of shared units that only structures use, such as compressed directories. Units that files use, too, belong to the files.
    fn add_units_of_metadata(&mut self) {
        for (unit, name) in self.metadata.take_units() {
            let first = self.contents.partition_point(|extent| extent.start < unit_start(unit));
            let is_of_files = self.contents.get(first).is_some_and(|extent| (extent.start >> 32) as u32 == unit);
            if !is_of_files && let Ok(place) = self.image.volume.shared_unit(unit) {
                self.metadata.add_unit(name, &place);
            }
        }
    }
}

/// Divides the stored bytes of each shared unit among files, in proportion to the content that they use. `units` and `contents` are sorted.
fn divide_units(units: &[(u32, Fixed)], contents: &[Extent], tree: &mut Tree) {
    let mut rest = contents;
    for &(unit, stored) in units {
        let start = rest.partition_point(|extent| extent.start < unit_start(unit));
        rest = &rest[start..];
        let count = rest.partition_point(|extent| (extent.start >> 32) as u32 == unit);
        let (extents, after) = rest.split_at(count);
        rest = after;
        let all = covered(extents);
        let range = unit_start(unit)..unit_start(unit) + u64::from(u32::MAX);
        sweep(extents, range, 0, &mut |used| {
            if let Party::File(number) = used.party {
                let part = |content: Fixed| stored.portion(content, all);
                let full = part(Fixed::whole(used.shared)).floor();
                tree.charge(number, (part(Fixed::whole(used.own)), part(used.share)), full, used.parties);
            }
        });
    }
}

/// Returns the number of bytes of `range` that no extent has.
fn unused(extents: &[Extent], range: Range<u64>) -> u64 {
    let inside = extents.iter().filter(|extent| extent.end > range.start);
    let inside: Vec<Extent> = inside.map(|extent| Extent { start: extent.start.max(range.start), ..*extent }).collect();
    (range.end - range.start).saturating_sub(covered(&inside))
}
