//! The map of a compressed file: where each extent of it is stored.
//!
//! A file has an index of logical clusters (`clusters.rs`) or encoded extents (`records.rs`), or all of it is in the packed inode. A lookup reads a
//! bounded number of entries. An [`ExtentReader`] reads each entry about once.

mod clusters;
mod extent;
mod records;
#[cfg(test)]
mod tests;
pub(crate) mod window;

use std::sync::{Arc, Mutex, PoisonError};

use packline_runtime::TaskError;
use packline_volume::{Missing, Piece, ReadError, Unit};

use super::packed::Packed;
use crate::format::algorithms::Algorithms;
use crate::format::corrupt;
use crate::format::map_header::{HEADER_BYTES, MapHeader};
use crate::format::superblock::incompat;
use clusters::{Clusters, Found};
pub(crate) use extent::{Coded, Extent, ExtentKind, Form, Stored};
use records::{RecordPlace, Records};
use window::{ReadBytes, Window};

/// Properties of an image that its maps need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapImage {
    /// Logarithm of the block size in bytes.
    pub(crate) block_bits: u8,
    pub(crate) algorithms: Algorithms,
    /// First address after all stored bytes.
    pub(crate) end: u64,
    /// Whether a compressed cluster ends at the end of its stored bytes, after zeros.
    pub(crate) zero_padding: bool,
}

/// Properties of an inode that its map needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapInode {
    /// Whether the inode's layout is the compact index.
    pub(crate) compact: bool,
    /// Size of the file in bytes.
    pub(crate) size: u64,
    /// Address of the first byte after the inode and its extended attributes.
    pub(crate) end: u64,
}

/// The map of a compressed file. Any thread may read.
#[derive(Debug)]
pub(crate) struct Map {
    image: MapImage,
    size: u64,
    /// Address of the map header.
    start: u64,
    shape: Shape,
    recent: Mutex<Recent>,
}

#[derive(Debug)]
enum Shape {
    Empty,
    /// All of the file is at an offset of the packed inode.
    Fragment(u64),
    Clusters(Clusters),
    Records(Records),
}

/// What the last lookup found.
#[derive(Debug)]
struct Recent {
    window: Window,
    extent: Option<Extent>,
}

/// A place between two extents.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The file is one extent.
    Whole,
    Cluster(Found),
    Record(RecordPlace),
}

/// An extent, and the place after it; `None` at the end of the file.
struct Step {
    start: u64,
    end: u64,
    /// The extent, or why it has no content.
    extent: Result<Extent, ReadError>,
    next: Option<Place>,
}

impl Map {
    /// # Errors
    /// [`ReadError::Corrupt`] if the header or the end of the index is malformed; errors of reading them.
    pub(crate) fn open(input: Arc<dyn ReadBytes>, image: &MapImage, inode: MapInode) -> Result<Map, ReadError> {
        let mut window = Window::new(&input);
        let start = inode.end.next_multiple_of(HEADER_BYTES as u64);
        let shape = if inode.size == 0 { Shape::Empty } else { Shape::open(image, inode, start, &mut window)? };
        let recent = Mutex::new(Recent { window, extent: None });
        Ok(Map { image: *image, size: inode.size, start, shape, recent })
    }

    /// Returns the address of the map header, for messages.
    pub(crate) fn address(&self) -> u64 {
        self.start
    }

    /// Returns the block size in bytes.
    pub(crate) fn block(&self) -> u64 {
        1 << self.image.block_bits
    }

    /// Returns the address of the first byte after the index.
    pub(crate) fn end(&self) -> u64 {
        match &self.shape {
            Shape::Empty => self.start,
            Shape::Fragment(_) => self.start + HEADER_BYTES as u64,
            Shape::Clusters(clusters) => clusters.end(),
            Shape::Records(records) => records.end(),
        }
    }

    /// Returns the features of [`incompat`](crate::format::superblock::incompat) that the image must have.
    pub(crate) fn features(&self) -> u32 {
        match &self.shape {
            Shape::Empty => 0,
            Shape::Fragment(_) => incompat::FRAGMENTS,
            Shape::Clusters(clusters) => clusters.features(),
            Shape::Records(records) => records.features(),
        }
    }

