//! What the metadata needs to know of the contents of files.

use packline_blocks::Error;
use packline_runtime::TaskError as _;

/// Whose content it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The file with this payload in the tree.
    File(u32),
    /// The packed inode, which has the ends of files.
    Packed,
}

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    /// Size in bytes.
    pub(crate) size: u64,
    pub(crate) tail: Tail,
}

/// Where the content after all pieces is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    /// The pieces are all of the content.
    None,
    /// At an offset of the packed inode.
    Packed(u64),
    /// After the inode, as it is. This many bytes, less than a block. Without compression, all pieces together end at the end of a block of the file.
    Inline(u32),
    /// A cluster after the inode and its index.
    Coded(CodedEnd),
}

/// A compressed end of a file that follows its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodedEnd {
    /// Bytes of content.
    pub(crate) length: u32,
    /// Bytes stored, less than a block.
    pub(crate) bytes: u32,
}

impl Tail {
    /// Returns the stored bytes that follow the inode.
    pub(crate) fn inline_bytes(self) -> u32 {
        match self {
            Tail::None | Tail::Packed(_) => 0,
            Tail::Inline(bytes) | Tail::Coded(CodedEnd { bytes, .. }) => bytes,
        }
    }
}

/// A range of a file that is stored together. It starts after the piece before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Bytes of content; at least one.
    pub(crate) length: u64,
    pub(crate) stored: Stored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Zeros that are not stored.
    Hole,
    /// As it is, from an offset in the image on. In clusters and without compression, the offset is the start of a block, and the last block is
    /// padded.
    Plain {
        start: u64,
    },
    Coded(Coded),
}

/// A compressed cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coded {
    /// Offset in the image.
    pub(crate) start: u64,
    /// Bytes stored. Offset and bytes are multiples of a block, except with encoded extents.
    pub(crate) bytes: u32,
    /// Whether the cluster has more content than the piece.
    pub(crate) is_partial: bool,
}

impl Piece {
    pub(crate) fn is_hole(&self) -> bool {
        self.stored == Stored::Hole
    }
}

/// The contents of an image.
pub(crate) trait Contents {
    /// Returns the content of a file, if it exists.
    fn content(&self, owner: Owner) -> Option<Content>;

    /// Returns the pieces of a file that exists, in order.
    fn pieces(&self, owner: Owner) -> Box<dyn Iterator<Item = Piece> + '_>;

    /// Reads the stored bytes of a file with [`Tail::Inline`] or [`Tail::Coded`] that are not in its pieces.
    ///
    /// # Errors
    /// A temporary file cannot be read; [`Error::Work`] if there are no such bytes.
    fn read_tail(&self, owner: Owner, _to: &mut [u8]) -> Result<(), Error> {
        Err(Error::internal(format!("{owner:?} has no kept tail end")))
    }
}
