//! The magic: the first 24 bytes of a file.

use packline_runtime::Unsupported;

use crate::Error;

/// Size of a magic in bytes.
pub const MAGIC_SIZE: usize = 24;
/// The first bytes of a file of any version.
pub const MARK: &[u8; 4] = b"LRZI";

/// The layouts of lrzip's versions, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// 0.4: no chunk header, 8-byte lengths and distances.
    V4,
    /// 0.5: a chunk header of one byte.
    V5,
    /// 0.6: widths by chunk, an end mark, the chunk's size.
    V6,
    /// lrzip's 0.7: a filter byte in the chunk header, no CRC.
    V7,
}

/// The properties of LZMA blocks: contexts, and the dictionary's size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LzmaProps {
    /// `(pb * 5 + lp) * 9 + lc`.
    pub contexts: u8,
    /// Size of the dictionary in bytes; 0 in some files that were written to a pipe.
    pub dict_size: u32,
}

/// Encryption of the contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    None,
    /// AES-128 in CBC with a key derived by SHA-512; the salt's first two bytes encode the number of rounds.
    Aes128 {
        /// The salt of the file.
        salt: [u8; 8],
    },
    /// AES-256 in GCM, of 0.7.
    Aes256 {
        /// The salt of the file.
        salt: [u8; 8],
    },
}

/// The fields of the magic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    /// The layout of the file.
    pub dialect: Dialect,
    /// Bytes of plain data, if the writer knew them.
    pub size: Option<u64>,
    /// Properties of LZMA blocks, if the file states any.
    pub lzma: Option<LzmaProps>,
    /// Whether the file ends with an MD5 of its plain data.
    pub md5: bool,
    pub protection: Protection,
    /// Bytes 14 and 23, which 0.7 uses.
    pub extra: [u8; 2],
}

impl Magic {
    /// Encodes the magic.
    pub fn encode(&self) -> [u8; MAGIC_SIZE] {
        let mut out = [0; MAGIC_SIZE];
        out[..4].copy_from_slice(MARK);
        out[5] = self.dialect.minor();
        match self.protection {
            Protection::None => out[6..14].copy_from_slice(&self.size.unwrap_or(0).to_le_bytes()),
            Protection::Aes128 { salt } | Protection::Aes256 { salt } => out[6..14].copy_from_slice(&salt),
        }
        if let Some(lzma) = self.lzma {
            out[16] = lzma.contexts;
            out[17..21].copy_from_slice(&lzma.dict_size.to_le_bytes());
        }
        out[21] = u8::from(self.md5);
        out[22] = self.protection.tag();
        [out[14], out[23]] = self.extra;
        out
    }

    /// Parses a magic.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is not a .lrz file, [`Error::Unsupported`] for another layout.
    pub fn decode(bytes: &[u8; MAGIC_SIZE]) -> Result<Magic, Error> {
        if &bytes[..4] != MARK {
            return Err(Error::corrupt(0, format!("is not a .lrz file: {:02x?}", &bytes[..4]), "'LRZI'"));
        }
        let dialect = Dialect::of(bytes[4], bytes[5])?;
        if dialect == Dialect::V7 && !is_upstream(bytes) {
            return Err(ambiguous());
        }
        let eight = |at: usize| -> [u8; 8] { std::array::from_fn(|index| bytes[at + index]) };
        let protection = Protection::of(bytes[22], eight(6))?;
        let size = Some(u64::from_le_bytes(eight(6))).filter(|&size| size > 0 && protection == Protection::None);
        let dict_size = u32::from_le_bytes([bytes[17], bytes[18], bytes[19], bytes[20]]);
        let lzma = LzmaProps { contexts: bytes[16], dict_size };
        let lzma = Some(lzma).filter(|lzma| (lzma.contexts, lzma.dict_size) != (0, 0));
        let md5 = match bytes[21] {
            0 => false,
            1 => true,
            other => return Err(Error::corrupt(21, format!("digest {other}"), "0 or 1")),
        };
        Ok(Magic { dialect, size, lzma, md5, protection, extra: [bytes[14], bytes[23]] })
    }
}

