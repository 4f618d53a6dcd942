//! The extended attributes of an image's entries: equal names, values and sets are held once.

use hashbrown::HashTable;
use packline_runtime::escape::Escape;
use packline_tree::{NO_XATTR, Xattr};

use crate::Error;

/// The distinct sets of extended attributes of an image. A container chooses the bytes that stand for a name: its key.
///
/// Each distinct key and value takes its bytes once. Each attribute of each distinct set takes 8 bytes.
#[derive(Default)]
pub struct XattrSets {
    keys: Interner,
    values: Interner,
    /// Pairs of an index in `keys` and an index in `values`, two little-endian u32 each.
    sets: Interner,
}

impl XattrSets {
    /// Adds a set if it is new, and returns its index; [`NO_XATTR`] for the empty set. Attributes are in the order of their names. `key` returns
    /// the key of a name, or an error if the container cannot store the name. `entry` is the path of the entry, for messages.
    ///
    /// # Errors
    /// Errors of `key`; [`Error::Limit`] if there are 2^32 - 1 sets already.
    pub fn add(
        &mut self,
        xattrs: &[Xattr],
        entry: &[u8],
        key: impl Fn(&[u8]) -> Result<Vec<u8>, Error>,
    ) -> Result<u32, Error> {
        if xattrs.is_empty() {
            return Ok(NO_XATTR);
        }
        let mut sorted: Vec<&Xattr> = xattrs.iter().collect();
        sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut set = Vec::with_capacity(sorted.len() * 8);
        for xattr in sorted {
            set.extend_from_slice(&self.keys.intern(&key(&xattr.name)?, entry)?.to_le_bytes());
            set.extend_from_slice(&self.values.intern(&xattr.value, entry)?.to_le_bytes());
        }
        self.sets.intern(&set, entry)
    }

    /// Adds a set that has one attribute more than the set `set`, and returns its index. `entry` is the path of the entry, for messages.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are 2^32 - 1 sets already.
    pub fn add_to(&mut self, set: u32, key: &[u8], value: &[u8], entry: &[u8]) -> Result<u32, Error> {
        let mut pairs = if set == NO_XATTR { Vec::new() } else { self.sets.get(set).to_vec() };
        pairs.extend_from_slice(&self.keys.intern(key, entry)?.to_le_bytes());
        pairs.extend_from_slice(&self.values.intern(value, entry)?.to_le_bytes());
        self.sets.intern(&pairs, entry)
    }

    /// Returns the number of sets.
    pub fn count(&self) -> u32 {
        self.sets.count() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.sets.count() == 0
    }

    /// Returns the number of distinct values.
    pub fn values(&self) -> usize {
        self.values.count()
    }

    /// Returns the indices of key and value of each attribute of a set.
    pub fn pairs(&self, set: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
        self.sets.get(set).chunks_exact(8).map(move |pair| (number(&pair[..4]), number(&pair[4..])))
    }

    /// Returns the key with an index of [`XattrSets::pairs`].
    pub fn key(&self, index: u32) -> &[u8] {
        self.keys.get(index)
    }

    /// Returns the value with an index of [`XattrSets::pairs`].
    pub fn value(&self, index: u32) -> &[u8] {
        self.values.get(index)
    }

    pub fn memory(&self) -> usize {
        self.keys.memory() + self.values.memory() + self.sets.memory()
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

    /// Returns the string with a number; no bytes if there is none.
    fn get(&self, index: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, index)
    }

    fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>() + self.table.allocation_size()
    }

    /// Adds a string if it is new, and returns its number.
    fn intern(&mut self, bytes: &[u8], entry: &[u8]) -> Result<u32, Error> {
        let Interner { bytes: all, ends, table } = self;
        let hash = hash(bytes);
        if let Some(found) = table.find(hash, |index| slice(all, ends, *index) == bytes) {
            return Ok(*found);
        }
        let Some(index) = u32::try_from(ends.len()).ok().filter(|index| *index != NO_XATTR) else {
            let what = format!("{}: one set of extended attributes too many", entry.escaped());
            return Err(Error::Limit { what, expected: format!("at most {NO_XATTR}") });
        };
        all.extend_from_slice(bytes);
        ends.push(all.len());
        table.insert_unique(hash, index, |index| self::hash(slice(all, ends, *index)));
        Ok(index)
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[usize], index: u32) -> &'a [u8] {
    let index = index as usize;
    let start = if index == 0 { 0 } else { ends.get(index - 1).copied().unwrap_or(bytes.len()) };
    &bytes[start..ends.get(index).copied().unwrap_or(bytes.len())]
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
        let mut sets = XattrSets::default();
        let key = |name: &[u8]| Ok(name.to_ascii_uppercase());
        let mut add = |pairs: &[(&str, &str)]| sets.add(&xattrs(pairs), b"entry", key).unwrap();
        assert_eq!(add(&[]), NO_XATTR);
        assert_eq!(add(&[("user.a", "1"), ("security.b", "2")]), 0);
        assert_eq!(add(&[("security.b", "2"), ("user.a", "1")]), 0);
        assert_eq!(add(&[("user.a", "1")]), 1);
        assert_eq!(add(&[("user.a", "2"), ("security.b", "1")]), 2);
        assert_eq!(add(&[("user.a", "12"), ("security.b", "")]), 3);
        assert_eq!(add(&[("user.a", "1"), ("security.b", "2")]), 0);
        assert_eq!(sets.count(), 4);
        let first: Vec<_> = sets.pairs(0).map(|(key, value)| (sets.key(key), sets.value(value))).collect();
        assert_eq!(first, [(&b"SECURITY.B"[..], &b"2"[..]), (b"USER.A", b"1")]);
    }

    #[test]
    fn strings_keep_their_numbers() {
        let mut all = Interner::default();
        let numbers: Vec<u32> = (0..5000u32).map(|n| all.intern(&(n % 1000).to_le_bytes(), b"").unwrap()).collect();
        assert!(numbers.iter().zip(0..).all(|(number, n)| *number == n % 1000));
        assert_eq!(all.intern(b"", b"").unwrap(), 1000);
        assert_eq!((all.get(999), all.get(1000), all.get(1001)), (&999u32.to_le_bytes()[..], &b""[..], &b""[..]));
    }
}
