//! The size of an image's blocks.

use std::fmt;
use std::ops::RangeInclusive;

use crate::Error;

/// Bytes of a data block: a power of two from 4 KiB to 1 MiB, or of a segment ([`BlockSize::segment`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize {
    log: u8,
}

impl BlockSize {
    pub const MIN: BlockSize = BlockSize { log: 12 };
    pub const MAX: BlockSize = BlockSize { log: 20 };
    /// The range in bytes.
    pub const RANGE: RangeInclusive<u64> = 1 << Self::MIN.log..=1 << Self::MAX.log;
    /// The default as users write it.
    pub const DEFAULT_TEXT: &str = "128K";

    /// # Errors
    /// [`Error::Limit`] if `bytes` is not a power of two in [`BlockSize::RANGE`].
    pub fn new(bytes: u64) -> Result<BlockSize, Error> {
        let valid = bytes.is_power_of_two() && Self::RANGE.contains(&bytes);
        valid.then(|| BlockSize { log: bytes.ilog2() as u8 }).ok_or_else(|| Error::Limit {
            what: format!("a block size of {bytes} bytes"),
            expected: "a power of two from 4K to 1M".to_string(),
        })
    }

    /// Returns the size of the segments from which blocks of up to this size are cut: 8 blocks, but at least 1 MiB and at most 4 MiB. The last
    /// block of a segment is usually short, so larger segments compress better.
    pub fn segment(self) -> BlockSize {
        BlockSize { log: (self.log + 3).clamp(20, 22) }
    }

    pub const fn bytes(self) -> usize {
        1 << self.log
    }

    /// The binary logarithm of the bytes.
    pub fn log(self) -> u8 {
        self.log
    }
}

impl Default for BlockSize {
    /// 128 KiB.
    fn default() -> BlockSize {
        BlockSize { log: 17 }
    }
}

impl From<BlockSize> for u32 {
    fn from(size: BlockSize) -> u32 {
        1 << size.log
    }
}

impl From<BlockSize> for u64 {
    fn from(size: BlockSize) -> u64 {
        1 << size.log
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_have_up_to_eight_blocks() {
        let segment = |bytes| BlockSize::new(bytes).unwrap().segment().bytes();
        let sizes = [4096, 131_072, 262_144, 524_288, 1 << 20].map(segment);
        assert_eq!(sizes, [1 << 20, 1 << 20, 2 << 20, 4 << 20, 4 << 20]);
    }

    #[test]
    fn accepts_only_powers_of_two_in_the_range() {
        let sizes: Vec<usize> =
            (0..1 << 21).filter_map(|bytes| BlockSize::new(bytes).ok()).map(BlockSize::bytes).collect();
        assert_eq!(sizes, [4096, 8192, 16384, 32768, 65536, 131_072, 262_144, 524_288, 1_048_576]);
        let error = BlockSize::new(5000).unwrap_err().to_string();
        assert_eq!(error, "a block size of 5000 bytes (expected a power of two from 4K to 1M)");
    }

    #[test]
    fn the_default_is_what_its_text_says() {
        assert_eq!(format!("{}K", BlockSize::default().bytes() >> 10), BlockSize::DEFAULT_TEXT);
    }
}
