//! Directory listings, and the index for look-ups in long listings.
//!
//! A listing is a sequence of runs. A run has a header (number of entries less one u32, start of the inode block u32, inode number u32) and up to
//! 256 entries whose inodes are all in that block. An entry has the offset of the inode in the raw block u16, the inode's number less the
//! header's i16, the basic type u16, the length of the name less one u16, and the name. Entries are sorted by the bytes of their names.
//!
//! A listing longer than a metadata block gets an index: for each further block, the first run that starts in the block. A look-up reads one or
//! two blocks, however long the listing is. A shorter listing would gain nothing, and its inode would grow.

pub(crate) mod listing;
pub(crate) mod old;

use packline_codec::METADATA_BLOCK_SIZE;
use packline_tree::{Content, NodeId, Tree};

use crate::Error;
use crate::format::inode::{LONGEST_LISTING, MOST_INDICES, Type};
use crate::format::wire::Put;
use crate::write::metadata::{Metadata, Position, StreamId, block_of, offset_of};
use crate::write::numbering::{Numbering, display_path};

const MOST_ENTRIES: u32 = 256;
const HEADER_BYTES: usize = 12;
/// Longest name in the format in bytes.
const LONGEST_NAME: usize = 256;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    /// Start in the directory table.
    pub(crate) start: Position,
    /// Length in bytes.
    pub(crate) length: u32,
    /// Index of its first entry in [`Listings::indices`].
    pub(crate) first_index: usize,
}

/// A run in a listing's index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Index {
    /// Offset of the run in the listing in bytes.
    pub(crate) offset: u32,
    /// The first name in the run.
    pub(crate) first: NodeId,
}

/// Positions of inodes by number less one.
pub(crate) type InodePlaces = Vec<Position>;

/// Writes the listings of one level of directories.
pub(crate) struct Listings<'t> {
    tree: &'t Tree,
    numbering: &'t Numbering,
    table: StreamId,
    inodes: StreamId,
    /// The listings since the last `clear`, in order.
    pub(crate) listings: Vec<Listing>,
    /// The index entries of all `listings`.
    pub(crate) indices: Vec<Index>,
    run: Run,
}

/// The run under construction.
#[derive(Default)]
struct Run {
    first: Option<NodeId>,
    /// Index of the metadata block of its inodes.
    block: usize,
    /// The inode number that entries are relative to.
    base: u32,
    count: u32,
    entries: Vec<u8>,
}

impl Run {
    /// Whether an entry of `bytes` bytes fits into the run.
    fn takes(&self, block: usize, number: u32, bytes: usize) -> bool {
        let near = i16::try_from(i64::from(number) - i64::from(self.base)).is_ok();
        let fits = HEADER_BYTES + self.entries.len() + bytes <= METADATA_BLOCK_SIZE;
        self.block == block && near && fits && self.count < MOST_ENTRIES
    }

    fn begin(&mut self, first: NodeId, block: usize, number: u32) {
        self.entries.clear();
        self.first = Some(first);
        self.block = block;
        self.base = number;
        self.count = 0;
    }

    fn push(&mut self, offset: u16, number: u32, kind: Type, name: &[u8]) {
        self.entries.put_u16(offset);
        self.entries.put_u16(number.wrapping_sub(self.base) as u16);
        self.entries.put_u16(kind as u16);
        self.entries.put_u16((name.len() - 1) as u16);
        self.entries.extend_from_slice(name);
        self.count += 1;
    }
}

