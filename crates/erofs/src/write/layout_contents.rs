//! The contents of an image, as a data area has stored them.

use packline_blocks::{BlockPlace, DataLayout, FileLayout, FragmentBlock};

use super::contents::{Coded, Content, Contents, Owner, Piece, Stored, Tail};
use crate::options::{BLOCK, Form, Options};

/// A data area in which each block is one piece.
pub(super) struct LayoutContents<'a> {
    layout: &'a DataLayout,
    block_size: u64,
    form: Form,
    /// Offset in the packed inode of each fragment block, and its size.
    starts: Vec<u64>,
}

impl<'a> LayoutContents<'a> {
    pub(super) fn new(layout: &'a DataLayout, options: &Options) -> LayoutContents<'a> {
        let form = options.form();
        let mut starts = Vec::with_capacity(layout.fragments.len() + 1);
        let mut size = 0;
        starts.push(size);
        for fragment in &layout.fragments {
            size += packed_length(fragment, form);
            starts.push(size);
        }
        LayoutContents { layout, block_size: options.block_size.into(), form, starts }
    }

    /// Returns the bytes of content of a block.
    fn length(&self, file: &FileLayout, number: u64) -> u64 {
        self.block_size.min(file.size.saturating_sub(number * self.block_size))
    }

    fn file_pieces<'s>(&'s self, file: &'s FileLayout) -> impl Iterator<Item = Piece> + 's {
        (0..).zip(self.layout.blocks(file)).map(move |(number, place)| piece(self.length(file, number), place))
    }

    fn packed_pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        self.layout.fragments.iter().map(|fragment| {
            let length = packed_length(fragment, self.form);
            piece(length, BlockPlace { start: fragment.start, size_word: fragment.size_word })
        })
    }
}

/// Returns the bytes of content of a fragment block in the packed inode. In clusters, only one extent can start in a block of content. What is
/// plain has all of its last block, which ends with zeros; what is compressed has more than a block of content.
fn packed_length(fragment: &FragmentBlock, form: Form) -> u64 {
    let length = u64::from(fragment.length);
    let is_compressed = BlockPlace { start: fragment.start, size_word: fragment.size_word }.is_compressed();
    if form == Form::Clusters && !is_compressed { length.next_multiple_of(BLOCK) } else { length }
}

fn piece(length: u64, place: BlockPlace) -> Piece {
    let BlockPlace { start, .. } = place;
    let stored = match place.size() {
        _ if place.is_hole() => Stored::Hole,
        bytes if place.is_compressed() => Stored::Coded(Coded { start, bytes, is_partial: false }),
        _ => Stored::Plain { start },
    };
    Piece { length, stored }
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
        match owner {
            Owner::Packed => Box::new(self.packed_pieces()),
            Owner::File(number) => match self.layout.files.get(number as usize) {
                Some(file) => Box::new(self.file_pieces(file)),
                None => Box::new(std::iter::empty()),
            },
        }
    }
}
