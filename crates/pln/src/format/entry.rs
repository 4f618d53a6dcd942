//! The table of a group: an entry for each of its records.

use packline_runtime::Blake3Tree;
use packline_runtime::hex;

use super::head::number;
use super::piece::{Kind, PieceHead, Stored};
use super::{Node, PIECE_HEAD_BYTES, Shape};
use crate::{Error, Part};

/// Size of an entry in bytes.
pub(crate) const ENTRY_BYTES: usize = 40;

/// The entry of a record in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) stored: Stored,
    /// The node of the record's content.
    pub(crate) node: Node,
}

impl Entry {
    fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.stored.size.to_le_bytes());
        into.extend_from_slice(&[self.stored.codec as u8, self.stored.flags(), 0, 0]);
        into.extend_from_slice(&self.node);
    }

    /// Parses an entry for a record of `logical` bytes.
    fn parse(bytes: &[u8], logical: u32) -> Result<Entry, (String, String)> {
        let stored = Stored::parse(bytes[4], bytes[5], number(&bytes[..4]) as u32, logical)?;
        if bytes[6..8] != [0; 2] {
            return Err(("reserved bytes have a value".to_owned(), "zeros".to_owned()));
        }
        Ok(Entry { stored, node: std::array::from_fn(|at| bytes[8 + at]) })
    }

    /// The size of the record in the file, in bytes.
    pub(crate) fn physical(&self) -> u64 {
        PIECE_HEAD_BYTES as u64 + u64::from(self.stored.size)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

impl Table {
    /// Returns the size of a table of `entries` entries in the file, in bytes.
    pub(crate) fn physical(entries: u64) -> u64 {
        PIECE_HEAD_BYTES as u64 + entries * ENTRY_BYTES as u64
    }

    /// Encodes the head and the entries of the table.
    pub(crate) fn encode(&self, group: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.entries.len() * ENTRY_BYTES);
        self.entries.iter().for_each(|entry| entry.encode(&mut bytes));
        let head = PieceHead::entries(Kind::Table, self.entries.len() as u32, &bytes).encode(group);
        [&head, &*bytes].concat()
    }

    /// Parses the table of a group, at byte `offset`. `shape` is the shape of the content.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the table is malformed.
    pub(crate) fn parse(
        piece: &PieceHead,
        bytes: &[u8],
        shape: Shape,
        group: u64,
        offset: u64,
    ) -> Result<Table, Error> {
        let part = Part::Table(group);
        let (first, count) = shape.group(group);
        piece.check_entries(bytes, part, offset)?;
        let mut entries = Vec::with_capacity(count as usize);
        for (record, bytes) in (first..first + count).zip(bytes.chunks_exact(ENTRY_BYTES)) {
            let entry = Entry::parse(bytes, shape.length(record) as u32);
            let wrong =
                |(what, expected)| Error::corrupt(part, offset, format!("entry of record {record}: {what}"), expected);
            entries.push(entry.map_err(wrong)?);
        }
        Ok(Table { entries })
    }

    /// Returns the tree above the records' nodes.
    pub(crate) fn tree(&self) -> Blake3Tree {
        self.entries.iter().map(|entry| entry.node).collect()
    }

    /// Checks the node of the group.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the node differs.
    pub(crate) fn check_node(&self, node: &Node, group: u64, offset: u64) -> Result<(), Error> {
        let found = self.tree().node().unwrap_or_default();
        if found == *node {
            return Ok(());
        }
        let what = format!("the node of its records is {}", hex(&found));
        Err(Error::corrupt(Part::Table(group), offset, what, format!("{}, as in the index", hex(node))))
    }
}
