//! The contents of an image, as a data area has stored them.

use packline_blocks::{BlockPlace, DataLayout, DataOptions, Error, Extent, KeptTails};
use packline_runtime::TaskError;

use super::contents::{Coded, Content, Contents, Owner, Piece, Stored, Tail};
use crate::options::BLOCK;

/// A data area in which each extent is one piece.
pub(super) struct LayoutContents<'a> {
    layout: &'a DataLayout,
    options: &'a DataOptions,
    /// The tail ends, if they are not in the packed inode.
    tails: Option<&'a KeptTails>,
    /// Offset in the packed inode of each fragment block, and its size.
    starts: Vec<u64>,
}

impl<'a> LayoutContents<'a> {
    /// `options` and `tails`: those of the data area.
    pub(super) fn new(
        layout: &'a DataLayout,
        options: &'a DataOptions,
        tails: Option<&'a KeptTails>,
    ) -> LayoutContents<'a> {
        let mut starts = Vec::with_capacity(layout.fragments.len() + 1);
        let mut size = 0;
        starts.push(size);
        for fragment in &layout.fragments {
            size += u64::from(fragment.length);
            starts.push(size);
        }
        LayoutContents { layout, options, tails, starts }
    }
}

fn piece(extent: Extent) -> Piece {
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
            Some(_) if self.tails.is_some() => Tail::Inline((file.size % BLOCK) as u32),
            Some(tail) => Tail::Packed(*self.starts.get(tail.fragment as usize)? + u64::from(tail.offset)),
            None => Tail::None,
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
                Some(file) => Box::new(layout.extents(file, self.options).map(piece)),
                None => Box::new(std::iter::empty()),
            },
        }
    }

    fn read_tail(&self, owner: Owner, to: &mut [u8]) -> Result<(), Error> {
        let file = match owner {
            Owner::File(number) => self.layout.files.get(number as usize),
            Owner::Packed => None,
        };
        match (self.tails, file.and_then(|file| file.tail)) {
            (Some(tails), Some(place)) => tails.read(place, to),
            _ => Err(Error::internal(format!("{owner:?} has no kept tail end"))),
        }
    }
}
