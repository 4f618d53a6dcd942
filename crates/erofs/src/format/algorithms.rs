//! The algorithms of an image and their parameters.
//!
//! With [`incompat::COMPRESSION_RECORDS`], one record for each algorithm follows the superblock, in the order of the algorithms' numbers. A record
//! starts at a multiple of 4: 16 bits of length, then the parameters.
//!
//! | number | algorithm | length | parameters |
//! |--:|---|--:|---|
//! | 0 | lz4 | 14 | 16 bits: largest distance; 16 bits: largest cluster in blocks |
//! | 1 | lzma | 14 | 32 bits: size of the dictionary; 16 bits: 0 |
//! | 2 | deflate | 6 | 8 bits: logarithm of the window |
//! | 3 | zstd | 6 | 8 bits: 0; 8 bits: logarithm of the window, less 10 |

use packline_codec::BareCodec;
use packline_volume::ReadError;

use super::superblock::{SUPERBLOCK_START, Superblock, incompat};
use super::wire::put;
use crate::read::map::window::ReadBytes;

/// Most bytes that a cluster has when it is stored compressed.
pub(crate) const STORED_MOST: u64 = 1 << 20;
/// Most bytes of content that a compressed cluster has.
pub(crate) const CONTENT_MOST: u64 = 12 << 20;
/// Most bytes of a dictionary.
const DICTIONARY_MOST: u32 = 8 << 20;
/// Number of deflate.
pub(crate) const DEFLATE: u8 = 2;
/// Number of algorithms.
const COUNT: usize = 4;
/// Logarithm of the smallest window of zstd.
const ZSTD_WINDOW_LEAST: u32 = 10;
/// Logarithm of the largest window of zstd, less that of the smallest.
const ZSTD_WINDOW_MOST: u8 = 10;
/// Logarithm of the largest window of deflate.
const DEFLATE_WINDOW_MOST: u8 = 15;

/// The algorithms that clusters may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Algorithms([Option<BareCodec>; COUNT]);

impl Algorithms {
    /// Reads the records of an image's algorithms.
    ///
    /// # Errors
    /// [`ReadError::Unsupported`] for unknown algorithms, [`ReadError::Corrupt`] if a record breaks a rule, [`ReadError::Input`].
    pub(crate) fn read(superblock: &Superblock, input: &dyn ReadBytes) -> Result<Algorithms, ReadError> {
        let mut codecs = [None; COUNT];
        if !superblock.has(incompat::COMPRESSION_RECORDS) {
            // Otherwise the field is the largest distance of lz4, which has no other parameter. It is zero if nothing is compressed.
            let has_lz4 = superblock.has(incompat::ZERO_PADDING) || superblock.algorithms != 0;
            codecs[0] = has_lz4.then_some(BareCodec::Lz4);
            return Ok(Algorithms(codecs));
        }
        let set = superblock.algorithms;
        if set >> COUNT != 0 {
            let what = format!("unknown compression algorithms {:#x}", set >> COUNT << COUNT);
            return Err(ReadError::unsupported(what, "lz4, lzma, deflate or zstd"));
        }
        let mut at = SUPERBLOCK_START + superblock.bytes;
        for (number, codec) in codecs.iter_mut().enumerate().filter(|(number, _)| set >> number & 1 == 1) {
            at = at.next_multiple_of(4);
            let record = Record::read(number, at, input)?;
            *codec = Some(record.codec()?);
            at += 2 + u64::from(record.length);
        }
        Ok(Algorithms(codecs))
    }

    /// Returns the algorithm with a number.
    pub(crate) fn codec(&self, number: u8) -> Option<BareCodec> {
        self.0.get(usize::from(number)).copied().flatten()
    }

    /// Returns the algorithms in the order of their numbers.
    pub(crate) fn codecs(&self) -> impl Iterator<Item = BareCodec> + '_ {
        self.0.iter().copied().flatten()
    }

    /// Returns the names of the algorithms.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.codecs().map(BareCodec::name).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    }

    /// Returns the largest number of bytes of content of a compressed cluster; 0 if nothing is compressed.
    pub(crate) fn largest_unit(&self) -> u32 {
        if self.codecs().next().is_some() { CONTENT_MOST as u32 } else { 0 }
    }
}

/// Returns the number of an algorithm.
pub(crate) fn number_of(codec: BareCodec) -> u8 {
    match codec {
        BareCodec::Lz4 => 0,
        BareCodec::MicroLzma { .. } => 1,
        BareCodec::Deflate => DEFLATE,
        BareCodec::Zstd { .. } => 3,
    }
}

