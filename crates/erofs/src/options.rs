//! Options of an image.

use packline_blocks::{BlockSize, Error, Fragments};
use packline_cache::LargestBlock;
use packline_codec::{BareCodec, CodecError, Footprint, Spec};
use packline_runtime::escape::Escape;

use crate::format::algorithms::{self, STORED_MOST};
use crate::format::kernel::Kernel;
use crate::format::superblock::{LABEL_MOST, incompat};
use crate::format::xattr::LongPrefix;

/// Block size for lz4 in bytes: larger blocks compress hardly better, because its distances have 16 bits.
const LZ4_BLOCK: u64 = 64 << 10;
/// The share of a block by which the content of a cluster of whole blocks may exceed a block. A segment of 8 blocks is then 8 clusters, although each
/// cluster is cut where its blocks are full.
const HEADROOM: usize = 8;
/// Logarithm of the size of a block of a tar in bytes.
const TAR_BLOCK_BITS: u8 = 9;
/// Logarithm of the size of a file system block in bytes. No kernel mounts blocks larger than its pages.
pub(crate) const BLOCK_BITS: u8 = 12;
/// Size of a file system block in bytes.
pub(crate) const BLOCK: u64 = 1 << BLOCK_BITS;

/// Most bytes of an end of a file that follows its inode as it is stored: a few less than a block, so that it has space in a block wherever it starts.
pub(crate) const INLINE_MOST: usize = BLOCK as usize - 64;

/// Most long prefixes of attribute names.
const PREFIXES_MOST: usize = 128;
/// Most bytes of a long prefix.
const PREFIX_MOST: usize = 255;
/// Most bytes of all long prefixes as they are stored. They are in the first block of the image, after the superblock.
const PREFIX_BYTES_MOST: usize = 2048;

/// The UUID of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Uuid {
    /// Derived from the content of the image.
    #[default]
    Derived,
    Given([u8; 16]),
}

/// Where the contents of files are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// In the image.
    #[default]
    Image,
    /// On a device of the image, which is written with the image. Contents are not compressed.
    Blob,
    /// In a tar, which is a device of the image. Blocks of the image have 512 bytes, because contents of a tar start at multiples of 512 bytes.
    Tar,
}

/// What follows inodes in a compressed image for kernels before 6.15 without packed tail ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inline {
    /// Nothing: each end of a file has a block of its own.
    Never,
    /// Files of less than a block, as they are.
    SmallFiles,
    /// Ends of files, compressed where that makes them smaller. Before Linux 5.17, and with [`Options::compress_directories`], the same as
    /// [`Inline::SmallFiles`].
    #[default]
    Ends,
}

/// How the contents of files are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are, in blocks. No kernel needs a decoder for it.
    Flat,
    /// Compressed in clusters of whole blocks, with indexes.
    Clusters,
    /// In any number of bytes, compressed or not, with encoded extents.
    Extents,
}

/// The options and the input determine an image's bytes.
#[derive(Debug, Clone)]
pub struct Options {
    /// `none`, or a codec that [`Spec::bare_encoder`] knows.
    pub codec: Spec,
    /// Content of a cluster in bytes: what a reader decodes at once.
    pub block_size: BlockSize,
    /// Whether a cluster of whole blocks may have up to an eighth more content than [`Options::block_size`]. Fewer clusters are short then.
    pub headroom: bool,
    /// The oldest Linux version that must mount the image. Newer versions mount smaller images.
    pub kernel: Kernel,
    /// Which tail ends are packed together. Without compression, the images for kernels before 6.15 have them after their inodes.
    pub fragments: Fragments,
    /// What follows inodes if [`Options::fragments`] is [`Fragments::Never`].
    pub inline: Inline,
    /// Whether directories are compressed with the codec, in the packed inode. Needs Linux 6.1. A directory that takes no space after its inode stays
    /// there.
    pub compress_directories: bool,
    /// Whether equal files, tail ends and blocks are stored once.
    pub deduplicate: bool,
    /// Whether blocks of zeros are stored as holes.
    pub sparse: bool,
    /// Whether extended attributes are stored.
    pub xattrs: bool,
    /// Whether a directory with whiteouts of overlayfs (devices 0:0) gets the attribute `trusted.overlay.origin`, even without [`Options::xattrs`].
    /// Without the attribute, overlayfs lists the whiteouts of a directory that only one layer has.
    pub marks_whiteouts: bool,
    /// The image is padded with zeros to a multiple of this many bytes, and of 4096.
    pub pad: u32,
    /// Image creation time, seconds since 1970.
    pub created: u32,
    pub uuid: Uuid,
    /// Volume name, at most 15 bytes without NUL.
    pub label: Vec<u8>,
    /// Where contents are stored. On a device, they are chunks of whole blocks.
    pub place: Place,
    /// Starts of names of extended attributes, such as `trusted.overlay.`. A name has the first one that it starts with, and only the rest of the
    /// name is stored with the attribute. At most 128 of 1 to 255 bytes, and about 2000 bytes in total.
    pub xattr_prefixes: Vec<Vec<u8>>,
}

