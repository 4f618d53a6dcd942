//! An open image: its superblock and tables. Everything else is read on demand.

use packline_codec::{CodecError, Spec};
use packline_engine::CancelToken;
use packline_tree::Xattr;
use packline_volume::{CheckScope, Covered, DataCheck, Facts, Opening, Origin, checksum, type_fault};

use super::block::Bounds;
use super::coding::{Coding, header_order};
use super::find::find_wanted;
use super::ids::Ids;
use super::metadata::{Cursor, MetaPlace, Store};
use super::{BlockPlace, Blocks, DirData, DirEntry, FileData, Inode, InodeRef, Input, Listing, Node, ReadError};
use crate::format::compressor::decode::StoredOptions;
use crate::format::directory::listing as directory;
use crate::format::head::{Head, LONGEST_SUPERBLOCK};
use crate::format::inode::decode::{self as inode_decode, Rules};
use crate::format::layout::Layout;
use crate::format::record::Record;
use crate::format::superblock::{SUPERBLOCK_BYTES, Superblock, layout};
use crate::format::tables::decode::Tables;
use crate::format::xattr::decode as xattr;
use std::fmt;
use std::sync::Arc;

/// Maximum number of superblocks that are tried.
const TRIED_MOST: usize = 100;

/// An open image. Clones share it, and any thread may use it.
#[derive(Clone)]
pub struct Image {
    inner: Arc<Inner>,
    /// Set if the blocks that are read are compared with the image's record.
    check: Option<Arc<DataCheck>>,
    /// Whether blocks that Linux cannot decode are faults.
    strict: bool,
}

struct Inner {
    superblock: Superblock,
    store: Arc<Store>,
    tables: Tables,
    ids: Ids,
    data_start: u64,
    facts: Facts,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("superblock", &self.inner.superblock).finish_non_exhaustive()
    }
}

impl Image {
    /// Opens an image: reads and checks the superblock and the positions of the tables.
    ///
    /// # Errors
    /// [`ReadError`] if the input is not an image of a known version, or breaks a rule.
    pub fn open(input: Arc<dyn Input>, opening: Opening) -> Result<Image, ReadError> {
        match opening.origin {
            Origin::At(offset) => {
                let head = head(input.as_ref(), offset)?;
                Image::at(input, offset, head, opening.metadata_cache)
            }
            Origin::Find => Image::find(&input, |_| true, opening.metadata_cache),
        }
    }

    /// Opens the first image of [`Layout::CURRENT`] in the input. Others do not count.
    ///
    /// # Errors
    /// Errors of [`Image::open`].
    pub fn open_current(input: &Arc<dyn Input>, metadata_cache: usize) -> Result<Image, ReadError> {
        Image::find(input, Layout::is_current, metadata_cache)
    }

    /// Returns the image at byte 0, or otherwise the first one that opens. An image inside the data of a damaged image does not count.
    fn find(input: &Arc<dyn Input>, is_wanted: fn(&Layout) -> bool, metadata_cache: usize) -> Result<Image, ReadError> {
        let mut failed: Vec<(u64, Head)> = Vec::new();
        let mut fault = match head(input.as_ref(), 0) {
            Ok(head) if !is_wanted(&head.layout) => {
                ReadError::unsupported(head.layout.to_string(), Layout::CURRENT.to_string())
            }
            Ok(head) => match Image::at(Arc::clone(input), 0, head.clone(), metadata_cache) {
                Err(cause) if !matches!(cause, ReadError::Input { .. }) => {
                    failed.push((0, head));
                    cause
                }
                opened => return opened,
            },
            // The image is cut off.
            Err(fault) if decoded(input.as_ref(), 0).is_ok_and(|head| is_wanted(&head.layout)) => return Err(fault),
            Err(fault) => fault,
        };
        let mut from = 1;
        for _ in 0..TRIED_MOST {
            let found = find_wanted(input.as_ref(), from..u64::MAX, is_wanted);
            let Some(offset) = found.map_err(|cause| ReadError::input(from, cause))? else { break };
            from = offset + 1;
            let head = head(input.as_ref(), offset)?;
            let is_within =
                |(start, other): &(u64, Head)| offset - start < other.superblock.bytes_used && *other != head;
            if failed.iter().any(is_within) {
                continue;
            }
            match Image::at(Arc::clone(input), offset, head.clone(), metadata_cache) {
                Ok(image) => return Ok(image),
                Err(cause @ ReadError::Input { .. }) => return Err(cause),
                Err(cause) if failed.is_empty() => fault = cause,
                Err(_) => {}
            }
            failed.push((offset, head));
        }
        Err(fault)
    }

