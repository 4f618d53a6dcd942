//! Raw LZMA with a reference: bytes that the decoder also has. Repeats are found in the reference as well as in the block itself.

use liblzma_sys as sys;

use crate::lzma::NAME;
use crate::traits::check_block_size;
use crate::xz::{CodeResult, MIN_DICT, Search, Stream, encoded, encoder_usage, options};
use crate::{CodecError, Outcome};

/// lc 3, lp 0, pb 2: suitable for all kinds of data.
const CONTEXTS: [u32; 3] = [3, 0, 2];
/// Memory missing from the library's own estimates, bytes: probabilities and the state of the stream.
const STATE: usize = 256 * 1024;
/// The first level that searches a binary tree.
const TREE_LEVEL: u32 = 8;

/// LZMA with a reference, at a level. The coded bytes have no header and no end mark; both sides know all lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceLzma {
    level: u32,
}

impl ReferenceLzma {
    /// Accepts any level; only whether it is 8 or more matters. Lower levels use hash chains, which enter the bytes of long repeats five
    /// times as fast as a tree, for 3 % more coded bytes.
    #[must_use]
    pub fn new(level: u32) -> ReferenceLzma {
        ReferenceLzma { level }
    }

    /// Upper bound of the memory of an encoder for a reference and a block of `bytes` bytes together.
    #[must_use]
    pub fn memory(&self, bytes: usize) -> usize {
        STATE + encoder_usage(&self.options(bytes))
    }

    /// Upper bound of the memory of a decoder for a reference and a block of `bytes` bytes together.
    #[must_use]
    pub fn decoder_memory(bytes: usize) -> usize {
        STATE + bytes.max(MIN_DICT)
    }

    fn options(&self, bytes: usize) -> sys::lzma_options_lzma {
        let mf = match self.level {
            TREE_LEVEL.. => sys::lzma_match_finder_LZMA_MF_BT4,
            _ => sys::lzma_match_finder_LZMA_MF_HC4,
        };
        let search = Search { mode: sys::lzma_mode_LZMA_MODE_NORMAL, mf, nice_len: 128, depth: 64 };
        options(bytes.max(MIN_DICT) as u32, CONTEXTS, search)
    }
}

/// The library's options with a reference, which must live as long as the options are used.
fn with_reference(plain: sys::lzma_options_lzma, reference: &[u8], size: usize) -> sys::lzma_options_lzma {
    let preset_dict = if reference.is_empty() { std::ptr::null() } else { reference.as_ptr() };
    let low = size as u32;
    let high = (size as u64 >> 32) as u32;
    sys::lzma_options_lzma {
        preset_dict,
        preset_dict_size: reference.len() as u32,
        ext_size_low: low,
        ext_size_high: high,
        ..plain
    }
}

/// Compresses blocks, each with its own reference. The result depends only on the reference, the block and the level.
pub struct ReferenceEncoder {
    stream: Stream,
    lzma: ReferenceLzma,
}

impl ReferenceEncoder {
    #[must_use]
    pub fn new(lzma: ReferenceLzma) -> ReferenceEncoder {
        ReferenceEncoder { stream: Stream::new(NAME), lzma }
    }

    /// Compresses `src` into `dst`, which must be as long as `src`.
    ///
    /// # Errors
    /// Lack of memory; [`CodecError::BlockSize`] for more than 1 GiB; [`CodecError::DestinationTooSmall`].
    pub fn compress(&mut self, reference: &[u8], src: &[u8], dst: &mut [u8]) -> Result<Outcome, CodecError> {
        let bytes = reference.len() + src.len();
        check_block_size(NAME, bytes.max(1))?;
        let found = dst.len();
        let limited = dst.get_mut(..src.len().saturating_sub(1));
        let usable = limited.ok_or(CodecError::DestinationTooSmall { found, expected: src.len() })?;
        if usable.is_empty() {
            return Ok(Outcome::NotSmaller);
        }
        let options = with_reference(self.lzma.options(bytes), reference, src.len());
        let code = self.stream.encode_bare(&options, src, usable)?;
        Ok(encoded(&self.stream, code)?.map_or(Outcome::NotSmaller, Outcome::Smaller))
    }
}

pub struct ReferenceDecoder {
    stream: Stream,
}

impl Default for ReferenceDecoder {
    fn default() -> ReferenceDecoder {
        ReferenceDecoder { stream: Stream::new(NAME) }
    }
}