impl Options {
    pub fn new(codec: Spec) -> Options {
        let block_size = match codec {
            Spec::Lz4(_) => BlockSize::new(LZ4_BLOCK).unwrap_or_default(),
            _ => BlockSize::default(),
        };
        Options {
            codec,
            block_size,
            headroom: true,
            kernel: Kernel::DEFAULT,
            fragments: Fragments::default(),
            inline: Inline::default(),
            compress_directories: false,
            deduplicate: true,
            sparse: true,
            xattrs: true,
            marks_whiteouts: false,
            pad: BLOCK as u32,
            created: 0,
            uuid: Uuid::Derived,
            label: Vec::new(),
            place: Place::Image,
            xattr_prefixes: Vec::new(),
        }
    }

    /// Returns the options of an image whose blocks other containers have, too. `None` if the codec has no such blocks.
    pub fn with_common_blocks(codec: Spec, block_size: BlockSize) -> Option<Options> {
        let kernel = Kernel::of_feature(incompat::WIDE);
        let options = Options { block_size, kernel, ..Options::new(codec) };
        options.has_common_blocks().then_some(options)
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`Error::Codec`] if EROFS does not support the codec, or if its parameters are invalid or do not fit the block size; [`Error::Limit`] if the
    /// kernel lacks a feature, or if the label or a prefix is too long.
    pub fn validate(&self) -> Result<(), Error> {
        self.check_prefixes()?;
        for (feature, needed) in self.needs()? {
            if self.kernel < needed {
                let what = format!("{feature} for Linux {}", self.kernel);
                return Err(Error::Limit { what, expected: format!("Linux {needed} or later") });
            }
        }
        if self.place != Place::Image && self.codec != Spec::None {
            let what = format!("contents on a device with codec {}", self.codec.name());
            return Err(Error::Limit { what, expected: "codec none".into() });
        }
        if self.compress_directories && self.codec == Spec::None {
            let what = "compressed directories with codec none".into();
            return Err(Error::Limit { what, expected: "a codec that compresses".into() });
        }
        if self.label.len() > LABEL_MOST || self.label.contains(&0) {
            let what = format!("label \"{}\" of {} bytes", self.label.escaped(), self.label.len());
            return Err(Error::Limit { what, expected: format!("at most {LABEL_MOST} bytes without NUL") });
        }
        if self.form() == Form::Clusters && u64::from(self.block_size) < 2 * BLOCK {
            let what = format!("compressed blocks of {} bytes for Linux {}", self.block_size.bytes(), self.kernel);
            return Err(Error::Limit { what, expected: format!("at least {} bytes", 2 * BLOCK) });
        }
        // A cluster of lz4 is copied at once, and may start in the middle of a block.
        let is_lz4 = matches!(self.codec, Spec::Lz4(_)) && self.form() == Form::Extents;
        if is_lz4 && u64::from(self.block_size) + BLOCK > STORED_MOST {
            let what = format!("blocks of {} bytes with lz4 for Linux {}", self.block_size.bytes(), self.kernel);
            return Err(Error::Limit { what, expected: format!("at most {} bytes", STORED_MOST / 2) });
        }
        Ok(())
    }

