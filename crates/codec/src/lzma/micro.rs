//! MicroLZMA (liblzma's `lzma_microlzma_decoder`): raw LZMA whose first byte is the complement of the contexts, without an end mark.

use liblzma_sys as sys;

use crate::fit::{Cut, Cutter, Fitted, Marks};
use crate::lzma::{LzmaParams, NAME};
use crate::search::lzma::{Contexts, LzmaSearch, search_of};
use crate::traits::{Compressor, check_filled};
use crate::xz::{CodeResult, DECODER_MEMORY, MIN_DICT, Settings, Stream, encoded};
use crate::{BlockPart, CodecError};

/// The library encodes nothing into fewer bytes.
const LEAST: usize = 6;

/// Encodes blocks of up to 1 MiB.
pub(crate) struct MicroEncoder {
    search: Option<LzmaSearch>,
    /// Used where our own search is not: see [`Settings::search`].
    stream: Stream,
    settings: Settings,
    /// Whether the contexts of each block are found by trying.
    is_max: bool,
}

impl MicroEncoder {
    /// An encoder for blocks of up to `block_size` bytes, at most 1 MiB.
    pub(crate) fn new(params: &LzmaParams, block_size: usize) -> Result<MicroEncoder, CodecError> {
        let settings = Settings::new(&params.model, params.dict_size(block_size)?);
        let search = settings.search(&params.model, block_size);
        Ok(MicroEncoder { search, stream: Stream::new(NAME), settings, is_max: params.model.is_max() })
    }

    /// Memory of an encoder in bytes.
    pub(crate) fn memory(params: &LzmaParams, block_size: usize) -> usize {
        params.model.encoder_memory(block_size)
    }

    /// Prepares for cuts of blocks of up to `block_size` bytes.
    pub(crate) fn with_cuts(mut self, block_size: usize) -> MicroEncoder {
        if let Some(search) = &mut self.search {
            search.keep_symbols(block_size);
        }
        self
    }

    /// Memory of an encoder with cuts in bytes.
    pub(crate) fn memory_with_cuts(params: &LzmaParams, block_size: usize) -> usize {
        let is_own = search_of(params.model.level, params.model.extreme).is_some();
        let kept = if is_own && !params.model.is_max() { LzmaSearch::kept_memory(block_size) } else { 0 };
        MicroEncoder::memory(params, block_size) + kept
    }

    /// Encodes a block by the library. `None` if the block does not fit.
    fn encode_by_library(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        if out.len() < LEAST {
            return Ok(None);
        }
        let code = self.stream.encode_micro(&self.settings.options(src.len()), src, out)?;
        if matches!(code, CodeResult::Ended { read, .. } if read < src.len()) {
            return Ok(None);
        }
        encoded(&self.stream, code)
    }

    /// Encodes the start of a block that fits, by the library.
    fn cut_by_library(&mut self, src: &[u8], cut: &Cut, out: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        if cut.most < LEAST {
            return Ok(None);
        }
        let code = self.stream.encode_micro(&self.settings.options(src.len()), src, &mut out[..cut.most])?;
        if let CodeResult::Ended { read: content, written: stored } = code
            && content > cut.least
        {
            return Ok(Some(Fitted { content, stored }));
        }
        encoded(&self.stream, code)?;
        self.encode_by_library(src, out)?;
        Ok(None)
    }
}

/// Encodes a block by our own search with some contexts. `None` if the block does not fit.
fn encode_with(
    search: &mut LzmaSearch,
    contexts: Contexts,
    src: &[u8],
    marks: Marks,
    out: &mut [u8],
) -> Result<Option<usize>, CodecError> {
    search.set_contexts(contexts);
    let size = search.encode_bare(src, marks, out)?;
    if let Some(first) = out.first_mut() {
        *first = !contexts.byte();
    }
    Ok(size)
}

impl Compressor for MicroEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.encode(src, Marks::NONE, out)
    }
}

impl Cutter for MicroEncoder {
    fn encode(&mut self, src: &[u8], marks: Marks, out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let usual = self.settings.contexts();
        let Some(search) = &mut self.search else { return self.encode_by_library(src, out) };
        let first = encode_with(search, usual, src, marks, out)?;
        let others = if self.is_max && first.is_some() { search.cheaper_contexts() } else { None };
        let Some(others) = others else { return Ok(first) };
        let second = encode_with(search, others, src, marks, out)?;
        if second.is_some() && second < first {
            return Ok(second);
        }
        encode_with(search, usual, src, marks, out)
    }

    fn cut(&mut self, src: &[u8], cut: &Cut, out: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        let Some(search) = &mut self.search else { return self.cut_by_library(src, cut, out) };
        if search.content_of_start() <= cut.least {
            return Ok(None);
        }
        let contexts = out[0];
        let fitted = search.encode_start(&mut out[..cut.most]);
        out[0] = contexts;
        fitted.map(Some).ok_or(CodecError::Library { codec: NAME, function: "cut", code: 0 })
    }
}

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
        DECODER_MEMORY.saturating_add(MIN_DICT.max(dict_size as usize))
    }

    /// Fills `dst` with the content of a block, or with the start of it.
    pub(crate) fn fill(&mut self, src: &[u8], dst: &mut [u8], part: BlockPart) -> Result<(), CodecError> {
        let bad = |reason| Err(CodecError::Malformed { codec: NAME, size: src.len(), reason });
        match self.stream.decode_micro(self.dict_size, part == BlockPart::Whole, src, dst)? {
            CodeResult::Ended { written, .. } => check_filled(NAME, src, written, dst),
            CodeResult::Rejected(sys::lzma_ret_LZMA_MEM_ERROR) => Err(CodecError::OutOfMemory { codec: NAME }),
            CodeResult::Short { .. } => bad("ends too early"),
            CodeResult::Full | CodeResult::Rejected(_) => bad("damaged, or more content than expected"),
        }
    }
}
