//! The contents of an image, as a data area has stored them.

use packline_blocks::{BlockPlace, DataLayout, DataOptions, Extent};

use super::contents::{Coded, Content, Contents, Owner, Piece, Stored, Tail};

/// A data area in which each extent is one piece.
pub(super) struct LayoutContents<'a> {
    layout: &'a DataLayout,
    options: &'a DataOptions,
    /// Offset in the packed inode of each fragment block, and its size.
    starts: Vec<u64>,
}

impl<'a> LayoutContents<'a> {
    /// `options`: those of the data area.
    pub(super) fn new(layout: &'a DataLayout, options: &'a DataOptions) -> LayoutContents<'a> {
        let mut starts = Vec::with_capacity(layout.fragments.len() + 1);
        let mut size = 0;
        starts.push(size);
        for fragment in &layout.fragments {
            size += u64::from(fragment.length);
            starts.push(size);
        }
        LayoutContents { layout, options, starts }
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
}
