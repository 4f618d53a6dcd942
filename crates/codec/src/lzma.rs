//! lzma: the legacy .lzma format (xz `doc/lzma-file-format.txt`), a 13-byte header and LZMA data with an end mark.

use crate::CodecError;
use crate::bounded::Compressor;
use crate::item::{Printed, items};
use crate::xz::{Format, LzmaModel, Settings, Stream, encode};

pub(crate) const NAME: &str = "lzma";

pub(crate) const HELP: &str = "\
lzma: LZMA in the legacy .lzma format; current Linux kernels do not read it in SquashFS
  level=0..9         effort (default 5); also preset=
";

const KNOWN: &str = "level, extreme, dictsize, lc, lp, pb";

/// The content's size in the header.
const SIZE_FIELD: std::ops::Range<usize> = 5..13;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LzmaParams {
    pub model: LzmaModel,
}

impl LzmaParams {
    pub const DEFAULT_LEVEL: u32 = 5;

    /// The dictionary size for blocks of up to `block_size` bytes, bytes.
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
        let mut printed = Printed::default();
        self.model.print(&mut printed, Self::DEFAULT_LEVEL);
        printed.list()
    }
}

impl Default for LzmaParams {
    fn default() -> Self {
        LzmaParams { model: LzmaModel::new(Self::DEFAULT_LEVEL) }
    }
}

pub(crate) struct LzmaEncoder {
    stream: Stream,
    settings: Settings,
}

impl LzmaEncoder {
    /// An encoder with dictionaries up to `dict_limit` bytes.
    pub(crate) fn new(params: &LzmaParams, dict_limit: u32) -> Self {
        LzmaEncoder { stream: Stream::new(NAME), settings: Settings::new(&params.model, dict_limit) }
    }
}

impl Compressor for LzmaEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let options = self.settings.options(src.len());
        let size = encode(&mut self.stream, Format::Alone, &options, src, out)?;
        // The library writes an unknown size and an end mark; container readers require both.
        if let Some(field) = size.and_then(|_| out.get_mut(SIZE_FIELD)) {
            field.copy_from_slice(&(src.len() as u64).to_le_bytes());
        }
        Ok(size)
    }
}
