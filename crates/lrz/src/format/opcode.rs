//! Stream 0: literals and matches.

use super::{Dialect, Width};

/// The longest run of one opcode, in versions 0.5 and later, in bytes.
pub const LONGEST: u64 = 0xffff;

/// A step in reconstructing a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    /// Copies bytes of stream 1.
    Literal {
        /// The length in bytes.
        length: u64,
    },
    /// Repeats earlier bytes; the source may overlap the result.
    Match {
        /// The length in bytes.
        length: u64,
        /// The distance back from the start of the match, in bytes, at least 1.
        distance: u64,
    },
    /// The end of the chunk; its CRC follows.
    End,
}

/// Widths of the numbers in opcodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpcodeForm {
    length: Width,
    distance: Width,
}

impl OpcodeForm {
    /// Returns the widths in a chunk of this width.
    pub fn new(dialect: Dialect, width: Width) -> OpcodeForm {
        match dialect {
            Dialect::V4 => OpcodeForm { length: Width::FULL, distance: Width::FULL },
            _ => OpcodeForm { length: Width::TWO, distance: width },
        }
    }

    /// Size of an opcode without a distance, in bytes: a type byte and a length.
    pub fn head(self) -> usize {
        1 + self.length.bytes()
    }

    /// Size of a match's distance, in bytes.
    pub fn tail(self) -> usize {
        self.distance.bytes()
    }

    /// Appends an opcode with a length of at most [`LONGEST`].
    pub fn encode(self, opcode: Opcode, out: &mut Vec<u8>) {
        let (tag, length) = match opcode {
            Opcode::Literal { length } => (0, length),
            Opcode::Match { length, .. } => (1, length),
            Opcode::End => (0, 0),
        };
        out.push(tag);
        self.length.put(length, out);
        if let Opcode::Match { distance, .. } = opcode {
            self.distance.put(distance, out);
        }
    }

    /// Decodes a head: the length, and whether a distance follows. A literal of length 0 is the end.
    pub fn decode_head(self, head: &[u8]) -> (u64, bool) {
        (self.length.get(&head[1..]), head[0] != 0)
    }

    pub fn decode_tail(self, tail: &[u8]) -> u64 {
        self.distance.get(tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_opcodes_as_lrzip_does() {
        let form = OpcodeForm::new(Dialect::V6, Width::new(3).unwrap());
        let mut out = Vec::new();
        form.encode(Opcode::Literal { length: 0x0102 }, &mut out);
        form.encode(Opcode::Match { length: 31, distance: 0x0a0b0c }, &mut out);
        form.encode(Opcode::End, &mut out);
        assert_eq!(out, [0, 2, 1, 1, 31, 0, 0x0c, 0x0b, 0x0a, 0, 0, 0]);
        assert_eq!((form.head(), form.tail()), (3, 3));
        assert_eq!((form.decode_head(&out[3..6]), form.decode_tail(&out[6..9])), ((31, true), 0x0a0b0c));
    }

    #[test]
    fn numbers_of_version_0_4_have_eight_bytes() {
        let form = OpcodeForm::new(Dialect::V4, Width::FULL);
        let mut out = Vec::new();
        form.encode(Opcode::Match { length: 108_666, distance: 1 }, &mut out);
        assert_eq!((out.len(), form.decode_head(&out)), (17, (108_666, true)));
    }
}
