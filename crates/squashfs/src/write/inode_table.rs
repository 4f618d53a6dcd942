//! The inode and directory tables, written together level by level: the inodes of a level's entries, then the listings.

use packline_runtime::TaskError;
use packline_tree::{Content, NodeId};

use crate::format::directory::{InodePlaces, Listings, table_offset};
use crate::format::inode::{self, Common, ListingPlace, NO_XATTR, Type};
use crate::options::DirectoryLinks;
use crate::write::ids::Ids;
use crate::write::metadata::{Closed, Destination, Metadata, StreamId, offset_of};
use crate::write::metadata_area::Source;
use crate::write::numbering::{display_path, is_directory};
use crate::{Error, FileLayout};

/// Block sizes of a file that are added at a time: all sizes of a file may be too many to hold twice.
const SIZES_AT_ONCE: usize = 2048;

pub(crate) struct InodeTables {
    /// The inode table, in the sink.
    pub(crate) inodes: Closed,
    /// The directory table, in memory.
    pub(crate) directories: Closed,
    /// Position of each inode in the inode table, by number less one.
    pub(crate) places: InodePlaces,
    /// The ids that inodes refer to.
    pub(crate) ids: Ids,
    /// Reference to the root's inode.
    pub(crate) root: u64,
}

/// Writes the inode table from the end of the data area on, and builds the directory table.
pub(crate) fn write_inodes(out: &mut Metadata<'_>, source: &Source<'_>) -> Result<InodeTables, Error> {
    let inodes = out.open(Destination::Sink(source.data.end), source.options.stores_inodes());
    let directories = out.open(Destination::Held(Vec::new()), source.options.stored.inodes);
    let listings = Listings::new(source.tree, source.numbering, directories, inodes);
    let places = Vec::with_capacity(source.numbering.count() as usize);
    let scratch = Vec::new();
    let mut writer = Writer { source, inodes, directories, listings, next: 0, places, ids: Ids::default(), scratch };
    writer.write_all(out)?;
    let Writer { places, ids, .. } = writer;
    let inodes = out.close(inodes)?;
    let directories = out.close(directories)?;
    let root = places.last().map_or(0, |place| inodes.reference(*place));
    Ok(InodeTables { inodes, directories, places, ids, root })
}

struct Writer<'a> {
    source: &'a Source<'a>,
    inodes: StreamId,
    directories: StreamId,
    /// Listings of the level below the current one.
    listings: Listings<'a>,
    /// Index in `listings` of the next directory.
    next: usize,
    places: InodePlaces,
    ids: Ids,
    scratch: Vec<u8>,
}

