//! Listings of directories in the packed inode, where they are compressed.
//!
//! A listing has the numbers of inodes, so it is known only when all maps of files are. The inode of a packed listing has the same size whatever the
//! listing is and wherever it is stored, so all numbers are known before. The listings then follow all other content of the packed inode, in the order of
//! inodes. They are compressed as segments or blocks, and stored after the data area. No other inode depends on the packed inode, which is
//! the last one.

use packline_blocks::{DataOptions, Error, LateBlock, LateContent, Workers};

use super::contents::{Content, Contents, Owner, Piece, Tail};
use super::inodes::{Body, Inodes};
use super::layout_contents::piece;
use super::order::{for_each, is_directory};
use super::output::Output;
use super::positions::Numbers;

/// Compresses listings.
pub(crate) struct Packer<'p> {
    pub(crate) workers: &'p mut Workers,
    /// The options of the data area.
    pub(crate) options: &'p DataOptions,
}

/// Stores the listings that are planned to be packed, and returns their pieces.
pub(super) fn store(
    packer: Packer<'_>,
    inodes: &Inodes<'_>,
    numbers: &Numbers,
    out: &mut Output<'_>,
) -> Result<Vec<Piece>, Error> {
    let mut pieces = Vec::new();
    let unit = packer.options.unit.into();
    let mut store = |block: LateBlock| {
        out.pad(unit)?;
        pieces.extend(out.put_block(block)?.into_iter().map(piece));
        Ok(())
    };
    let mut content = LateContent::new(packer.workers, packer.options, &mut store);
    for_each(inodes.tree, &mut |node| {
        if !is_directory(inodes.tree, node) {
            return Ok(());
        }
        match inodes.plan(node)?.body {
            Body::PackedListing(_) => numbers.for_each_block(inodes, node, &mut |block| content.put(block)),
            _ => Ok(()),
        }
    })?;
    content.finish()?;
    Ok(pieces)
}

/// The contents of files, and listings at the end of the packed inode.
pub(super) struct WithListings<'a> {
    pub(super) files: &'a dyn Contents,
    pub(super) listings: Vec<Piece>,
}

impl Contents for WithListings<'_> {
    fn content(&self, owner: Owner) -> Option<Content> {
        let content = self.files.content(owner);
        match owner {
            Owner::Packed if !self.listings.is_empty() => {
                let before = content.map_or(0, |content| content.size);
                let size = before + self.listings.iter().map(|piece| piece.length).sum::<u64>();
                Some(Content { size, tail: Tail::None })
            }
            _ => content,
        }
    }

    fn pieces(&self, owner: Owner) -> Box<dyn Iterator<Item = Piece> + '_> {
        let pieces = self.files.pieces(owner);
        match owner {
            Owner::Packed => Box::new(pieces.chain(self.listings.iter().copied())),
            Owner::File(_) => pieces,
        }
    }

    fn read_tail(&self, owner: Owner, to: &mut [u8]) -> Result<(), Error> {
        self.files.read_tail(owner, to)
    }
}
