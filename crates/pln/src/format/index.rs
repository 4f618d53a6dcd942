//! The index: the offset of the table of each group.

use packline_runtime::Blake3Tree;
use packline_runtime::hex;

use super::head::number;
use super::piece::{Kind, PieceHead};
use super::{ENTRY_BYTES, HEAD_BYTES, Node, PIECE_HEAD_BYTES, Root, Shape, Table};
use crate::{Error, Part};

/// The entry of a group in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Offset of the group's table.
    pub(crate) table: u64,
    /// The node of the group's content.
    pub(crate) node: Node,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) entries: Vec<IndexEntry>,
}

impl Index {
    /// Returns the size of an index of `groups` groups in the file, in bytes.
    pub(crate) fn physical(groups: u64) -> u64 {
        PIECE_HEAD_BYTES as u64 + groups * ENTRY_BYTES as u64
    }

    /// Encodes the head and the entries of the index, for a file of `records` records.
    pub(crate) fn encode(&self, records: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.entries.len() * ENTRY_BYTES);
        for entry in &self.entries {
            bytes.extend_from_slice(&entry.table.to_le_bytes());
            bytes.extend_from_slice(&entry.node);
        }
        let head = PieceHead::entries(Kind::Index, self.entries.len() as u32, &bytes).encode(records);
        [&head, &*bytes].concat()
    }

    /// Parses the index of a file, at byte `offset`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the index is malformed, or the groups do not fill the space from the file's head to the index.
    pub(crate) fn parse(piece: &PieceHead, bytes: &[u8], shape: Shape, offset: u64) -> Result<Index, Error> {
        let wrong = |what, expected: &str| Error::corrupt(Part::Index, offset, what, expected);
        piece.check_entries(bytes, Part::Index, offset)?;
        let entry =
            |bytes: &[u8]| IndexEntry { table: number(&bytes[..8]), node: std::array::from_fn(|at| bytes[8 + at]) };
        let index = Index { entries: bytes.chunks_exact(ENTRY_BYTES).map(entry).collect() };
        let mut at = HEAD_BYTES as u64;
        for (group, entry) in (0..).zip(&index.entries) {
            let (_, records) = shape.group(group);
            if entry.table < at.saturating_add(records * PIECE_HEAD_BYTES as u64) || entry.table >= offset {
                let what = format!("the table of group {group} at byte {}", entry.table);
                return Err(wrong(what, &format!("after {records} records from byte {at}, and before the index")));
            }
            at = entry.table + Table::physical(records);
        }
        if at != offset {
            return Err(wrong(
                format!("the groups end at byte {at}"),
                &format!("byte {offset}, where the index begins"),
            ));
        }
        Ok(index)
    }

    /// Returns the offset of a group.
    pub(crate) fn start(&self, group: u64, shape: Shape) -> u64 {
        let before = group.checked_sub(1).and_then(|before| Some((before, self.entries.get(before as usize)?)));
        before.map_or(HEAD_BYTES as u64, |(before, entry)| entry.table + Table::physical(shape.group(before).1))
    }

    /// Checks the root of the content, as far as the index determines it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the root differs.
    pub(crate) fn check_root(&self, root: &Root, offset: u64) -> Result<(), Error> {
        let tree: Blake3Tree = self.entries.iter().map(|entry| entry.node).collect();
        match tree.root().filter(|found| found != root) {
            None => Ok(()),
            Some(found) => {
                let what = format!("the root of its nodes is {}", hex(&found));
                Err(Error::corrupt(Part::Index, offset, what, format!("{}, as in the trailer", hex(root))))
            }
        }
    }
}
