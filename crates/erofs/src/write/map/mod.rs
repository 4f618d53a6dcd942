//! The maps of files: where each part of their content is stored. A map follows the inode and its attributes.
//!
//! A map is planned to know its size, and is written later. Both read the pieces of the file in order, and hold none of them.

mod chunking;
mod chunks;
mod clusters;
mod extents;
mod flat;

use packline_blocks::Error;
use packline_runtime::TaskError;

use super::contents::{Content, Contents, Owner, Piece, Stored, Tail};
use crate::format::inode::Layout;
use crate::format::map_header::{HEADER_BYTES, MapHeader};
use crate::format::superblock::incompat;
use crate::options::{BLOCK, BLOCK_BITS, Form};
use chunks::ChunksPlan;
use clusters::ClustersPlan;
pub(super) use clusters::{ZeroCluster, Zeros};
use extents::ExtentsPlan;
use flat::FlatPlan;

/// Bytes of a map that are handed over at once.
const STEP: usize = 4096;

/// Takes the bytes of a map, in order.
pub(super) type Put<'p> = &'p mut dyn FnMut(&[u8]) -> Result<(), Error>;

/// What all maps of an image have in common.
#[derive(Clone, Copy)]
pub(super) struct MapMaker<'a> {
    pub(super) contents: &'a dyn Contents,
    pub(super) form: Form,
    /// Number of the algorithm.
    pub(super) algorithm: u8,
    /// The zeros that holes refer to, in the form of clusters.
    pub(super) zeros: Option<Zeros>,
    /// Logarithm of the size of a block in bytes, if contents are on a device.
    pub(super) device_block_bits: Option<u8>,
}

/// A planned map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MapPlan {
    pub(super) size: u64,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Empty,
    Flat(FlatPlan),
    /// On a device.
    Chunks(ChunksPlan),
    /// All of the file is at an offset of the packed inode.
    Fragment(u64),
    Clusters(ClustersPlan),
    Extents(ExtentsPlan),
}

impl MapPlan {
    pub(super) fn layout(&self) -> Layout {
        match self.shape {
            Shape::Empty | Shape::Flat(FlatPlan::Plain { .. }) => Layout::Plain,
            Shape::Flat(FlatPlan::Inline { .. }) => Layout::Inline,
            Shape::Flat(FlatPlan::Chunks { .. }) | Shape::Chunks(_) => Layout::Chunks,
            Shape::Clusters(plan) if plan.is_compact => Layout::CompressedCompact,
            Shape::Fragment(_) | Shape::Clusters(_) | Shape::Extents(_) => Layout::CompressedFull,
        }
    }

    /// Returns the start in the inode.
    pub(super) fn start(&self) -> u64 {
        match self.shape {
            Shape::Empty | Shape::Fragment(_) => 0,
            Shape::Flat(plan) => plan.start(),
            Shape::Chunks(plan) => plan.start(),
            Shape::Clusters(plan) => plan.blocks,
            Shape::Extents(plan) => plan.stored.div_ceil(BLOCK),
        }
    }

    /// Returns the features of [`incompat`] that the map needs.
    pub(super) fn features(&self) -> u32 {
        match self.shape {
            Shape::Flat(FlatPlan::Chunks { .. }) | Shape::Chunks(_) => incompat::CHUNKS,
            Shape::Fragment(_) => incompat::FRAGMENTS,
            Shape::Clusters(plan) => plan.features(),
            Shape::Extents(plan) if plan.has_fragment => incompat::FRAGMENTS,
            _ => 0,
        }
    }

    /// Returns how many bytes at the end of the map must be in one block. `head`: bytes of the inode with its attributes.
    pub(super) fn together(&self, head: u64) -> u64 {
        match self.shape {
            // Together with the inode if there is space.
            Shape::Flat(FlatPlan::Inline { bytes, .. }) => {
                let bytes = u64::from(bytes);
                if head + bytes <= BLOCK { head + bytes } else { bytes }
            }
            Shape::Clusters(plan) => plan.inline.into(),
            _ => 0,
        }
    }

    /// Returns the offset of the end of the map from the inode. `head`: bytes of the inode with its attributes.
    pub(super) fn end(&self, head: u64) -> u64 {
        let header = head.next_multiple_of(HEADER_BYTES as u64);
        match self.shape {
            Shape::Empty => head,
            Shape::Flat(plan) => plan.end(head, self.size),
            Shape::Chunks(plan) => plan.end(head, self.size),
            Shape::Fragment(_) => fragment_end(head),
            Shape::Clusters(plan) => plan.end(header, self.size),
            Shape::Extents(plan) => plan.end(header),
        }
    }
}

