//! The positions of the tables of an image, and the tables with an index. Positions are checked as the kernel checks them: an index has the
//! length that follows from the count, and the next table starts at its end.

use packline_codec::METADATA_BLOCK_SIZE;

use crate::format::layout::{ByteOrder, Fields};
use crate::format::superblock::{NO_TABLE, Superblock};
use crate::read::ReadError;
use crate::read::metadata::{Area, Cursor, MetaPlace, Store};
use std::sync::Arc;

/// Cached bytes of an index, enough for 67 million fragments. Further offsets are read when needed.
const KEPT_BYTES: u64 = 1 << 20;
/// Length in bytes of the longest stored metadata block, including its header.
const LONGEST: u64 = METADATA_BLOCK_SIZE as u64 + 2;
/// Header of the xattr table: start of the key-value table u64, sets u32, zero u32.
const XATTR_HEADER: u64 = 16;
/// Length in bytes of an entry of the table of xattr sets.
const ENTRY_BYTES: u64 = 16;

/// A table of entries of one size. An index of offsets leads to its metadata blocks.
#[derive(Debug)]
pub(crate) struct Indexed {
    pub(crate) area: Area,
    /// Number of entries.
    pub(crate) count: u64,
    /// Size of an entry in bytes.
    width: u64,
    /// Start of the index; it ends with the last complete offset.
    pub(crate) index: u64,
    /// Size of an offset in the index in bytes.
    pub(crate) offset_bytes: u64,
    /// The cached offsets of the index.
    kept: Vec<u64>,
}

/// The tables of extended attributes.
#[derive(Debug)]
pub(crate) struct XattrTables {
    /// Names and values.
    pub(crate) values: Area,
    pub(crate) sets: Indexed,
}

/// Positions of all tables of metadata blocks.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) inodes: Area,
    /// Listings.
    pub(crate) directories: Area,
    pub(crate) fragments: Option<Indexed>,
    /// Inodes by number.
    pub(crate) exports: Option<Indexed>,
    /// Owners and groups; `None` in versions before 4.0, which do not compress them.
    pub(crate) ids: Option<Indexed>,
    pub(crate) xattrs: Option<XattrTables>,
}

struct ExpectedIndex {
    name: &'static str,
    /// Start of the index.
    index: u64,
    count: u64,
    width: u64,
    /// Start of the next table.
    next: u64,
    /// Whether the index must end exactly there, its offsets ascend, and each block be short enough. The kernel does not check that for
    /// fragments.
    strict: bool,
}

impl Tables {
    /// Reads the tables from the last to the first.
    pub(crate) fn read(store: &Store, superblock: &Superblock) -> Result<Tables, ReadError> {
        let xattrs = XattrTables::read(store, superblock)?;
        let next = xattrs.as_ref().map_or(superblock.bytes_used, |xattrs| xattrs.values.start);
        let plan = ExpectedIndex {
            next,
            ..ExpectedIndex::strict("id table", superblock.id_table, u64::from(superblock.ids), 4)
        };
        let ids = (!store.layout().is_old()).then(|| plan.read(store)).transpose()?;
        let inodes = u64::from(superblock.inodes);
        let ids_start = ids.as_ref().map_or(superblock.id_table, |ids| ids.area.start);
        let plan = ExpectedIndex {
            next: ids_start,
            strict: !store.layout().is_old(),
            ..ExpectedIndex::strict("export table", superblock.export_table, inodes, 8)
        };
        let exports = (superblock.export_table != NO_TABLE).then(|| plan.read(store)).transpose()?;
        let next = exports.as_ref().map_or(ids_start, |exports| exports.area.start);
        let count = u64::from(superblock.fragments);
        let width = store.layout().fragment_bytes();
        let plan = ExpectedIndex::strict("fragment table", superblock.fragment_table, count, width);
        let plan = ExpectedIndex { next, strict: false, ..plan };
        let fragments = (count > 0).then(|| plan.read(store)).transpose()?;
        let end = fragments.as_ref().map_or(next, |fragments| fragments.area.start);
        let [inodes, directories] = trees(superblock, end)?;
        Ok(Tables { inodes, directories, fragments, exports, ids, xattrs })
    }
}

/// Returns the areas of the inode and directory tables, which end where the next table starts.
fn trees(superblock: &Superblock, end: u64) -> Result<[Area; 2], ReadError> {
    let Superblock { inode_table, directory_table, .. } = *superblock;
    if directory_table > end {
        let expected = format!("at most {end}, where the next table starts");
        return Err(ReadError::corrupt(72, format!("directory table at {directory_table}"), expected));
    }
    let inodes = Area { name: "inode table", start: inode_table, end: directory_table };
    Ok([inodes, Area { name: "directory table", start: directory_table, end }])
}

impl XattrTables {
    fn read(store: &Store, superblock: &Superblock) -> Result<Option<XattrTables>, ReadError> {
        let start = superblock.xattr_table;
        let end = superblock.bytes_used;
        if start == NO_TABLE {
            return Ok(None);
        }
        if end - start < XATTR_HEADER {
            let what = format!("xattr table of {} bytes", end - start);
            return Err(ReadError::corrupt(start, what, "a header of 16 bytes at least"));
        }
        let mut header = [0; XATTR_HEADER as usize];
        store.read(start, &mut header)?;
        let mut fields = Fields::new(header, store.layout().order);
        let values = fields.long(64);
        let count = fields.long(32);
        let index = start + XATTR_HEADER;
        let plan = ExpectedIndex { next: end, ..ExpectedIndex::strict("xattr table", index, count, ENTRY_BYTES) };
        let sets = plan.read_before(store, start)?;
        let before = superblock.id_table;
        if values <= before || values >= sets.area.start {
            let expected = format!("after {before} and before {}, where the sets start", sets.area.start);
            return Err(ReadError::corrupt(start, format!("xattr names and values at {values}"), expected));
        }
        let values = Area { name: "xattr names and values", start: values, end: sets.area.start };
        Ok(Some(XattrTables { values, sets }))
    }
}

