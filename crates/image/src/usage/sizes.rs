//! The tree of an archive that has only sizes of contents, such as a tar.

use std::collections::BTreeMap;

use packline_volume::{NodeId, NodeType};

use super::Usage;
use super::tree::{NewEntry, Tree};

/// Collects entries in any order. A later entry replaces an earlier one with the same path.
#[derive(Debug, Default)]
pub struct SizesOfEntries {
    /// By the path, in which NUL stands for a slash, so that a directory is directly before its entries.
    entries: BTreeMap<Vec<u8>, SizedEntry>,
    letters: usize,
}

#[derive(Debug, Clone, Copy)]
struct SizedEntry {
    kind: NodeType,
    size: u64,
    is_link: bool,
}

impl SizesOfEntries {
    /// Maximum number of bytes of all paths.
    pub const PATHS_MOST: usize = 1 << 30;

    /// Adds an entry at a canonical path with its bytes of content. `kind` is `None` for a hard link, whose content counts at its first name. Returns
    /// whether there is space for more entries.
    pub fn add(&mut self, path: &[u8], kind: Option<NodeType>, size: u64) -> bool {
        let key: Vec<u8> = path.iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect();
        self.letters = self.letters.saturating_add(key.len().max(64));
        let entry = SizedEntry { kind: kind.unwrap_or(NodeType::File), size, is_link: kind.is_none() };
        self.entries.insert(key, entry);
        self.letters < SizesOfEntries::PATHS_MOST
    }

    /// Returns the tree. Directories that are missing are added. Each file has as many own bytes as content, and there is no metadata.
    pub fn finish(self) -> Usage {
        let mut tree = Tree::default();
        let root = NewEntry { parent: 0, name: b"", id: NodeId(0), kind: NodeType::Directory, size: 0, is_link: false };
        tree.add(root);
        let mut above: Vec<(Vec<u8>, u32)> = Vec::new();
        for (path, entry) in self.entries.iter().filter(|(path, _)| !path.is_empty()) {
            let names: Vec<&[u8]> = path.split(|byte| *byte == 0).collect();
            let known = names.iter().zip(&above).take_while(|(name, (known, _))| **name == known.as_slice()).count();
            above.truncate(known);
            for (index, name) in names.iter().enumerate().skip(known) {
                let is_entry = index + 1 == names.len();
                let directory = SizedEntry { kind: NodeType::Directory, size: 0, is_link: false };
                let SizedEntry { kind, size, is_link } = if is_entry { *entry } else { directory };
                let parent = above.last().map_or(0, |(_, number)| *number);
                let Some(number) = tree.add(NewEntry { parent, name, id: NodeId(0), kind, size, is_link }) else {
                    break;
                };
                tree.charge_own(number, size);
                above.push((name.to_vec(), number));
            }
        }
        let total = self.entries.values().fold(0u64, |sum, entry| sum.saturating_add(entry.size));
        tree.finish(total);
        Usage { tree, metadata: Vec::new(), total, faults: Vec::new() }
    }
}