impl<'t> Listings<'t> {
    /// Writes listings to the stream `table`, for inodes in the stream `inodes`.
    pub(crate) fn new(tree: &'t Tree, numbering: &'t Numbering, table: StreamId, inodes: StreamId) -> Listings<'t> {
        let run = Run::default();
        Listings { tree, numbering, table, inodes, listings: Vec::new(), indices: Vec::new(), run }
    }

    /// Removes the listings of a level after its inodes were written.
    pub(crate) fn clear(&mut self) {
        self.listings.clear();
        self.indices.clear();
    }

    /// Returns the index entries of the listing at an index of `listings`.
    pub(crate) fn indices_of(&self, place: usize) -> &[Index] {
        let end = self.listings.get(place + 1).map_or(self.indices.len(), |next| next.first_index);
        &self.indices[self.listings[place].first_index..end]
    }

    /// Writes the listing of a directory. The inodes of all entries must have been written.
    pub(crate) fn write(&mut self, out: &mut Metadata<'_>, places: &InodePlaces, dir: NodeId) -> Result<(), Error> {
        let start = out.position(self.table);
        let first_index = self.indices.len();
        self.listings.push(Listing { start, length: 0, first_index });
        for &child in self.tree.children(dir) {
            self.add(out, places, child)?;
        }
        self.end_run(out)?;
        self.finish(dir, out.position(self.table) - start)
    }

    fn finish(&mut self, dir: NodeId, length: u64) -> Result<(), Error> {
        if length > LONGEST_LISTING {
            let what = format!("{}: a listing of {length} bytes", display_path(self.tree, dir));
            return Err(Error::Limit { what, expected: format!("at most {LONGEST_LISTING} bytes") });
        }
        let Some(listing) = self.listings.last_mut() else { return Ok(()) };
        listing.length = length as u32;
        let most = if length > METADATA_BLOCK_SIZE as u64 { MOST_INDICES } else { 0 };
        self.indices.truncate(listing.first_index + most);
        Ok(())
    }

    fn add(&mut self, out: &mut Metadata<'_>, places: &InodePlaces, child: NodeId) -> Result<(), Error> {
        let name = self.tree.name(child);
        if name.is_empty() || name.len() > LONGEST_NAME {
            let what = format!("{}: a name of {} bytes", display_path(self.tree, child), name.len());
            return Err(Error::Limit { what, expected: format!("1 to {LONGEST_NAME} bytes") });
        }
        let number = self.numbering.of(self.tree, child);
        let place = places[number as usize - 1];
        if self.run.first.is_none() || !self.run.takes(block_of(place), number, 8 + name.len()) {
            self.end_run(out)?;
            self.run.begin(child, block_of(place), number);
        }
        let kind = type_of(self.tree, child);
        self.run.push(offset_of(place), number, kind, name);
        Ok(())
    }

    /// Writes the current run, if there is one.
    fn end_run(&mut self, out: &mut Metadata<'_>) -> Result<(), Error> {
        let Some(first) = self.run.first.take() else { return Ok(()) };
        self.index(out.position(self.table), first);
        let block = out.start_of(self.inodes, (self.run.block * METADATA_BLOCK_SIZE) as u64)?;
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.put_u32(self.run.count - 1);
        header.put_u32(table_offset(block, "inode")?);
        header.put_u32(self.run.base);
        out.put(self.table, &header)?;
        out.put(self.table, &self.run.entries)
    }

    /// Adds a run that starts at `position` to the index if it is the first run in its block, and the block is not the first one of the listing.
    fn index(&mut self, position: Position, first: NodeId) {
        let Some(listing) = self.listings.last() else { return };
        let before = self.indices[listing.first_index..].last().map_or(0, |index| u64::from(index.offset));
        if block_of(position) != block_of(listing.start + before) {
            let offset = (position - listing.start) as u32;
            self.indices.push(Index { offset, first });
        }
    }
}

/// Converts an offset in the inode or directory table to 32 bits.
///
/// # Errors
/// [`Error::Limit`] if the offset is 4 GiB or more.
pub(crate) fn table_offset(offset: u64, table: &str) -> Result<u32, Error> {
    u32::try_from(offset).map_err(|_| Error::Limit {
        what: format!("the {table} table reaches {offset} bytes"),
        expected: "less than 4 GiB".into(),
    })
}

/// Returns the basic type of a node's inode.
pub(crate) fn type_of(tree: &Tree, node: NodeId) -> Type {
    match tree.content(tree.inode(node)) {
        Content::File(_) => Type::File,
        Content::Dir => Type::Directory,
        Content::Symlink(_) => Type::Symlink,
        Content::BlockDevice(_) => Type::BlockDevice,
        Content::CharDevice(_) => Type::CharDevice,
        Content::Fifo => Type::Fifo,
        Content::Socket => Type::Socket,
    }
}

#[cfg(test)]
mod tests {
    use packline_tree::{Entry, Kind, Meta, Namespace};

