//! Extended attributes: equal sets, and long equal values, are stored once.
//!
//! SquashFS 4.0. The key-value table holds, for each set, its attributes: prefix u16, length of the rest of the name u16, the rest of the
//! name, length of the value u32, value. If bit 8 of the prefix is set, the value is 8 bytes long and refers to a length and value
//! elsewhere in the table. The set table has 16 bytes for each set: reference to its first attribute u64, number of attributes u32, their bytes
//! u32. An inode refers to a set by its index.

pub(crate) mod decode;

use packline_blocks::XattrSets;
use packline_runtime::escape::Escape;
use packline_tree::Xattr;

use crate::Error;
use crate::format::tables::TableEnd;
use crate::format::wire::Put;
use crate::write::metadata::{Closed, Destination, Metadata, Position, StreamId, reference};

/// Name prefixes of the format, in the order of their numbers.
pub(crate) const PREFIXES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
/// Marks a value that is stored elsewhere.
pub(crate) const OUT_OF_LINE: u16 = 1 << 8;
/// Length of a reference to a value, bytes: shorter values are always stored in place.
const REFERENCE_BYTES: usize = 8;
/// A value that has not been written yet.
const UNWRITTEN: u64 = u64::MAX;

/// The distinct sets of extended attributes of an image.
///
/// Each distinct name and value takes its bytes once. Each attribute of each distinct set takes 8 bytes.
#[derive(Default)]
pub struct XattrTable {
    /// The key of a name: the number of the prefix, and the rest of the name.
    sets: XattrSets,
}

impl XattrTable {
    pub fn new() -> XattrTable {
        XattrTable::default()
    }

    /// Adds a set if it is new, and returns its index; `u32::MAX` for the empty set. Attributes are stored in the order of their names. `entry`
    /// is the path of the entry, for messages.
    ///
    /// # Errors
    /// [`Error::Limit`] if a name has a prefix or a length that the format cannot store (see [`XattrTable::is_supported`]), if the set takes
    /// 4 GiB or more, or if there are 2^32 - 1 sets already.
    pub fn add(&mut self, xattrs: &[Xattr], entry: &[u8]) -> Result<u32, Error> {
        check_size(xattrs, entry)?;
        self.sets.add(xattrs, entry, |name| key(name).ok_or_else(|| unsupported(name, entry)))
    }

    /// Whether the format can store an attribute of this name: `user.`, `trusted.` or `security.`, then 1 to 65,535 bytes.
    pub fn is_supported(name: &[u8]) -> bool {
        key(name).is_some()
    }

    pub fn count(&self) -> u32 {
        self.sets.count()
    }

    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    pub fn memory(&self) -> usize {
        self.sets.memory()
    }

    /// Writes the key-value table and the set table from `offset` on, then the index that the superblock refers to.
    pub(crate) fn write(&self, out: &mut Metadata<'_>, offset: u64, stored: bool) -> Result<TableEnd, Error> {
        let table = out.open(Destination::Sink(offset), stored);
        let places = self.write_values(out, table)?;
        let closed = out.close(table)?;
        let sets_at = offset + closed.length();
        let sets = self.write_sets(out, sets_at, stored, &closed, &places)?;
        let start = sets_at + sets.length();
        let mut index = Vec::with_capacity(16 + sets.blocks().len() * 8);
        index.put_u64(offset);
        index.put_u32(self.count());
        index.put_u32(0);
        sets.blocks().iter().for_each(|block| index.put_u64(sets_at + block));
        out.write_plain(start, &index)?;
        Ok(TableEnd { start, end: start + index.len() as u64 })
    }

    /// Writes the key-value table. Returns the start of each set, and the end of the last one.
    fn write_values(&self, out: &mut Metadata<'_>, table: StreamId) -> Result<Vec<Position>, Error> {
        let mut written = vec![UNWRITTEN; self.sets.values()];
        let mut places = Vec::with_capacity(self.sets.count() as usize + 1);
        for set in 0..self.sets.count() {
            places.push(out.position(table));
            for (key, value) in self.sets.pairs(set) {
                self.write_pair(out, table, key, (value, &mut written[value as usize]))?;
            }
        }
        places.push(out.position(table));
        Ok(places)
    }

