//! The head of a delta. It describes the old and the new file.

use packline_runtime::Input;

use crate::{Error, Side};

/// The first bytes of a delta.
pub const MAGIC: [u8; 8] = *b"\x8bPLD\r\n\x1a\n";
pub(crate) const HEAD_BYTES: usize = 136;
const VERSION: u8 = 1;
/// Size of the check at the end of the head, in bytes.
const CHECK: usize = 8;
/// The longest file in bytes. With it, differences between positions fit in a signed number.
const LONGEST: u64 = 1 << 62;

/// A file's sizes and hash, as in the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSum {
    /// Length of the file in bytes.
    pub size: u64,
    /// Length of the file's plain form in bytes.
    pub plain: u64,
    /// BLAKE3 of the file.
    pub hash: [u8; 32],
}

/// The head of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The file that the delta was made for.
    pub old: FileSum,
    /// The file that applying the delta writes.
    pub new: FileSum,
    /// Whether the plain form of the old file has the decoded blocks of the SquashFS image in it.
    pub old_is_image: bool,
    /// The block size of the new image in bytes; 0 if no block is encoded.
    pub block_size: u32,
    /// The first bytes of BLAKE3 of the positions of the old image's blocks; 0 if there is no image.
    pub(crate) old_form: u64,
    /// Identifies the encoders that the delta was made with; 0 if no block is encoded.
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
    /// [`Error::NotDelta`] for another file, [`Error::Corrupt`] for a damaged delta, [`Error::Unsupported`] for another version,
    /// [`Error::Input`].
    pub fn read(delta: &dyn Input) -> Result<Head, Error> {
        let mut bytes = [0; HEAD_BYTES];
        let there = delta.size().min(HEAD_BYTES as u64) as usize;
        delta.read_at(0, &mut bytes[..there]).map_err(Error::input(Side::Delta))?;
        if bytes[..8] != MAGIC {
            return Err(Error::NotDelta);
        }
        if there < HEAD_BYTES {
            return Err(Error::corrupt(0, format!("cut off after {there} bytes"), "a head of 136 bytes"));
        }
        let (content, found) = bytes.split_at(HEAD_BYTES - CHECK);
        if found != check(&[content]) {
            return Err(Error::corrupt(0, "the head is damaged", "a head that matches its checksum"));
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
            return Err(Error::unsupported(
                "a delta whose head has fields of another version",
                "the fields of version 1",
            ));
        }
        Ok(head)
    }
}

/// Returns the first bytes of the BLAKE3 of the concatenated parts.
pub(crate) fn check(parts: &[&[u8]]) -> [u8; CHECK] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let hash = hasher.finalize();
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}
