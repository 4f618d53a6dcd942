//! lzma: the legacy .lzma format (xz `doc/lzma-file-format.txt`), a 13-byte header and LZMA data with an end mark.

mod micro;
mod raw;
mod reference;
mod wrapped;

use crate::CodecError;
use crate::parameters::{ListWriter, items};
use crate::search::lzma::{LARGEST, LzmaSearch};
use crate::traits::{Compressor, keep_smallest};
use crate::xz::{Format, LzmaModel, Settings, Stream, encode};

pub(crate) use micro::{MicroDecoder, MicroEncoder};
pub use raw::RawLzma;
pub use reference::{ReferenceDecoder, ReferenceEncoder, ReferenceLzma};
pub use wrapped::WrappedLzma;

pub(crate) const NAME: &str = "lzma";
/// The name of blocks without a header.
pub(crate) const MICRO_NAME: &str = "microlzma";

pub(crate) const HELP: &str = "\
lzma: LZMA in the legacy .lzma format; current Linux kernels do not read it in SquashFS
  level=0..9         effort (default 5); also preset=
  level=max          9 and extreme, with the lc, lp and pb that make each block smallest
";

const KNOWN: &str = "level, extreme, dictsize, lc, lp, pb";

/// Bytes of the header: contexts, dictionary, and the content's size.
const HEADER: usize = 13;
/// The bytes of the header that store the content's size.
const SIZE_FIELD: std::ops::Range<usize> = 5..HEADER;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LzmaParams {
    pub model: LzmaModel,
}

impl LzmaParams {
    pub const DEFAULT_LEVEL: u32 = 5;

    /// The dictionary size in bytes for blocks of up to `block_size` bytes.
    pub fn dict_size(&self, block_size: usize) -> Result<u32, CodecError> {
        self.model.dict_size(NAME, block_size)
    }

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = LzmaParams::default();
        for item in items(NAME, list) {
            if !params.model.take(&item)? {
                return Err(item.unknown(KNOWN));
            }
        }
        params.model.check(NAME)?;
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = ListWriter::default();
        self.model.print(&mut printed, Self::DEFAULT_LEVEL);
        printed.list()
    }
}

impl Default for LzmaParams {
    fn default() -> Self {
        LzmaParams { model: LzmaModel::new(Self::DEFAULT_LEVEL) }
    }
}

/// Checks that the dictionary in the header of a block is not larger than the dictionary of this codec's encoder.
pub(crate) fn check_dictionary(params: &LzmaParams, block_size: usize, src: &[u8]) -> Result<(), CodecError> {
    let bad = |reason| CodecError::Malformed { codec: NAME, size: src.len(), reason };
    let field = src.get(1..SIZE_FIELD.start).and_then(|size| size.try_into().ok());
    let size = field.map(u32::from_le_bytes).ok_or_else(|| bad("ends in its header"))?;
    let most = params.dict_size(block_size)?;
    if size > most { Err(bad("a dictionary that is larger than a block")) } else { Ok(()) }
}

pub(crate) struct LzmaEncoder {
    search: Option<LzmaSearch>,
    /// Used where our own search is not: see [`Settings::search`].
    stream: Stream,
    settings: Settings,
    /// Buffer for a second attempt.
    spare: Vec<u8>,
}

impl LzmaEncoder {
    /// An encoder for blocks of up to `block_size` bytes, with dictionaries up to `dict_limit` bytes.
    pub(crate) fn new(params: &LzmaParams, block_size: usize, dict_limit: u32) -> Self {
        let settings = Settings::new(&params.model, dict_limit);
        let spare = vec![0; if params.model.is_max() { block_size } else { 0 }];
        LzmaEncoder { search: settings.search(&params.model, block_size), stream: Stream::new(NAME), settings, spare }
    }
}

/// Memory of an encoder for blocks of up to `block_size` bytes.
pub(crate) fn encoder_memory(params: &LzmaParams, block_size: usize) -> usize {
    let spare = if params.model.is_max() { block_size } else { 0 };
    spare + params.model.encoder_memory(block_size)
}

/// Writes a stream with our own search into `out` and leaves the content's size unset. `None` if the stream does not fit.
fn encode_own(
    search: &mut LzmaSearch,
    settings: &Settings,
    src: &[u8],
    out: &mut [u8],
) -> Result<Option<usize>, CodecError> {
    let Some(header) = out.first_chunk_mut::<HEADER>() else { return Ok(None) };
    let [contexts, dictionary @ .., _, _, _, _, _, _, _, _] = header;
    *contexts = settings.contexts().byte();
    *dictionary = settings.dictionary(src.len()).to_le_bytes();
    search.encode_marked(src, out, HEADER)
}

/// Encodes a block again if other contexts may make it smaller than `best`.
fn encode_again(
    search: &mut LzmaSearch,
    settings: &Settings,
    src: &[u8],
    out: &mut [u8],
    spare: &mut [u8],
    best: Option<usize>,
) -> Result<Option<usize>, CodecError> {
    let Some(contexts) = best.and_then(|_| search.cheaper_contexts()) else { return Ok(best) };
    let usual = search.set_contexts(contexts);
    let settings = settings.with(contexts);
    let best = keep_smallest(best, out, spare, |dst| encode_own(search, &settings, src, dst))?;
    search.set_contexts(usual);
    Ok(best)
}

impl Compressor for LzmaEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let LzmaEncoder { search, stream, settings, spare } = self;
        let size = match search {
            Some(search) if src.len() <= LARGEST => {
                let best = encode_own(search, settings, src, out)?;
                encode_again(search, settings, src, out, spare, best)?
            }
            _ => encode(stream, Format::Alone, &settings.options(src.len()), src, out)?,
        };
        // The format allows an unknown size if there is an end mark, but container readers require both.
        if let Some(field) = size.and_then(|_| out.get_mut(SIZE_FIELD)) {
            field.copy_from_slice(&(src.len() as u64).to_le_bytes());
        }
        Ok(size)
    }
}