impl MapMaker<'_> {
    /// Plans the map of a file.
    ///
    /// # Errors
    /// [`Error::Limit`] if the file is too large; [`Error::Work`] if there is no such file, or its pieces do not fit together.
    pub(super) fn plan(&self, owner: Owner) -> Result<MapPlan, Error> {
        let content = self.content(owner)?;
        if i64::try_from(content.size).is_err() {
            let what = format!("a file of {} bytes", content.size);
            return Err(Error::Limit { what, expected: "less than 8 EiB".into() });
        }
        let shape = match content.tail {
            _ if content.size == 0 => Shape::Empty,
            Tail::Packed(offset) if self.contents.pieces(owner).next().is_none() => Shape::Fragment(offset),
            _ => self.shape(owner, content)?,
        };
        Ok(MapPlan { size: content.size, shape })
    }

    fn shape(&self, owner: Owner, content: Content) -> Result<Shape, Error> {
        let pieces = || self.contents.pieces(owner);
        if let Some(bits) = self.device_block_bits {
            return Ok(Shape::Chunks(ChunksPlan::new(bits, content, pieces())?));
        }
        Ok(match (self.form, content.tail) {
            (Form::Flat, _) => Shape::Flat(FlatPlan::new(content, pieces())?),
            (Form::Extents, Tail::Inline(_) | Tail::Coded(_)) => {
                return Err(Error::internal(format!("{owner:?} has extents and ends in its inode")));
            }
            (Form::Clusters, _) => match FlatPlan::of_plain(content, pieces()) {
                Some(plan) => Shape::Flat(plan),
                None => Shape::Clusters(ClustersPlan::new(self, content, pieces())?),
            },
            (Form::Extents, _) => Shape::Extents(ExtentsPlan::new(content, pieces())?),
        })
    }

    /// Writes a planned map, from byte `head` after the start of the inode on.
    ///
    /// # Errors
    /// Errors of `put`.
    pub(super) fn write(&self, plan: &MapPlan, owner: Owner, head: u64, put: Put<'_>) -> Result<(), Error> {
        if let Shape::Fragment(offset) = plan.shape {
            return write_fragment(offset, head, put);
        }
        let content = self.content(owner)?;
        let mut out = Buffered { bytes: Vec::new(), put };
        let header = head.next_multiple_of(HEADER_BYTES as u64);
        if !matches!(plan.shape, Shape::Empty | Shape::Flat(_) | Shape::Chunks(_)) {
            out.zeros(header - head)?;
        }
        let pieces = self.contents.pieces(owner);
        match plan.shape {
            Shape::Empty | Shape::Fragment(_) => {}
            Shape::Flat(FlatPlan::Inline { .. }) => self.write_tail(content, owner, &mut out)?,
            Shape::Flat(flat) => flat.write(head, pieces, &mut out)?,
            Shape::Chunks(chunks) => chunks.write(head, pieces, &mut out)?,
            Shape::Clusters(clusters) => {
                clusters.write(self, header, content, pieces, &mut out)?;
                self.write_tail(content, owner, &mut out)?;
            }
            Shape::Extents(extents) => extents.write(self.algorithm, header, content, pieces, &mut out)?,
        }
        out.end()
    }

    /// Writes what follows the inode and its map.
    fn write_tail(&self, content: Content, owner: Owner, out: &mut Buffered<'_>) -> Result<(), Error> {
        let bytes = content.tail.inline_bytes();
        if bytes == 0 {
            return Ok(());
        }
        let mut tail = [0; BLOCK as usize];
        let tail = &mut tail[..bytes as usize];
        self.contents.read_tail(owner, tail)?;
        out.add(tail)
    }

    fn content(&self, owner: Owner) -> Result<Content, Error> {
        let missing = || Error::internal(format!("{owner:?} has no content"));
        self.contents.content(owner).ok_or_else(missing)
    }
}

/// Returns the offset from the inode of the end of a map of content that is in the packed inode. `head`: bytes of the inode with its attributes.
pub(super) fn fragment_end(head: u64) -> u64 {
    head.next_multiple_of(HEADER_BYTES as u64) + HEADER_BYTES as u64
}

/// Writes the map of content that is at an offset of the packed inode, from byte `head` after the start of the inode on.
///
/// # Errors
/// Errors of `put`.
pub(super) fn write_fragment(offset: u64, head: u64, put: Put<'_>) -> Result<(), Error> {
    let mut out = Buffered { bytes: Vec::new(), put };
    out.zeros(head.next_multiple_of(HEADER_BYTES as u64) - head)?;
    out.add(&MapHeader::WholeFragment(offset).encode(BLOCK_BITS))?;
    out.end()
}

/// Collects bytes of a map.
struct Buffered<'p> {
    bytes: Vec<u8>,
    put: Put<'p>,
}

impl Buffered<'_> {
    fn add(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes.extend_from_slice(bytes);
        self.flush()
    }

    /// Adds up to a few zeros.
    fn zeros(&mut self, count: u64) -> Result<(), Error> {
        self.bytes.resize(self.bytes.len() + count as usize, 0);
        self.flush()
    }

    /// Hands the bytes over if there are many.
    fn flush(&mut self) -> Result<(), Error> {
        if self.bytes.len() >= STEP { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), Error> {
        (self.put)(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

/// Joins adjacent holes.
fn joined(pieces: impl Iterator<Item = Piece>) -> impl Iterator<Item = Piece> {
    let mut pieces = pieces.peekable();
    std::iter::from_fn(move || {
        let mut piece = pieces.next()?;
        if piece.is_hole() {
            while let Some(next) = pieces.next_if(Piece::is_hole) {
                piece.length += next.length;
            }
        }
        Some(piece)
    })
}

/// Checks that pieces and tail are all of a file. `covered`: bytes of all pieces.
fn check_size(content: Content, covered: u64) -> Result<(), Error> {
    let is_right = match content.tail {
        Tail::None => covered == content.size,
        Tail::Packed(_) => covered < content.size,
        Tail::Inline(bytes) => covered + u64::from(bytes) == content.size,
        Tail::Coded(end) => covered + u64::from(end.length) == content.size,
    };
    if is_right {
        return Ok(());
    }
    Err(Error::internal(format!("pieces of {covered} bytes of a file of {} bytes", content.size)))
}