    /// Returns the extent with a byte of the file.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the file is shorter, or its index breaks a rule there; errors of reading the index.
    pub(crate) fn extent_at(&self, offset: u64) -> Result<Extent, ReadError> {
        if offset >= self.size {
            let what = format!("byte {offset} of a file of {} bytes", self.size);
            return Err(corrupt(self.start, what, "an offset in the file"));
        }
        self.lookup(|extent| extent.contains(offset), |window| self.place_at(window, offset), offset)
    }

    /// Returns the compressed extent with a key, as [`Extent::key`] has it.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if there is no such extent, or it breaks a rule; errors of reading the index.
    pub(crate) fn extent_of_key(&self, key: u64) -> Result<Extent, ReadError> {
        let place = |window: &mut Window| -> Result<Place, ReadError> {
            match &self.shape {
                Shape::Clusters(clusters) if key < clusters.count() => {
                    Ok(Place::Cluster(clusters.start_in(window, key)?))
                }
                Shape::Records(records) => Ok(Place::Record(records.place_of(window, key)?)),
                _ => Err(corrupt(self.start, format!("shared unit {key}"), "the number of a cluster")),
            }
        };
        let is_it = |extent: &Extent| extent.key == key && extent.unit().is_some();
        let extent = self.lookup(is_it, place, 0)?;
        if extent.unit().is_some() {
            return Ok(extent);
        }
        Err(corrupt(extent.entry, format!("shared unit {key}"), "a compressed cluster"))
    }

    /// Returns the extent at a place, or the recent one if it is the wanted one. `least`: a byte that the extent must have, or a byte before it.
    fn lookup(
        &self,
        is_wanted: impl Fn(&Extent) -> bool,
        place: impl FnOnce(&mut Window) -> Result<Place, ReadError>,
        least: u64,
    ) -> Result<Extent, ReadError> {
        let mut window = {
            let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(extent) = recent.extent.filter(is_wanted) {
                return Ok(extent);
            }
            recent.window.clone()
        };
        let place = place(&mut window)?;
        let step = self.step(&mut window, place)?;
        if step.end <= least {
            let what = format!("extent from {} to {}", step.start, step.end);
            return Err(corrupt(self.start, what, format!("the distances in the index to lead to byte {least}")));
        }
        let extent = step.extent?;
        *self.recent.lock().unwrap_or_else(PoisonError::into_inner) = Recent { window, extent: Some(extent) };
        Ok(extent)
    }

    fn place_at(&self, window: &mut Window, offset: u64) -> Result<Place, ReadError> {
        Ok(match &self.shape {
            Shape::Empty | Shape::Fragment(_) => Place::Whole,
            Shape::Clusters(clusters) => Place::Cluster(clusters.find(window, offset)?),
            Shape::Records(records) => Place::Record(records.find(window, offset)?),
        })
    }

    /// Returns the place of the first extent. `None` if the file is empty.
    fn first(&self, window: &mut Window) -> Result<Option<Place>, ReadError> {
        Ok(match &self.shape {
            Shape::Empty => None,
            Shape::Fragment(_) => Some(Place::Whole),
            Shape::Clusters(clusters) => Some(Place::Cluster(clusters.first(window)?)),
            Shape::Records(records) => Some(Place::Record(records.first())),
        })
    }

    fn step(&self, window: &mut Window, place: Place) -> Result<Step, ReadError> {
        match (&self.shape, place) {
            (Shape::Clusters(clusters), Place::Cluster(found)) => {
                let span = clusters.span(window, found)?;
                let next = span.next.map(Place::Cluster);
                Ok(Step { start: span.start, end: span.end, extent: clusters.extent(span, &self.image), next })
            }
            (Shape::Records(records), Place::Record(place)) => {
                let span = records.span(window, place)?;
                let next = Some(Place::Record(span.next)).filter(|_| span.end < self.size);
                Ok(Step { start: span.start, end: span.end, extent: records.extent(span, &self.image), next })
            }
            (Shape::Fragment(offset), _) => {
                let kind = ExtentKind::Fragment(*offset);
                let extent = Extent { start: 0, length: self.size, key: 0, entry: self.start, kind };
                Ok(Step { start: 0, end: self.size, extent: Ok(extent), next: None })
            }
            _ => Err(ReadError::internal(format!("a place of another map than that at byte {}", self.start))),
        }
    }
}