    /// Writes one attribute. `written`: the first position of each value.
    fn write_pair(
        &self,
        out: &mut Metadata<'_>,
        table: StreamId,
        key: u32,
        (value, written): (u32, &mut Position),
    ) -> Result<(), Error> {
        let key = self.sets.key(key);
        let value = self.sets.value(value);
        let elsewhere = *written != UNWRITTEN && value.len() > REFERENCE_BYTES;
        let mut start = Vec::with_capacity(key.len() + 16);
        start.put_u16(u16::from(key[0]) | if elsewhere { OUT_OF_LINE } else { 0 });
        start.put_u16((key.len() - 1) as u16);
        start.extend_from_slice(&key[1..]);
        if elsewhere {
            start.put_u32(REFERENCE_BYTES as u32);
            start.put_u64(reference(out.start_of(table, *written)?, *written));
            return out.put(table, &start);
        }
        out.put(table, &start)?;
        *written = out.position(table);
        out.put(table, &(value.len() as u32).to_le_bytes())?;
        out.put(table, value)
    }

    fn write_sets(
        &self,
        out: &mut Metadata<'_>,
        offset: u64,
        stored: bool,
        values: &Closed,
        places: &[Position],
    ) -> Result<Closed, Error> {
        let table = out.open(Destination::Sink(offset), stored);
        for (set, place) in (0..).zip(places.windows(2)) {
            let mut entry = Vec::with_capacity(16);
            entry.put_u64(values.reference(place[0]));
            entry.put_u32(self.sets.pairs(set).count() as u32);
            entry.put_u32((place[1] - place[0]) as u32);
            out.put(table, &entry)?;
        }
        out.close(table)
    }
}

/// Returns a name as stored: the number of its prefix, and the rest. `None` if the format has no such prefix or length.
fn key(name: &[u8]) -> Option<Vec<u8>> {
    let number = PREFIXES.iter().position(|prefix| name.starts_with(prefix))?;
    let rest = &name[PREFIXES[number].len()..];
    let storable = !rest.is_empty() && rest.len() <= usize::from(u16::MAX);
    storable.then(|| [&[number as u8], rest].concat())
}

fn check_size(xattrs: &[Xattr], entry: &[u8]) -> Result<(), Error> {
    let bytes: u64 = xattrs.iter().map(|xattr| (xattr.name.len() + xattr.value.len()) as u64 + 8).sum();
    if bytes <= u64::from(u32::MAX) {
        return Ok(());
    }
    let what = format!("{}: {bytes} bytes of extended attributes", entry.escaped());
    Err(Error::Limit { what, expected: "less than 4 GiB".into() })
}

fn unsupported(name: &[u8], entry: &[u8]) -> Error {
    let name = name.escaped();
    let entry = entry.escaped();
    Error::Limit {
        what: format!("{entry}: extended attribute \"{name}\""),
        expected: "user., trusted. or security., followed by a name of 1 to 65535 bytes".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xattrs(pairs: &[(&str, &str)]) -> Vec<Xattr> {
        pairs
            .iter()
            .map(|(name, value)| Xattr { name: name.as_bytes().into(), value: value.as_bytes().into() })
            .collect()
    }

    #[test]
    fn keys_have_the_number_of_the_prefix() {
        let mut table = XattrTable::new();
        assert_eq!(table.add(&xattrs(&[("user.a", "1"), ("security.b", "2")]), b"entry").unwrap(), 0);
        let all: Vec<_> =
            table.sets.pairs(0).map(|(key, value)| (table.sets.key(key), table.sets.value(value))).collect();
        assert_eq!(all, [(&b"\x02b"[..], &b"2"[..]), (b"\0a", b"1")]);
    }

    #[test]
    fn names_that_cannot_be_stored_are_named() {
        let longest = [&b"user."[..], &[b'n'; 65_535]].concat();
        assert!(XattrTable::is_supported(&longest) && XattrTable::is_supported(b"trusted.x"));
        let too_long = [&longest[..], b"n"].concat();
        for name in [&b"system.posix_acl_access"[..], b"user", b"user.", b"", b"USER.a", &too_long] {
            assert!(!XattrTable::is_supported(name));
        }
        let error = XattrTable::new().add(&xattrs(&[("system.x", "")]), b"some/entry").unwrap_err().to_string();
        assert!(error.contains("some/entry") && error.contains("system.x"), "{error}");
    }
}
