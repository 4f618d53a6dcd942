//! Sizes of chunks.

/// Bytes before the ciphertext of a chunk: its length, and whether it is the last.
pub(crate) const HEADER: usize = 4;
/// Bytes after it: the tag of AES-GCM.
pub(crate) const TAG: usize = 16;
/// Bytes of a chunk without content.
pub(crate) const LEAST: u64 = (HEADER + TAG) as u64;

/// Bytes of content of a chunk: a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSize(u8);

impl ChunkSize {
    /// 64 KiB: larger ones are hardly faster, and a range read opens whole chunks.
    pub const USUAL: ChunkSize = ChunkSize(16);

    /// From its binary logarithm, 12 to 20.
    pub fn from_log(log: u8) -> Option<ChunkSize> {
        (12..=20).contains(&log).then_some(ChunkSize(log))
    }

    pub(crate) fn log(self) -> u8 {
        self.0
    }

    /// Bytes.
    pub fn bytes(self) -> usize {
        1 << self.0
    }

    /// Bytes of a whole chunk when it is sealed.
    pub(crate) fn stride(self) -> usize {
        HEADER + self.bytes() + TAG
    }
}
