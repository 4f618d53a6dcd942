//! Sizes of chunks.

/// Bytes of a chunk's header, which has the length and whether the chunk is the last.
pub(crate) const HEADER: usize = 4;
/// Bytes of the tag of AES-GCM, after the ciphertext.
pub(crate) const TAG: usize = 16;
/// Bytes of a chunk without content.
pub(crate) const CHUNK_OVERHEAD: u64 = (HEADER + TAG) as u64;

/// The number of content bytes in a chunk, a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSize(u8);

impl ChunkSize {
    /// 64 KiB: larger chunks are not much faster, and reading a range opens complete chunks.
    pub const USUAL: ChunkSize = ChunkSize(16);

    /// The size with this binary logarithm, 12 to 20.
    pub fn from_log(log: u8) -> Option<ChunkSize> {
        (12..=20).contains(&log).then_some(ChunkSize(log))
    }

    pub(crate) fn log(self) -> u8 {
        self.0
    }

    /// The size in bytes.
    pub fn bytes(self) -> usize {
        1 << self.0
    }

    /// Bytes of a full chunk when it is sealed.
    pub(crate) fn stride(self) -> usize {
        HEADER + self.bytes() + TAG
    }
}