    fn at(input: Arc<dyn Input>, origin: u64, head: Head, metadata_cache: usize) -> Result<Image, ReadError> {
        let Head { superblock, layout, old_ids } = head;
        let read = |at, buffer: &mut [u8]| read(input.as_ref(), origin, at, buffer);
        let layout = Layout { header_order: header_order(&superblock, &layout, &read)?, ..layout };
        let options = StoredOptions { superblock: &superblock, layout: &layout, read: &read };
        let coding = Coding::of_image(options.codec()?, &superblock, &layout, &read)?;
        let data_start = options.data_start()?;
        let store = Arc::new(Store::new(input, origin, layout, coding, metadata_cache));
        let tables = Tables::read(&store, &superblock)?;
        let ids = match &old_ids {
            Some(arrays) => Ids::of_arrays(&store, arrays)?,
            None => Ids::of_table(&store, &tables)?,
        };
        let facts = facts(&superblock, &store);
        let inner = Inner { superblock, store, tables, ids, data_start, facts };
        let image = Image { inner: Arc::new(inner), check: None, strict: false };
        image.check_root()?;
        Ok(image)
    }

    /// Returns the same image, for [`Image::compare_data`] after its blocks have been read: reading computes their checksum.
    #[must_use]
    pub fn checked(&self, scope: CheckScope) -> Image {
        let check = match Record::read(self) {
            Ok(Some(record)) => {
                let start = self.data_start();
                let end = self.data_end();
                let changed = "changed content, in an unknown file";
                Some(DataCheck::new(scope, Covered { start, end, contents_end: end, crc: record.data, changed }))
            }
            _ => None,
        };
        Image { check: check.map(Arc::new), ..self.clone() }
    }

    /// Returns the offset of the end of the data area.
    fn data_end(&self) -> u64 {
        self.superblock().inode_table
    }

    /// Returns the CRC-32 of the data area.
    ///
    /// # Errors
    /// [`ReadError::Input`], [`ReadError::Work`].
    pub(crate) fn data_checksum(&self, cancel: &CancelToken) -> Result<u32, ReadError> {
        let read = |at, buffer: &mut [u8]| self.inner.store.read(at, buffer);
        checksum(self.data_start(), self.data_end(), &read, cancel)
    }

    /// Returns the same image with a stricter rule: a data block that Linux cannot decode for lack of memory is a fault.
    pub(crate) fn strict(self) -> Image {
        Image { strict: true, ..self }
    }

    /// Checks a compressed block of the image, if it is strict.
    pub(super) fn check_strictly(&self, block: &[u8]) -> Result<(), CodecError> {
        if self.strict { self.check_window(block) } else { Ok(()) }
    }

    /// Checks that Linux has the memory to decode a block: for zstd it allocates the memory of a window as large as a block.
    pub(crate) fn check_window(&self, block: &[u8]) -> Result<(), CodecError> {
        match self.codec() {
            codec @ Spec::Zstd(_) => codec.check_parameters(self.superblock().block_size.bytes(), block),
            _ => Ok(()),
        }
    }

    /// Compares the data area with the checksum in the record after the image, which finds damage that no decoder notices. For
    /// [`CheckScope::Everything`], reads the bytes that were not read through this image or a clone of it. Compares nothing without a record, or
    /// if this is not an image of [`Image::checked`].
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the data has another checksum, [`ReadError::Input`], [`ReadError::Work`].
    pub fn compare_data(&self, cancel: &CancelToken) -> Result<(), ReadError> {
        let read = |at, buffer: &mut [u8]| self.inner.store.read(at, buffer);
        self.check.as_ref().map_or(Ok(()), |check| check.compare(&read, cancel))
    }

    /// Returns the check that gets each stored block that is read.
    pub(super) fn check(&self) -> Option<&DataCheck> {
        self.check.as_deref()
    }

    /// The superblock, checked.
    pub fn superblock(&self) -> &Superblock {
        &self.inner.superblock
    }

    /// Returns the byte of the input at which the image starts.
    pub fn origin(&self) -> u64 {
        self.inner.store.origin()
    }

    /// Returns the codec, with the parameters in the image's compressor options, or otherwise the defaults.
    pub fn codec(&self) -> &Spec {
        self.inner.store.codec()
    }

    /// Returns the version of the format, the byte order and the magic.
    pub fn layout(&self) -> &Layout {
        self.inner.store.layout()
    }

    /// Whether Linux and the writer have this layout and this form of blocks: blocks can be copied to another image.
    pub fn is_current(&self) -> bool {
        self.layout().is_current() && self.inner.store.coding().is_standard
    }

    /// Whether the decoded length of a block is known. Other forms of LZMA may have no end mark, and then end with bytes that mean nothing.
    pub(super) fn has_exact_blocks(&self) -> bool {
        self.inner.store.coding().has_exact_blocks()
    }

