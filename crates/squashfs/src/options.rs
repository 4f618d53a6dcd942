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

/// Which parts are stored uncompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// All metadata tables except the id table and the xattr tables.
    pub inodes: bool,
    pub ids: bool,
    pub xattrs: bool,
    pub data: bool,
    pub fragments: bool,
}

/// The options and the input determine an image's bytes.
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
    pub stored: Stored,
    /// Whether an export table (for NFS) is written.
    pub exportable: bool,
    /// Whether extended attributes are stored.
    pub xattrs: bool,
    /// Whether the flag for an image without extended attributes is set if no entry has one. If not, the flag is set only with `xattrs` off.
    pub mark_without_xattrs: bool,
    /// The image is padded with zeros to a multiple of this many bytes; 0 or 1 for no padding.
    pub pad: u32,
    /// Image creation time, seconds since 1970.
    pub created: u32,
    pub directory_links: DirectoryLinks,
    pub layout: Layout,
}

impl Options {
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

    /// Size of a complete fragment block in bytes. A half-size block changes with half as many files, and costs little compression.
    pub(crate) fn fragment_size(&self) -> u32 {
        match self.layout {
            Layout::Compact => self.block_size.into(),
            Layout::Stable { .. } => u32::from(self.block_size) / 2,
        }
    }

    /// Whether the inode table is stored uncompressed, so that its blocks keep their positions when one of them changes.
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

/// Which bytes of the image can be the start of a file's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// Any byte.
    #[default]
    Any,
    /// Multiples of [`Options::pad`] bytes.
    Pad,
    /// Multiples of this number of bytes, which is at least 1.
    Bytes(u32),
}

/// Settings for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileHints {
    /// Whether tail ends go into fragment blocks, instead of what [`Options::fragments`] says.
    pub fragments: Override,
    /// Whether the tail end of a file larger than a block goes into a fragment block. Ignored with `fragments` off.
    pub large_tails: Override,
    /// Whether blocks are compressed, instead of what [`Options::stored`] says. A file with `Off` has no tail end in a fragment block. A file
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
