//! Options of an image.

use packline_blocks::{DataOptions, Fragments, Layout, Sharing, Start};
use packline_codec::Spec;

use crate::format::record::Record;
use crate::{BlockSize, Error, data_start};

/// How the link count of a directory is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DirectoryLinks {
    /// 2 and the number of subdirectories, as Unix file systems and mksquashfs do.
    #[default]
    Subdirectories,
    /// 2 and the number of all children, as squashfs-tools-ng does.
    Children,
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

    /// Returns the options of the data area.
    ///
    /// # Errors
    /// Errors of [`data_start`].
    pub(crate) fn data(&self, start: &Start) -> Result<DataOptions, Error> {
        let compresses = !matches!(self.codec, Spec::None);
        Ok(DataOptions {
            block_size: self.block_size,
            fragment_size: self.fragment_size(),
            fragments: self.fragments,
            deduplicate: self.deduplicate,
            sharing: Sharing::Runs,
            cluster_size: None,
            sparse: self.sparse,
            stored_blocks: self.stored.data,
            stored_fragments: self.stored.fragments,
            compresses,
            pad: self.pad,
            layout: self.layout,
            unit: 1,
            start: data_start(self)?,
            checksum: Record::is_wanted(self),
            verify: start.verify,
            looks_up: compresses && !start.lookup.is_empty(),
            keep_tails: None,
            keep_ends: None,
        })
    }

    /// Size of a complete fragment block in bytes. A half-size block changes with half as many files, and costs little compression.
    fn fragment_size(&self) -> u32 {
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
