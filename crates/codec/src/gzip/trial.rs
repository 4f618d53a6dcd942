//! Tries each way of compressing that the user allows, and keeps the smallest result.

use super::libdeflate::Deflater;
use super::zlib::Zlib;
use super::{GzipParams, Strategy};
use crate::CodecError;
use crate::bounded::{Press, keep_smaller};

/// A gzip encoder.
pub(crate) struct Trial {
    libdeflate: Option<Deflater>,
    zlib: Option<(Zlib, Vec<Strategy>)>,
    /// Where a second result goes, so that the first need not be made again if it was the better.
    spare: Vec<u8>,
}

impl Trial {
    /// An encoder for blocks of up to `block_size` bytes.
    pub(crate) fn new(params: &GzipParams, block_size: usize) -> Result<Self, CodecError> {
        let strategies = params.zlib_strategies();
        let ways = strategies.len() + usize::from(params.uses_libdeflate());
        let libdeflate = params.uses_libdeflate().then(|| Deflater::new(params.level)).transpose()?;
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
