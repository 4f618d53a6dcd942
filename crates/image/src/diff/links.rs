//! Names of the same file: the first visited name identifies the further names.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use packline_runtime::MemoryFault;

use crate::Error;

/// Upper bound in bytes of the memory of a file with several names.
const ENTRY_BYTES: usize = 48;

/// Files with several names, of one tree.
pub(super) struct Links {
    /// The hash of the first name of each file.
    first: BTreeMap<(u64, u64), u64>,
    most: usize,
    /// Memory limit in bytes of the whole comparison.
    limit: Option<u64>,
}

impl Links {
    /// Uses at most `bytes` of memory, which is its share of `limit`.
    pub(super) fn new(bytes: usize, limit: Option<u64>) -> Links {
        Links { first: BTreeMap::new(), most: bytes / ENTRY_BYTES, limit }
    }

    /// Returns the hash of the first name of the file with the id `shared`; `None` if `path` is the first name or the file has no other name.
    pub(super) fn first_of(&mut self, shared: Option<(u64, u64)>, path: &[u8]) -> Result<Option<u64>, Error> {
        let Some(file) = shared else { return Ok(None) };
        if let Some(first) = self.first.get(&file) {
            return Ok(Some(*first));
        }
        if self.first.len() >= self.most {
            let allowed = self.limit.unwrap_or((self.most * ENTRY_BYTES) as u64);
            let what = format!("more than {} files with several names", self.most);
            return Err(Error::Memory(MemoryFault { allowed, needed: allowed * 2, what }));
        }
        self.first.insert(file, digest(path));
        Ok(None)
    }
}

fn digest(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file_have_one_first_name() {
        let mut links = Links::new(1 << 10, None);
        assert_eq!(links.first_of(None, b"a").unwrap(), None);
        assert_eq!(links.first_of(Some((0, 7)), b"b").unwrap(), None);
        let first = links.first_of(Some((0, 7)), b"c").unwrap();
        assert!(first.is_some() && links.first_of(Some((0, 7)), b"d").unwrap() == first);
        assert_eq!(links.first_of(Some((1, 7)), b"e").unwrap(), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut links = Links::new(ENTRY_BYTES, None);
        assert_eq!(links.first_of(Some((0, 1)), b"a").unwrap(), None);
        assert!(matches!(links.first_of(Some((0, 2)), b"b"), Err(Error::Memory { .. })));
        assert!(links.first_of(Some((0, 1)), b"c").unwrap().is_some());
    }
}
