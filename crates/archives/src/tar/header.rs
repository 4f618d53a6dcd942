//! The 512-byte header block: v7, ustar, GNU and star. The forms differ from byte 257 on.
//!
//! Layout from POSIX.1-2017 `pax`, "ustar Interchange Format"; the GNU and star variants from the GNU tar manual, "Basic Tar Format", and
//! star(5).

use packline_tree::Bytes;

use super::number;

/// Block size of tars in bytes.
pub(super) const BLOCK: usize = 512;

/// One header block with a valid checksum.
pub(super) struct Header {
    bytes: [u8; BLOCK],
}

/// Layout from byte 257 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// No magic. Names have at most 100 bytes.
    V7,
    /// POSIX, with a prefix of 155 bytes.
    Ustar,
    /// `ustar` and two blanks. No prefix; the header contains the sparse map.
    Gnu,
    /// POSIX magic, a prefix of 131 bytes, and times after the prefix.
    Star,
}

impl Header {
    /// `None` if the checksum is wrong.
    ///
    /// The checksum is a sum of unsigned bytes. Some old archivers added signed bytes, and both sums are accepted.
    pub fn new(block: &[u8; BLOCK]) -> Option<Self> {
        let header = Self { bytes: *block };
        let stored = number::field(&block[148..156])?;
        let (unsigned, signed) = header.sums();
        (stored == unsigned || stored == signed).then_some(header)
    }

    /// The checksums of unsigned and of signed bytes, with a blank checksum field.
    fn sums(&self) -> (i64, i64) {
        // Sums of all bytes, minus the field, because the compiler adds a fixed number of bytes as vectors.
        let field = &self.bytes[148..156];
        let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
        let high = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte >> 7)).sum::<u32>();
        let unsigned = i64::from(sum(&self.bytes) - sum(field) + 8 * u32::from(b' '));
        (unsigned, unsigned - 256 * i64::from(high(&self.bytes) - high(field)))
    }

    pub fn dialect(&self) -> Dialect {
        let magic = &self.bytes[257..265];
        match magic {
            b"ustar  \0" => Dialect::Gnu,
            _ if !magic.starts_with(b"ustar") => Dialect::V7,
            _ if self.is_star() => Dialect::Star,
            _ => Dialect::Ustar,
        }
    }

    /// star ends its prefix at byte 475 and stores the access and change times there, each octal with a blank after it.
    fn is_star(&self) -> bool {
        let time = |at: usize| matches!(self.bytes[at], b'0'..=b'7') && self.bytes[at + 11] == b' ';
        self.bytes[475] == 0 && time(476) && time(488)
    }

    /// True if the block ends with star's mark `tar`. `S` headers with this mark have another layout.
    pub fn has_star_mark(&self) -> bool {
        self.dialect() != Dialect::Gnu && &self.bytes[508..512] == b"tar\0"
    }

    /// True if a header with [`Header::has_star_mark`] has a prefix.
    pub fn has_star_prefix(&self) -> bool {
        self.has_star_mark() && self.bytes[345] != 0
    }

    pub fn kind(&self) -> u8 {
        self.bytes[156]
    }

    /// The name, including the prefix if the dialect has one.
    pub fn name(&self) -> Bytes {
        let name = text(&self.bytes[..100]);
        let prefix = match self.dialect() {
            _ if self.kind() == b'S' && self.has_star_prefix() => text(&self.bytes[345..476]),
            _ if self.kind() == b'S' => b"",
            Dialect::Ustar => text(&self.bytes[345..500]),
            Dialect::Star => text(&self.bytes[345..476]),
            Dialect::V7 | Dialect::Gnu => b"",
        };
        if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() }
    }

    pub fn link(&self) -> Bytes {
        text(&self.bytes[157..257]).to_vec()
    }

    /// The names of user and group. Empty if the dialect has no names.
    pub fn owner_names(&self) -> [Bytes; 2] {
        let known = self.dialect() != Dialect::V7;
        [265, 297].map(|at| if known { text(&self.bytes[at..at + 32]).to_vec() } else { Bytes::new() })
    }

    pub fn slice(&self, start: usize, length: usize) -> &[u8] {
        &self.bytes[start..start + length]
    }
}

/// A field up to its first NUL.
fn text(field: &[u8]) -> &[u8] {
    &field[..memchr::memchr(0, field).unwrap_or(field.len())]
}

/// True if all bytes are zero, as in the two blocks that end an archive.
pub(super) fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_sum(mut block: [u8; BLOCK], signed: bool) -> [u8; BLOCK] {
        block[148..156].fill(b' ');
        let sum: i64 = block.iter().map(|&b| if signed { i64::from(b.cast_signed()) } else { i64::from(b) }).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        block
    }

    #[test]
    fn both_sums_are_accepted_and_no_other() {
        let mut block = [0; BLOCK];
        block[..4].copy_from_slice(&[b'n', 0xe4, 0xf6, 0xfc]);
        for signed in [false, true] {
            let mut summed = with_sum(block, signed);
            assert!(Header::new(&summed).is_some());
            summed[0] ^= 1;
            assert!(Header::new(&summed).is_none());
        }
    }

    #[test]
    fn dialects() {
        let mut block = [0; BLOCK];
        block[..3].copy_from_slice(b"bin");
        block[345..348].copy_from_slice(b"usr");
        let name = |block: [u8; BLOCK]| {
            let header = Header::new(&with_sum(block, false)).unwrap();
            (header.dialect(), String::from_utf8(header.name()).unwrap())
        };
        assert_eq!(name(block), (Dialect::V7, "bin".into()));
        block[257..265].copy_from_slice(b"ustar  \0");
        assert_eq!(name(block), (Dialect::Gnu, "bin".into()));
        block[257..265].copy_from_slice(b"ustar\x0000");
        assert_eq!(name(block), (Dialect::Ustar, "usr/bin".into()));
        block[345..500].fill(b'u');
        assert_eq!(name(block).1.len(), 159);
        block[475] = 0;
        block[476..488].copy_from_slice(b"00000000000 ");
        block[488..500].copy_from_slice(b"00000000000 ");
        assert_eq!(name(block).0, Dialect::Star);
        assert_eq!(name(block).1.len(), 134);
    }
}
