//! Extended attributes: equal sets, and long equal values, are stored once.
//!
//! SquashFS 4.0. The key-value table holds, for each set, its attributes: prefix u16, length of the rest of the name u16, the rest of the
//! name, length of the value u32, value. If bit 8 of the prefix is set, the value is 8 bytes long and refers to a length and value
//! elsewhere in the table. The set table has 16 bytes for each set: reference to its first attribute u64, number of attributes u32, their bytes
//! u32. An inode refers to a set by its index.

pub(crate) mod decode;

use hashbrown::HashTable;
use packline_runtime::escape::Escape;
use packline_tree::Xattr;

use crate::Error;
use crate::format::inode::NO_XATTR;
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
    /// Keys: the number of the prefix, and the rest of the name.
    keys: Interner,
    values: Interner,
    /// Pairs of an index in `keys` and an index in `values`, two little-endian u32 each.
    sets: Interner,
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
        if xattrs.is_empty() {
            return Ok(NO_XATTR);
        }
        let mut sorted: Vec<&Xattr> = xattrs.iter().collect();
        sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        check_size(xattrs, entry)?;
        let mut set = Vec::with_capacity(sorted.len() * 8);
        for xattr in sorted {
            let key = key(&xattr.name).ok_or_else(|| unsupported(&xattr.name, entry))?;
            set.put_u32(self.keys.intern(&key, entry)?);
            set.put_u32(self.values.intern(&xattr.value, entry)?);
        }
        self.sets.intern(&set, entry)
    }

    /// Whether the format can store an attribute of this name: `user.`, `trusted.` or `security.`, then 1 to 65,535 bytes.
    pub fn is_supported(name: &[u8]) -> bool {
        key(name).is_some()
    }

    pub fn count(&self) -> u32 {
        self.sets.count() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.sets.count() == 0
    }

    pub fn memory(&self) -> usize {
        self.keys.memory() + self.values.memory() + self.sets.memory()
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
        let mut written = vec![UNWRITTEN; self.values.count()];
        let mut places = Vec::with_capacity(self.sets.count() + 1);
        for set in 0..self.sets.count() {
            places.push(out.position(table));
            for (key, value) in pairs(self.sets.get(set)) {
                self.write_pair(out, table, key, (value, &mut written[value]))?;
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
        key: usize,
        (value, written): (usize, &mut Position),
    ) -> Result<(), Error> {
        let key = self.keys.get(key);
        let value = self.values.get(value);
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
        for (set, place) in places.windows(2).enumerate() {
            let mut entry = Vec::with_capacity(16);
            entry.put_u64(values.reference(place[0]));
            entry.put_u32((self.sets.get(set).len() / 8) as u32);
            entry.put_u32((place[1] - place[0]) as u32);
            out.put(table, &entry)?;
        }
        out.close(table)
    }
}

fn pairs(set: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte));
    set.chunks_exact(8).map(move |pair| (number(&pair[..4]), number(&pair[4..])))
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

/// Distinct byte strings, numbered in the order of first occurrence.
#[derive(Default)]
struct Interner {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable<u32>,
}

impl Interner {
    fn count(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, index: usize) -> &[u8] {
        slice(&self.bytes, &self.ends, index)
    }

    fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>() + self.table.allocation_size()
    }

    /// Adds a string if it is new, and returns its number.
    fn intern(&mut self, bytes: &[u8], entry: &[u8]) -> Result<u32, Error> {
        let Interner { bytes: all, ends, table } = self;
        let hash = hash(bytes);
        if let Some(found) = table.find(hash, |index| slice(all, ends, *index as usize) == bytes) {
            return Ok(*found);
        }
        let Some(index) = u32::try_from(ends.len()).ok().filter(|index| *index != NO_XATTR) else {
            let what = format!("{}: one set of extended attributes too many", entry.escaped());
            return Err(Error::Limit { what, expected: format!("at most {NO_XATTR}") });
        };
        all.extend_from_slice(bytes);
        ends.push(all.len());
        table.insert_unique(hash, index, |index| self::hash(slice(all, ends, *index as usize)));
        Ok(index)
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[usize], index: usize) -> &'a [u8] {
    let start = if index == 0 { 0 } else { ends[index - 1] };
    &bytes[start..ends[index]]
}

/// A keyed hash: an attacker cannot choose names with equal hashes.
fn hash(bytes: &[u8]) -> u64 {
    let digest = blake3::hash(bytes);
    digest.as_bytes().iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
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
    fn sets_are_stored_once_whatever_order_they_come_in() {
        let mut table = XattrTable::new();
        let mut add = |pairs: &[(&str, &str)]| table.add(&xattrs(pairs), b"entry").unwrap();
        assert_eq!(add(&[]), NO_XATTR);
        assert_eq!(add(&[("user.a", "1"), ("security.b", "2")]), 0);
        assert_eq!(add(&[("security.b", "2"), ("user.a", "1")]), 0);
        assert_eq!(add(&[("user.a", "1")]), 1);
        assert_eq!(add(&[("user.a", "2"), ("security.b", "1")]), 2);
        assert_eq!(add(&[("user.a", "12"), ("security.b", "")]), 3);
        assert_eq!(add(&[("user.a", "1"), ("security.b", "2")]), 0);
        assert_eq!(table.count(), 4);
        let first: Vec<_> =
            pairs(table.sets.get(0)).map(|(key, value)| (table.keys.get(key), table.values.get(value))).collect();
        assert_eq!(first, [(&b"\x02b"[..], &b"2"[..]), (b"\0a", b"1")]);
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

    #[test]
    fn strings_keep_their_numbers() {
        let mut all = Interner::default();
        let numbers: Vec<u32> = (0..5000u32).map(|n| all.intern(&(n % 1000).to_le_bytes(), b"").unwrap()).collect();
        assert!(numbers.iter().zip(0..).all(|(number, n)| *number == n % 1000));
        assert_eq!(all.intern(b"", b"").unwrap(), 1000);
        assert_eq!((all.get(999), all.get(1000)), (&999u32.to_le_bytes()[..], &b""[..]));
    }
}
