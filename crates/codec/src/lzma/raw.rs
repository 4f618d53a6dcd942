//! Raw LZMA: no header and no end mark, for containers that store properties and lengths themselves.

use liblzma_sys as sys;

use crate::lzma::NAME;
use crate::traits::{Bounded, Compressor, check_block_size};
use crate::xz::{MIN_DICT, Search, Stream, encoded, encoder_usage, options};
use crate::{CodecError, Encoder};

/// lc 3, lp 0, pb 2: suitable for all kinds of data.
const CONTEXTS: [u32; 3] = [3, 0, 2];
/// Memory missing from the library's own estimate, bytes: probabilities and the state of the stream.
const STATE: usize = 256 * 1024;

/// Raw LZMA at a level.
///
/// The levels are tuned for large blocks from which a search over the complete input has already removed repeats of about 50 bytes and
/// more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawLzma {
    level: u32,
}

impl RawLzma {
    /// Raw LZMA at a level of 1 to 9.
    ///
    /// # Errors
    /// [`CodecError::Conflict`] for other levels.
    pub fn new(level: u32) -> Result<RawLzma, CodecError> {
        if (1..=9).contains(&level) {
            return Ok(RawLzma { level });
        }
        Err(CodecError::Conflict { codec: NAME, found: format!("level={level}"), expected: "1 to 9".to_owned() })
    }

    /// The contexts as the first byte of a .lzma file: `(pb * 5 + lp) * 9 + lc`.
    pub fn contexts(&self) -> u8 {
        let [lc, lp, pb] = CONTEXTS;
        ((pb * 5 + lp) * 9 + lc) as u8
    }

    /// The largest dictionary in bytes that a decoder needs for any block.
    pub fn dict_size(&self) -> u32 {
        match self.level {
            1 => 1 << 20,
            2 => 2 << 20,
            3 | 4 => 4 << 20,
            5 | 6 => 8 << 20,
            7 => 24 << 20,
            8 => 32 << 20,
            _ => 64 << 20,
        }
    }

    /// Whether the level uses optimal parsing, which finds most of the short repeats. The other levels are greedy.
    pub fn uses_optimal_parsing(&self) -> bool {
        self.search().mode == sys::lzma_mode_LZMA_MODE_NORMAL
    }

    /// An encoder for blocks of up to `block_size` bytes. The result depends only on the block and the level.
    ///
    /// # Errors
    /// [`CodecError::BlockSize`] if the size is out of range.
    pub fn encoder(&self, block_size: usize) -> Result<Box<dyn Encoder>, CodecError> {
        check_block_size(NAME, block_size)?;
        Ok(Bounded::boxed(BareEncoder { stream: Stream::new(NAME), lzma: *self }, block_size))
    }

    /// Upper bound of the memory of an encoder for blocks of up to `block_size` bytes. The tables count with their full size, because large
    /// pages become resident with their first byte.
    pub fn memory(&self, block_size: usize) -> usize {
        STATE + encoder_usage(&self.options(block_size))
    }

    /// The library's options for a block of `size` bytes. The dictionary is not larger than the block can use, because clearing large
    /// tables is slow.
    fn options(&self, size: usize) -> sys::lzma_options_lzma {
        let useful = size.max(MIN_DICT).next_power_of_two();
        options(useful.min(self.dict_size() as usize) as u32, CONTEXTS, self.search())
    }

    fn search(&self) -> Search {
        let fast = |nice_len, depth| Search {
            mode: sys::lzma_mode_LZMA_MODE_FAST,
            mf: sys::lzma_match_finder_LZMA_MF_HC4,
            nice_len,
            depth,
        };
        let normal = |nice_len, depth| Search {
            mode: sys::lzma_mode_LZMA_MODE_NORMAL,
            mf: sys::lzma_match_finder_LZMA_MF_BT4,
            nice_len,
            depth,
        };
        match self.level {
            1 => fast(64, 4),
            2 => fast(64, 8),
            3 => fast(128, 24),
            4 => fast(273, 48),
            5 => normal(32, 8),
            6 => normal(32, 16),
            7 => normal(48, 16),
            8 => normal(48, 0),
            _ => normal(64, 0),
        }
    }
}

struct BareEncoder {
    stream: Stream,
    lzma: RawLzma,
}

impl Compressor for BareEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let code = self.stream.encode_bare(&self.lzma.options(src.len()), src, out)?;
        encoded(&self.stream, code)
    }
}
