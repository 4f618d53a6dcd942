//! Options of a data area, and of each file.

use crate::{BlockSize, Extent, KeepTails};

/// The positions of the parts of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// One part after another: the smallest image.
    #[default]
    Compact,
    /// Images of similar trees have most of their bytes in common, for chunkers and for hashes of blocks. Some parts start at a multiple of
    /// `align` bytes, a power of two. Fragment blocks are shorter, and the inode table is not compressed. 1 to 3 % larger.
    Stable { align: u32 },
}

impl Layout {
    /// [`Layout::Stable`] for blocks of 4 KiB, as RAUC has them.
    pub const STABLE: Layout = Layout::Stable { align: 4096 };
}

/// Which tail ends go into fragment blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fragments {
    /// Each tail end is a short block of its own.
    Never,
    /// Tail ends of files smaller than a block.
    SmallFiles,
    /// All tail ends.
    #[default]
    Always,
}

/// Which blocks of a file may be blocks of other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// The blocks of a file follow each other in the image: a file shares a run of blocks, or has its own, with copies of known blocks.
    #[default]
    Runs,
    /// Each block may be anywhere: no content is stored twice.
    Blocks,
}

/// Bytes of content of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterSize {
    /// A power of two, at most the block size. A file's tail end is its size modulo this number.
    pub usual: u32,
    /// At most the block size.
    pub most: u32,
}

impl From<u32> for ClusterSize {
    /// Clusters of at most this number of bytes, a power of two.
    fn from(bytes: u32) -> ClusterSize {
        ClusterSize { usual: bytes, most: bytes }
    }
}

/// How the contents of an image are stored. The options and the input determine the bytes of the data area, except [`DataOptions::verify`] and
/// [`DataOptions::looks_up`], which change no byte.
#[derive(Debug, Clone)]
pub struct DataOptions {
    pub block_size: BlockSize,
    /// Bytes of a complete fragment block, at most the block size.
    pub fragment_size: u32,
    /// Which tail ends are packed into fragment blocks.
    pub fragments: Fragments,
    /// Whether equal files, tail ends and blocks are stored once.
    pub deduplicate: bool,
    pub sharing: Sharing,
    /// With [`Sharing::Blocks`], a block may be stored as clusters, each of which is decoded on its own. The block is then only what is hashed and
    /// shared at once. Zeros complete the content of a fragment block to a multiple of [`DataOptions::unit`].
    pub cluster_size: Option<ClusterSize>,
    /// Whether blocks of zeros are stored as holes.
    pub sparse: bool,
    /// Whether data blocks are stored uncompressed, unless [`FileHints::compress`] says otherwise.
    pub stored_blocks: bool,
    /// Whether fragment blocks are stored uncompressed.
    pub stored_fragments: bool,
    /// Whether the codec compresses. If not, no block is compressed, whatever hints say.
    pub compresses: bool,
    /// The unit of [`Align::Pad`] in bytes.
    pub pad: u32,
    pub layout: Layout,
    /// Each block starts at a multiple of this many bytes, at least 1. Zeros fill the gaps.
    pub unit: u32,
    /// Offset of the data area in the image in bytes.
    pub start: u64,
    /// Whether [`CompleteData::checksum`](crate::CompleteData::checksum) is computed.
    pub checksum: bool,
    /// Whether parts are recorded with their hashes, to be read back.
    pub verify: bool,
    /// Whether the coder looks blocks up, for which it needs the digests of their contents.
    pub looks_up: bool,
    /// With [`Sharing::Blocks`], tail ends may be kept for the container, uncompressed, instead of being stored in the data area. These are
    /// the tail ends of files whose blocks follow each other in the image.
    pub keep_tails: Option<KeepTails>,
    /// With [`DataOptions::cluster_size`], ends of files may be kept for the container, as they are stored, instead of being stored in the data area.
    pub keep_ends: Option<KeepEnds>,
}

/// Which ends are kept: the last cluster of a block, and the last bytes of a block that is not compressed, if they have less than
/// [`DataOptions::unit`]. Only a block that is shorter than the block size has such an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepEnds {
    /// Most stored bytes of an end, less than the unit.
    pub most: u32,
    pub kept: KeepTails,
}

/// [`KeepEnds`] without the place of the ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndRule {
    unit: u32,
    most: u32,
}

impl EndRule {
    /// Returns the bytes at the end of `stored` bytes that are kept.
    pub(crate) fn end_of(self, stored: u32) -> u32 {
        Some(stored % self.unit).filter(|end| *end <= self.most).unwrap_or(0)
    }
}

impl DataOptions {
    /// Returns the rule for kept ends; without [`DataOptions::keep_ends`], none is kept.
    pub(crate) fn end_rule(&self) -> EndRule {
        EndRule { unit: self.unit.max(1), most: self.keep_ends.as_ref().map_or(0, |ends| ends.most) }
    }

    /// Returns how many of the stored bytes of an extent are kept, with [`DataOptions::keep_ends`].
    pub fn kept_bytes(&self, extent: &Extent) -> u32 {
        if extent.place.is_hole() { 0 } else { self.end_rule().end_of(extent.place.size()) }
    }

    /// Returns the number of bytes of which the content of a fragment block is a multiple.
    pub(crate) fn cluster_unit(&self) -> usize {
        self.cluster_size.map_or(1, |_| self.unit.max(1) as usize)
    }

    /// Returns the number of bytes modulo which a file's size is its tail end.
    pub(crate) fn tail_unit(&self) -> usize {
        self.cluster_size.map_or(self.block_size.bytes(), |size| size.usual as usize)
    }
}

/// A setting of the image, as one file overrides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Override {
    /// The setting of the image applies.
    #[default]
    None,
    On,
    Off,
}

impl Override {
    /// Returns the setting that applies to the file.
    pub fn or(self, image: bool) -> bool {
        match self {
            Override::None => image,
            Override::On => true,
            Override::Off => false,
        }
    }
}

impl From<Option<bool>> for Override {
    fn from(on: Option<bool>) -> Override {
        match on {
            None => Override::None,
            Some(true) => Override::On,
            Some(false) => Override::Off,
        }
    }
}

/// Which bytes of the image can be the start of a file's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// Any byte.
    #[default]
    Any,
    /// Multiples of [`DataOptions::pad`] bytes.
    Pad,
    /// Multiples of this number of bytes, which is at least 1.
    Bytes(u32),
}

/// Settings for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileHints {
    /// Whether tail ends go into fragment blocks, instead of what [`DataOptions::fragments`] says.
    pub fragments: Override,
    /// Whether the tail end of a file larger than a block goes into a fragment block. Ignored with `fragments` off.
    pub large_tails: Override,
    /// Whether blocks are compressed, instead of what [`DataOptions::stored_blocks`] says. A file with `Off` has no tail end in a fragment block. A file
    /// with `On` has none if the image stores its fragment blocks uncompressed.
    pub compress: Override,
    /// Do not search for the same content.
    pub no_deduplicate: bool,
    /// Store blocks of zeros as data.
    pub no_sparse: bool,
    pub align: Align,
    /// Tail ends of files with different numbers are in different fragment blocks. Each number in use takes a block of memory.
    pub fragment_set: u16,
}
