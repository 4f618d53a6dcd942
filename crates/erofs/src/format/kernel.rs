//! The Linux versions that mount images with a feature.

use std::fmt;
use std::str::FromStr;

use super::superblock::{Superblock, compat, incompat};

/// A Linux version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    pub major: u16,
    pub minor: u16,
}

impl Kernel {
    /// The first version that mounts EROFS images.
    pub const FIRST: Kernel = Kernel::new(5, 4);
    /// The default for new images: the first version that mounts images compressed by zstd.
    pub const DEFAULT: Kernel = Kernel::new(6, 10);

    pub const fn new(major: u16, minor: u16) -> Kernel {
        Kernel { major, minor }
    }

    /// Returns the first version that mounts images with a feature of [`incompat`].
    pub(crate) fn of_feature(feature: u32) -> Kernel {
        FEATURES.iter().find(|(known, _)| *known == feature).map_or(Kernel::FIRST, |(_, version)| *version)
    }

    /// The first version that finds long prefixes of attribute names in the image, if ends of files are packed or contents are shared.
    pub(crate) const PLAIN_PREFIXES: Kernel = Kernel::new(6, 17);

    /// Returns the first version that decodes the algorithm with a number, with the records that new images have.
    pub(crate) fn of_algorithm(number: u8) -> Kernel {
        let records = Kernel::of_feature(incompat::COMPRESSION_RECORDS);
        ALGORITHMS.iter().find(|(bit, _)| *bit == 1 << number).map_or(records, |(_, version)| *version)
    }
}

impl Default for Kernel {
    fn default() -> Kernel {
        Kernel::DEFAULT
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Kernel {
    type Err = String;

    /// Parses `MAJOR.MINOR`, two numbers up to 65535. What may follow, such as `.3` or `.90+deb13-amd64`, is ignored.
    fn from_str(text: &str) -> Result<Kernel, String> {
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number)
        };
        let parsed = text.split_once('.').and_then(|(major, rest)| {
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            let (minor, rest) = rest.split_at(end);
            let is_release = rest.is_empty() || rest.len() > 1 && rest.starts_with(['.', '-', '+', '_', '~']);
            Some(Kernel::new(number(major)?, number(minor)?)).filter(|_| is_release)
        });
        parsed.ok_or_else(|| {
            format!("invalid Linux version '{text}' (expected MAJOR.MINOR, such as {})", Kernel::DEFAULT)
        })
    }
}

const FEATURES: [(u32, Kernel); 9] = [
    (incompat::ZERO_PADDING, Kernel::new(5, 4)),
    (incompat::COMPRESSION_RECORDS, Kernel::new(5, 13)),
    (incompat::CHUNKS, Kernel::new(5, 15)),
    (incompat::DEVICES, Kernel::new(5, 16)),
    (incompat::INLINE_CLUSTERS, Kernel::new(5, 17)),
    (incompat::FRAGMENTS, Kernel::new(6, 1)),
    (incompat::XATTR_PREFIXES, Kernel::new(6, 4)),
    (incompat::WIDE, Kernel::new(6, 15)),
    (incompat::METABOX, Kernel::new(6, 17)),
];

/// The algorithms lzma, deflate and zstd, by their bits.
const ALGORITHMS: [(u16, Kernel); 3] =
    [(1 << 1, Kernel::new(5, 16)), (1 << 2, Kernel::new(6, 6)), (1 << 3, Kernel::new(6, 10))];

impl Superblock {
    /// Returns the first Linux version that mounts the image, as far as its features and algorithms decide. A kernel may be built without an
    /// algorithm, or with pages smaller than the blocks.
    pub fn least_kernel(&self) -> Kernel {
        let features = FEATURES.iter().filter(|(feature, _)| self.has(*feature)).map(|(_, version)| *version);
        let has_set = self.has(incompat::COMPRESSION_RECORDS);
        let algorithms = ALGORITHMS.iter().filter(|(bit, _)| has_set && self.algorithms & bit != 0);
        // Earlier versions look for the prefixes in the packed inode.
        let has_plain = self.has_compatible(compat::PLAIN_XATTR_PREFIXES) && self.xattr_prefixes > 0;
        let prefixes = (has_plain && self.packed.is_some()).then_some(Kernel::PLAIN_PREFIXES);
        features.chain(algorithms.map(|(_, version)| *version)).chain(prefixes).fold(Kernel::FIRST, Kernel::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_it_prints_and_nothing_else() {
        for kernel in [Kernel::FIRST, Kernel::DEFAULT, Kernel::new(0, 65_535)] {
            assert_eq!(kernel.to_string().parse(), Ok(kernel));
        }
        for text in ["6.12.3", "6.12-rc1", "6.12.90+deb13-amd64", "6.12.5.2-microsoft-standard-WSL2", "6.12+"] {
            let expected = if text.ends_with('+') { None } else { Some(Kernel::new(6, 12)) };
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
        for text in ["", "6", "6.", ".1", "6.+1", "6.1.", "6.65536", "6.1x", " 6.1", "6.1 "] {
            assert!(text.parse::<Kernel>().is_err(), "{text}");
        }
        assert!(Kernel::new(6, 9) < Kernel::new(6, 10) && Kernel::new(5, 20) < Kernel::new(6, 1));
    }

    #[test]
    fn versions_of_algorithms_include_that_of_their_records() {
        let versions = [0, 1, 2, 3].map(Kernel::of_algorithm);
        assert_eq!(versions.map(|version| version.to_string()), ["5.13", "5.16", "6.6", "6.10"]);
    }
}