impl Shape {
    fn open(image: &MapImage, inode: MapInode, start: u64, window: &mut Window) -> Result<Shape, ReadError> {
        Ok(match MapHeader::decode(window.entry(start)?, inode.compact, image.block_bits) {
            MapHeader::WholeFragment(offset) => Shape::Fragment(offset),
            MapHeader::Index(header) => {
                Shape::Clusters(Clusters::open(header, inode, start, image.block_bits, window)?)
            }
            MapHeader::Extents(header) => Shape::Records(Records::open(header, inode, start, window)?),
        })
    }
}

/// Reads the extents of a file in order. A clone continues from the same place.
#[derive(Debug, Clone)]
pub(crate) struct ExtentReader {
    map: Arc<Map>,
    window: Window,
    next: Next,
    /// Offset of the next extent.
    offset: u64,
}

#[derive(Debug, Clone)]
enum Next {
    Start,
    Place(Place),
    End,
}

impl ExtentReader {
    /// Starts with the extent that has byte `from`, or with an earlier one.
    pub(crate) fn new(map: &Arc<Map>, from: u64) -> ExtentReader {
        let window = map.recent.lock().unwrap_or_else(PoisonError::into_inner).window.clone();
        let mut reader = ExtentReader { map: Arc::clone(map), window, next: Next::Start, offset: 0 };
        let is_far = matches!(&map.shape, Shape::Records(records) if records.is_far(from));
        if from == 0 || is_far || from >= map.size {
            return reader;
        }
        // If the index is damaged there, the reader reports it when it arrives.
        let place = map.place_at(&mut reader.window, from);
        let found = place.and_then(|place| Ok((place, map.step(&mut reader.window, place)?)));
        if let Ok((place, step)) = found
            && (step.start..step.end).contains(&from)
        {
            reader.next = Next::Place(place);
            reader.offset = step.start;
        }
        reader
    }

    /// Returns the offset in the file of the next extent.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next extent; `None` at the end of the file. If the index is malformed, all of the rest is missing.
    pub(crate) fn next_extent(&mut self) -> Option<Result<Extent, Missing>> {
        let map = Arc::clone(&self.map);
        let step = match self.take(&map) {
            Ok(step) => step?,
            Err(error) => {
                let length = map.size - self.offset;
                self.offset = map.size;
                return Some(Err(Missing { length, error }));
            }
        };
        let length = step.end - step.start;
        self.offset = step.end;
        self.next = step.next.map_or(Next::End, Next::Place);
        Some(step.extent.map_err(|error| Missing { length, error }))
    }

    fn take(&mut self, map: &Map) -> Result<Option<Step>, ReadError> {
        let place = match std::mem::replace(&mut self.next, Next::End) {
            Next::Start => map.first(&mut self.window)?,
            Next::Place(place) => Some(place),
            Next::End => None,
        };
        place.map(|place| map.step(&mut self.window, place)).transpose()
    }
}

impl Packed for Map {
    fn piece_at(&self, offset: u64, most: u64) -> Result<Piece, ReadError> {
        let extent = self.extent_at(offset)?;
        let key = u32::try_from(extent.key).map_err(|_| {
            corrupt(extent.entry, format!("cluster {} of the packed inode", extent.key), "less than 2^32 clusters")
        })?;
        let piece = extent.piece(offset - extent.start, most, Some(key), self.block());
        piece.ok_or_else(|| corrupt(extent.entry, "extent of the packed inode in the packed inode", "its content"))
    }

    fn unit(&self, key: u32) -> Result<Unit, ReadError> {
        let extent = self.extent_of_key(key.into())?;
        extent.unit().ok_or_else(|| corrupt(extent.entry, format!("shared unit {key}"), "a compressed cluster"))
    }

    fn keys(&self) -> u64 {
        match &self.shape {
            Shape::Empty | Shape::Fragment(_) => 0,
            Shape::Clusters(clusters) => clusters.count(),
            Shape::Records(records) => records.count(),
        }
    }
}
