//! The text before the record at the end of an image: the options that determine its blocks, and its kernel.
//!
//! `codec=zstd:level=3 block_size=131072 cluster_most=147456 kernel=6.10`: keys and values without spaces. A reader ignores unknown keys.

use std::fmt;

use packline_codec::Spec;

use super::kernel::Kernel;
use crate::Options;

/// The options of an image of this program, as its record has them.
#[derive(Debug, Clone)]
pub struct RecordedOptions {
    /// The codec with its parameters.
    pub codec: Spec,
    /// Content of a cluster in bytes, [`Options::block_size`].
    pub block_size: u32,
    /// The most bytes of content of a cluster.
    pub cluster_most: u32,
    /// The oldest Linux version that must mount the image.
    pub kernel: Kernel,
}

impl RecordedOptions {
    pub(crate) fn of(options: &Options) -> RecordedOptions {
        RecordedOptions {
            codec: options.codec.clone(),
            block_size: options.block_size.into(),
            cluster_most: options.cluster_most() as u32,
            kernel: options.kernel,
        }
    }

    /// Parses the text. Returns `None` if a key is missing, or if this version does not know a value.
    pub(crate) fn parse(text: &[u8]) -> Option<RecordedOptions> {
        let text = std::str::from_utf8(text).ok()?;
        let value = |key: &str| text.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        Some(RecordedOptions {
            codec: Spec::parse(value("codec")?).ok()?,
            block_size: value("block_size")?.parse().ok()?,
            cluster_most: value("cluster_most")?.parse().ok()?,
            kernel: value("kernel")?.parse().ok()?,
        })
    }
}

impl fmt::Display for RecordedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordedOptions { codec, block_size, cluster_most, kernel } = self;
        write!(f, "codec={codec} block_size={block_size} cluster_most={cluster_most} kernel={kernel}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_it_prints() {
        for codec in ["zstd:level=3", "lz4:hc", "lzma:level=2", "gzip"] {
            let options = Options { kernel: Kernel::new(6, 15), ..Options::new(Spec::parse(codec).unwrap()) };
            let text = RecordedOptions::of(&options).to_string();
            assert_eq!(RecordedOptions::parse(text.as_bytes()).map(|read| read.to_string()), Some(text));
        }
    }

    #[test]
    fn ignores_unknown_keys_and_rejects_unknown_values() {
        let text = "order=1 codec=zstd:level=3 block_size=131072 cluster_most=147456 kernel=6.10 more=";
        let found = RecordedOptions::parse(text.as_bytes()).unwrap();
        assert_eq!(found.to_string(), "codec=zstd:level=3 block_size=131072 cluster_most=147456 kernel=6.10");
        for (from, to) in
            [("zstd", "newer"), ("131072", "-1"), ("147456", "4294967296"), ("6.10", "6"), ("kernel", "k")]
        {
            assert!(RecordedOptions::parse(text.replace(from, to).as_bytes()).is_none(), "{to}");
        }
        assert!(RecordedOptions::parse(b"").is_none() && RecordedOptions::parse(b"codec=\xff").is_none());
    }
}
