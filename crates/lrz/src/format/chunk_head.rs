//! The head of a chunk, as 0.6 writes it.

use super::{Width, width_for};

/// Smallest size that the head of a chunk declares, bytes.
const MIN_DECLARED: u64 = 4096;

/// The header of a chunk of format 0.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHead {
    /// Width of distances, and of records without encryption.
    pub width: Width,
    /// Whether no chunk follows.
    pub last: bool,
    /// Bytes of plain data modulo the width's range, at least 4096: informational. `None` if encrypted.
    pub size: Option<u64>,
}

impl ChunkHead {
    /// The header of a chunk of `size` bytes.
    pub fn new(size: u64, last: bool, encrypted: bool) -> ChunkHead {
        ChunkHead { width: width_for(size), last, size: (!encrypted).then_some(size.max(MIN_DECLARED)) }
    }

    /// Appends the head to `out` as it lies in the file.
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
    fn small_chunks_are_cut_to_their_width() {
        assert_eq!(encoded(5, true, false), [1, 1, 0]);
        assert_eq!(encoded(341, true, false), [2, 1, 0, 0x10]);
        assert_eq!(encoded(0x12345, false, false), [3, 0, 0x45, 0x23, 1]);
        assert_eq!(encoded(0x12345, true, true), [3, 1]);
    }
}