impl ExpectedIndex {
    fn strict(name: &'static str, index: u64, count: u64, width: u64) -> ExpectedIndex {
        ExpectedIndex { name, index, count, width, next: 0, strict: true }
    }

    fn read(&self, store: &Store) -> Result<Indexed, ReadError> {
        self.read_before(store, self.index)
    }

    /// Reads and checks the index of a table whose blocks end at `end`.
    fn read_before(&self, store: &Store, end: u64) -> Result<Indexed, ReadError> {
        if self.count == 0 {
            return Err(ReadError::corrupt(self.index, format!("{} of 0 entries", self.name), "at least 1"));
        }
        let offset_bytes = store.layout().offset_bytes();
        let length = self.blocks() * offset_bytes;
        let space = self.next.saturating_sub(self.index);
        if length > space || self.strict && length != space {
            let what = format!("{} of {} entries, with {space} bytes for its index", self.name, self.count);
            return Err(ReadError::corrupt(self.index, what, format!("{length} bytes up to what follows")));
        }
        let kept = self.load(store, end)?;
        let area = Area { name: self.name, start: kept[0], end };
        Ok(Indexed { area, count: self.count, width: self.width, index: self.index, offset_bytes, kept })
    }

    fn blocks(&self) -> u64 {
        (self.count * self.width).div_ceil(METADATA_BLOCK_SIZE as u64)
    }

    /// Reads the index in pieces, checks all of it and caches the first piece.
    fn load(&self, store: &Store, end: u64) -> Result<Vec<u64>, ReadError> {
        let mut first = Vec::new();
        let mut before = None;
        let mut at = 0;
        let width = store.layout().offset_bytes();
        while at < self.blocks() * width {
            let mut bytes = vec![0; (self.blocks() * width - at).min(KEPT_BYTES) as usize];
            store.read(self.index + at, &mut bytes)?;
            let piece: Vec<u64> = bytes.chunks_exact(width as usize).map(|bytes| offset(store, bytes)).collect();
            for (place, start) in (self.index + at..).step_by(width as usize).zip(&piece) {
                self.check(place, before.replace(*start), *start, end)?;
            }
            at += bytes.len() as u64;
            first = if first.is_empty() { piece } else { first };
        }
        self.check_last(before.unwrap_or(0), end)?;
        Ok(first)
    }

    /// Checks one offset, at `place`, after `before`.
    fn check(&self, place: u64, before: Option<u64>, start: u64, end: u64) -> Result<(), ReadError> {
        let near = |before: u64| start > before && (!self.strict || start - before <= LONGEST);
        let follows = before.is_none_or(|before| !self.strict || near(before));
        if start < end && start > 0 && follows {
            return Ok(());
        }
        let after = before.map_or(String::new(), |before| format!(", at most {LONGEST} after {before}"));
        let what = format!("{}: a block at {start}", self.name);
        Err(ReadError::corrupt(place, what, format!("one before {end}{after}")))
    }

    fn check_last(&self, last: u64, end: u64) -> Result<(), ReadError> {
        if !self.strict || end - last <= LONGEST {
            return Ok(());
        }
        let what = format!("{}: the last block starts at {last}", self.name);
        Err(ReadError::corrupt(self.index, what, format!("at most {LONGEST} bytes before {end}")))
    }
}

impl Indexed {
    /// End of the index.
    pub(crate) fn end_of_index(&self) -> u64 {
        self.index + (self.count * self.width).div_ceil(METADATA_BLOCK_SIZE as u64) * self.offset_bytes
    }

    /// Returns a cursor at an entry, which must exist.
    pub(crate) fn at(&self, store: &Arc<Store>, entry: u64) -> Result<Cursor, ReadError> {
        let byte = entry * self.width;
        let block = self.block(store, byte / METADATA_BLOCK_SIZE as u64)?;
        let offset = (byte % METADATA_BLOCK_SIZE as u64) as u16;
        Ok(Cursor::new(store, self.area, MetaPlace { block, offset }))
    }

    /// Start of the block with this number.
    pub(crate) fn block(&self, store: &Store, number: u64) -> Result<u64, ReadError> {
        if let Some(start) = self.kept.get(number as usize) {
            return Ok(*start);
        }
        let mut start = [0; 8];
        let start = &mut start[..self.offset_bytes as usize];
        store.read(self.index + number * self.offset_bytes, start)?;
        Ok(offset(store, start))
    }
}

/// Decodes an offset of four or eight bytes.
fn offset(store: &Store, bytes: &[u8]) -> u64 {
    let add = |all, byte: &u8| all << 8 | u64::from(*byte);
    match store.layout().order {
        ByteOrder::Little => bytes.iter().rev().fold(0, add),
        ByteOrder::Big => bytes.iter().fold(0, add),
    }
}