    /// Returns the compressor options as stored, at most 64 bytes; `None` if the image has none.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`], [`ReadError::Input`].
    pub fn compressor_options(&self) -> Result<Option<Vec<u8>>, ReadError> {
        self.with_options(|options| options.stored())
    }

    /// Calls `use_them` with the compressor options.
    pub(crate) fn with_options<T>(&self, use_them: impl FnOnce(StoredOptions<'_>) -> T) -> T {
        let Inner { superblock, store, .. } = self.inner.as_ref();
        let layout = store.layout();
        use_them(StoredOptions { superblock, layout, read: &|at, buffer| store.read(at, buffer) })
    }

    /// Returns the owners and groups: the id table, or in versions before 4.0 the owners, then the groups.
    pub fn ids(&self) -> &[u32] {
        &self.inner.ids.list
    }

    /// Returns the number of owners and of groups. Version 4.0 does not separate them: all ids count as owners.
    pub fn id_counts(&self) -> (usize, usize) {
        let Ids { list, owners } = &self.inner.ids;
        (*owners, list.len() - owners)
    }

    pub fn root(&self) -> InodeRef {
        InodeRef(self.inner.superblock.root)
    }

    /// Reads an inode.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the inode breaks a rule or does not exist, [`ReadError::Input`].
    pub fn inode(&self, at: InodeRef) -> Result<Inode, ReadError> {
        let place = self.inner.tables.inodes.place(at.0);
        self.inode_with(&mut self.inode_cursor(place), at)
    }

    /// Returns the entries of a directory.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if `directory` is not a directory. Faults of the listing are returned with its entries.
    pub fn entries(&self, directory: &Inode) -> Result<Listing, ReadError> {
        self.directory(directory).map(|data| self.listing(data))
    }

    /// Returns the entry of a directory by name, found through the index if there is one.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if `directory` is not a directory, or its listing breaks a rule before the name; [`ReadError::Input`].
    pub fn lookup(&self, directory: &Inode, name: &[u8]) -> Result<Option<DirEntry>, ReadError> {
        self.lookup_in(self.directory(directory)?, name)
    }

    pub(super) fn lookup_in(&self, data: &DirData, name: &[u8]) -> Result<Option<DirEntry>, ReadError> {
        let mut listing = self.listing(data);
        if data.indices == 0 || self.layout().is_old() {
            return listing.find(name);
        }
        directory::lookup(listing, self.inode_cursor(data.index), data, name)
    }

    /// Returns the inode at a canonical path (the empty path is the root); symbolic links are not followed. `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of [`Image::lookup`] and [`Image::inode`].
    pub fn resolve(&self, path: &[u8]) -> Result<Option<Inode>, ReadError> {
        let mut inode = self.inode(self.root())?;
        for name in path.split(|byte| *byte == b'/').filter(|_| !path.is_empty()) {
            if !matches!(inode.node, Node::Directory(_)) {
                return Ok(None);
            }
            let Some(entry) = self.lookup(&inode, name)? else { return Ok(None) };
            inode = self.entry_inode(&entry)?;
        }
        Ok(Some(inode))
    }

    /// Returns the inode of a directory entry.
    ///
    /// # Errors
    /// Errors of [`Image::inode`]; [`ReadError::Corrupt`] if the inode's type differs from the entry's.
    pub fn entry_inode(&self, entry: &DirEntry) -> Result<Inode, ReadError> {
        let found = self.inode(entry.inode)?;
        if found.node_type() == entry.kind {
            return Ok(found);
        }
        let offset = self.inner.tables.inodes.place(found.at.0).block;
        Err(type_fault(offset, found.number.into(), found.node_type(), entry.kind))
    }

    /// Returns the extended attributes of an inode, with full names, in the order of the image.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the set breaks a rule or takes more than 16 MiB, [`ReadError::Input`].
    pub fn xattrs(&self, inode: &Inode) -> Result<Vec<Xattr>, ReadError> {
        self.xattr_set(inode.xattr)
    }

    pub(super) fn xattr_set(&self, index: Option<u32>) -> Result<Vec<Xattr>, ReadError> {
        match (index, &self.inner.tables.xattrs) {
            (Some(index), Some(tables)) => xattr::read_set(&self.inner.store, tables, index),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the blocks of a file, without its tail end.
    pub fn blocks(&self, file: &FileData) -> Blocks {
        Blocks::new(self, file)
    }

    /// Returns the position of a fragment block.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if no fragment block has this index, or it is not within the image; [`ReadError::Input`].
    pub fn fragment(&self, index: u32) -> Result<BlockPlace, ReadError> {
        let Some(table) = self.inner.tables.fragments.as_ref().filter(|table| u64::from(index) < table.count) else {
            let count = self.inner.superblock.fragments;
            return Err(ReadError::corrupt(80, format!("fragment block {index}"), format!("one of {count}")));
        };
        let mut entry = table.at(&self.inner.store, u64::from(index))?;
        let offset = if self.layout().major < 3 { entry.read_u32()?.into() } else { entry.read_u64()? };
        let word = entry.read_u32()?;
        BlockPlace::of_word(Bounds::of(self), offset, word, "a fragment block")
    }

    pub fn has_exports(&self) -> bool {
        self.inner.tables.exports.is_some()
    }

    /// Returns the inode of a number, from the export table; `None` if the image has no such table.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if no inode has this number, [`ReadError::Input`].
    pub fn export(&self, number: u32) -> Result<Option<InodeRef>, ReadError> {
        let inodes = self.inner.superblock.inodes;
        let Some(table) = &self.inner.tables.exports else { return Ok(None) };
        if !(1..=inodes).contains(&number) {
            let what = format!("inode number {number}");
            return Err(ReadError::corrupt(table.index, what, format!("1 to {inodes}")));
        }
        let mut entry = table.at(&self.inner.store, u64::from(number) - 1)?;
        entry.read_u64().map(|reference| Some(InodeRef(reference)))
    }

    pub(super) fn known(&self) -> &Facts {
        &self.inner.facts
    }

    /// Returns the end of the superblock and of the options of the codec, in bytes.
    pub fn data_start(&self) -> u64 {
        self.inner.data_start
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.inner.tables
    }

    /// The image's bytes and metadata.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.inner.store
    }

    /// Returns a cursor at a file's first size word; [`FileData::blocks`] words follow.
    pub(crate) fn words(&self, file: &FileData) -> Cursor {
        self.inode_cursor(file.words)
    }

    pub(crate) fn inode_cursor(&self, place: MetaPlace) -> Cursor {
        Cursor::new(&self.inner.store, self.inner.tables.inodes, place)
    }

    /// Reads an inode with a reused cursor: neighbours are in the same block.
    pub(crate) fn inode_with(&self, cursor: &mut Cursor, at: InodeRef) -> Result<Inode, ReadError> {
        let Inner { superblock, tables, ids, .. } = self.inner.as_ref();
        let rules = Rules { superblock, tables, ids: &ids.list, owners: ids.owners };
        inode_decode::decode(&rules, cursor, at)
    }

    pub(crate) fn listing(&self, directory: &DirData) -> Listing {
        Listing::new(&self.inner.store, self.inner.tables.directories, directory)
    }

    fn directory<'i>(&self, inode: &'i Inode) -> Result<&'i DirData, ReadError> {
        match &inode.node {
            Node::Directory(data) => Ok(data),
            _ => {
                let offset = self.inner.tables.inodes.place(inode.at.0).block;
                let what = format!("inode {}, a {}", inode.number, inode.node_type());
                Err(ReadError::corrupt(offset, what, "a directory"))
            }
        }
    }

