//! The entry that an expression examines, and its numbers.

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use packline_tree::{Error, Kind};

use super::predicate::Property;
use super::tree::{NodeId, Tree};

#[derive(Clone, Copy)]
pub(super) struct Subject<'s> {
    pub tree: &'s Tree,
    pub node: NodeId,
    /// Attributes that replace the entry's own inside `stat(...)`.
    pub other: Option<&'s Metadata>,
}

impl<'s> Subject<'s> {
    pub fn new(tree: &'s Tree, node: NodeId) -> Subject<'s> {
        Subject { tree, node, other: None }
    }

    pub fn place(&self) -> &'s Path {
        self.tree.inode(self.node).place.as_deref().unwrap_or(Path::new(""))
    }

    /// The type as the letter that the test `type` takes.
    pub fn letter(&self) -> u8 {
        match self.other {
            Some(found) => letter_of(found),
            None => match self.tree.inode(self.node).kind {
                Kind::Dir => b'd',
                Kind::Symlink(_) => b'l',
                Kind::BlockDevice(_) => b'b',
                Kind::CharDevice(_) => b'c',
                Kind::Fifo => b'p',
                Kind::Socket => b's',
                Kind::File { .. } | Kind::HardLink(_) => b'f',
            },
        }
    }

    pub fn mode(&self) -> u16 {
        let inode = self.tree.inode(self.node);
        self.other.map_or(inode.meta.mode, |found| (found.mode() & 0o7777) as u16)
    }

    pub fn number(&self, property: Property, block_size: u32) -> Result<u64, Error> {
        let meta = self.tree.inode(self.node).meta;
        Ok(match property {
            Property::Depth => self.tree.depth(self.node) as u64,
            Property::Count => self.tree.node(self.node).children.len() as u64,
            Property::Uid => self.other.map_or(meta.uid, MetadataExt::uid).into(),
            Property::Gid => self.other.map_or(meta.gid, MetadataExt::gid).into(),
            Property::TailSize => self.of_file(Metadata::len)? & u64::from(block_size.saturating_sub(1)),
            Property::Size => self.of_file(Metadata::len)?,
            Property::Inode => self.of_file(MetadataExt::ino)?,
            Property::Links => self.of_file(MetadataExt::nlink)?,
            Property::Blocks => self.of_file(MetadataExt::blocks)?,
        })
    }

    /// A number of the file on this machine; 0 without a file.
    fn of_file(&self, number: fn(&Metadata) -> u64) -> Result<u64, Error> {
        if let Some(other) = self.other {
            return Ok(number(other));
        }
        let inode = self.tree.inode(self.node);
        let Some(place) = &inode.place else { return Ok(0) };
        // If the entry is not a link, its place can still be a link that was followed.
        let link = matches!(inode.kind, Kind::Symlink(_));
        let examined = if link { fs::symlink_metadata(place) } else { fs::metadata(place) };
        let failed = |cause| Error::Io { path: place.clone(), action: "cannot examine", cause };
        examined.map(|found| number(&found)).map_err(failed)
    }
}

fn letter_of(found: &Metadata) -> u8 {
    let kind = found.file_type();
    if kind.is_dir() {
        b'd'
    } else if kind.is_symlink() {
        b'l'
    } else if kind.is_block_device() {
        b'b'
    } else if kind.is_char_device() {
        b'c'
    } else if kind.is_fifo() {
        b'p'
    } else if kind.is_socket() {
        b's'
    } else {
        b'f'
    }
}
