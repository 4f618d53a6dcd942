//! Positions of the data of an image: block lists, files and fragment blocks.

/// Flag in the size word of a data or fragment block: the block is stored, not compressed (SquashFS 4.0: bit 24).
pub const STORED_BLOCK: u32 = 1 << 24;

/// Position of a tail end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailPlace {
    /// Index into [`DataLayout::fragments`].
    pub fragment: u32,
    /// Offset in bytes in the uncompressed fragment block.
    pub offset: u32,
}

/// Position of a file's content. Files with the same content may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLayout {
    /// File size in bytes, holes included.
    pub size: u64,
    /// Bytes of the file that are in sparse (zero) blocks.
    pub sparse: u64,
    /// Absolute offset of the first data block in the image; 0 if no block is stored.
    pub start: u64,
    /// First of the file's size words in [`DataLayout::sizes`].
    pub first_block: u64,
    /// Number of size words: size / block size, rounded up, or rounded down if the file has a tail end.
    pub blocks: u32,
    /// The tail end, if it is in a fragment block.
    pub tail: Option<TailPlace>,
}

/// One fragment block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentBlock {
    /// Absolute offset in the image.
    pub start: u64,
    /// Size on disk, with [`STORED_BLOCK`] if it is not compressed.
    pub size_word: u32,
}

/// The data area as written: input for inodes and the fragment table.
#[derive(Debug, Default)]
pub struct DataLayout {
    /// Files in the order in which they were added; the payload of a file in the tree is an index into this.
    pub files: Vec<FileLayout>,
    /// Size words of all data blocks, with [`STORED_BLOCK`]; 0 is a sparse block.
    pub sizes: Vec<u32>,
    /// Fragment blocks in table order.
    pub fragments: Vec<FragmentBlock>,
    /// First byte after the data area: where the inode table starts.
    pub end: u64,
}