    /// Checks that the root can be read; otherwise opening fails.
    fn check_root(&self) -> Result<(), ReadError> {
        let root = self.inode(self.root())?;
        self.directory(&root).map(drop)
    }
}

fn facts(superblock: &Superblock, store: &Store) -> Facts {
    let codec = store.codec();
    Facts {
        codec: codec.to_string(),
        block_size: superblock.block_size.into(),
        largest_unit: superblock.block_size.into(),
        decoder: codec.footprint(superblock.block_size.bytes()).decoder as u64,
        bytes: superblock.bytes_used,
        inodes: superblock.inodes.into(),
        shared_units: superblock.fragments.into(),
        origin: store.origin(),
        nanoseconds: false,
    }
}

fn head(input: &dyn Input, origin: u64) -> Result<Head, ReadError> {
    let head = decoded(input, origin)?;
    head.superblock.check_places(input.size().saturating_sub(origin), &head.layout)?;
    Ok(head)
}

/// Reads a superblock and checks its fields.
fn decoded(input: &dyn Input, origin: u64) -> Result<Head, ReadError> {
    let space = input.size().saturating_sub(origin);
    let mut bytes = [0; LONGEST_SUPERBLOCK];
    let (start, rest) = bytes.split_at_mut(SUPERBLOCK_BYTES as usize);
    let start = &mut start[..space.min(SUPERBLOCK_BYTES) as usize];
    read(input, origin, 0, start)?;
    let least = layout(start).unwrap_or(Layout::CURRENT).superblock_bytes();
    if space < least {
        let what = format!("not a SquashFS image: {space} bytes");
        return Err(ReadError::corrupt(0, what, format!("a superblock of {least} bytes")));
    }
    if least > SUPERBLOCK_BYTES {
        read(input, origin, SUPERBLOCK_BYTES, rest)?;
    }
    Head::decode(&bytes)
}

fn read(input: &dyn Input, origin: u64, at: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
    input.read_at(origin.saturating_add(at), buffer).map_err(|cause| ReadError::input(at, cause))
}
