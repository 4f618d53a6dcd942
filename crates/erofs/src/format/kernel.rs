//! The Linux versions that mount images with a feature.

use super::superblock::{Superblock, incompat};

/// A version: major and minor number.
pub type LinuxVersion = (u16, u16);

/// The first version that mounts EROFS images.
const FIRST: LinuxVersion = (5, 4);

const FEATURES: [(u32, LinuxVersion); 9] = [
    (incompat::ZERO_PADDING, (5, 4)),
    (incompat::COMPRESSION_RECORDS, (5, 13)),
    (incompat::CHUNKS, (5, 15)),
    (incompat::DEVICES, (5, 16)),
    (incompat::INLINE_CLUSTERS, (5, 17)),
    (incompat::FRAGMENTS, (6, 1)),
    (incompat::XATTR_PREFIXES, (6, 4)),
    (incompat::WIDE, (6, 15)),
    (incompat::METABOX, (6, 17)),
];

/// The algorithms lzma, deflate and zstd, by their bits.
const ALGORITHMS: [(u16, LinuxVersion); 3] = [(1 << 1, (5, 16)), (1 << 2, (6, 6)), (1 << 3, (6, 10))];

impl Superblock {
    /// Returns the first Linux version that mounts the image, as far as its features and algorithms decide. A kernel may be built without an
    /// algorithm, or with pages smaller than the blocks.
    pub fn least_kernel(&self) -> LinuxVersion {
        let features = FEATURES.iter().filter(|(feature, _)| self.has(*feature)).map(|(_, version)| *version);
        let has_set = self.has(incompat::COMPRESSION_RECORDS);
        let algorithms = ALGORITHMS.iter().filter(|(bit, _)| has_set && self.algorithms & bit != 0);
        features.chain(algorithms.map(|(_, version)| *version)).fold(FIRST, LinuxVersion::max)
    }
}
