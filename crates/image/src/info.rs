//! Codec, sizes and structures of an image, and counts of its inodes. No data is read.

use std::collections::BTreeSet;

use packline_erofs::read::RecordedOptions;
use packline_runtime::Unsupported;
use packline_squashfs::Superblock;
use packline_squashfs::read::{Layout, TablePlace};
use packline_volume::{Inode, Node, NodeId, ReadError, SharedVolume, Walk};

use crate::{Error, FileSystem, OpenedImage};

/// Maximum number of files with several names, about 16 bytes each.
const SHARED_MOST: usize = 4 << 20;

/// Codec, sizes and structures of an image.
#[derive(Debug, Clone)]
pub struct ImageInfo {
    /// The codec with the parameters that the image has, as [`packline_codec::Spec`] prints it.
    pub codec: String,
    /// Byte of the file at which the image starts.
    pub origin: u64,
    /// Size of the image in bytes.
    pub bytes: u64,
    /// What only this file system has.
    pub structures: Structures,
}

/// The structures of a file system.
#[derive(Debug, Clone)]
pub enum Structures {
    /// SquashFS.
    SquashFs {
        /// The version, the byte order and the magic.
        layout: Layout,
        /// The superblock.
        superblock: Superblock,
        /// Tables, in the order of their positions.
        tables: Vec<TablePlace>,
    },
    /// EROFS.
    Erofs {
        /// The superblock.
        superblock: packline_erofs::read::Superblock,
        /// The options of the pack; `None` if the image does not have them.
        options: Option<RecordedOptions>,
    },
}

/// Counts of an image's inodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeCounts {
    /// Regular files, each once for all of its names.
    pub files: u64,
    /// Directories, including the root.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Block and character devices.
    pub devices: u64,
    /// Named pipes.
    pub fifos: u64,
    /// Sockets.
    pub sockets: u64,
    /// Names of files beyond the first.
    pub hard_links: u64,
    /// Entries with extended attributes.
    pub with_xattrs: u64,
    /// Bytes of content, holes included, of each file once.
    pub content_bytes: u64,
    /// Bytes in holes, as the inodes say.
    pub sparse_bytes: u64,
    /// Own blocks of files, holes included.
    pub blocks: u64,
    /// Files that end in a unit shared with other files.
    pub tail_ends: u64,
}

impl ImageInfo {
    /// Collects the information that opening the image has read already.
    pub fn of(image: &OpenedImage) -> ImageInfo {
        let facts = image.volume.facts();
        let mut codec = facts.codec.clone();
        let structures = match &image.file_system {
            FileSystem::SquashFs(image) => {
                let tables = image.table_places();
                Structures::SquashFs { layout: *image.layout(), superblock: image.superblock().clone(), tables }
            }
            FileSystem::Erofs(image) => {
                let options = image.recorded_options();
                if let Some(options) = &options {
                    codec = options.codec.to_string();
                }
                Structures::Erofs { superblock: image.superblock().clone(), options }
            }
        };
        ImageInfo { codec, origin: facts.origin, bytes: facts.bytes, structures }
    }
}

impl TreeCounts {
    /// Counts all inodes of an image.
    ///
    /// # Errors
    /// [`Error::Read`] for the first broken inode or listing, and for more than four million files with several names.
    pub fn of(image: &OpenedImage) -> Result<TreeCounts, Error> {
        let mut counts = TreeCounts::default();
        let mut shared = BTreeSet::new();
        for visit in Walk::new(&image.volume, image.volume.root(), Vec::new()) {
            let visit = visit.map_err(|(path, cause)| image.fault_at(&path, cause))?;
            counts.add(&image.volume, &visit.inode, &mut shared);
            if shared.len() > SHARED_MOST {
                let what = format!("more than {SHARED_MOST} files with several names");
                let expected = format!("{SHARED_MOST} at most, to count each once");
                return Err(image.fault_at(&visit.path, ReadError::Unsupported(Unsupported { what, expected })));
            }
        }
        Ok(counts)
    }

    fn add(&mut self, volume: &SharedVolume, inode: &Inode, shared: &mut BTreeSet<NodeId>) {
        let directory = matches!(inode.node, Node::Directory(_));
        if inode.links > 1 && !directory && !shared.insert(inode.at) {
            self.hard_links += 1;
            return;
        }
        self.with_xattrs += u64::from(inode.xattr.is_some());
        match &inode.node {
            Node::Directory(_) => self.directories += 1,
            Node::File(file) => {
                self.files += 1;
                self.content_bytes = self.content_bytes.saturating_add(file.size);
                self.sparse_bytes = self.sparse_bytes.saturating_add(file.sparse);
                let place = volume.content_place(file);
                self.blocks = self.blocks.saturating_add(place.blocks);
                self.tail_ends += u64::from(place.tail.is_some());
            }
            Node::Symlink(_) => self.symlinks += 1,
            Node::BlockDevice(_) | Node::CharDevice(_) => self.devices += 1,
            Node::Fifo => self.fifos += 1,
            Node::Socket => self.sockets += 1,
        }
    }
}