/// Returns the record of an algorithm. `blocks`: blocks of the largest cluster, at most 256.
pub(crate) fn encode_record(codec: BareCodec, blocks: u16) -> Vec<u8> {
    let mut parameters = [0; 14];
    let length = match codec {
        BareCodec::Lz4 => {
            put(&mut parameters, 0, BareCodec::LZ4_DISTANCE.to_le_bytes());
            put(&mut parameters, 2, blocks.to_le_bytes());
            14
        }
        BareCodec::MicroLzma { dict_size } => {
            put(&mut parameters, 0, dict_size.to_le_bytes());
            14
        }
        BareCodec::Deflate => {
            parameters[0] = BareCodec::DEFLATE_WINDOW_LOG;
            6
        }
        BareCodec::Zstd { window } => {
            parameters[1] = (window.max(1).ilog2().saturating_sub(ZSTD_WINDOW_LEAST)) as u8;
            6
        }
    };
    [&(length as u16).to_le_bytes(), &parameters[..length]].concat()
}

#[cfg(test)]
impl Algorithms {
    /// All algorithms except deflate.
    pub(crate) fn for_tests() -> Algorithms {
        let lzma = BareCodec::MicroLzma { dict_size: 1 << 20 };
        Algorithms([Some(BareCodec::Lz4), Some(lzma), None, Some(BareCodec::Zstd { window: 1 << 17 })])
    }
}

/// A record of an algorithm.
struct Record {
    number: usize,
    at: u64,
    /// Bytes of its parameters.
    length: u16,
    /// The first parameters.
    parameters: [u8; 6],
}

impl Record {
    fn read(number: usize, at: u64, input: &dyn ReadBytes) -> Result<Record, ReadError> {
        let mut length = [0; 2];
        input.read(at, &mut length)?;
        let length = u16::from_le_bytes(length);
        let least = if number < 2 { 14 } else { 6 };
        if length < least {
            let what = format!("record of algorithm {number} with {length} bytes");
            return Err(ReadError::corrupt(at, what, format!("at least {least}")));
        }
        let mut parameters = [0; 6];
        input.read(at + 2, &mut parameters)?;
        Ok(Record { number, at, length, parameters })
    }

    fn codec(&self) -> Result<BareCodec, ReadError> {
        let [first, second, third, fourth, fifth, sixth] = self.parameters;
        match self.number {
            0 => Ok(BareCodec::Lz4),
            1 => {
                let dict_size = u32::from_le_bytes([first, second, third, fourth]);
                let format = u16::from_le_bytes([fifth, sixth]);
                self.check(format == 0, format!("format {format} of lzma"), "0")?;
                let is_valid = (4096..=DICTIONARY_MOST).contains(&dict_size);
                self.check(is_valid, format!("dictionary of {dict_size} bytes"), "4096 bytes to 8 MiB")?;
                Ok(BareCodec::MicroLzma { dict_size })
            }
            2 => {
                let is_valid = first <= DEFLATE_WINDOW_MOST;
                self.check(is_valid, format!("logarithm {first} of the window of deflate"), "15 at most")?;
                Ok(BareCodec::Deflate)
            }
            _ => {
                self.check(first == 0, format!("format {first} of zstd"), "0")?;
                let is_valid = second <= ZSTD_WINDOW_MOST;
                self.check(is_valid, format!("logarithm 10 + {second} of the window of zstd"), "10 + 10 at most")?;
                Ok(BareCodec::Zstd { window: 1 << (ZSTD_WINDOW_LEAST + u32::from(second)) })
            }
        }
    }

    fn check(&self, is_valid: bool, what: String, expected: &str) -> Result<(), ReadError> {
        if is_valid { Ok(()) } else { Err(ReadError::corrupt(self.at, what, expected)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::superblock::{MAGIC_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_MOST};

    #[derive(Debug)]
    struct Bytes(Vec<u8>);

    impl ReadBytes for Bytes {
        fn read(&self, address: u64, out: &mut [u8]) -> Result<(), ReadError> {
            out.copy_from_slice(&self.0[address as usize..][..out.len()]);
            Ok(())
        }
    }

    #[test]
    fn decodes_what_it_encodes() {
        let codecs = [
            BareCodec::Lz4,
            BareCodec::MicroLzma { dict_size: 8 << 20 },
            BareCodec::Deflate,
            BareCodec::Zstd { window: 1 << 17 },
        ];
        for codec in codecs {
            let number = number_of(codec);
            let mut start = [0; SUPERBLOCK_MOST];
            start[..4].copy_from_slice(&MAGIC_BYTES);
            start[12] = 12;
            let mut superblock = Superblock::decode(&start).unwrap();
            superblock.incompat = incompat::COMPRESSION_RECORDS;
            superblock.algorithms = 1 << number;
            let mut bytes = vec![0; SUPERBLOCK_START as usize + SUPERBLOCK_BYTES];
            bytes.extend(encode_record(codec, 32));
            let found = Algorithms::read(&superblock, &Bytes(bytes)).unwrap();
            assert_eq!(found.codecs().collect::<Vec<_>>(), [codec]);
            assert_eq!(found.codec(number), Some(codec));
        }
    }
}
