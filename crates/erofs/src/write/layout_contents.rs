//! The contents of an image, as a data area has stored them.

use packline_blocks::{
    BlockPlace, DataLayout, DataOptions, Error, Extent, FileLayout, KeptTails, STORED_BLOCK, TailPlace,
};
use packline_runtime::TaskError;

use super::contents::{Coded, CodedEnd, Content, Contents, Owner, Piece, Stored, Tail};
use crate::options::BLOCK;

/// A data area in which each extent is one piece.
pub(super) struct LayoutContents<'a> {
    layout: &'a DataLayout,
    options: &'a DataOptions,
    kept: Kept<'a>,
    /// Offset in the packed inode of each fragment block, and its size.
    starts: Vec<u64>,
}

/// Ends of files that are not in the data area, because they follow inodes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Kept<'a> {
    /// Tail ends, if they are not in the packed inode.
    pub(super) tails: Option<&'a KeptTails>,
    /// Ends of blocks.
    pub(super) ends: Option<&'a KeptTails>,
}

impl<'a> LayoutContents<'a> {
    /// `options` and `kept`: those of the data area.
    pub(super) fn new(layout: &'a DataLayout, options: &'a DataOptions, kept: Kept<'a>) -> LayoutContents<'a> {
        let mut starts = Vec::with_capacity(layout.fragments.len() + 1);
        let mut size = 0;
        starts.push(size);
        for fragment in &layout.fragments {
            size += u64::from(fragment.length);
            starts.push(size);
        }
        LayoutContents { layout, options, kept, starts }
    }

    /// Returns the end of a file without a tail end.
    fn end(&self, file: &FileLayout) -> Tail {
        let last = self.layout.last_block(file).filter(|_| self.kept.ends.is_some());
        let Some((number, place)) = last.and_then(|number| Some((number, self.layout.places.get(number)?))) else {
            return Tail::None;
        };
        let whole = Extent { length: place.size(), place };
        let cluster = self.layout.places.clusters(number).last();
        let extent = cluster.map_or(whole, |cluster| Extent {
            length: cluster.length,
            place: BlockPlace { size_word: cluster.size_word, ..place },
        });
        match self.options.kept_bytes(&extent) {
            0 => Tail::None,
            bytes if extent.place.is_compressed() => Tail::Coded(CodedEnd { length: extent.length, bytes }),
            bytes => Tail::Inline(bytes),
        }
    }

    /// Returns what the data area has of an extent.
    fn in_data(&self, mut extent: Extent) -> Option<Extent> {
        match self.options.kept_bytes(&extent) {
            0 => {}
            _ if extent.place.is_compressed() => return None,
            bytes => {
                extent.length -= bytes;
                extent.place.size_word = extent.length | STORED_BLOCK;
            }
        }
        (extent.length > 0).then_some(extent)
    }
}

pub(super) fn piece(extent: Extent) -> Piece {
    let Extent { length, place } = extent;
    let BlockPlace { start, .. } = place;
    let stored = match place.size() {
        _ if place.is_hole() => Stored::Hole,
        bytes if place.is_compressed() => Stored::Coded(Coded { start, bytes, is_partial: false }),
        _ => Stored::Plain { start },
    };
    Piece { length: length.into(), stored }
}

impl Contents for LayoutContents<'_> {
    fn content(&self, owner: Owner) -> Option<Content> {
        let Owner::File(number) = owner else {
            return Some(Content { size: self.starts.last().copied().unwrap_or(0), tail: Tail::None });
        };
        let file = self.layout.files.get(number as usize)?;
        let tail = match file.tail {
            Some(_) if self.kept.tails.is_some() => Tail::Inline((file.size % BLOCK) as u32),
            Some(tail) => Tail::Packed(*self.starts.get(tail.fragment as usize)? + u64::from(tail.offset)),
            None => self.end(file),
        };
        Some(Content { size: file.size, tail })
    }

    fn pieces(&self, owner: Owner) -> Box<dyn Iterator<Item = Piece> + '_> {
        let layout = self.layout;
        match owner {
            Owner::Packed => {
                let fragments = 0..layout.fragments.len() as u32;
                Box::new(fragments.flat_map(|index| layout.fragment_extents(index)).map(piece))
            }
            Owner::File(number) => match layout.files.get(number as usize) {
                Some(file) => {
                    let extents = layout.extents(file, self.options).filter_map(|extent| self.in_data(extent));
                    Box::new(extents.map(piece))
                }
                None => Box::new(std::iter::empty()),
            },
        }
    }

    fn read_tail(&self, owner: Owner, to: &mut [u8]) -> Result<(), Error> {
        let file = match owner {
            Owner::File(number) => self.layout.files.get(number as usize),
            Owner::Packed => None,
        };
        let end = file.and_then(|file| self.layout.last_block(file));
        match (self.kept, file.and_then(|file| file.tail), end) {
            (Kept { tails: Some(tails), .. }, Some(place), _) => tails.read(place, to),
            (Kept { ends: Some(ends), .. }, None, Some(fragment)) => ends.read(TailPlace { fragment, offset: 0 }, to),
            _ => Err(Error::internal(format!("{owner:?} has no kept tail end"))),
        }
    }
}
