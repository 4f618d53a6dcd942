//! Hard links: the first path of each file that has several.

use std::collections::BTreeMap;

use super::stat::FileId;
use crate::Bytes;

/// First paths by file; only of files that have more than one name.
#[derive(Default)]
pub(super) struct Links {
    first: BTreeMap<FileId, Bytes>,
}

impl Links {
    /// The path at which the file was found before; if it was not, `path` is remembered.
    pub fn meet(&mut self, id: FileId, path: &[u8]) -> Option<Bytes> {
        let known = self.first.get(&id).cloned();
        if known.is_none() {
            self.first.insert(id, path.to_vec());
        }
        known
    }

    /// Forgets a file that is left out: the next of its names is the first.
    pub fn forget(&mut self, id: FileId) {
        self.first.remove(&id);
    }
}