impl Writer<'_> {
    fn write_all(&mut self, out: &mut Metadata<'_>) -> Result<(), Error> {
        for level in (0..self.source.numbering.levels()).rev() {
            self.write_entries(out, level)?;
            self.write_listings(out, level)?;
        }
        self.write_inode(out, self.source.tree.root())
    }

    /// Writes the inodes of all entries of the directories of a level.
    fn write_entries(&mut self, out: &mut Metadata<'_>, level: usize) -> Result<(), Error> {
        // First the inodes that are not numbered late, then the others.
        self.write_next(out, level)?;
        self.write_next(out, level)
    }

    /// Writes the inodes of a level that are next by number, in the order of names.
    fn write_next(&mut self, out: &mut Metadata<'_>, level: usize) -> Result<(), Error> {
        for &directory in self.source.numbering.level(level) {
            for &child in self.source.tree.children(directory) {
                if self.is_next(child) {
                    self.write_inode(out, child)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the listings of the directories of a level.
    fn write_listings(&mut self, out: &mut Metadata<'_>, level: usize) -> Result<(), Error> {
        self.listings.clear();
        self.next = 0;
        for &directory in self.source.numbering.level(level) {
            self.listings.write(out, &self.places, directory)?;
        }
        Ok(())
    }

    /// Whether a name's inode has not been written yet through another name.
    fn is_next(&self, node: NodeId) -> bool {
        self.source.numbering.of(self.source.tree, node) as usize == self.places.len() + 1
    }

    fn write_inode(&mut self, out: &mut Metadata<'_>, node: NodeId) -> Result<(), Error> {
        self.places.push(out.position(self.inodes));
        self.scratch.clear();
        let common = self.common(node)?;
        let tree = self.source.tree;
        match tree.content(tree.inode(node)) {
            Content::File(payload) => return self.write_file(out, node, &common, payload),
            Content::Dir => return self.write_directory(out, node, common),
            Content::Symlink(target) => inode::symlink(&mut self.scratch, &common, target),
            Content::BlockDevice(device) => self.device(node, &common, Type::BlockDevice, device)?,
            Content::CharDevice(device) => self.device(node, &common, Type::CharDevice, device)?,
            Content::Fifo => inode::ipc(&mut self.scratch, &common, Type::Fifo),
            Content::Socket => inode::ipc(&mut self.scratch, &common, Type::Socket),
        }
        out.put(self.inodes, &self.scratch)
    }

    fn common(&mut self, node: NodeId) -> Result<Common, Error> {
        let tree = self.source.tree;
        let inode = tree.inode(node);
        let meta = tree.meta(inode);
        let entry = || display_path(tree, node);
        Ok(Common {
            meta,
            uid: self.ids.index(meta.uid, &entry)?,
            gid: self.ids.index(meta.gid, &entry)?,
            number: self.source.numbering.of(tree, node),
            links: tree.links(inode),
            xattr: self.xattr(node)?,
        })
    }

    fn xattr(&self, node: NodeId) -> Result<u32, Error> {
        let Some(table) = self.source.xattrs else { return Ok(NO_XATTR) };
        let tree = self.source.tree;
        match tree.xattr(tree.inode(node)) {
            NO_XATTR => Ok(NO_XATTR),
            set if set < table.count() => Ok(set),
            set => Err(self.dangling(node, "attribute set", u64::from(set))),
        }
    }

    fn device(
        &mut self,
        node: NodeId,
        common: &Common,
        kind: Type,
        number: packline_tree::Device,
    ) -> Result<(), Error> {
        let number = inode::encode_device(number, &|| display_path(self.source.tree, node))?;
        inode::device(&mut self.scratch, common, kind, number);
        Ok(())
    }

    fn write_file(&mut self, out: &mut Metadata<'_>, node: NodeId, common: &Common, payload: u32) -> Result<(), Error> {
        let layout = self.source.data.files.get(payload as usize);
        let layout = layout.ok_or_else(|| self.dangling(node, "content", u64::from(payload)))?;
        let sizes = sizes(&self.source.data.sizes, layout);
        let sizes = sizes.ok_or_else(|| self.dangling(node, "block", layout.first_block))?;
        inode::file(&mut self.scratch, common, layout);
        out.put(self.inodes, &self.scratch)?;
        for some in sizes.chunks(SIZES_AT_ONCE) {
            self.scratch.clear();
            self.scratch.extend(some.iter().flat_map(|size| size.to_le_bytes()));
            out.put(self.inodes, &self.scratch)?;
        }
        Ok(())
    }

    fn write_directory(&mut self, out: &mut Metadata<'_>, node: NodeId, mut common: Common) -> Result<(), Error> {
        common.links = self.directory_links(node)?;
        let place = self.listing_place(out)?;
        let parent = self.parent(node);
        inode::directory(&mut self.scratch, &common, &place, parent);
        out.put(self.inodes, &self.scratch)?;
        self.write_index(out)?;
        self.next += 1;
        Ok(())
    }

    fn parent(&self, node: NodeId) -> u32 {
        self.source.numbering.of_parent(self.source.tree, node)
    }

    fn directory_links(&self, node: NodeId) -> Result<u32, Error> {
        let tree = self.source.tree;
        let children = tree.children(node);
        let counted = match self.source.options.directory_links {
            DirectoryLinks::Children => children.len(),
            DirectoryLinks::Subdirectories => children.iter().filter(|child| is_directory(tree, **child)).count(),
        };
        u32::try_from(counted + 2).map_err(|_| Error::Limit {
            what: format!("{}: {counted} entries", display_path(tree, node)),
            expected: "at most 4294967293".into(),
        })
    }

    /// Returns the position of the next directory's listing. An empty listing has no position, so this does not wait for it.
    fn listing_place(&self, out: &mut Metadata<'_>) -> Result<ListingPlace, Error> {
        let listing = self.listings.listings[self.next];
        let indices = self.listings.indices_of(self.next).len() as u16;
        let empty = listing.length == 0;
        let start = if empty { 0 } else { listing.start };
        let block = table_offset(out.start_of(self.directories, start)?, "directory")?;
        Ok(ListingPlace { block, offset: offset_of(start), length: listing.length, indices })
    }

    /// Writes the index of the next directory, after its inode.
    fn write_index(&mut self, out: &mut Metadata<'_>) -> Result<(), Error> {
        let listing = self.listings.listings[self.next];
        for index in self.listings.indices_of(self.next) {
            let run = listing.start + u64::from(index.offset);
            let block = table_offset(out.start_of(self.directories, run)?, "directory")?;
            self.scratch.clear();
            let name = self.source.tree.name(index.first);
            inode::index_entry(&mut self.scratch, index.offset, block, name);
            out.put(self.inodes, &self.scratch)?;
        }
        Ok(())
    }

    fn dangling(&self, node: NodeId, what: &str, index: u64) -> Error {
        Error::internal(format!("{} names {what} {index}, which does not exist", display_path(self.source.tree, node)))
    }
}

/// Returns the block sizes of a file.
fn sizes<'s>(all: &'s [u32], layout: &FileLayout) -> Option<&'s [u32]> {
    let first = usize::try_from(layout.first_block).ok()?;
    all.get(first..first.checked_add(layout.blocks as usize)?)
}