    fn check_prefixes(&self) -> Result<(), Error> {
        let prefixes = &self.xattr_prefixes;
        if let Some(wrong) = prefixes.iter().find(|prefix| !(1..=PREFIX_MOST).contains(&prefix.len())) {
            let what = format!("prefix \"{}\" of attribute names with {} bytes", wrong.escaped(), wrong.len());
            return Err(Error::Limit { what, expected: format!("1 to {PREFIX_MOST} bytes") });
        }
        let bytes = self.prefix_table().len();
        if prefixes.len() > PREFIXES_MOST || bytes > PREFIX_BYTES_MOST {
            let what = format!("{} prefixes of attribute names with {bytes} bytes", prefixes.len());
            return Err(Error::Limit {
                what,
                expected: format!("at most {PREFIXES_MOST} with {PREFIX_BYTES_MOST} bytes"),
            });
        }
        Ok(())
    }

    pub(crate) fn long_prefixes(&self) -> Vec<LongPrefix> {
        self.xattr_prefixes.iter().map(|prefix| LongPrefix::new(prefix)).collect()
    }

    /// Returns the long prefixes as they are stored; empty without any.
    pub(crate) fn prefix_table(&self) -> Vec<u8> {
        let mut table = Vec::new();
        self.long_prefixes().iter().for_each(|prefix| prefix.encode(&mut table));
        table
    }

    /// Returns the features that the image may have, and the first kernels that know them.
    fn needs(&self) -> Result<Vec<(String, Kernel)>, Error> {
        let mut needs = vec![("EROFS".to_owned(), Kernel::FIRST)];
        if let Some(codec) = self.codec.bare_codec(self.cluster_most())? {
            needs.push((self.codec.name().to_owned(), Kernel::of_algorithm(algorithms::number_of(codec))));
        }
        if self.place != Place::Image {
            needs.push(("contents on a device".to_owned(), Kernel::of_feature(incompat::DEVICES)));
        }
        if self.compress_directories {
            needs.push(("compressed directories".to_owned(), Kernel::of_feature(incompat::FRAGMENTS)));
        }
        if !self.xattr_prefixes.is_empty() {
            let has_packed = self.packs_tails() || self.compress_directories;
            let is_alone = self.form() == Form::Flat || !(self.deduplicate || self.sparse || has_packed);
            needs.push(if is_alone {
                ("long prefixes of attribute names".to_owned(), Kernel::of_feature(incompat::XATTR_PREFIXES))
            } else {
                let what = "long prefixes of attribute names with packed tail ends, shared blocks or holes";
                (what.to_owned(), Kernel::PLAIN_PREFIXES)
            });
        }
        needs.extend(self.sharing().map(|(feature, kernel)| (feature.to_owned(), kernel)));
        Ok(needs)
    }

    /// Returns what lets contents share space, as far as the options request it, and the first kernel that knows it.
    fn sharing(&self) -> Option<(&'static str, Kernel)> {
        let shares = self.deduplicate || self.sparse;
        match self.form() {
            Form::Flat if shares => {
                Some(("shared blocks or holes without compression", Kernel::of_feature(incompat::CHUNKS)))
            }
            Form::Clusters if shares || self.packs_tails() => {
                Some(("packed tail ends, shared blocks or holes", Kernel::of_feature(incompat::FRAGMENTS)))
            }
            _ => None,
        }
    }

    /// Switches packed tail ends, shared contents and holes off if the kernel does not know them. Returns the first kernel that knows them.
    pub fn without_unknown_sharing(&mut self) -> Option<Kernel> {
        let (_, needed) = self.sharing().filter(|(_, needed)| self.kernel < *needed)?;
        self.deduplicate = false;
        self.sparse = false;
        if self.form() != Form::Flat {
            self.fragments = Fragments::Never;
        }
        Some(needed)
    }

    /// Returns the number of bytes of content that are hashed, shared and compressed by one worker. Clusters are cut from longer segments.
    pub fn segment_size(&self) -> BlockSize {
        if self.form() == Form::Clusters { self.block_size.segment() } else { self.block_size }
    }

    /// Returns the most bytes of content of a cluster.
    pub(crate) fn cluster_most(&self) -> usize {
        let size = self.block_size.bytes();
        let more = if self.headroom && self.form() == Form::Clusters { size / HEADROOM } else { 0 };
        (size + more - more % BLOCK as usize).min(BareCodec::LARGEST)
    }

