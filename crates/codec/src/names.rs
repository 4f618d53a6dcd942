//! The names of the codecs, and common sizes.

/// Size of a metadata block of the containers that have such, bytes; [`crate::Spec::metadata_encoder`] is made for it.
pub const METADATA_BLOCK_SIZE: usize = 8 * 1024;

/// Largest block of any codec, bytes: half the range of a C `int`, the narrowest size type of the libraries.
pub(crate) const MAX_BLOCK_SIZE: usize = 1 << 30;

pub(crate) const NONE: &str = "none";
pub(crate) const GZIP: &str = "gzip";
pub(crate) const XZ: &str = "xz";
pub(crate) const LZMA: &str = "lzma";
pub(crate) const ZSTD: &str = "zstd";
pub(crate) const LZ4: &str = "lz4";
/// Alias of lz4 with `hc`.
pub(crate) const LZ4HC: &str = "lz4hc";
pub(crate) const LZO: &str = "lzo";
pub(crate) const BZIP2: &str = "bzip2";
pub(crate) const ZLE: &str = "zle";
pub(crate) const HUFF0: &str = "huff0";
/// Not a [`crate::Spec`]: a prefix in a [`crate::Coding`].
pub(crate) const SLACK: &str = "slack";
/// Not a [`crate::Spec`]: no container lets users choose it by name.
pub(crate) const ZPAQ: &str = "zpaq";

/// All names, in the order of listings.
pub(crate) const ALL: &[&str] = &[NONE, GZIP, XZ, LZMA, ZSTD, LZ4, LZ4HC, LZO, BZIP2, HUFF0, ZLE];
