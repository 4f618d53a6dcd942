//! The head of a sealed file: sizes, the size of its chunks, and the wrapped file key.

use super::{MadeFor, Stanza, stanzas};
use crate::{Error, Part};
use packline_runtime::Unsupported;
use std::io::Read;
use std::ops::Range;

/// The first 8 bytes of sealed files of every version: the magic of .pln files, with an E for encrypted.
pub const MAGIC: [u8; 8] = [0x8B, b'P', b'L', b'E', 0x0D, 0x0A, 0x1A, 0x0A];
const VERSION: u8 = 1;
/// The flag for padded content.
const PADDED: u8 = 1;
/// Bytes before the wraps.
const FIXED: usize = 32;
/// Bytes after the wraps: a hash of the file key and the head.
pub(crate) const KEY_CHECK: usize = 32;
/// Bytes of the length before a wrap.
const LENGTH: usize = 4;
/// Maximum number of wraps, and maximum bytes of all wraps.
const WRAPS: usize = 64;
const WRAPS_BYTES: usize = 1 << 20;
/// Bytes of the fixed part that its check covers.
const CHECKED: usize = 24;

/// A head whose checks passed, except the one that needs the key.
pub(crate) struct Head {
    pub(crate) chunk: ChunkSize,
    /// Whether the content has padding.
    pub(crate) padded: bool,
    /// The fixed part and the wraps: what the payload key depends on.
    pub(crate) bound: Vec<u8>,
    /// Ranges of the wraps in `bound`, without their lengths.
    wraps: Vec<Range<usize>>,
    pub(crate) key_check: [u8; KEY_CHECK],
}

impl Head {
    /// The fixed part and the wraps.
    ///
    /// # Errors
    /// [`Error::Key`] if there are too many wraps.
    pub(crate) fn bound(chunk: ChunkSize, padded: bool, wraps: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
        let bytes: usize = wraps.iter().map(|wrap| LENGTH + wrap.len()).sum();
        if wraps.len() > WRAPS || bytes > WRAPS_BYTES {
            let what = format!("too many recipients: {bytes} bytes in {} wraps", wraps.len());
            return Err(Error::key(what, format!("up to {WRAPS_BYTES} bytes in up to {WRAPS} wraps")));
        }
        let mut bound = vec![0; FIXED];
        for wrap in wraps {
            bound.extend_from_slice(&(wrap.len() as u32).to_le_bytes());
            bound.extend_from_slice(wrap);
        }
        let sum = sum(&bound[FIXED..]);
        bound[..8].copy_from_slice(&MAGIC);
        bound[8] = VERSION;
        bound[9] = chunk.log();
        bound[10] = wraps.len() as u8;
        bound[11] = if padded { PADDED } else { 0 };
        bound[12..16].copy_from_slice(&(bytes as u32).to_le_bytes());
        bound[16..CHECKED].copy_from_slice(&sum);
        let check = self::sum(&bound[..CHECKED]);
        bound[CHECKED..FIXED].copy_from_slice(&check);
        Ok(bound)
    }

    /// Reads a head from the start of a file.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::Unsupported`] for an unknown version or flag; [`Error::Input`].
    pub(crate) fn read(input: &mut dyn Read) -> Result<Head, Error> {
        let mut bound = vec![0; FIXED];
        fill(input, &mut bound, 0)?;
        let (chunk, count, bytes) = fixed(&bound)?;
        bound.resize(FIXED + bytes, 0);
        fill(input, &mut bound[FIXED..], FIXED)?;
        if sum(&bound[FIXED..]) != bound[16..CHECKED] {
            return Err(wrong("the sum of its wrapped keys differs", "the stored sum"));
        }
        let wraps = ranges(&bound, count)?;
        let mut key_check = [0; KEY_CHECK];
        fill(input, &mut key_check, bound.len())?;
        Ok(Head { chunk, padded: bound[11] == PADDED, bound, wraps, key_check })
    }

    /// Bytes before the first chunk.
    pub(crate) fn length(&self) -> u64 {
        (self.bound.len() + KEY_CHECK) as u64
    }

    /// The wraps, with their offsets.
    pub(crate) fn wraps(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.wraps.iter().map(|range| (range.start as u64, &self.bound[range.clone()]))
    }