    /// Returns the memory of the encoder and the decoder of one worker.
    ///
    /// # Errors
    /// Errors of [`Options::validate`] about the codec.
    pub fn footprint(&self) -> Result<Footprint, CodecError> {
        let size = self.cluster_most();
        if self.form() == Form::Clusters { self.codec.fitting_footprint(size) } else { self.codec.bare_footprint(size) }
    }

    /// Whether blocks are looked up before they are compressed. Segments are, too, with their clusters.
    pub fn looks_up(&self) -> bool {
        self.bare_codec().is_some()
    }

    /// Whether compressed blocks are those of [`Spec::encoder`], which other containers have, too.
    pub fn has_common_blocks(&self) -> bool {
        self.form() == Form::Extents && self.looks_up() && self.codec.bare_name() == self.codec.to_string()
    }

    /// Returns the largest block or segment that is looked up. A cluster takes at least a block.
    pub fn largest_block(&self) -> LargestBlock {
        let bytes = self.segment_size().bytes();
        LargestBlock { bytes, clusters: if self.form() == Form::Clusters { bytes / BLOCK as usize } else { 0 } }
    }

    pub(crate) fn form(&self) -> Form {
        match self.codec {
            _ if self.place != Place::Image => Form::Flat,
            _ if self.kernel >= Kernel::of_feature(incompat::WIDE) => Form::Extents,
            Spec::None => Form::Flat,
            _ => Form::Clusters,
        }
    }

    /// Whether tail ends are stored in a packed inode.
    fn packs_tails(&self) -> bool {
        self.form() != Form::Flat && self.fragments != Fragments::Never
    }

    /// Returns what follows inodes in this image.
    pub(crate) fn inline(&self) -> Inline {
        match self.inline {
            _ if self.form() != Form::Clusters || self.fragments != Fragments::Never => Inline::Never,
            // The content of the packed inode has no short ends, and all content has the same coder.
            Inline::Ends if self.compress_directories => Inline::SmallFiles,
            Inline::Ends if self.kernel < Kernel::of_feature(incompat::INLINE_CLUSTERS) => Inline::SmallFiles,
            inline => inline,
        }
    }

    /// Returns the logarithm of the size of a file system block in bytes.
    pub(crate) fn block_bits(&self) -> u8 {
        if self.place == Place::Tar { TAR_BLOCK_BITS } else { BLOCK_BITS }
    }

    /// Returns the size of a file system block in bytes.
    pub fn block(&self) -> u64 {
        1 << self.block_bits()
    }

