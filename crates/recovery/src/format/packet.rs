//! A packet: a head with all parameters of the packet's set, and a payload.

use std::io;

use packline_runtime::Input;

use crate::Shape;
use crate::readable::{STEP, steps};

/// The first bytes of a packet.
pub const MAGIC: [u8; 8] = [0x8B, b'R', b'C', b'V', 0x0D, 0x0A, 0x1A, 0x0A];
/// The size of a packet's head in bytes.
pub(crate) const HEAD_BYTES: usize = 80;
/// Bytes of the head that the check covers. The check also covers the payload.
const CHECKED: usize = 64;
const VERSION: u8 = 1;

/// The kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A piece of the table.
    Piece,
    /// A recovery shard.
    Parity,
}

/// The parameters that all packets of a set repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Params {
    pub(crate) shape: Shape,
    /// BLAKE3 of the protected bytes.
    pub(crate) root: [u8; 32],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) params: Params,
    pub(crate) kind: Kind,
    pub(crate) index: usize,
}

impl Head {
    /// The size of the payload in bytes.
    pub(crate) fn payload(&self) -> u64 {
        match self.kind {
            Kind::Piece => self.params.shape.piece_bytes(),
            Kind::Parity => self.params.shape.parity_bytes(),
        }
    }

    /// The number of packets of this kind in a set.
    fn count(&self) -> usize {
        match self.kind {
            Kind::Piece => self.params.shape.pieces(),
            Kind::Parity => self.params.shape.recovery(),
        }
    }

    fn checked(&self) -> [u8; CHECKED] {
        let Params { shape, root } = self.params;
        let mut bytes = [0; CHECKED];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = VERSION;
        bytes[9] = match self.kind {
            Kind::Piece => b't',
            Kind::Parity => b'R',
        };
        bytes[10] = shape.shard_log;
        bytes[12..16].copy_from_slice(&shape.recovery.to_le_bytes());
        bytes[16..24].copy_from_slice(&shape.length.to_le_bytes());
        bytes[24..32].copy_from_slice(&(self.index as u64).to_le_bytes());
        bytes[32..].copy_from_slice(&root);
        bytes
    }

    /// Returns a hasher to which the payload must be added.
    pub(crate) fn hasher(&self) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.checked());
        hasher
    }

    /// Encodes the head of a packet. `hasher` has hashed the payload.
    pub(crate) fn encode(&self, hasher: &blake3::Hasher) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..CHECKED].copy_from_slice(&self.checked());
        bytes[CHECKED..].copy_from_slice(&hasher.finalize().as_bytes()[..HEAD_BYTES - CHECKED]);
        bytes
    }

    /// Parses a head, without comparing its check.
    pub(crate) fn parse(bytes: &[u8; HEAD_BYTES]) -> Option<Head> {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let kind = match bytes[9] {
            b't' => Kind::Piece,
            b'R' => Kind::Parity,
            _ => return None,
        };
        let shape = Shape::stated(number(16), bytes[10], (number(8) >> 32) as u32)?;
        let root = std::array::from_fn(|at| bytes[32 + at]);
        let index = usize::try_from(number(24)).ok()?;
        let head = Head { params: Params { shape, root }, kind, index };
        // The remaining bytes must be as `checked` writes them.
        (index < head.count() && head.checked()[..] == bytes[..CHECKED]).then_some(head)
    }

    /// Reads the packet at byte `at`, and compares its check. The inner `Err` is the number of bytes hashed for a damaged packet.
    pub(crate) fn read(input: &dyn Input, at: u64) -> io::Result<Result<Head, u64>> {
        let mut bytes = [0; HEAD_BYTES];
        if input.size().saturating_sub(at) < HEAD_BYTES as u64 {
            return Ok(Err(0));
        }
        input.read_at(at, &mut bytes)?;
        let Some(head) = Head::parse(&bytes) else { return Ok(Err(0)) };
        let start = at + HEAD_BYTES as u64;
        let payload = head.payload();
        if input.size() - start < payload {
            return Ok(Err(0));
        }
        let mut hasher = head.hasher();
        let mut buffer = vec![0; payload.min(STEP as u64) as usize];
        for (offset, length) in steps(start, payload) {
            input.read_at(offset, &mut buffer[..length])?;
            hasher.update(&buffer[..length]);
        }
        Ok(if head.encode(&hasher) == bytes { Ok(head) } else { Err(payload) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_a_change_of_any_byte_of_a_packet() {
        let shape = Shape::stated(5000, 10, 2).unwrap();
        let head = Head { params: Params { shape, root: [7; 32] }, kind: Kind::Piece, index: 1 };
        let payload = vec![9; head.payload() as usize];
        let mut hasher = head.hasher();
        hasher.update(&payload);
        let packet = [&head.encode(&hasher)[..], &payload].concat();
        assert_eq!(Head::read(&packet, 0).unwrap(), Ok(head));
        for at in 0..packet.len() {
            let mut wrong = packet.clone();
            wrong[at] ^= 1;
            assert!(Head::read(&wrong, 0).unwrap().is_err(), "{at}");
            assert!(Head::read(&packet[..at].to_vec(), 0).unwrap().is_err());
        }
    }
}
