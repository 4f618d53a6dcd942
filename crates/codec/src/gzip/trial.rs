//! Tries each way of compressing that the user allows, and keeps the smallest result.

use super::libdeflate::Deflater;
use super::zlib::Zlib;
use super::{GzipParams, Strategy};
use crate::CodecError;
use crate::bounded::{Press, keep_smaller};

/// Blocks up to this size are compressed at [`SMALL_LEVEL`] when level 9 is asked for, bytes.
const SMALL: usize = 16 * 1024;

/// libdeflate's level for small blocks: there it finds all but what its level 9 finds in half the time, and still makes
/// them no larger than zlib's level 9 does.
const SMALL_LEVEL: u32 = 7;

/// libdeflate at a user's level.
struct Leveled {
    small: Option<Deflater>,
    large: Option<Deflater>,
}

impl Leveled {
    fn new(level: u32, block_size: usize) -> Result<Self, CodecError> {
        let [small, large] = contexts(level, block_size);
        let new = |level: Option<u32>| level.map(Deflater::new).transpose();
        Ok(Leveled { small: new(small)?, large: new(large)? })
    }
}

impl Press for Leveled {
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let context = match (&mut self.small, &mut self.large) {
            (Some(small), _) if src.len() <= SMALL => small,
            (_, Some(large)) => large,
            (Some(small), None) => small,
            (None, None) => return Ok(None),
        };
        context.press(src, room)
    }
}

/// libdeflate's levels for blocks up to [`SMALL`] and above, where there are such; one that is missing is the other's.
pub(crate) fn contexts(level: u32, block_size: usize) -> [Option<u32>; 2] {
    if level != GzipParams::DEFAULT_LEVEL {
        return [None, Some(level)];
    }
    [Some(SMALL_LEVEL), (block_size > SMALL).then_some(level)]
}

/// A gzip encoder.
pub(crate) struct Trial {
    libdeflate: Option<Leveled>,
    zlib: Option<(Zlib, Vec<Strategy>)>,
    /// Where a second result goes, so that the first need not be made again if it was the better.
    spare: Vec<u8>,
}

impl Trial {
    /// An encoder for blocks of up to `block_size` bytes.
    pub(crate) fn new(params: &GzipParams, block_size: usize) -> Result<Self, CodecError> {
        let strategies = params.zlib_strategies();
        let ways = strategies.len() + usize::from(params.uses_libdeflate());
        let libdeflate = params.uses_libdeflate().then(|| Leveled::new(params.level, block_size)).transpose()?;
        let zlib =
            if strategies.is_empty() { None } else { Some((Zlib::new(params.level, params.window)?, strategies)) };
        let spare = vec![0; if ways > 1 { block_size } else { 0 }];
        Ok(Trial { libdeflate, zlib, spare })
    }
}

impl Press for Trial {
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let mut best = None;
        if let Some(libdeflate) = &mut self.libdeflate {
            best = libdeflate.press(src, room)?;
        }
        if let Some((zlib, strategies)) = &mut self.zlib {
            for strategy in strategies {
                zlib.set_strategy(*strategy);
                best = keep_smaller(best, room, &mut self.spare, |dst| zlib.press(src, dst))?;
            }
        }
        Ok(best)
    }
}
