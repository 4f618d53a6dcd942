//! Parses values of options as mksquashfs writes them: sizes, times, owners, attributes.

use packline_codec::Spec;
use packline_manifests::attribute_value;
use packline_squashfs::BlockSize;
use packline_tree::Xattr;

use crate::args::value::codecs_help;
use crate::host::Host;
use crate::ui::escape::Escape;
use crate::ui::size::parse_size;

/// The compressors of mksquashfs; the first is the default.
pub const COMPRESSORS: [&str; 6] = ["gzip", "lzo", "lz4", "xz", "zstd", "lzma"];

/// Returns the options of a compressor, or of all.
pub fn compressor_help(name: &str) -> Result<String, String> {
    let one = |name| Spec::help(name).map_err(|error| error.to_string());
    match name {
        "all" => COMPRESSORS.into_iter().map(one).collect::<Result<Vec<_>, _>>().map(|all| all.join("\n")),
        "list" => Ok(codecs_help(COMPRESSORS)),
        _ if COMPRESSORS.contains(&name) => one(name),
        _ => Err(format!("unknown compressor '{name}' (expected all, {})", COMPRESSORS.join(", "))),
    }
}

/// Parses a number of bytes, also with `Kbytes` and similar units.
pub fn size(text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    let short = text.strip_suffix("bytes").filter(|rest| rest.ends_with(|last: char| last.is_ascii_alphabetic()));
    let size = parse_size(short.unwrap_or(text).as_ref())?;
    let expected = || format!("{size} is out of range (expected {} to {})", range.start(), range.end());
    if range.contains(&size) { Ok(size) } else { Err(expected()) }
}

/// # Errors
/// The size is not a power of two in [`BlockSize::RANGE`].
pub fn block_size(text: &str) -> Result<BlockSize, String> {
    let bytes = size(text, BlockSize::RANGE)?;
    BlockSize::new(bytes).map_err(|_| format!("{bytes} is not a power of two"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// The latest time of all entries.
    Inode,
    Now,
    Seconds(u32),
}

impl Time {
    pub fn parse(text: &str) -> Result<Time, String> {
        match text {
            "inode" => Ok(Time::Inode),
            "now" => Ok(Time::Now),
            _ => text.parse().map(Time::Seconds).map_err(|_| {
                format!("'{text}' is not a time (expected seconds since 1970 up to {}, 'now' or 'inode')", u32::MAX)
            }),
        }
    }

    /// Returns the seconds since 1970; `None` if the time depends on the entries.
    pub fn seconds(self, host: &Host) -> Option<u32> {
        match self {
            Time::Inode => None,
            Time::Now => Some(host.now),
            Time::Seconds(seconds) => Some(seconds),
        }
    }
}

/// A user or group, by number or name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    Number(u32),
    Name(String),
}

impl Owner {
    pub fn parse(text: &str) -> Result<Owner, String> {
        if text.is_empty() || text.bytes().any(|byte| !byte.is_ascii_digit()) {
            return Ok(Owner::Name(text.to_string()));
        }
        text.parse().map(Owner::Number).map_err(|_| format!("{text} is out of range (expected at most {})", u32::MAX))
    }
}

/// Parses an attribute `NAME=VALUE`.
pub fn xattr(text: &str) -> Result<Xattr, String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("'{text}' has no value (expected NAME=VALUE)"))?;
    if !["user.", "trusted.", "security."].iter().any(|prefix| name.starts_with(prefix)) {
        return Err(format!(
            "unknown prefix of '{}' (expected user., trusted. or security.)",
            name.as_bytes().escaped()
        ));
    }
    let value = attribute_value(value.as_bytes()).ok_or_else(|| {
        format!("'{value}' is not a value (expected base64 after 0s, pairs of digits after 0x, or text)")
    })?;
    Ok(Xattr { name: name.into(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_values_like_mksquashfs() {
        for text in ["131072", "128K", "128KB", "128k", "128Kbytes"] {
            assert_eq!(block_size(text), Ok(BlockSize::default()), "{text}");
        }
        for text in ["", "3K", "2K", "2M", "Kbytes", "130000", "4096bytes"] {
            assert!(block_size(text).is_err(), "{text}");
        }
        assert_eq!(Time::parse("0"), Ok(Time::Seconds(0)));
        assert_eq!(Time::parse("inode"), Ok(Time::Inode));
        assert!(Time::parse("last week").unwrap_err().contains("'last week' is not a time"));
        assert_eq!(Owner::parse("12"), Ok(Owner::Number(12)));
        assert_eq!(Owner::parse("root"), Ok(Owner::Name("root".to_string())));
        assert!(Owner::parse("4294967296").is_err());
    }

    #[test]
    fn rejects_attributes_without_known_prefix_or_value() {
        let value = |text: &str| xattr(text).map(|xattr| xattr.value);
        assert_eq!(value("user.a=b=c"), Ok(b"b=c".to_vec()));
        assert_eq!(value("security.a=0x4142"), Ok(b"AB".to_vec()));
        assert_eq!(value("trusted.a=0sQUI="), Ok(b"AB".to_vec()));
        assert_eq!(value("user.a=0tA\\102"), Ok(b"AB".to_vec()));
        for wrong in ["user.a", "system.x=1", "a=1", "user.a=0x1", "user.a=0s?"] {
            assert!(xattr(wrong).is_err(), "{wrong}");
        }
    }
}
