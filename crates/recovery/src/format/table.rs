//! The table of shards: the hashes that find each shard, stored as pieces that repair each other.

use crate::code::{Decoder, Encoder, Erasures};
use crate::format::shape::ENTRY_BYTES;
use crate::hashing::{Node, ShardHashes};
use crate::{Error, Shape};

/// The number of a node's bytes that the table stores.
const NODE_BYTES: usize = ENTRY_BYTES - 8;

/// The hashes that find a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The rolling checksum of the shard's bytes.
    pub(crate) rolling: u64,
    /// The first bytes of the shard's node.
    node: [u8; NODE_BYTES],
}

impl Entry {
    pub(crate) fn matches(&self, node: &Node) -> bool {
        node[..NODE_BYTES] == self.node
    }

    fn encode(sums: &ShardHashes) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&sums.rolling.to_le_bytes());
        bytes[8..].copy_from_slice(&sums.node[..NODE_BYTES]);
        bytes
    }

    fn parse(bytes: &[u8; ENTRY_BYTES]) -> Entry {
        let rolling = u64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
        Entry { rolling, node: std::array::from_fn(|at| bytes[8 + at]) }
    }
}

/// Returns all pieces of the table: those that it is cut into, and those that repair them.
pub(crate) fn pieces(shape: &Shape, shards: &[ShardHashes]) -> Result<Vec<Vec<u8>>, Error> {
    let bytes = shape.piece_bytes() as usize;
    let mut table: Vec<u8> = shards.iter().flat_map(Entry::encode).collect();
    table.resize(shape.table_pieces() * bytes, 0);
    let mut pieces: Vec<Vec<u8>> = table.chunks(bytes).map(<[u8]>::to_vec).collect();
    let mut encoder = Encoder::new(shape.table_recovery());
    let repair = encoder.encode(pieces.len(), bytes, &mut |piece, row| {
        row.copy_from_slice(&pieces[piece]);
        Ok(())
    })?;
    pieces.extend(repair.chunks(bytes).map(<[u8]>::to_vec));
    Ok(pieces)
}

/// Rebuilds the table from the intact pieces.
///
/// # Errors
/// [`Error::TableLost`] if there are too few intact pieces.
pub(crate) fn table(shape: &Shape, pieces: &[Option<Vec<u8>>]) -> Result<Vec<Entry>, Error> {
    let needed = shape.table_pieces();
    let found = pieces.iter().flatten().count();
    if found < needed {
        return Err(Error::TableLost { found, pieces: shape.pieces(), needed });
    }
    let (first, repair) = pieces.split_at(needed);
    let lost: Vec<usize> = (0..needed).filter(|&index| first[index].is_none()).collect();
    let used: Vec<usize> = (0..repair.len()).filter(|&index| repair[index].is_some()).take(lost.len()).collect();
    let bytes = shape.piece_bytes() as usize;
    let mut table: Vec<u8> = first.iter().flat_map(|piece| piece.clone().unwrap_or_else(|| vec![0; bytes])).collect();
    if !lost.is_empty() {
        let shards = first.iter().flatten().chain(used.iter().filter_map(|&index| repair[index].as_ref()));
        let known: Vec<u8> = shards.flatten().copied().collect();
        let erasures = Erasures { shards: needed, recovery: shape.table_recovery(), lost, used };
        let repaired = Decoder::new(&erasures, bytes)?.decode(&erasures, &known, bytes)?;
        for (&index, piece) in erasures.lost.iter().zip(repaired.chunks(bytes)) {
            table[index * bytes..(index + 1) * bytes].copy_from_slice(piece);
        }
    }
    let (entries, _) = table.as_chunks();
    Ok(entries.iter().take(shape.shards()).map(Entry::parse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(count: usize) -> Vec<ShardHashes> {
        (0..count as u64).map(|at| ShardHashes { rolling: at * 77, node: [at as u8; 32] }).collect()
    }

    #[test]
    fn rebuilds_the_table_from_any_sufficient_pieces() {
        for length in [1, 1500, 70_000, 1 << 20] {
            let shape = Shape::new(length, crate::Redundancy::parse("5%").unwrap()).unwrap();
            let sums = sums(shape.shards());
            let pieces = pieces(&shape, &sums).unwrap();
            assert_eq!(pieces.len(), shape.pieces());
            for skip in 0..=shape.table_recovery() {
                let whole = |at: usize| (skip..skip + shape.table_pieces()).contains(&at);
                let found: Vec<_> = (0..).zip(&pieces).map(|(at, piece)| whole(at).then(|| piece.clone())).collect();
                let table = table(&shape, &found).unwrap();
                assert_eq!(table.len(), sums.len());
                for (entry, sums) in table.iter().zip(&sums) {
                    assert!(entry.rolling == sums.rolling && entry.matches(&sums.node));
                }
            }
            assert!(matches!(table(&shape, &vec![None; shape.pieces()]), Err(Error::TableLost { found: 0, .. })));
        }
    }
}
