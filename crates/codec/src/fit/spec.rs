//! The fitting encoders of each codec.

use super::{Cutter, Fitter, FittingEncoder};
use crate::bare::OVERHEAD;
use crate::gzip::DeflateCutter;
use crate::lz4::Lz4Cutter;
use crate::lzma::MicroEncoder;
use crate::none::Stored;
use crate::zstd::ZstdCutter;
use crate::{CodecError, Footprint, Spec};

impl Spec {
    /// An encoder for inputs of up to `largest` bytes that fills units of `unit` bytes, 1 to `largest`. Its results have no header, as those
    /// of [`Spec::bare_encoder`], and the same [`Spec::bare_codec`].
    ///
    /// # Errors
    /// As [`Spec::bare_codec`]; [`CodecError::BlockSize`] if `unit` is out of range; lack of memory.
    pub fn fitting_encoder(&self, largest: usize, unit: usize) -> Result<Box<dyn FittingEncoder>, CodecError> {
        self.bare_codec(largest)?;
        if !(1..=largest).contains(&unit) {
            return Err(CodecError::BlockSize { codec: self.name(), found: unit, limit: largest });
        }
        Ok(match self {
            Spec::Lz4(params) => boxed(Lz4Cutter::new(params), largest, unit),
            Spec::Gzip(params) => boxed(DeflateCutter::new(params, largest)?, largest, unit),
            Spec::Lzma(params) => boxed(MicroEncoder::new(params, largest)?.with_cuts(largest), largest, unit),
            Spec::Zstd(params) => boxed(ZstdCutter::new(params, largest)?, largest, unit),
            _ => boxed(Stored, largest, unit),
        })
    }

    /// The memory of [`Spec::fitting_encoder`] and of a [`BareDecoder`](crate::BareDecoder) of its results, in bytes.
    ///
    /// # Errors
    /// As [`Spec::bare_codec`].
    pub fn fitting_footprint(&self, largest: usize) -> Result<Footprint, CodecError> {
        let bare = self.bare_footprint(largest)?;
        let encoder = match self {
            Spec::Gzip(_) => bare.encoder + DeflateCutter::MORE_MEMORY,
            Spec::Lzma(params) => OVERHEAD + MicroEncoder::memory_with_cuts(params, largest),
            Spec::Zstd(params) => OVERHEAD + ZstdCutter::memory(params, largest),
            _ => bare.encoder,
        };
        Ok(Footprint { encoder, ..bare })
    }
}

fn boxed(cutter: impl Cutter + 'static, largest: usize, unit: usize) -> Box<dyn FittingEncoder> {
    Box::new(Fitter { cutter, largest, unit })
}
