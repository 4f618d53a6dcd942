//! The parameters that xz and lzma share.

use super::{DictSize, Settings};
use crate::CodecError;
use crate::parameters::{Item, ListWriter};
use crate::search::lzma::{LARGEST, LzmaSearch};
use crate::spec::METADATA_BLOCK_SIZE;

/// Memory of a decoder without its dictionary, bytes (liblzma's own estimate).
pub(crate) const DECODER_MEMORY: usize = 96 * 1024;

/// LZMA search effort and contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LzmaModel {
    /// Effort, 0 to 9, or [`MAX`](LzmaModel::MAX). Default 6 for xz, 5 for lzma.
    pub level: u32,
    /// Whether to search longer.
    pub extreme: bool,
    /// Dictionary size. Default: the block size.
    pub dict_size: DictSize,
    /// Literal context bits, 0 to 4. Default 3.
    pub lc: u32,
    /// Literal position bits, 0 to 4, with `lc` no more than 4. Default 0.
    pub lp: u32,
    /// Position bits, 0 to 4. Default 2.
    pub pb: u32,
}

impl LzmaModel {
    /// The level that compresses best with the given contexts.
    pub const MAX_LEVEL: u32 = 9;
    /// The level above [`LzmaModel::MAX_LEVEL`], written `level=max`: the same search with `extreme`, and in blocks of up to 1 MiB the
    /// contexts that make each block smallest.
    pub const MAX: u32 = Self::MAX_LEVEL + 1;
    /// The valid values of `level`, for messages.
    const LEVELS: &str = "a whole number from 0 to 9, or max";

    /// The defaults, with the given level.
    pub fn new(level: u32) -> Self {
        LzmaModel { level, extreme: false, dict_size: DictSize::Block, lc: 3, lp: 0, pb: 2 }
    }

    /// Whether the contexts of each block are found by trying.
    pub(crate) fn is_max(&self) -> bool {
        self.level == Self::MAX
    }

    /// Applies a parameter. Returns false if the parameter is not one of the model's.
    pub(crate) fn take(&mut self, item: &Item<'_>) -> Result<bool, CodecError> {
        match item.key {
            "level" | "preset" if item.text(Self::LEVELS)? == "max" => self.level = Self::MAX,
            "level" | "preset" => self.level = item.number_of(0..=Self::MAX_LEVEL, Self::LEVELS)?,
            "extreme" | "e" => {
                item.flag()?;
                self.extreme = true;
            }
            "dictsize" | "dict-size" => self.dict_size = DictSize::parse(item)?,
            "lc" => self.lc = item.number(0..=4)?,
            "lp" => self.lp = item.number(0..=4)?,
            "pb" => self.pb = item.number(0..=4)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) fn print(&self, printed: &mut ListWriter, default_level: u32) {
        let default = LzmaModel::new(default_level);
        match self.level {
            Self::MAX => printed.value("level", "max", ""),
            level => printed.value("level", level, default.level),
        }
        printed.flag("extreme", self.extreme);
        printed.value("dictsize", self.dict_size.to_string(), default.dict_size.to_string());
        printed.value("lc", self.lc, default.lc);
        printed.value("lp", self.lp, default.lp);
        printed.value("pb", self.pb, default.pb);
    }

    /// Checks ranges, because callers may set the fields directly.
    pub(crate) fn check(&self, codec: &'static str) -> Result<(), CodecError> {
        let wrong =
            |found: String, expected: &str| Err(CodecError::Conflict { codec, found, expected: expected.to_owned() });
        if self.level > Self::MAX {
            return wrong(format!("level={}", self.level), "0 to 9, or max");
        }
        if self.is_max() && self.extreme {
            return wrong("extreme cannot be used with level=max, which includes it".to_owned(), "");
        }
        if self.is_max() && [self.lc, self.lp, self.pb] != [3, 0, 2] {
            let Self { lc, lp, pb, .. } = self;
            let found =
                format!("level=max cannot be used with lc={lc},lp={lp},pb={pb}: level=max chooses lc, lp and pb");
            return wrong(found, "");
        }
        if self.pb > 4 {
            return wrong(format!("pb={}", self.pb), "0 to 4");
        }
        if self.lc > 4 || self.lp > 4 || self.lc + self.lp > 4 {
            return wrong(format!("lc={},lp={}", self.lc, self.lp), "a sum of 4 or less");
        }
        Ok(())
    }

    /// The dictionary size in bytes for a block size.
    pub(crate) fn dict_size(&self, codec: &'static str, block_size: usize) -> Result<u32, CodecError> {
        self.dict_size.resolve(block_size).ok_or_else(|| CodecError::Conflict {
            codec,
            found: format!("dictsize={} with blocks of {block_size} bytes", self.dict_size),
            expected: "2^n or 2^n+2^(n+1) bytes, from 8K to 1M, such as 75%, 50%, 37.5%".to_owned(),
        })
    }

    /// Memory of an encoder for blocks of up to `block_size` bytes, without a spare buffer.
    pub(crate) fn encoder_memory(&self, block_size: usize) -> usize {
        let dict_size = self.dict_size.resolve(block_size).unwrap_or(DictSize::MAX);
        let kept = if self.is_max() { LzmaSearch::kept_memory(block_size.min(LARGEST)) } else { 0 };
        Settings::new(self, dict_size).memory(block_size) + kept
    }

    /// Memory of a decoder for blocks of up to `block_size` bytes and for metadata blocks, in addition to [`DECODER_MEMORY`].
    pub(crate) fn decoder_dict(&self, block_size: usize) -> usize {
        let dict_size = self.dict_size.resolve(block_size).unwrap_or(DictSize::MAX);
        METADATA_BLOCK_SIZE.max(dict_size as usize)
    }
}