impl ReferenceDecoder {
    /// Decompresses all of `src`, which was compressed with the same reference, and fills `dst`.
    ///
    /// # Errors
    /// [`CodecError::Malformed`]; lack of memory; [`CodecError::BlockSize`] for more than 1 GiB.
    pub fn decompress(&mut self, reference: &[u8], src: &[u8], dst: &mut [u8]) -> Result<(), CodecError> {
        let bytes = reference.len() + dst.len();
        check_block_size(NAME, bytes.max(1))?;
        let options = with_reference(ReferenceLzma::new(0).options(bytes), reference, dst.len());
        let bad = |reason| Err(CodecError::Malformed { codec: NAME, size: src.len(), reason });
        match self.stream.decode_bare(&options, src, dst)? {
            CodeResult::Ended { read, written } if written == dst.len() && read == src.len() => Ok(()),
            CodeResult::Ended { .. } => bad("bytes follow the end"),
            CodeResult::Rejected(sys::lzma_ret_LZMA_MEM_ERROR) => Err(CodecError::OutOfMemory { codec: NAME }),
            CodeResult::Short { .. } => bad("ends too early"),
            CodeResult::Full | CodeResult::Rejected(_) => bad("damaged"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(seed: u64, length: usize) -> Vec<u8> {
        packline_testkit::Random::new(seed).noise(length)
    }

    fn coded(level: u32, reference: &[u8], src: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![0; src.len()];
        let outcome = ReferenceEncoder::new(ReferenceLzma::new(level)).compress(reference, src, &mut out).unwrap();
        let Outcome::Smaller(size) = outcome else { return None };
        out.truncate(size);
        Some(out)
    }

    fn decoded(reference: &[u8], src: &[u8], length: usize) -> Result<Vec<u8>, CodecError> {
        let mut out = vec![0; length];
        ReferenceDecoder::default().decompress(reference, src, &mut out).map(|()| out)
    }

    #[test]
    fn content_of_the_reference_costs_nearly_nothing() {
        let reference = content(1, 300_000);
        let changed = [&reference[1000..200_000], b"new", &reference[200_010..]].concat();
        for level in [1, 9] {
            let coded = coded(level, &reference, &changed).unwrap();
            assert!(coded.len() < 2000, "level {level}: {} bytes", coded.len());
            assert!(decoded(&reference, &coded, changed.len()).unwrap() == changed, "level {level}");
        }
        assert!(coded(7, &[], &changed).is_none(), "without it, it is noise");
    }

    #[test]
    fn round_trips_without_reference() {
        let plain = content(7, 100).repeat(50);
        let coded = coded(7, &[], &plain).unwrap();
        assert_eq!(decoded(&[], &coded, plain.len()).unwrap(), plain);
    }

    #[test]
    fn result_does_not_depend_on_earlier_blocks() {
        let reference = content(1, 50_000);
        let plain = content(1, 70_000);
        let mut encoder = ReferenceEncoder::new(ReferenceLzma::new(7));
        let mut out = vec![0; plain.len()];
        for before in [&reference[..], &plain[5000..60_000], b"x"] {
            encoder.compress(&plain, before, &mut vec![0; before.len()]).unwrap();
            let Outcome::Smaller(size) = encoder.compress(&reference, &plain, &mut out).unwrap() else { panic!() };
            assert_eq!(Some(&out[..size]), coded(7, &reference, &plain).as_deref());
        }
    }

    #[test]
    fn rejects_damage_and_wrong_lengths() {
        let reference = content(1, 50_000);
        let plain = content(3, 900).repeat(3);
        let whole = coded(7, &reference, &plain).unwrap();
        assert!(decoded(&reference, &whole, plain.len()).is_ok());
        assert!(decoded(&reference, &whole, plain.len() - 1).is_err());
        assert!(decoded(&reference, &whole, plain.len() + 1).is_err());
        assert!(decoded(&reference, &whole[..whole.len() - 1], plain.len()).is_err());
        assert!(decoded(&reference, &[&whole[..], b"x"].concat(), plain.len()).is_err());
        assert!(decoded(&reference, b"", 5).is_err());
    }

    #[test]
    fn stores_blocks_too_small_to_compress() {
        for plain in [&b""[..], b"x", b"xy"] {
            assert_eq!(coded(7, b"xyxy", plain), None);
        }
        assert_eq!(decoded(b"", b"", 0).ok(), None);
    }
}
