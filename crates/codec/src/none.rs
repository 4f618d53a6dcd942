//! The codec that stores blocks uncompressed.

use crate::traits::Compressor;
use crate::{CodecError, Decoder};

pub(crate) const NAME: &str = "none";

pub(crate) const HELP: &str = "\
none: blocks are stored uncompressed; no parameters
";

/// Stores every block uncompressed.
pub(crate) struct Stored;

impl Compressor for Stored {
    fn try_compress(&mut self, _src: &[u8], _out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        Ok(None)
    }
}

impl Decoder for Stored {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let capacity = dst.len();
        let too_long = CodecError::TooLong { codec: NAME, size: src.len(), capacity };
        dst.get_mut(..src.len()).ok_or(too_long)?.copy_from_slice(src);
        Ok(src.len())
    }
}
