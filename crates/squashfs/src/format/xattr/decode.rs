//! Reads extended attributes from their tables.
//!
//! SquashFS 4.0; the parent module, which encodes the tables, describes their layout.

use packline_tree::Xattr;

use crate::format::tables::decode::XattrTables;
use crate::format::xattr::{OUT_OF_LINE, PREFIXES};
use crate::read::ReadError;
use crate::read::metadata::{Cursor, MetaPlace, Store};
use std::sync::Arc;

/// Limit in bytes of the names and values of one set. Linux allows 64 KiB of names, and as much for each value. The format allows more, and a few
/// bytes of an image could lead to any amount.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes charged for an attribute in addition to its own, so that a set of many small attributes is bounded, too.
const OVERHEAD: u64 = 64;
/// Length in bytes of a reference to a value stored elsewhere.
const REFERENCE_BYTES: u32 = 8;
/// Size in bytes of the prefix, the length of the name and the length of the value.
const HEADERS: u64 = 8;

/// The attributes of a set, with its stated and actual sizes.
pub(crate) struct MeasuredSet {
    pub(crate) xattrs: Vec<Xattr>,
    /// Bytes of names and values with their headers, as the set's entry states them.
    pub(crate) stated: u32,
    /// Bytes of names and values with their headers, where they are stored: the count of squashfs-tools-ng and packline.
    pub(crate) stored: u64,
    /// Bytes of full names, each with a NUL, and of values, wherever they are stored: the count of mksquashfs.
    pub(crate) listed: u64,
}

pub(crate) fn read_set(store: &Arc<Store>, tables: &XattrTables, index: u32) -> Result<Vec<Xattr>, ReadError> {
    measured_set(store, tables, index).map(|set| set.xattrs)
}

pub(crate) fn measured_set(store: &Arc<Store>, tables: &XattrTables, index: u32) -> Result<MeasuredSet, ReadError> {
    let count = tables.sets.count;
    if u64::from(index) >= count {
        let what = format!("set {index} of extended attributes");
        return Err(ReadError::corrupt(tables.sets.index, what, format!("less than {count}")));
    }
    let mut entry = tables.sets.at(store, u64::from(index))?;
    let reference = entry.read_u64()?;
    let pairs = entry.read_u32()?;
    let stated = entry.read_u32()?;
    let cursor = Cursor::new(store, tables.values, tables.values.place(reference));
    let mut set = Set { cursor, left: MOST_BYTES, stored: 0, tables, store };
    let mut xattrs = Vec::new();
    for _ in 0..pairs {
        xattrs.push(set.pair()?);
    }
    let listed = xattrs.iter().map(|xattr| (xattr.name.len() + 1 + xattr.value.len()) as u64).sum();
    Ok(MeasuredSet { xattrs, stated, stored: set.stored, listed })
}

struct Set<'s> {
    cursor: Cursor,
    /// Bytes left of the limit.
    left: u64,
    /// Bytes of names and values so far, with their headers, where they are stored.
    stored: u64,
    tables: &'s XattrTables,
    store: &'s Arc<Store>,
}

impl Set<'_> {
    /// Prefix u16, length of the rest of the name u16, the rest of the name, then the value.
    fn pair(&mut self) -> Result<Xattr, ReadError> {
        let place = self.cursor.place();
        let kind = self.cursor.read_u16()?;
        let length = self.cursor.read_u16()?;
        let prefix = PREFIXES.get(usize::from(kind & !OUT_OF_LINE)).copied().ok_or_else(|| {
            fault(place, format!("extended attribute with prefix {kind:#x}"), "0 user, 1 trusted or 2 security")
        })?;
        self.take(place, u64::from(length) + OVERHEAD)?;
        let mut name = prefix.to_vec();
        self.cursor.read_to(u64::from(length), &mut name)?;
        if length == 0 || memchr::memchr(0, &name).is_some() {
            let what = format!("extended attribute \"{}\"", name.escape_ascii());
            return Err(fault(place, what, "a name of 1 to 65535 bytes without NUL after the prefix"));
        }
        let inline = kind & OUT_OF_LINE == 0;
        let value = if inline { self.value()? } else { self.value_elsewhere(place)? };
        let value_bytes = if inline { value.len() as u64 } else { u64::from(REFERENCE_BYTES) };
        self.stored += HEADERS + u64::from(length) + value_bytes;
        Ok(Xattr { name, value })
    }

    /// Length u32, value.
    fn value(&mut self) -> Result<Vec<u8>, ReadError> {
        let place = self.cursor.place();
        let length = self.cursor.read_u32()?;
        self.take(place, u64::from(length))?;
        let mut value = Vec::new();
        self.cursor.read_to(u64::from(length), &mut value)?;
        Ok(value)
    }

    /// The number 8 as a length, and a reference to a length and value.
    fn value_elsewhere(&mut self, place: MetaPlace) -> Result<Vec<u8>, ReadError> {
        let length = self.cursor.read_u32()?;
        if length != REFERENCE_BYTES {
            return Err(fault(place, format!("reference to a value, of {length} bytes"), "8"));
        }
        let reference = self.cursor.read_u64()?;
        let there = Cursor::new(self.store, self.tables.values, self.tables.values.place(reference));
        let here = std::mem::replace(&mut self.cursor, there);
        let value = self.value();
        self.cursor = here;
        value
    }

    fn take(&mut self, place: MetaPlace, bytes: u64) -> Result<(), ReadError> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| {
            let what = format!("set of extended attributes with {bytes} bytes more after {}", MOST_BYTES - self.left);
            fault(place, what, "at most 16 MiB in total")
        })?;
        Ok(())
    }
}

fn fault(place: MetaPlace, what: String, expected: &str) -> ReadError {
    let what = format!("{what}, at offset {} of the metadata block", place.offset);
    ReadError::corrupt(place.block, what, expected)
}
