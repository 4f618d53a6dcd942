//! The head of a chunk of version 0.6.

use super::{Width, width_for};

/// The smallest size that a chunk's head declares, in bytes.
const MIN_DECLARED: u64 = 4096;

/// The head of a chunk of version 0.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHead {
    /// Width of distances, and of records if they are not encrypted.
    pub width: Width,
    /// Whether no chunk follows.
    pub last: bool,
    /// Bytes of plain data, at least 4096, modulo the range of the width. Readers do not need it. `None` if the file is encrypted.
    pub size: Option<u64>,
}

impl ChunkHead {
    /// Returns the head of a chunk of `size` bytes.
    pub fn new(size: u64, last: bool, encrypted: bool) -> ChunkHead {
        ChunkHead { width: width_for(size), last, size: (!encrypted).then_some(size.max(MIN_DECLARED)) }
    }

    /// Appends the encoded head to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.width.bytes() as u8, u8::from(self.last)]);
        if let Some(size) = self.size {
            self.width.put(size, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(size: u64, last: bool, encrypted: bool) -> Vec<u8> {
        let mut out = Vec::new();
        ChunkHead::new(size, last, encrypted).encode(&mut out);
        out
    }

    #[test]
    fn truncates_the_size_of_small_chunks_to_their_width() {
        assert_eq!(encoded(5, true, false), [1, 1, 0]);
        assert_eq!(encoded(341, true, false), [2, 1, 0, 0x10]);
        assert_eq!(encoded(0x12345, false, false), [3, 0, 0x45, 0x23, 1]);
        assert_eq!(encoded(0x12345, true, true), [3, 1]);
    }
}
