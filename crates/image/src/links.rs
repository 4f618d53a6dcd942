//! Names of inodes with several names.

use std::collections::BTreeMap;

use packline_tree::Bytes;
use packline_volume::{Inode, Node, NodeId, ReadError};

/// Memory for names of files with several names without a memory limit, bytes: a few bytes of an image can lead to any amount.
const LINKS: u64 = 128 << 20;
/// Memory of a name in addition to its bytes, including its share of the map.
const LINK_BYTES: u64 = 64;

/// Returns the share of a memory limit in bytes for the first names of files with several names.
pub fn link_bytes(limit: Option<u64>) -> u64 {
    limit.map_or(LINKS, |limit| limit / 8)
}

/// The first names of inodes with several names, until all names were visited: about 100 bytes and the path for each.
pub struct Links {
    names: BTreeMap<NodeId, (Bytes, u32)>,
    /// Memory left for names in bytes.
    left: u64,
}

impl Links {
    /// Starts without names; `bytes`: memory for names.
    pub fn new(bytes: u64) -> Links {
        Links { names: BTreeMap::new(), left: bytes }
    }

    /// Returns the earlier name of an inode that is visited at `path`.
    ///
    /// # Errors
    /// [`ReadError::Unsupported`] if the memory for its first name is exhausted.
    pub fn earlier(&mut self, inode: &Inode, path: &[u8]) -> Result<Option<Bytes>, ReadError> {
        if inode.links < 2 || matches!(inode.node, Node::Directory(_)) {
            return Ok(None);
        }
        let Some((first, left)) = self.names.get_mut(&inode.at) else {
            return self.remember(inode, path).map(|()| None);
        };
        *left -= 1;
        if *left > 0 {
            return Ok(Some(first.clone()));
        }
        let first = self.names.remove(&inode.at).map(|(first, _)| first);
        self.left += first.as_ref().map_or(0, |first| cost(first));
        Ok(first)
    }

    fn remember(&mut self, inode: &Inode, path: &[u8]) -> Result<(), ReadError> {
        let Some(left) = self.left.checked_sub(cost(path)) else {
            let what = "not enough memory to remember the names of all files with several names; raise the memory limit, \
                        or write hard links as files";
            return Err(ReadError::unsupported(what, ""));
        };
        self.left = left;
        self.names.insert(inode.at, (path.to_vec(), inode.links - 1));
        Ok(())
    }
}

fn cost(path: &[u8]) -> u64 {
    path.len() as u64 + LINK_BYTES
}
