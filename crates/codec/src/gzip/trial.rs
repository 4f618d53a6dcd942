//! Tries each allowed way to compress and keeps the smallest result.

use super::libdeflate::Deflater;
use super::optimal::Optimal;
use super::zlib::Zlib;
use super::{GzipParams, Strategy};
use crate::CodecError;
use crate::traits::{Compressor, keep_smallest};

/// Blocks up to this size in bytes use [`SMALL_LEVEL`] when level 9 is requested.
const SMALL: usize = 16 * 1024;

/// libdeflate's level for small blocks: nearly as small as its level 9 in half the time, and not larger than zlib's level 9.
const SMALL_LEVEL: u32 = 7;

/// The encoder of the default strategy and the usual window.
enum Main {
    Optimal(Box<Optimal>),
    Libdeflate { small: Option<Deflater>, large: Option<Deflater> },
}

impl Main {
    /// `None` if only zlib is used.
    fn new(params: &GzipParams, block_size: usize) -> Result<Option<Self>, CodecError> {
        if params.uses_optimal() {
            return Ok(Some(Main::Optimal(Box::default())));
        }
        if !params.uses_libdeflate() {
            return Ok(None);
        }
        let [small, large] = contexts(params.level, block_size);
        let new = |level: Option<u32>| level.map(Deflater::new).transpose();
        Ok(Some(Main::Libdeflate { small: new(small)?, large: new(large)? }))
    }

    fn memory(params: &GzipParams, block_size: usize) -> usize {
        if params.uses_optimal() {
            return Optimal::memory(block_size);
        }
        let levels = contexts(params.level, block_size).into_iter().flatten();
        if params.uses_libdeflate() { levels.map(Deflater::memory).sum() } else { 0 }
    }
}

impl Compressor for Main {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let context = match self {
            Main::Optimal(optimal) => return optimal.try_compress(src, out),
            Main::Libdeflate { small: Some(small), .. } if src.len() <= SMALL => small,
            Main::Libdeflate { large: Some(large), .. } => large,
            Main::Libdeflate { small: Some(small), large: None } => small,
            Main::Libdeflate { small: None, large: None } => return Ok(None),
        };
        context.try_compress(src, out)
    }
}

/// libdeflate's levels for blocks of up to [`SMALL`] bytes and for larger blocks; `None` where the other level is used for both.
fn contexts(level: u32, block_size: usize) -> [Option<u32>; 2] {
    if level != GzipParams::DEFAULT_LEVEL {
        return [None, Some(level)];
    }
    [Some(SMALL_LEVEL), (block_size > SMALL).then_some(level)]
}

/// Memory of an encoder for blocks of up to `block_size` bytes.
pub(crate) fn encoder_memory(params: &GzipParams, block_size: usize) -> usize {
    let main = Main::memory(params, block_size);
    // zlib's zconf.h: (1 << (windowBits + 2)) + (1 << (memLevel + 9)), plus its state.
    let strategies = params.zlib_strategies().len();
    let zlib = if strategies == 0 { 0 } else { (1 << (params.window.max(9) + 2)) + (1 << 17) + 16 * 1024 };
    let spare = if strategies + usize::from(main > 0) > 1 { block_size } else { 0 };
    main + zlib + spare
}

pub(crate) struct Trial {
    main: Option<Main>,
    zlib: Option<(Zlib, Vec<Strategy>)>,
    /// Buffer for a second attempt, so that the first result is kept if it is smaller.
    spare: Vec<u8>,
}

impl Trial {
    /// An encoder for blocks of up to `block_size` bytes.
    pub(crate) fn new(params: &GzipParams, block_size: usize) -> Result<Self, CodecError> {
        let strategies = params.zlib_strategies();
        let main = Main::new(params, block_size)?;
        let ways = strategies.len() + usize::from(main.is_some());
        let zlib =
            if strategies.is_empty() { None } else { Some((Zlib::new(params.level, params.window)?, strategies)) };
        let spare = vec![0; if ways > 1 { block_size } else { 0 }];
        Ok(Trial { main, zlib, spare })
    }
}

impl Compressor for Trial {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let mut best = None;
        if let Some(main) = &mut self.main {
            best = main.try_compress(src, out)?;
        }
        if let Some((zlib, strategies)) = &mut self.zlib {
            for strategy in strategies {
                zlib.set_strategy(*strategy);
                best = keep_smallest(best, out, &mut self.spare, |dst| zlib.try_compress(src, dst))?;
            }
        }
        Ok(best)
    }
}