    /// The stanzas of each wrap.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a wrap is not an age file.
    pub(crate) fn stanzas(&self) -> Result<Vec<Vec<Stanza>>, Error> {
        let of_wrap = |(number, (offset, wrap)): (usize, (u64, &[u8]))| {
            let malformed = || Error::corrupt(Part::Wrap(number), offset, "it is malformed", "an age file, version 1");
            stanzas(wrap).ok_or_else(malformed)
        };
        self.wraps().enumerate().map(of_wrap).collect()
    }

    /// The recipients of the file.
    ///
    /// # Errors
    /// As [`Head::stanzas`].
    pub(crate) fn made_for(&self) -> Result<MadeFor, Error> {
        let mut made_for = MadeFor::default();
        self.stanzas()?.iter().flatten().for_each(|stanza| made_for.add(stanza));
        Ok(made_for)
    }
}

/// Returns the chunk size, the number of wraps, and their bytes.
fn fixed(bytes: &[u8]) -> Result<(ChunkSize, usize, usize), Error> {
    if bytes[..8] != MAGIC {
        return Err(wrong("its magic differs", "8b 50 4c 45 0d 0a 1a 0a"));
    }
    if bytes[CHECKED..] != sum(&bytes[..CHECKED]) {
        return Err(wrong("its check differs", "the check of its first 24 bytes"));
    }
    let unsupported = |what: String, expected: String| Err(Error::Unsupported(Unsupported { what, expected }));
    if bytes[8] != VERSION {
        return unsupported(format!("version {} of the encryption", bytes[8]), format!("version {VERSION}"));
    }
    if bytes[11] & !PADDED != 0 {
        return unsupported(format!("flags {:#04x} of the encryption", bytes[11]), format!("none but {PADDED:#04x}"));
    }
    let size = ChunkSize::from_log(bytes[9]);
    let chunk = size.ok_or_else(|| wrong(format!("chunks of 2^{} bytes", bytes[9]), "2^12 to 2^20"))?;
    let length = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) as usize;
    let count = usize::from(bytes[10]);
    if count == 0 || count > WRAPS || length > WRAPS_BYTES {
        let expected = format!("1 to {WRAPS}, of up to {WRAPS_BYTES} bytes");
        return Err(wrong(format!("{count} wrapped keys of {length} bytes"), expected));
    }
    Ok((chunk, count, length))
}

/// The ranges of the wraps, without their lengths.
fn ranges(bound: &[u8], count: usize) -> Result<Vec<Range<usize>>, Error> {
    let mut found = Vec::with_capacity(count);
    let mut at = FIXED;
    for _ in 0..count {
        let length = bound.get(at..at + LENGTH).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        let start = at + LENGTH;
        let end = length.and_then(|length| start.checked_add(length as usize)).filter(|&end| end <= bound.len());
        at = end.ok_or_else(|| wrong("its wrapped keys are longer than it says", "wraps that fill their part"))?;
        found.push(start..at);
    }
    if at != bound.len() {
        return Err(wrong("its wrapped keys are shorter than it says", "wraps that fill their part"));
    }
    Ok(found)
}

fn sum(bytes: &[u8]) -> [u8; 8] {
    let mut sum = [0; 8];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
    sum
}

fn fill(input: &mut dyn Read, into: &mut [u8], offset: usize) -> Result<(), Error> {
    input.read_exact(into).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            wrong("the file ends in it", format!("{} bytes, then chunks", offset + into.len()))
        }
        _ => Error::Input(cause),
    })
}

fn wrong(what: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::corrupt(Part::Head, 0, what, expected)
}

/// Bytes of a chunk's header, which has the length and whether the chunk is the last.
pub(crate) const HEADER: usize = 4;
/// Bytes of the tag of AES-GCM, after the ciphertext.
pub(crate) const TAG: usize = 16;
/// Bytes of a chunk without content.
pub(crate) const CHUNK_OVERHEAD: u64 = (HEADER + TAG) as u64;

/// The number of content bytes in a chunk, a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSize(u8);

impl ChunkSize {
    /// 64 KiB: larger chunks are not much faster, and reading a range opens complete chunks.
    pub const USUAL: ChunkSize = ChunkSize(16);

    /// The size with this binary logarithm, 12 to 20.
    pub fn from_log(log: u8) -> Option<ChunkSize> {
        (12..=20).contains(&log).then_some(ChunkSize(log))
    }

    pub(crate) fn log(self) -> u8 {
        self.0
    }

    /// The size in bytes.
    pub fn bytes(self) -> usize {
        1 << self.0
    }

    /// Bytes of a full chunk when it is sealed.
    pub(crate) fn stride(self) -> usize {
        HEADER + self.bytes() + TAG
    }
}
