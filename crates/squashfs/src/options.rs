//! Options of an image.

use packline_codec::Spec;

use crate::BlockSize;

/// How the link count of a directory is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DirectoryLinks {
    /// 2 and the number of subdirectories, as Unix file systems and mksquashfs do.
    #[default]
    Subdirectories,
    /// 2 and the number of all children, as squashfs-tools-ng does.
    Children,
}

/// How the parts of an image lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// One behind the other: the smallest image.
    #[default]
    Compact,
    /// So that images of nearly equal trees have most of their bytes in common, for chunkers and for hashes of blocks: some parts start at a
    /// multiple of `align` bytes, a power of two; fragment blocks are shorter; the inode table is not compressed. 1 to 3 % larger.
    Stable { align: u32 },
}

impl Layout {
    /// [`Layout::Stable`] for blocks of 4 KiB, the size of RAUC's.
    pub const STABLE: Layout = Layout::Stable { align: 4096 };
}

/// Which tail ends go into fragment blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fragments {
    /// None: each tail end is a short block of its own.
    Never,
    /// Only those of files smaller than a block.
    SmallFiles,
    /// All.
    #[default]
    Always,
}

/// Which parts are stored without trying to compress them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Inode, directory and all other metadata tables but those below.
    pub inodes: bool,
    /// The id table.
    pub ids: bool,
    /// The xattr tables.
    pub xattrs: bool,
    /// Data blocks.
    pub data: bool,
    pub fragments: bool,
}

/// Together with the input they determine an image's bytes.
#[derive(Debug, Clone)]
pub struct Options {
    /// Codec of data and metadata.
    pub codec: Spec,
    pub block_size: BlockSize,
    /// Which tail ends are packed into fragment blocks.
    pub fragments: Fragments,
    /// Whether equal files, tail ends and blocks are stored once.
    pub deduplicate: bool,
    /// Whether blocks of zeros are stored as holes.
    pub sparse: bool,
    /// Parts to store uncompressed.
    pub stored: Stored,
    /// Whether an export table (for NFS) is written.
    pub exportable: bool,
    /// Whether extended attributes are stored.
    pub xattrs: bool,
    /// Whether the flag for an image without extended attributes is set if no entry has one; without this only if none are stored.
    pub mark_without_xattrs: bool,
    /// The image is padded with zeros to a multiple of this many bytes; 0 or 1 for no padding.
    pub pad: u32,
    /// Image creation time, seconds since 1970.
    pub created: u32,
    /// How directories count links.
    pub directory_links: DirectoryLinks,
    /// How the parts of the image lie.
    pub layout: Layout,
}

impl Options {
    /// The defaults, with a codec.
    pub fn new(codec: Spec) -> Options {
        Options {
            codec,
            block_size: BlockSize::default(),
            fragments: Fragments::default(),
            deduplicate: true,
            sparse: true,
            stored: Stored::default(),
            exportable: false,
            xattrs: true,
            mark_without_xattrs: true,
            pad: 4096,
            created: 0,
            directory_links: DirectoryLinks::default(),
            layout: Layout::default(),
        }
    }

    /// Size of a whole fragment block, bytes. Half a block changes with half as many files, and costs little compression.
    pub(crate) fn fragment_size(&self) -> u32 {
        match self.layout {
            Layout::Compact => self.block_size.into(),
            Layout::Stable { .. } => u32::from(self.block_size) / 2,
        }
    }

    /// Whether no metadata block of the inode table is compressed: all keep their places when one changes.
    pub(crate) fn stores_inodes(&self) -> bool {
        self.stored.inodes || self.layout != Layout::Compact
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
    pub(crate) fn or(self, image: bool) -> bool {
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

/// Where the data of a file starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// At any byte.
    #[default]
    Any,
    /// At a multiple of [`Options::pad`] bytes.
    Pad,
    /// At a multiple of this number of bytes, which is at least 1.
    Bytes(u32),
}

/// Settings for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileHints {
    /// Whether tail ends go into fragment blocks, which [`Options::fragments`] decides for other files. With `Off` the file shares no block.
    pub fragments: Override,
    /// Whether the tail end of a file larger than a block does, if `fragments` allows it.
    pub large_tails: Override,
    /// Whether blocks are compressed, which [`Options::stored`] decides for other files. With `Off` the file shares no fragment block. With
    /// `On` it shares none in an image whose fragment blocks are stored.
    pub compress: Override,
    /// Do not search for the same content.
    pub no_deduplicate: bool,
    /// Store blocks of zeros as data.
    pub no_sparse: bool,
    pub align: Align,
    /// Tail ends of files with different numbers are in different fragment blocks. Each number in use takes a block of memory.
    pub fragment_set: u16,
}
