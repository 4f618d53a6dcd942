//! How a file is cut into shards, and which packets protect it.

use packline_runtime::Unsupported;

use crate::packet::HEAD_BYTES;
use crate::table::ENTRY_BYTES;
use crate::{Error, FOOTER_BYTES, Place, Redundancy};

/// The most shards of a file, and the most recovery shards.
pub(crate) const SHARDS_MOST: u64 = 16_384;
/// Shards have 2^10 to 2^48 bytes, so that each is a subtree of BLAKE3's tree.
const LOG_LEAST: u8 = 10;
const LOG_MOST: u8 = 48;
/// The code works on units of this many bytes.
pub(crate) const UNIT: u64 = 64;
/// The most pieces of a table, and the least bytes of one of several.
const PIECES_MOST: u64 = 32;
const PIECE_LEAST: u64 = 512;

/// How a file is cut into shards, and how many recovery shards there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// Bytes protected, at least one.
    pub(crate) length: u64,
    /// Binary logarithm of the bytes of a shard.
    pub(crate) shard_log: u8,
    /// Recovery shards.
    pub(crate) recovery: u32,
}

impl Shape {
    /// The shape for a file of so many bytes.
    ///
    /// A shard has the smallest power of two of bytes that is at least twice the square root of the length, so that the table is a small
    /// share of small files too, and makes no more than 16384 shards.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an empty file, or one of more than 2^62 bytes.
    pub fn new(length: u64, redundancy: Redundancy) -> Result<Shape, Error> {
        if length == 0 {
            let what = "the file is empty: there is nothing to protect";
            return Err(Unsupported::new(what, "a file of at least one byte").into());
        }
        let fits = |log: u8| {
            let square = 1u128 << (2 * log);
            square >= 4 * u128::from(length) && length.div_ceil(1 << log) <= SHARDS_MOST
        };
        let shape = (LOG_LEAST..=LOG_MOST).find(|&log| fits(log)).map(|shard_log| {
            let shape = Shape { length, shard_log, recovery: 1 };
            Shape { recovery: redundancy.shards(shape.shards() as u32), ..shape }
        });
        shape.ok_or_else(|| Unsupported::new(format!("a file of {length} bytes"), "2^62 bytes at most").into())
    }

    /// The shape that a packet states, if it is possible.
    pub(crate) fn stated(length: u64, shard_log: u8, recovery: u32) -> Option<Shape> {
        let shape = Shape { length, shard_log, recovery };
        let possible = length > 0
            && (LOG_LEAST..=LOG_MOST).contains(&shard_log)
            && shape.shards() as u64 <= SHARDS_MOST
            && (1..=SHARDS_MOST).contains(&u64::from(recovery));
        possible.then_some(shape)
    }

    /// Bytes protected.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes of a shard; the last may have fewer.
    pub fn shard_bytes(&self) -> u64 {
        1 << self.shard_log
    }

    /// Shards of the file.
    pub fn shards(&self) -> usize {
        self.length.div_ceil(self.shard_bytes()) as usize
    }

    /// Recovery shards.
    pub fn recovery(&self) -> usize {
        self.recovery as usize
    }

    /// Bytes of the recovery data.
    pub fn recovery_bytes(&self, place: Place) -> u64 {
        let footer = if place == Place::Behind { FOOTER_BYTES as u64 } else { 0 };
        self.packet_bytes() + footer
    }

    /// Where shard `index` begins in the file.
    pub(crate) fn start(&self, index: usize) -> u64 {
        (index as u64) << self.shard_log
    }

    /// Bytes of shard `index` in the file.
    pub(crate) fn bytes(&self, index: usize) -> u64 {
        self.shard_bytes().min(self.length.saturating_sub(self.start(index)))
    }

    /// Bytes of a recovery shard: those of a shard, or, if there is only one, what it comes to in whole units.
    pub(crate) fn parity_bytes(&self) -> u64 {
        if self.shards() == 1 { self.length.next_multiple_of(UNIT) } else { self.shard_bytes() }
    }

    /// Bytes of a piece of the table.
    pub(crate) fn piece_bytes(&self) -> u64 {
        let table = self.table_bytes();
        let least = PIECE_LEAST.min(table.next_multiple_of(UNIT));
        table.div_ceil(PIECES_MOST).next_multiple_of(UNIT).max(least)
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        (self.shards() * ENTRY_BYTES) as u64
    }

