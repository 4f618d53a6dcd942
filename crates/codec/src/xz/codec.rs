//! The xz encoder and decoder.

use liblzma_sys as sys;

use super::{Bcj, CodeResult, Format, NAME, Settings, Stream, XzParams, choice, container, detection};
use crate::search::lzma::{LARGEST, LzmaSearch};
use crate::traits::{Compressor, keep_smallest};
use crate::{CodecError, Decoder, Set};

pub(crate) struct XzEncoder {
    search: Option<LzmaSearch>,
    /// Used where our own search is not: see [`Settings::search`].
    stream: Stream,
    settings: Settings,
    /// The filters to try; `None` is the plain stream.
    variants: Vec<Option<Bcj>>,
    /// The filters to choose from by a block's content; `None` to try all variants.
    choices: Option<Set<Bcj>>,
    /// Buffer for a second attempt, so that the first result is kept if it is smaller. While a filter is chosen, it holds a filtered block.
    spare: Vec<u8>,
}

impl XzEncoder {
    /// An encoder for blocks of up to `block_size` bytes, with dictionaries up to `dict_limit` bytes.
    pub(crate) fn new(params: &XzParams, block_size: usize, dict_limit: u32) -> Self {
        let variants = variants(params);
        let needs_spare = params.auto || variants.len() > 1 || params.model.is_max();
        let spare = vec![0; if needs_spare { block_size } else { 0 }];
        let settings = Settings::new(&params.model, dict_limit);
        let choices = params.auto.then_some(params.filters);
        let search = settings.search(&params.model, block_size);
        XzEncoder { search, stream: Stream::new(NAME), settings, variants, choices, spare }
    }

    /// Replaces the variants to try by the filter and the contexts that suit a block.
    fn choose(&mut self, src: &[u8], filters: Set<Bcj>) {
        let contexts = choice::contexts(src);
        let filter = detection::filter(src, filters, &mut self.spare);
        match filter {
            Some(filter) => log::trace!("xz:auto: block of {} bytes: filter {filter:?}", src.len()),
            None => log::trace!("xz:auto: block of {} bytes: no filter", src.len()),
        }
        self.variants = vec![filter];
        self.settings = self.settings.with(contexts);
        if let Some(search) = &mut self.search {
            search.set_contexts(contexts);
        }
    }

    /// Returns the smallest result of all filters to try, by our own search. If other contexts may be cheaper, the block is encoded once
    /// more.
    fn search_each(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let XzEncoder { search: Some(search), settings, variants, spare, .. } = self else { return Ok(None) };
        let dictionary = settings.dictionary(src.len());
        let mut best = None;
        let mut again = None;
        for bcj in variants {
            let before = best;
            best = keep_smallest(best, out, spare, |dst| encode_stream(search, *bcj, dictionary, src, dst))?;
            if best != before {
                again = search.cheaper_contexts().map(|contexts| (*bcj, contexts));
            }
        }
        if let Some((bcj, contexts)) = again {
            let usual = search.set_contexts(contexts);
            best = keep_smallest(best, out, spare, |dst| encode_stream(search, bcj, dictionary, src, dst))?;
            search.set_contexts(usual);
        }
        Ok(best)
    }

    /// Returns the smallest result of all filters to try, by the library.
    fn encode_each(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let XzEncoder { stream, settings, variants, spare, .. } = self;
        let mut best = None;
        for bcj in variants {
            let try_compress =
                |dst: &mut [u8]| encode(stream, Format::Xz(*bcj), &settings.options(src.len()), src, dst);
            best = keep_smallest(best, out, spare, try_compress)?;
        }
        Ok(best)
    }
}

/// All filters to try, the plain stream first.
fn variants(params: &XzParams) -> Vec<Option<Bcj>> {
    let filters = if params.auto { Set::EMPTY } else { params.filters };
    std::iter::once(None).chain(filters.iter().map(Some)).collect()
}

impl Compressor for XzEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        if let Some(filters) = self.choices {
            self.choose(src, filters);
        }
        match self.search {
            Some(_) if src.len() <= LARGEST => self.search_each(src, out),
            _ => self.encode_each(src, out),
        }
    }
}

