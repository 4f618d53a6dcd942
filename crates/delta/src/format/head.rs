//! The head of a delta: what it was made for, and what it makes.

use packline_runtime::Input;

use crate::{Error, Side};

/// The first bytes of a delta.
pub const MAGIC: [u8; 8] = *b"\x8bPLD\r\n\x1a\n";
pub(crate) const HEAD_BYTES: usize = 136;
const VERSION: u8 = 1;
/// Bytes of the check at the end of the head.
const CHECK: usize = 8;
/// Longest file, bytes: differences between positions fit a signed number.
const LONGEST: u64 = 1 << 62;

/// A file as the head describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSum {
    /// Its length, bytes.
    pub size: u64,
    /// The length of its plain form, bytes.
    pub plain: u64,
    /// BLAKE3 of its bytes.
    pub hash: [u8; 32],
}

/// The head of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The file that the delta was made for.
    pub old: FileSum,
    /// The file that it makes.
    pub new: FileSum,
    /// Whether the plain form of the old file is that of the SquashFS image in it.
    pub old_is_image: bool,
    /// Block size of the blocks that are encoded again, bytes; 0 if there are none.
    pub block_size: u32,
    /// The first bytes of BLAKE3 of the positions of the old image's blocks; 0 without.
    pub(crate) old_form: u64,
    /// Identifies the encoders that the delta was made with; 0 where no block is encoded again.
    pub(crate) encoders: u64,
}

impl Head {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend([VERSION, u8::from(self.old_is_image), 0, 0]);
        out.extend(self.block_size.to_le_bytes());
        out.extend(self.old_form.to_le_bytes());
        out.extend(self.encoders.to_le_bytes());
        for file in [&self.old, &self.new] {
            out.extend(file.size.to_le_bytes());
            out.extend(file.plain.to_le_bytes());
            out.extend(file.hash);
        }
        let check = check(&[&out]);
        out.extend(check);
        out
    }

    /// Reads the head of a delta.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is no delta or damaged, [`Error::Unsupported`] for another version, [`Error::Input`].
    pub fn read(delta: &dyn Input) -> Result<Head, Error> {
        let mut bytes = [0; HEAD_BYTES];
        let there = delta.size().min(HEAD_BYTES as u64) as usize;
        delta.read_at(0, &mut bytes[..there]).map_err(Error::input(Side::Delta))?;
        if bytes[..8] != MAGIC {
            return Err(Error::corrupt(0, "not a delta of packline", "the magic of one"));
        }
        if there < HEAD_BYTES {
            return Err(Error::corrupt(0, format!("cut off after {there} bytes"), "a head of 136 bytes"));
        }
        let (content, found) = bytes.split_at(HEAD_BYTES - CHECK);
        if found != check(&[content]) {
            return Err(Error::corrupt(0, "the head is damaged", "one that has its checksum"));
        }
        Head::decode(content)
    }

    fn decode(bytes: &[u8]) -> Result<Head, Error> {
        if bytes[8] != VERSION {
            return Err(Error::unsupported(format!("a delta of version {}", bytes[8]), "version 1"));
        }
        let long = |at: usize| bytes[at..at + 8].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let file = |at: usize| {
            let mut hash = [0; 32];
            hash.copy_from_slice(&bytes[at + 16..at + 48]);
            FileSum { size: long(at), plain: long(at + 8), hash }
        };
        let head = Head {
            old: file(32),
            new: file(80),
            old_is_image: bytes[9] == 1,
            block_size: long(12) as u32,
            old_form: long(16),
            encoders: long(24),
        };
        let lengths = [head.old.size, head.old.plain, head.new.size, head.new.plain];
        if bytes[9] > 1 || bytes[10..12] != [0, 0] || lengths.iter().any(|length| *length > LONGEST) {
            return Err(Error::unsupported("a delta with fields of another version", "those of version 1"));
        }
        Ok(head)
    }
}

/// The first bytes of BLAKE3 of some bytes.
pub(crate) fn check(parts: &[&[u8]]) -> [u8; CHECK] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let hash = hasher.finalize();
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}
