//! The xz encoder and decoder.

use liblzma_sys as sys;

use super::{Bcj, Code, Format, Settings, Stream, XzParams, encoder_usage};
use crate::bounded::{Press, keep_smaller};
use crate::names::XZ;
use crate::{CodecError, Decoder};

/// Compresses blocks to .xz streams.
pub(crate) struct XzEncoder {
    stream: Stream,
    settings: Settings,
    /// The filters to try; `None` is the plain stream.
    variants: Vec<Option<Bcj>>,
    /// Where a second result goes, so that the first need not be made again if it was the better.
    spare: Vec<u8>,
}

impl XzEncoder {
    /// An encoder for blocks of up to `block_size` bytes, with dictionaries up to `dict_limit` bytes.
    pub(crate) fn new(params: &XzParams, block_size: usize, dict_limit: u32) -> Self {
        let variants = variants(params);
        let spare = vec![0; if variants.len() > 1 { block_size } else { 0 }];
        let settings = Settings::new(&params.model, dict_limit);
        XzEncoder { stream: Stream::new(XZ), settings, variants, spare }
    }
}

/// Every chain to try, the plain one first.
fn variants(params: &XzParams) -> Vec<Option<Bcj>> {
    std::iter::once(None).chain(params.filters.iter().map(Some)).collect()
}

impl Press for XzEncoder {
    fn press(&mut self, src: &[u8], room: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let options = self.settings.options(src.len());
        let mut best = None;
        for bcj in &self.variants {
            let (stream, format) = (&mut self.stream, Format::Xz(*bcj));
            let press = |dst: &mut [u8]| encode(stream, format, &options, src, dst);
            best = keep_smaller(best, room, &mut self.spare, press)?;
        }
        Ok(best)
    }
}

/// Compresses into `room`; `None` if it does not fit.
pub(crate) fn encode(
    stream: &mut Stream,
    format: Format,
    options: &sys::lzma_options_lzma,
    src: &[u8],
    room: &mut [u8],
) -> Result<Option<usize>, CodecError> {
    let code = stream.encode(format, options, src, room)?;
    encoded(stream, code)
}

/// What coding came to: bytes written, or `None` if they did not fit.
pub(crate) fn encoded(stream: &Stream, code: Code) -> Result<Option<usize>, CodecError> {
    let failed = |stream: &Stream, code| CodecError::Library { codec: stream.codec(), function: "lzma_code", code };
    match code {
        Code::Ended { written, .. } => Ok(Some(written)),
        Code::Full => Ok(None),
        Code::Short => Err(failed(stream, sys::lzma_ret_LZMA_BUF_ERROR.into())),
        Code::Refused(sys::lzma_ret_LZMA_MEM_ERROR) => Err(CodecError::OutOfMemory { codec: stream.codec() }),
        Code::Refused(code) => Err(failed(stream, code.into())),
    }
}

/// Bytes that an encoder for dictionaries up to `dict_limit` takes, without its spare buffer.
pub(crate) fn encoder_memory(settings: &Settings, dict_limit: u32) -> usize {
    encoder_usage(&settings.options(dict_limit as usize))
}

/// Decompresses .xz streams.
pub(crate) struct XzDecoder {
    stream: Stream,
    memory: u64,
}

impl XzDecoder {
    /// A decoder that takes at most `memory` bytes.
    pub(crate) fn new(memory: usize) -> Self {
        XzDecoder { stream: Stream::new(XZ), memory: memory.max(1) as u64 }
    }
}

impl Decoder for XzDecoder {
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, CodecError> {
        decode(&mut self.stream, Format::Xz(None), self.memory, src, dst)
    }
}

/// Decompresses the one stream that `src` must be.
pub(crate) fn decode(
    stream: &mut Stream,
    format: Format,
    memory: u64,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize, CodecError> {
    let (codec, size, room) = (stream.codec(), src.len(), dst.len());
    let bad = |reason| Err(CodecError::Malformed { codec, size, reason });
    match stream.decode(format, memory, src, dst)? {
        Code::Ended { read, written } if read == size => Ok(written),
        Code::Ended { .. } => bad("bytes follow the end of the stream"),
        Code::Full => Err(CodecError::TooLong { codec, size, room }),
        Code::Short => bad("ends too early"),
        Code::Refused(sys::lzma_ret_LZMA_MEMLIMIT_ERROR) => {
            Err(CodecError::Memory { codec, needed: stream.wanted(), limit: memory })
        }
        Code::Refused(sys::lzma_ret_LZMA_MEM_ERROR) => Err(CodecError::OutOfMemory { codec }),
        Code::Refused(sys::lzma_ret_LZMA_FORMAT_ERROR) => bad("not a stream of this format"),
        Code::Refused(sys::lzma_ret_LZMA_OPTIONS_ERROR) => bad("uses what is not supported"),
        Code::Refused(_) => bad("damaged"),
    }
}