    /// Returns what decoders must know of the codec; `None` if nothing is compressed.
    pub(crate) fn bare_codec(&self) -> Option<BareCodec> {
        self.codec.bare_codec(self.cluster_most()).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(codec: &str) -> Options {
        Options::new(Spec::parse(codec).unwrap())
    }

    fn fault(options: &Options) -> String {
        options.validate().map_or_else(|error| error.to_string(), |()| "valid".into())
    }

    #[test]
    fn names_what_a_kernel_lacks() {
        let with = |codec, major, minor| Options { kernel: Kernel::new(major, minor), ..options(codec) };
        for (codec, major, minor, expected) in [
            ("zstd", 6, 10, "valid"),
            ("zstd", 6, 9, "zstd for Linux 6.9 (expected Linux 6.10 or later)"),
            ("gzip", 6, 5, "gzip for Linux 6.5 (expected Linux 6.6 or later)"),
            ("lzma", 6, 1, "valid"),
            ("lz4", 6, 0, "packed tail ends, shared blocks or holes for Linux 6.0 (expected Linux 6.1 or later)"),
            ("lz4", 5, 12, "lz4 for Linux 5.12 (expected Linux 5.13 or later)"),
            ("none", 5, 15, "valid"),
            ("none", 5, 14, "shared blocks or holes without compression for Linux 5.14 (expected Linux 5.15 or later)"),
            ("none", 5, 3, "EROFS for Linux 5.3 (expected Linux 5.4 or later)"),
        ] {
            assert_eq!(fault(&with(codec, major, minor)), expected);
        }
        let mut plain = with("lz4", 5, 13);
        assert_eq!(plain.without_unknown_sharing(), Some(Kernel::new(6, 1)));
        assert_eq!((fault(&plain).as_str(), plain.without_unknown_sharing()), ("valid", None));
        assert_eq!(with("lz4", 6, 1).without_unknown_sharing(), None);
        assert_eq!(with("none", 5, 14).without_unknown_sharing(), Some(Kernel::new(5, 15)));
        assert!(fault(&options("xz")).contains("xz"));
    }

    #[test]
    fn contents_on_devices_are_not_compressed() {
        let on = |codec, kernel| Options { place: Place::Blob, kernel, ..options(codec) };
        assert_eq!(fault(&on("none", Kernel::new(5, 16))), "valid");
        let message = "contents on a device for Linux 5.15 (expected Linux 5.16 or later)";
        assert_eq!(fault(&on("none", Kernel::new(5, 15))), message);
        assert_eq!(fault(&on("lz4", Kernel::DEFAULT)), "contents on a device with codec lz4 (expected codec none)");
        assert_eq!(on("none", Kernel::new(6, 15)).form(), Form::Flat);
        assert_eq!(Options { place: Place::Tar, ..options("none") }.block(), 512);
    }

    #[test]
    fn rejects_labels_and_blocks_that_the_format_has_no_space_for() {
        assert_eq!(fault(&Options { label: b"fifteen bytes..".to_vec(), ..options("none") }), "valid");
        for label in [&b"sixteen bytes..."[..], b"a\0"] {
            assert!(fault(&Options { label: label.to_vec(), ..options("none") }).contains("at most 15 bytes"));
        }
        let large = |kernel| Options { block_size: BlockSize::MAX, kernel, ..options("lz4") };
        assert_eq!(fault(&large(Kernel::DEFAULT)), "valid");
        assert!(fault(&large(Kernel::new(6, 15))).contains("at most 524288 bytes"));
        let small = |kernel| Options { block_size: BlockSize::MIN, kernel, ..options("zstd") };
        assert_eq!(fault(&small(Kernel::new(6, 15))), "valid");
        assert!(fault(&small(Kernel::DEFAULT)).contains("at least 8192 bytes"));
    }

    #[test]
    fn rejects_prefixes_that_the_kernel_does_not_find() {
        let with = |codec, kernel, prefixes: &[&[u8]]| Options {
            kernel,
            xattr_prefixes: prefixes.iter().map(|prefix| prefix.to_vec()).collect(),
            ..options(codec)
        };
        let overlay: &[&[u8]] = &[b"trusted.overlay."];
        assert_eq!(fault(&with("none", Kernel::new(6, 4), overlay)), "valid");
        assert!(fault(&with("none", Kernel::new(6, 3), overlay)).ends_with("Linux 6.3 (expected Linux 6.4 or later)"));
        assert!(fault(&with("zstd", Kernel::new(6, 16), overlay)).ends_with("6.16 (expected Linux 6.17 or later)"));
        assert_eq!(fault(&with("zstd", Kernel::new(6, 17), overlay)), "valid");
        let alone = Options {
            deduplicate: false,
            sparse: false,
            fragments: Fragments::Never,
            ..with("lz4", Kernel::new(6, 4), overlay)
        };
        assert_eq!(fault(&alone), "valid");
        let many = vec![&b"user.abc"[..]; 129];
        for (prefixes, expected) in [
            (&[&[b'u'; 256][..]][..], "1 to 255 bytes"),
            (&[b""], "1 to 255 bytes"),
            (&many, "129 prefixes of attribute names with 1032 bytes (expected at most 128 with 2048 bytes)"),
            (&[&[b'u'; 255][..]; 8], "8 prefixes of attribute names with 2080 bytes"),
        ] {
            let found = fault(&with("none", Kernel::DEFAULT, prefixes));
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn the_kernel_decides_on_the_form() {
        let form = |codec, kernel| Options { kernel, ..options(codec) }.form();
        assert_eq!(form("none", Kernel::new(6, 14)), Form::Flat);
        assert_eq!(form("none", Kernel::new(6, 15)), Form::Extents);
        assert_eq!(form("zstd", Kernel::new(6, 14)), Form::Clusters);
        assert_eq!(form("zstd", Kernel::new(6, 15)), Form::Extents);
        assert_eq!(options("lz4hc").block_size.bytes(), 65_536);
    }
}
