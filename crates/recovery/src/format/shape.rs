//! The shape: how a file is cut into shards, and the offsets of the packets that protect it.

use packline_runtime::Unsupported;

use crate::format::packet::HEAD_BYTES;
use crate::{Error, FOOTER_BYTES, PacketLocation, Redundancy};

/// Upper bound for the shards of a file and for its recovery shards.
pub(crate) const SHARDS_MOST: u64 = 16_384;
/// Shards have 2^10 to 2^48 bytes, so that each shard is a subtree of BLAKE3's tree.
const LOG_LEAST: u8 = 10;
const LOG_MOST: u8 = 48;
/// The code works on units of this many bytes.
pub(crate) const UNIT: u64 = 64;
/// Upper bound for the pieces that a table is cut into.
const PIECES_MOST: u64 = 32;
/// Lower bound for the bytes of a piece, if the table has several.
const PIECE_LEAST: u64 = 512;
/// Bytes of an entry of the table.
pub(crate) const ENTRY_BYTES: usize = 24;

/// How a file is cut into shards, and how many recovery shards there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// The number of protected bytes, at least one.
    pub(crate) length: u64,
    /// Binary logarithm of the bytes of a shard.
    pub(crate) shard_log: u8,
    /// The number of recovery shards.
    pub(crate) recovery: u32,
}

impl Shape {
    /// Returns the shape for a file of `length` bytes.
    ///
    /// The size of a shard is the smallest power of two that is at least twice the square root of the length and gives at most 16384 shards.
    /// The table is then a small share of small files too.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the file is empty or has more than 2^62 bytes.
    pub fn new(length: u64, redundancy: Redundancy) -> Result<Shape, Error> {
        if length == 0 {
            let what = "the file is empty";
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
        shape.ok_or_else(|| Unsupported::new(format!("a file of {length} bytes"), "at most 2^62 bytes").into())
    }

    /// Checks the shape in a packet's head.
    pub(crate) fn stated(length: u64, shard_log: u8, recovery: u32) -> Option<Shape> {
        let shape = Shape { length, shard_log, recovery };
        let possible = length > 0
            && (LOG_LEAST..=LOG_MOST).contains(&shard_log)
            && shape.shards() as u64 <= SHARDS_MOST
            && (1..=SHARDS_MOST).contains(&u64::from(recovery));
        possible.then_some(shape)
    }

    /// The number of protected bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The size of a shard in bytes. The last shard may be shorter.
    pub fn shard_bytes(&self) -> u64 {
        1 << self.shard_log
    }

    /// The number of shards of the file.
    pub fn shards(&self) -> usize {
        self.length.div_ceil(self.shard_bytes()) as usize
    }

    /// The number of recovery shards.
    pub fn recovery(&self) -> usize {
        self.recovery as usize
    }

    /// The size of the recovery data in bytes.
    pub fn recovery_bytes(&self, location: PacketLocation) -> u64 {
        let footer = if location == PacketLocation::Appended { FOOTER_BYTES as u64 } else { 0 };
        self.packet_bytes() + footer
    }

    /// The offset of shard `index` in the file.
    pub(crate) fn start(&self, index: usize) -> u64 {
        (index as u64) << self.shard_log
    }

    /// The number of bytes of shard `index` in the file.
    pub(crate) fn bytes(&self, index: usize) -> u64 {
        self.shard_bytes().min(self.length.saturating_sub(self.start(index)))
    }

    /// The size of a recovery shard in bytes: the size of a shard, or, if there is only one shard, its length rounded up to a unit.
    pub(crate) fn parity_bytes(&self) -> u64 {
        if self.shards() == 1 { self.length.next_multiple_of(UNIT) } else { self.shard_bytes() }
    }

    /// The size of a piece of the table in bytes.
    pub(crate) fn piece_bytes(&self) -> u64 {
        let table = self.table_bytes();
        let least = PIECE_LEAST.min(table.next_multiple_of(UNIT));
        table.div_ceil(PIECES_MOST).next_multiple_of(UNIT).max(least)
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        (self.shards() * ENTRY_BYTES) as u64
    }

    /// The number of pieces that the table is cut into.
    pub(crate) fn table_pieces(&self) -> usize {
        self.table_bytes().div_ceil(self.piece_bytes()) as usize
    }

    /// The number of pieces that repair the table's own: at least as many, and, up to 32, as many as there are recovery shards.
    pub(crate) fn table_recovery(&self) -> usize {
        self.table_pieces().max(self.recovery().min(PIECES_MOST as usize))
    }

    /// The number of all pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.table_pieces() + self.table_recovery()
    }

    /// The offset of piece `index` of the table from the first packet. The table's own pieces precede the recovery shards, and the other
    /// pieces follow them, so that one gap cannot destroy both.
    pub(crate) fn piece_at(&self, index: usize) -> u64 {
        let parity = if index < self.table_pieces() { 0 } else { self.recovery() as u64 * self.parity_packet() };
        index as u64 * (HEAD_BYTES as u64 + self.piece_bytes()) + parity
    }

    /// The offset of the packet of recovery shard `index` from the first packet.
    pub(crate) fn parity_at(&self, index: usize) -> u64 {
        self.table_pieces() as u64 * (HEAD_BYTES as u64 + self.piece_bytes()) + index as u64 * self.parity_packet()
    }

    fn parity_packet(&self) -> u64 {
        HEAD_BYTES as u64 + self.parity_bytes()
    }

    /// The size of all packets in bytes.
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
    fn rejects_impossible_shapes() {
        for (length, log, recovery) in [(0, 10, 1), (1, 9, 1), (1, 49, 1), (1 << 30, 10, 1), (1, 10, 0), (1, 10, 16385)]
        {
            assert_eq!(Shape::stated(length, log, recovery), None, "{length} {log} {recovery}");
        }
    }

    #[test]
    fn packets_have_no_gaps() {
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
    fn sizes_match_the_document() {
        let document = include_str!("../../../../docs/format/recovery.md");
        for length in [1, 100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 10 << 20, 100 << 20] {
            let shape = shape(length, "5%");
            let bytes = shape.recovery_bytes(PacketLocation::Sidecar);
            let share =
                if length == 1 { String::new() } else { format!("{:.1} % ", bytes as f64 * 100.0 / length as f64) };
            let row = format!("| {length} | {} | {} | {bytes} | {share}|\n", shape.shards(), shape.recovery());
            assert!(document.contains(&row), "{row}");
        }
    }
}
