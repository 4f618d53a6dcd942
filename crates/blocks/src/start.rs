//! What the writers of all images have in common: their start, and their counts.

use std::path::PathBuf;

use packline_cache::Lookup;
use packline_tree::{Content, Kind, Meta, Tree};

/// Everything that the writer of an image needs in addition to the options of the image.
#[derive(Debug, Clone)]
pub struct Start {
    /// Attributes of the root, until an entry replaces them.
    pub root: Meta,
    /// Attributes of implied directories, until an entry replaces them.
    pub defaults: Meta,
    /// The input's name in error messages.
    pub input: String,
    /// Bytes that pipeline and tree may use together. A growing tree takes memory from the pipeline. When none is left, packing fails.
    pub memory: usize,
    /// Whether everything is read back and compared before the image is complete. Changes no byte. The sink must support reading.
    pub verify: bool,
    /// Looks blocks up before they are compressed.
    pub lookup: Lookup,
    /// Directory of temporary files. Without it, everything that is not in the image yet stays in memory.
    pub scratch: Option<PathBuf>,
}

/// Counters while an image is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries added.
    pub entries: u64,
    /// Bytes of file content added, holes included.
    pub content_bytes: u64,
    /// Bytes of the image so far.
    pub image_bytes: u64,
}

/// Inodes of an image by kind, and names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files, each once for all of its names.
    pub files: u64,
    /// Directories, including the root and the directories that only paths of entries imply.
    pub directories: u64,
    pub symlinks: u64,
    /// Names of inodes beyond the first.
    pub hard_links: u64,
    /// Devices, pipes and sockets.
    pub special: u64,
}

impl Counts {
    /// Counts an entry.
    pub fn add(&mut self, kind: &Kind) {
        *match kind {
            Kind::File { .. } => &mut self.files,
            Kind::Dir => &mut self.directories,
            Kind::Symlink(_) => &mut self.symlinks,
            Kind::HardLink(_) => &mut self.hard_links,
            Kind::BlockDevice(_) | Kind::CharDevice(_) | Kind::Fifo | Kind::Socket => &mut self.special,
        } += 1;
    }

    /// Counts the inodes and names of a tree.
    pub fn of(tree: &Tree) -> Counts {
        let hard_links = (tree.node_count() - tree.inode_count()) as u64;
        let mut counts = Counts { hard_links, ..Counts::default() };
        for inode in tree.inodes() {
            *match tree.content(inode) {
                Content::File(_) => &mut counts.files,
                Content::Dir => &mut counts.directories,
                Content::Symlink(_) => &mut counts.symlinks,
                Content::BlockDevice(_) | Content::CharDevice(_) | Content::Fifo | Content::Socket => {
                    &mut counts.special
                }
            } += 1;
        }
        counts
    }
}
