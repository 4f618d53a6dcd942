//! Detects the compression of an input from its first bytes.

use std::fmt;
use std::io::{self, Read};

/// Number of bytes at the start of an input that show its format: a tar's header has 512, and the magic number of an EROFS image ends at 1028.
pub const HEAD: usize = 1028;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// None, or an unknown format.
    Plain,
    /// gzip (RFC 1952).
    Gzip,
    Xz,
    /// lzma, the format of the old LZMA utilities. It has no magic and is recognised by plausible fields.
    Lzma,
    Lzip,
    /// zstd (RFC 8878), possibly after a skippable frame.
    Zstd,
    Bzip2,
    /// lz4 frames.
    Lz4,
    /// The lz4 format before frames.
    Lz4Legacy,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Lzma => "lzma",
            Self::Lzip => "lzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Lz4 => "lz4",
            Self::Lz4Legacy => "legacy lz4",
        })
    }
}

/// The first bytes of an input, at most [`HEAD`].
pub fn read_head(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    input.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The format whose magic is at the start of `head`.
pub fn detect(head: &[u8]) -> Format {
    match head {
        [0x1f, 0x8b, 8, ..] => Format::Gzip,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Format::Xz,
        [b'L', b'Z', b'I', b'P', 0 | 1, ..] => Format::Lzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Format::Zstd,
        [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] if is_bzip2(rest) => Format::Bzip2,
        [0x04, 0x22, 0x4d, 0x18, ..] => Format::Lz4,
        [0x02, 0x21, 0x4c, 0x18, ..] => Format::Lz4Legacy,
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => after_skippable(head),
        _ if is_lzma(head) => Format::Lzma,
        _ => Format::Plain,
    }
}

/// A first block, or the end mark of an empty stream.
fn is_bzip2(rest: &[u8]) -> bool {
    rest.starts_with(&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59]) || rest.starts_with(&[0x17, 0x72, 0x45, 0x38, 0x50, 0x90])
}

/// zstd and lz4 share their skippable frames, so the first magic after them decides. Without one the format is zstd (pzstd starts
/// with a skippable frame, and no lz4 tool does).
fn after_skippable(head: &[u8]) -> Format {
    let mut rest = head;
    while let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, tail @ ..] = rest {
        let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        rest = tail.get(length..).unwrap_or_default();
    }
    if rest.starts_with(&[0x04, 0x22, 0x4d, 0x18]) { Format::Lz4 } else { Format::Zstd }
}

/// Accepts properties of a real encoder, a dictionary of 2^n or 2^n + 2^(n-1) bytes, a size that is unknown or below 256 GiB (the
/// same tests as XZ Utils), and 0 as the first byte of the range coder. A tar starts with a name and fails all tests.
fn is_lzma(head: &[u8]) -> bool {
    let &[properties, d0, d1, d2, d3, ref rest @ ..] = head else { return false };
    let Some((size, [0, ..])) = rest.split_first_chunk::<8>() else { return false };
    let dictionary = u32::from_le_bytes([d0, d1, d2, d3]);
    let size = u64::from_le_bytes(*size);
    let is_round = |value: u32| value.is_power_of_two() || (value.is_multiple_of(3) && (value / 3).is_power_of_two());
    properties < 9 * 5 * 5
        && dictionary >= 4096
        && (dictionary == u32::MAX || is_round(dictionary))
        && (size == u64::MAX || size < 1 << 38)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magics() {
        let zeros = [0; 16];
        for (head, format) in [
            (&b"\x1f\x8b\x08\x00"[..], Format::Gzip),
            (b"\xfd7zXZ\x00", Format::Xz),
            (b"LZIP\x01", Format::Lzip),
            (b"\x28\xb5\x2f\xfd", Format::Zstd),
            (b"BZh91AY&SY", Format::Bzip2),
            (b"BZh9\x17\x72\x45\x38\x50\x90", Format::Bzip2),
            (b"BZh9 is a file name", Format::Plain),
            (b"\x04\x22\x4d\x18", Format::Lz4),
            (b"\x02\x21\x4c\x18", Format::Lz4Legacy),
            (b"\x50\x2a\x4d\x18\x04\0\0\0abcd", Format::Zstd),
            (b"\x5f\x2a\x4d\x18\x01\0\0\0a\x04\x22\x4d\x18", Format::Lz4),
            (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0", Format::Lzma),
            (b"\x5d\0\0\x90\0\xff\xff\xff\xff\xff\xff\xff\xff\0", Format::Plain),
            (b"", Format::Plain),
            (&zeros, Format::Plain),
        ] {
            assert_eq!(detect(head), format, "{}", head.escape_ascii());
        }
    }
}