/// Writes a stream of one block into `out`; `None` if it does not fit.
pub(crate) fn encode_stream(
    search: &mut LzmaSearch,
    bcj: Option<Bcj>,
    dictionary: u32,
    src: &[u8],
    out: &mut [u8],
) -> Result<Option<usize>, CodecError> {
    let header =
        [container::stream_header(), container::block_header(None, bcj, container::dictionary_byte(dictionary))];
    let filter = |block: &mut [u8]| {
        if let Some(bcj) = bcj {
            bcj.encode(block);
        }
    };
    let Some(at) = put(out, 0, &header.concat()) else { return Ok(None) };
    let end = search.encode_chunks(src, filter, out, at)?;
    Ok(end.and_then(|at| end_stream(src, out, at)))
}

/// Writes the end of a stream after the chunks of its only block.
fn end_stream(src: &[u8], out: &mut [u8], mut at: usize) -> Option<usize> {
    let unpadded = at - container::EDGE + container::CHECK;
    at = put(out, at, &[0; 3][..at.next_multiple_of(4) - at])?;
    at = put(out, at, &container::crc32(src).to_le_bytes())?;
    let mut index = container::Index::default();
    index.add(container::BlockSizes { unpadded: unpadded as u64, content: src.len() as u64 });
    put(out, at, &index.finish())
}

/// Writes bytes at an index. Returns the index after them.
fn put(out: &mut [u8], at: usize, bytes: &[u8]) -> Option<usize> {
    out.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    Some(at + bytes.len())
}

/// Compresses with the library into `out`; `None` if it does not fit.
pub(crate) fn encode(
    stream: &mut Stream,
    format: Format,
    options: &sys::lzma_options_lzma,
    src: &[u8],
    out: &mut [u8],
) -> Result<Option<usize>, CodecError> {
    let code = stream.encode(format, options, src, out)?;
    encoded(stream, code)
}

/// Returns the number of bytes written, or `None` if they did not fit.
pub(crate) fn encoded(stream: &Stream, code: CodeResult) -> Result<Option<usize>, CodecError> {
    let failed = |stream: &Stream, code| CodecError::Library { codec: stream.codec(), function: "lzma_code", code };
    match code {
        CodeResult::Ended { written, .. } => Ok(Some(written)),
        CodeResult::Full => Ok(None),
        CodeResult::Short { .. } => Err(failed(stream, sys::lzma_ret_LZMA_BUF_ERROR.into())),
        CodeResult::Rejected(sys::lzma_ret_LZMA_MEM_ERROR) => Err(CodecError::OutOfMemory { codec: stream.codec() }),
        CodeResult::Rejected(code) => Err(failed(stream, code.into())),
    }
}

/// Memory of an encoder for blocks of up to `block_size` bytes.
pub(crate) fn encoder_memory(params: &XzParams, block_size: usize) -> usize {
    let more = if params.auto {
        block_size + choice::MEMORY.max(detection::MEMORY)
    } else if params.filters.is_empty() && !params.model.is_max() {
        0
    } else {
        block_size
    };
    more + params.model.encoder_memory(block_size)
}

/// Decompresses single streams of xz, or of lzma with or without an end mark.
pub(crate) struct StreamDecoder {
    stream: Stream,
    format: Format,
    memory: u64,
}

impl StreamDecoder {
    /// A decoder of `codec` that uses at most `memory` bytes.
    pub(crate) fn new(codec: &'static str, format: Format, memory: usize) -> Self {
        StreamDecoder { stream: Stream::new(codec), format, memory: memory.max(1) as u64 }
    }
}

impl Decoder for StreamDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        let codec = self.stream.codec();
        let size = src.len();
        let capacity = dst.len();
        let bad = |reason| Err(CodecError::Malformed { codec, size, reason });
        match self.stream.decode(self.format, self.memory, src, dst)? {
            CodeResult::Ended { read, written } if read == size => Ok(written),
            CodeResult::Ended { .. } => bad("bytes follow the end of the stream"),
            CodeResult::Full => Err(CodecError::TooLong { codec, size, capacity }),
            CodeResult::Short { .. } => bad("ends too early"),
            CodeResult::Rejected(sys::lzma_ret_LZMA_MEMLIMIT_ERROR) => {
                Err(CodecError::Memory { codec, needed: self.stream.needed_memory(), limit: self.memory })
            }
            CodeResult::Rejected(sys::lzma_ret_LZMA_MEM_ERROR) => Err(CodecError::OutOfMemory { codec }),
            CodeResult::Rejected(sys::lzma_ret_LZMA_FORMAT_ERROR) => bad("not a stream of this format"),
            CodeResult::Rejected(sys::lzma_ret_LZMA_OPTIONS_ERROR) => bad("uses an unsupported feature"),
            CodeResult::Rejected(_) => bad("damaged"),
        }
    }
}