/// Whether the flag bytes have values that lrzip 0.7 writes.
fn is_upstream(bytes: &[u8; MAGIC_SIZE]) -> bool {
    bytes[14] <= 1 && bytes[15] == 0 && bytes[21] <= 1 && [0, 1, 3].contains(&bytes[22]) && bytes[23] <= 1
}

/// The error for version 0.7 of lrzip's fork, which uses the same number for its own layout.
pub(crate) fn ambiguous() -> Error {
    let what = "version 0.7 in a layout that lrzip never wrote; lrzip-next uses this number for its own format";
    Unsupported::new(what, "lrzip's 0.4 to 0.7; try lrzip-next, unless the file is damaged").into()
}

impl Dialect {
    /// The minor version.
    pub fn minor(self) -> u8 {
        match self {
            Dialect::V4 => 4,
            Dialect::V5 => 5,
            Dialect::V6 => 6,
            Dialect::V7 => 7,
        }
    }

    fn of(major: u8, minor: u8) -> Result<Dialect, Error> {
        match (major, minor) {
            (0, 4) => Ok(Dialect::V4),
            (0, 5) => Ok(Dialect::V5),
            (0, 6) => Ok(Dialect::V6),
            (0, 7) => Ok(Dialect::V7),
            (0, 8..=14) => {
                let what =
                    format!("version 0.{minor}, written by lrzip-next, another program with a format of its own");
                Err(Unsupported::new(what, "lrzip's 0.4 to 0.7; decompress it with lrzip-next").into())
            }
            (major, minor) => Err(Unsupported::new(format!("version {major}.{minor}"), "lrzip's 0.4 to 0.7").into()),
        }
    }
}

impl Protection {
    fn tag(self) -> u8 {
        match self {
            Protection::None => 0,
            Protection::Aes128 { .. } => 1,
            Protection::Aes256 { .. } => 3,
        }
    }

    fn of(tag: u8, salt: [u8; 8]) -> Result<Protection, Error> {
        match tag {
            0 => Ok(Protection::None),
            1 => Ok(Protection::Aes128 { salt }),
            3 => Ok(Protection::Aes256 { salt }),
            other => Err(Error::corrupt(22, format!("encryption {other}"), "0, 1 or 3")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Magic = Magic {
        dialect: Dialect::V6,
        size: Some(0x1234_5678_9abc),
        lzma: Some(LzmaProps { contexts: 0x5d, dict_size: 16 << 20 }),
        md5: true,
        protection: Protection::None,
        extra: [0, 0],
    };

    #[test]
    fn decodes_what_it_encodes() {
        let encrypted = Magic { size: None, protection: Protection::Aes128 { salt: *b"saltsalt" }, ..PLAIN };
        for magic in [PLAIN, Magic { size: None, lzma: None, md5: false, ..PLAIN }, encrypted] {
            assert_eq!(Magic::decode(&magic.encode()).unwrap(), magic);
        }
    }

    #[test]
    fn encodes_each_field_at_its_offset() {
        let mut expected = *b"LRZI\0\x06\xbc\x9a\x78\x56\x34\x12\0\0\0\0\x5d\0\0\0\x01\x01\0\0";
        assert_eq!(PLAIN.encode(), expected);
        expected[22] = 2;
        assert!(Magic::decode(&expected).is_err());
    }

    #[test]
    fn names_the_fork_in_the_error() {
        let mut bytes = PLAIN.encode();
        bytes[5] = 11;
        assert!(Magic::decode(&bytes).unwrap_err().to_string().contains("lrzip-next"));
        bytes[5] = 3;
        assert!(Magic::decode(&bytes).unwrap_err().to_string().contains("version 0.3"));
        bytes[0] = b'l';
        assert!(Magic::decode(&bytes).unwrap_err().to_string().contains("LRZI"));
    }
}
