//! MicroLZMA (liblzma's `lzma_microlzma_decoder`): raw LZMA whose first byte is the complement of the contexts.

use liblzma_sys as sys;

use crate::lzma::NAME;
use crate::traits::check_filled;
use crate::xz::{CodeResult, DECODER_MEMORY, MIN_DICT, Stream};
use crate::{BlockPart, CodecError};

pub(crate) struct MicroDecoder {
    stream: Stream,
    dict_size: u32,
}

impl MicroDecoder {
    pub(crate) fn new(dict_size: u32) -> MicroDecoder {
        MicroDecoder { stream: Stream::new(NAME), dict_size }
    }

    /// Memory of a decoder in bytes.
    pub(crate) fn memory(dict_size: u32) -> usize {
        DECODER_MEMORY + MIN_DICT.max(dict_size as usize)
    }

    /// Fills `dst` with the content of a block, or with the start of it.
    pub(crate) fn fill(&mut self, src: &[u8], dst: &mut [u8], part: BlockPart) -> Result<(), CodecError> {
        let bad = |reason| Err(CodecError::Malformed { codec: NAME, size: src.len(), reason });
        match self.stream.decode_micro(self.dict_size, part == BlockPart::Whole, src, dst)? {
            CodeResult::Ended { written, .. } => check_filled(NAME, src, written, dst),
            CodeResult::Rejected(sys::lzma_ret_LZMA_MEM_ERROR) => Err(CodecError::OutOfMemory { codec: NAME }),
            CodeResult::Short => bad("ends too early"),
            CodeResult::Full | CodeResult::Rejected(_) => bad("damaged, or more content than expected"),
        }
    }
}
