//! The index: the position of the table of each group.

use packline_runtime::Blake3Tree;
use packline_runtime::hex;

use super::head::number;
use super::piece::{Kind, Piece};
use super::{ENTRY_BYTES, HEAD_BYTES, Node, PIECE_BYTES, Root, Shape, Table};
use crate::{Error, Part};

/// Position of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Start of its table, bytes.
    pub(crate) table: u64,
    /// The node of its content.
    pub(crate) node: Node,
}

/// The index of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) places: Vec<Place>,
}

impl Index {
    /// Size of an index of `groups` groups in the file, bytes.
    pub(crate) fn physical(groups: u64) -> u64 {
        PIECE_BYTES as u64 + groups * ENTRY_BYTES as u64
    }

    /// Its header and its entries, for a file of `records` records.
    pub(crate) fn encode(&self, records: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.places.len() * ENTRY_BYTES);
        for place in &self.places {
            bytes.extend_from_slice(&place.table.to_le_bytes());
            bytes.extend_from_slice(&place.node);
        }
        let head = Piece::entries(Kind::Index, self.places.len() as u32, &bytes).encode(records);
        [&head, &*bytes].concat()
    }

    /// Parses the index of a file, at byte `offset`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is malformed, or its groups do not fill the space from the header to itself.
    pub(crate) fn parse(piece: &Piece, bytes: &[u8], shape: Shape, offset: u64) -> Result<Index, Error> {
        let wrong = |what, expected: &str| Error::corrupt(Part::Index, offset, what, expected);
        piece.check_entries(bytes, Part::Index, offset)?;
        let place = |bytes: &[u8]| Place { table: number(&bytes[..8]), node: std::array::from_fn(|at| bytes[8 + at]) };
        let index = Index { places: bytes.chunks_exact(ENTRY_BYTES).map(place).collect() };
        let mut at = HEAD_BYTES as u64;
        for (group, place) in (0..).zip(&index.places) {
            let (_, records) = shape.group(group);
            if place.table < at.saturating_add(records * PIECE_BYTES as u64) || place.table >= offset {
                let what = format!("the table of group {group} at byte {}", place.table);
                return Err(wrong(what, &format!("behind {records} records from byte {at} on, before the index")));
            }
            at = place.table + Table::physical(records);
        }
        if at != offset {
            return Err(wrong(format!("the groups end at byte {at}"), &format!("byte {offset}, where it begins")));
        }
        Ok(index)
    }

    /// Start of a group.
    pub(crate) fn start(&self, group: u64, shape: Shape) -> u64 {
        let before = group.checked_sub(1).and_then(|before| Some((before, self.places.get(before as usize)?)));
        before.map_or(HEAD_BYTES as u64, |(before, place)| place.table + Table::physical(shape.group(before).1))
    }

    /// Checks that the content's root is this one, as far as the index determines it.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(crate) fn check_root(&self, root: &Root, offset: u64) -> Result<(), Error> {
        let tree: Blake3Tree = self.places.iter().map(|place| place.node).collect();
        match tree.root().filter(|found| found != root) {
            None => Ok(()),
            Some(found) => {
                let what = format!("its groups' nodes come to {}", hex(&found));
                Err(Error::corrupt(Part::Index, offset, what, format!("{}, as in the trailer", hex(root))))
            }
        }
    }
}