    /// Pieces that the table is cut into.
    pub(crate) fn table_pieces(&self) -> usize {
        self.table_bytes().div_ceil(self.piece_bytes()) as usize
    }

    /// Pieces that repair those: as many, and, up to 32, as many as there are recovery shards.
    pub(crate) fn table_recovery(&self) -> usize {
        self.table_pieces().max(self.recovery().min(PIECES_MOST as usize))
    }

    /// All pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.table_pieces() + self.table_recovery()
    }

    /// Where piece `index` of the table begins, from the first packet on. The first pieces are before the recovery shards, the others
    /// behind them, so that no single gap takes both.
    pub(crate) fn piece_at(&self, index: usize) -> u64 {
        let parity = if index < self.table_pieces() { 0 } else { self.recovery() as u64 * self.parity_packet() };
        index as u64 * (HEAD_BYTES as u64 + self.piece_bytes()) + parity
    }

    /// Where the packet of recovery shard `index` begins, from the first packet on.
    pub(crate) fn parity_at(&self, index: usize) -> u64 {
        self.table_pieces() as u64 * (HEAD_BYTES as u64 + self.piece_bytes()) + index as u64 * self.parity_packet()
    }

    fn parity_packet(&self) -> u64 {
        HEAD_BYTES as u64 + self.parity_bytes()
    }

    /// Bytes of all packets.
    pub(crate) fn packet_bytes(&self) -> u64 {
        self.piece_at(self.pieces())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(length: u64, redundancy: &str) -> Shape {
        Shape::new(length, Redundancy::parse(redundancy).unwrap()).unwrap()
    }

    #[test]
    fn shards_are_bounded_and_powers_of_two() {
        for (length, log, shards) in
            [(1, 10, 1), (1025, 10, 2), (1 << 20, 11, 512), (256 << 20, 15, 8192), (4 << 30, 18, 16384)]
        {
            let shape = shape(length, "5%");
            assert_eq!((shape.shard_log, shape.shards()), (log, shards), "{length}");
            assert_eq!((0..shards).map(|index| shape.bytes(index)).sum::<u64>(), length);
            assert_eq!(Shape::stated(length, log, shape.recovery), Some(shape));
        }
        assert_eq!(shape(1 << 62, "5%").shards(), 16384);
        let redundancy = Redundancy::parse("5%").unwrap();
        assert!(Shape::new(0, redundancy).is_err() && Shape::new((1 << 62) + 1, redundancy).is_err());
    }

    #[test]
    fn impossible_shapes_are_refused() {
        for (length, log, recovery) in [(0, 10, 1), (1, 9, 1), (1, 49, 1), (1 << 30, 10, 1), (1, 10, 0), (1, 10, 16385)]
        {
            assert_eq!(Shape::stated(length, log, recovery), None, "{length} {log} {recovery}");
        }
    }

    #[test]
    fn packets_follow_each_other() {
        for length in [1, 1000, 5000, 100_000, 3 << 20, 1 << 33] {
            let shape = shape(length, "5%");
            let piece = 80 + shape.piece_bytes();
            let parity = 80 + shape.parity_bytes();
            let mut at = 0;
            for index in 0..shape.table_pieces() {
                assert_eq!(shape.piece_at(index), at);
                at += piece;
            }
            for index in 0..shape.recovery() {
                assert_eq!(shape.parity_at(index), at);
                at += parity;
            }
            for index in shape.table_pieces()..shape.pieces() {
                assert_eq!(shape.piece_at(index), at);
                at += piece;
            }
            assert_eq!(shape.packet_bytes(), at);
            assert!(shape.table_pieces() as u64 * shape.piece_bytes() >= shape.table_bytes());
        }
    }

    #[test]
    fn sizes_are_those_of_the_document() {
        let document = include_str!("../../../docs/format/recovery.md");
        for length in [1, 100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 10 << 20, 100 << 20] {
            let shape = shape(length, "5%");
            let bytes = shape.recovery_bytes(Place::Sidecar);
            let share =
                if length == 1 { String::new() } else { format!("{:.1} % ", bytes as f64 * 100.0 / length as f64) };
            let row = format!("| {length} | {} | {} | {bytes} | {share}|\n", shape.shards(), shape.recovery());
            assert!(document.contains(&row), "{row}");
        }
    }
}
