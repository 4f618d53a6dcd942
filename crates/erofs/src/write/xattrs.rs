//! Extended attributes: those that many inodes have are stored once, the others after each inode.

use std::borrow::Cow;

use packline_blocks::{Error, XattrSets};
use packline_tree::{NO_XATTR, Tree};

use super::output::Output;
use crate::format::xattr::{self, HEADER_BYTES, LongPrefix, SHARED_BYTES, SHARED_MOST, entry_bytes};
use crate::xattrs::XattrTable;

/// Unit of the numbers of shared attributes.
const SHARED_UNIT: u64 = 4;

/// Bytes that are written at once.
const STEP: usize = 64 << 10;

/// A shared attribute.
#[derive(Debug, Clone, Copy)]
struct Shared {
    /// Indices of key and value.
    pair: (u32, u32),
    number: u32,
}

/// The attributes of an image, and where each of them is stored.
pub(super) struct Xattrs<'x> {
    sets: &'x XattrSets,
    /// Prefixes that entries refer to.
    long: Vec<LongPrefix>,
    /// Sorted by pair.
    shared: Vec<Shared>,
    /// Bytes of all shared attributes.
    shared_bytes: u64,
}

impl<'x> Xattrs<'x> {
    /// Chooses the shared attributes: those that take fewer bytes so.
    ///
    /// # Errors
    /// [`Error::Limit`] if the shared attributes take more than 16 GiB.
    pub(super) fn new(table: &'x XattrTable, tree: &Tree, long: Vec<LongPrefix>) -> Result<Xattrs<'x>, Error> {
        let sets = &table.sets;
        let mut uses = vec![0u32; sets.count() as usize];
        for set in tree.inodes().map(|inode| tree.xattr(inode)).filter(|set| *set != NO_XATTR) {
            if let Some(uses) = uses.get_mut(set as usize) {
                *uses += 1;
            }
        }
        let used_sets: Vec<u32> = (0..).zip(&uses).filter(|(_, uses)| **uses > 0).map(|(set, _)| set).collect();
        let of_set = |(set, uses): (u32, u32)| sets.pairs(set).map(move |pair| (pair, u64::from(uses)));
        let mut pairs: Vec<((u32, u32), u64)> = (0..).zip(uses).flat_map(of_set).collect();
        pairs.sort_unstable();
        pairs.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            first.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        let mut xattrs = Xattrs { sets, long, shared: Vec::new(), shared_bytes: 0 };
        for (pair, uses) in pairs {
            let bytes = xattrs.entry_bytes(pair);
            if bytes + uses * SHARED_BYTES < uses * bytes {
                xattrs.shared.push(Shared { pair, number: 0 });
            }
        }
        xattrs.drop_unused(&used_sets);
        xattrs.shared.shrink_to_fit();
        xattrs.number()?;
        Ok(xattrs)
    }

    /// Returns the key of an entry.
    fn key(&self, index: u32) -> Cow<'x, [u8]> {
        xattr::shortened(self.sets.key(index), &self.long)
    }

    fn entry_bytes(&self, (key, value): (u32, u32)) -> u64 {
        entry_bytes(&self.key(key), self.sets.value(value))
    }

    /// Drops the attributes that no set shares, because a set shares only so many. `sets`: those that inodes have.
    fn drop_unused(&mut self, sets: &[u32]) {
        if sets.iter().all(|set| self.sets.pairs(*set).count() <= SHARED_MOST) {
            return;
        }
        let mut is_used = vec![false; self.shared.len()];
        for index in sets.iter().flat_map(|set| self.places(*set)).filter_map(|(_, index)| index) {
            is_used[index] = true;
        }
        let mut is_used = is_used.into_iter();
        self.shared.retain(|_| is_used.next().unwrap_or(false));
    }

    /// Numbers the shared attributes.
    fn number(&mut self) -> Result<(), Error> {
        for index in 0..self.shared.len() {
            self.shared[index].number = u32::try_from(self.shared_bytes / SHARED_UNIT).map_err(|_| Error::Limit {
                what: format!("{} bytes of extended attributes that inodes share", self.shared_bytes),
                expected: "less than 16 GiB".into(),
            })?;
            self.shared_bytes += self.entry_bytes(self.shared[index].pair);
        }
        Ok(())
    }

    /// Returns key and value of each attribute of a set, with its index in `shared` if the set shares it.
    fn places(&self, set: u32) -> impl Iterator<Item = ((u32, u32), Option<usize>)> {
        let mut left = SHARED_MOST;
        self.sets.pairs(set).map(move |pair| {
            let found = self.shared.binary_search_by_key(&pair, |shared| shared.pair).ok().filter(|_| left > 0);
            left -= usize::from(found.is_some());
            (pair, found)
        })
    }

    /// Returns key and value of each attribute of a set, with its number if the set shares it.
    fn parts(&self, set: u32) -> impl Iterator<Item = ((u32, u32), Option<u32>)> {
        self.places(set).map(|(pair, found)| (pair, found.map(|index| self.shared[index].number)))
    }

    /// Whether a set exists.
    pub(super) fn has(&self, set: u32) -> bool {
        set < self.sets.count()
    }

    /// Returns the bytes of a set after an inode.
    pub(super) fn bytes(&self, set: u32) -> u64 {
        let bytes = |((key, value), number): ((u32, u32), Option<u32>)| match number {
            Some(_) => SHARED_BYTES,
            None => entry_bytes(&self.key(key), self.sets.value(value)),
        };
        HEADER_BYTES + self.parts(set).map(bytes).sum::<u64>()
    }

    /// Appends a set as it follows an inode.
    pub(super) fn encode(&self, set: u32, out: &mut Vec<u8>) {
        let keys = self.sets.pairs(set).map(|(key, _)| self.sets.key(key));
        let shared = || self.parts(set).filter_map(|(_, number)| number);
        out.extend_from_slice(&xattr::header(keys, shared().count() as u8));
        shared().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        for ((key, value), _) in self.parts(set).filter(|(_, number)| number.is_none()) {
            xattr::put_entry(out, &self.key(key), self.sets.value(value));
        }
    }

    /// Writes the shared attributes.
    pub(super) fn write_shared(&self, out: &mut Output<'_>) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for Shared { pair: (key, value), .. } in &self.shared {
            xattr::put_entry(&mut bytes, &self.key(*key), self.sets.value(*value));
            if bytes.len() >= STEP {
                out.put(&bytes)?;
                bytes.clear();
            }
        }
        out.put(&bytes)
    }

    /// Returns the bytes of all shared attributes.
    pub(super) fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }
}