    use super::*;
    use crate::write::metadata::Destination;
    use crate::write::metadata::tests::Storing;

    /// A directory of files with these names, whose inodes are `step` bytes apart.
    struct Made {
        listing: Listing,
        indices: Vec<Index>,
        /// The directory table, without the headers of its blocks.
        table: Vec<u8>,
    }

    fn tree(names: impl Iterator<Item = String>) -> Tree {
        let meta = Meta::new(0o755, 0, 0, 0);
        let mut namespace = Namespace::new(meta);
        for name in names {
            let entry = Entry { path: name.into(), kind: Kind::File { size: 0 }, meta, xattrs: Vec::new() };
            namespace.add(&entry, 0, u32::MAX).unwrap();
        }
        namespace.finish().unwrap()
    }

    fn list(names: impl Iterator<Item = String>, step: u64, before: usize) -> Made {
        let tree = tree(names);
        let numbering = Numbering::new(&tree, &|_| false).unwrap();
        let mut compressor = Storing::default();
        let mut sink = Vec::new();
        let mut out = Metadata::new(&mut compressor, &mut sink);
        let table = out.open(Destination::Held(Vec::new()), false);
        let inodes = out.open(Destination::Sink(0), false);
        let places: InodePlaces = (0..u64::from(numbering.count())).map(|n| n * step).collect();
        out.put(inodes, &vec![0; places.len() * step as usize]).unwrap();
        out.put(table, &vec![0; before]).unwrap();
        let mut listings = Listings::new(&tree, &numbering, table, inodes);
        listings.write(&mut out, &places, tree.root()).unwrap();
        let closed = out.close(table).unwrap();
        let table = closed.held.chunks(8194).flat_map(|block| block[2..].to_vec()).collect();
        Made { listing: listings.listings[0], indices: listings.indices_of(0).to_vec(), table }
    }

    fn numbered(count: u32, length: usize) -> impl Iterator<Item = String> {
        (0..count).map(move |n| format!("{n:0length$}"))
    }

    #[test]
    fn a_listing_in_bytes() {
        let made = list(["b", "aa"].map(String::from).into_iter(), 32, 0);
        assert_eq!(made.table[..12], *b"\x01\0\0\0\0\0\0\0\x01\0\0\0");
        assert_eq!(made.table[12..], *b"\0\0\0\0\x02\0\x01\0aa\x20\0\x01\0\x02\0\0\0b");
        assert_eq!((made.listing.start, made.listing.length), (0, 31));
    }

    #[test]
    fn a_run_ends_at_256_entries_and_where_the_inode_block_does() {
        let runs = |made: &Made| {
            let mut at = 0;
            let mut runs = Vec::new();
            while at < made.table.len() {
                let word = |n: usize| u32::from_le_bytes(made.table[at + n..at + n + 4].try_into().unwrap());
                runs.push((word(0) + 1, word(4), word(8)));
                at += 12 + (word(0) as usize + 1) * 11;
            }
            runs
        };
        assert_eq!(runs(&list(numbered(600, 3), 8, 0)), [(256, 0, 1), (256, 0, 257), (88, 0, 513)]);
        assert_eq!(runs(&list(numbered(300, 3), 64, 0)), [(128, 0, 1), (128, 8194, 129), (44, 16_388, 257)]);
    }

    #[test]
    fn the_index_names_the_first_run_in_each_further_block() {
        let made = list(numbered(5000, 9), 32, 100);
        assert_eq!(made.listing.start, 100);
        let blocks: Vec<usize> = made.indices.iter().map(|index| (100 + index.offset as usize) / 8192).collect();
        assert_eq!(blocks, (1..=made.table.len() / 8192).collect::<Vec<_>>());
        for index in &made.indices {
            let first = 100 + index.offset as usize + 12 + 8;
            let named = format!("{:09}", index.first.0 - 1);
            assert_eq!(made.table[first..first + 9], *named.as_bytes());
        }
    }

    #[test]
    fn a_listing_no_longer_than_a_block_has_no_index() {
        assert!(list(numbered(300, 10), 32, 8000).indices.is_empty());
        assert!(!list(numbered(500, 10), 32, 8000).indices.is_empty());
    }
}
