//! The record that follows an image of this program: which encoder wrote its blocks, and a checksum of the data area.
//!
//! The record is in the padding, directly after the bytes that the superblock counts, where other readers look for nothing.
//! `docs/format/squashfs-record.md` has every byte:
//!
//! ```text
//!  0  8  magic: packline
//!  8  2  version: 1
//! 10  2  bit 0: each block that is not compressed did not get smaller
//! 12  4  CRC-32 of the data area: from the end of the compressor options to the inode table
//! 16 16  the encoder: start of a BLAKE3 hash of its revision, block size, library and codec
//! 32 16  start of the BLAKE3 hash of the superblock and the compressor options
//! 48 16  start of the BLAKE3 hash of the 48 bytes before
//! ```

use packline_cache::encoder_hash;
use packline_codec::Spec;

use crate::Options;
use crate::format::wire::Put;
use crate::read::{Image, ReadError};

/// Length of a record in bytes.
pub(crate) const RECORD_BYTES: usize = 64;
const MAGIC: &[u8; 8] = b"packline";
const VERSION: u16 = 1;
/// Bit of the flags: the encoder tried to compress each block.
const ALL_TRIED: u16 = 1;
/// Bytes before the record's own hash.
const HASHED: usize = 48;
/// Images with less padding have no record: their users expect no byte after the last table.
const PADDING_LEAST: u32 = 4096;

/// The start of a BLAKE3 hash.
type Hash = [u8; 16];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// CRC-32 of the data area.
    pub(crate) data: u32,
    /// Whether compression was tried for each block that is not compressed.
    pub(crate) all_tried: bool,
    /// The encoder of the blocks.
    encoder: Hash,
}

impl Record {
    /// Whether an image with these options has a record.
    pub(crate) fn is_wanted(options: &Options) -> bool {
        options.pad >= PADDING_LEAST && !matches!(options.codec, Spec::None)
    }

    /// Returns the record of an image whose blocks the encoder of `options` wrote.
    pub(crate) fn new(options: &Options, data: u32, all_tried: bool) -> Record {
        Record { data, all_tried, encoder: encoder(options) }
    }

    /// Whether the encoder of `options` would write the same blocks for the same content.
    pub(crate) fn is_of(&self, options: &Options) -> bool {
        self.encoder == encoder(options)
    }

    /// `head`: the superblock and the compressor options.
    pub(crate) fn encode(&self, head: &[u8]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.put_u16(VERSION);
        out.put_u16(if self.all_tried { ALL_TRIED } else { 0 });
        out.put_u32(self.data);
        out.extend(self.encoder);
        out.extend(hash(head));
        out.extend(hash(&out));
        out
    }

    /// Returns the record of an image; `None` if the image has none that this version knows.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the record is damaged or belongs to another superblock; [`ReadError::Input`].
    pub(crate) fn read(image: &Image) -> Result<Option<Record>, ReadError> {
        if !image.layout().is_current() {
            return Ok(None);
        }
        let at = image.superblock().bytes_used;
        if image.store().size().saturating_sub(at) < RECORD_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = [0; RECORD_BYTES];
        image.store().read(at, &mut bytes)?;
        if bytes[..MAGIC.len()] != MAGIC[..] {
            return Ok(None);
        }
        let mut head = vec![0; image.data_start() as usize];
        image.store().read(0, &mut head)?;
        Record::decode(&bytes, &head).map_err(|(what, expected)| ReadError::corrupt(at, what, expected))
    }

    /// Decodes bytes that begin with the magic.
    fn decode(bytes: &[u8; RECORD_BYTES], head: &[u8]) -> Result<Option<Record>, (&'static str, &'static str)> {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if hash(&bytes[..HASHED]) != bytes[HASHED..] {
            return Err(("the record of the encoder is damaged", "its own hash at its end"));
        }
        if half(8) != VERSION {
            return Ok(None);
        }
        if hash(head) != bytes[32..HASHED] {
            return Err(("the record of the encoder is of another superblock", "the hash of this one"));
        }
        let mut encoder = [0; 16];
        encoder.copy_from_slice(&bytes[16..32]);
        let data = u32::from(half(12)) | u32::from(half(14)) << 16;
        Ok(Some(Record { data, all_tried: half(10) & ALL_TRIED != 0, encoder }))
    }
}

fn encoder(options: &Options) -> Hash {
    start(&encoder_hash(&options.codec, options.block_size.bytes()))
}

fn hash(bytes: &[u8]) -> Hash {
    start(blake3::hash(bytes).as_bytes())
}

fn start(hash: &[u8; 32]) -> Hash {
    let mut start = [0; 16];
    start.copy_from_slice(&hash[..16]);
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockSize;

    #[test]
    fn each_changed_bit_is_found() {
        let options = Options::new(Spec::parse("zstd").unwrap());
        let record = Record::new(&options, 0x0102_0304, true);
        let mut bytes: [u8; RECORD_BYTES] = record.encode(b"superblock").try_into().unwrap();
        assert_eq!(Record::decode(&bytes, b"superblock"), Ok(Some(record)));
        assert!(Record::decode(&bytes, b"Superblock").is_err());
        assert_eq!(&bytes[..16], b"packline\x01\0\x01\0\x04\x03\x02\x01");
        for bit in 64..RECORD_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&bytes, b"superblock").is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn an_encoder_is_its_codec_and_block_size() {
        let options = Options::new(Spec::parse("zstd").unwrap());
        let record = Record::new(&options, 0, false);
        assert!(record.is_of(&options));
        assert!(!record.is_of(&Options { block_size: BlockSize::MIN, ..options.clone() }));
        assert!(!record.is_of(&Options::new(Spec::parse("zstd:level=19").unwrap())));
    }

    #[test]
    fn images_without_padding_have_no_record() {
        let options = Options::new(Spec::parse("zstd").unwrap());
        assert!(Record::is_wanted(&options));
        assert!(!Record::is_wanted(&Options { pad: 1, ..options.clone() }));
        assert!(!Record::is_wanted(&Options { codec: Spec::None, ..options }));
    }
}
