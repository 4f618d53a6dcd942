//! gzip as containers name it: DEFLATE (RFC 1951) in a zlib wrapper (RFC 1950).

mod bare;
mod cut;
#[allow(unsafe_code)] // calls a C library
mod inflate;
#[allow(unsafe_code)] // calls a C library
mod libdeflate;
mod optimal;
mod trial;
#[allow(unsafe_code)] // calls a C library
mod zlib;

use crate::CodecError;
use crate::parameters::{Choice, ListWriter, Set, find, items};

pub(crate) use bare::{BareDeflater, BareInflater};
pub(crate) use cut::DeflateCutter;
pub(crate) use libdeflate::{Deflater, Inflater, gzip_bound};
pub(crate) use trial::{Trial, encoder_memory};

pub(crate) const NAME: &str = "gzip";
/// The name of blocks without a zlib wrapper.
pub(crate) const DEFLATE: &str = "deflate";

/// Memory of a decoder in bytes.
pub(crate) const DECODER_MEMORY: usize = 16 * 1024;

pub(crate) const HELP: &str = "\
gzip: DEFLATE in a zlib wrapper; every reader accepts all of these
  level=1..12        effort (default 9); 10 to 12 are slow and about 2 % smaller; max is 12
  window=8..15       window of 2^N bytes (default 15); 8 means 9; all except 15 use zlib, up to level 9
  engine=auto        our own for level 12, libdeflate for the others, zlib for other windows and strategies
                     (default)
  engine=libdeflate  only libdeflate: window 15, strategy default
  engine=zlib        only zlib, as other packers: levels up to 9, about four times slower
strategies: each named one is tried on each block and the smallest result is kept (default: default)
  default            data of all kinds
  filtered           fewer short matches, for numbers that vary little
  huffman            no matches; also huffman_only
  rle                matches at distance 1 only; also run_length_encoded
  fixed              the format's fixed codes
also accepted: compression-level=, window-size=, strategy=
";

const LEVELS: &str = "a whole number from 1 to 12, or max";

const KNOWN: &str = "level, window, engine, default, filtered, huffman, rle, fixed";

/// How DEFLATE searches for matches (zlib manual, `deflateInit2`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// All kinds of data.
    Default,
    /// Fewer short matches, for filtered data.
    Filtered,
    Huffman,
    /// Matches at distance 1 only.
    Rle,
    /// The fixed Huffman codes of the format.
    Fixed,
}

impl Choice for Strategy {
    const ALL: &'static [Self] =
        &[Strategy::Default, Strategy::Filtered, Strategy::Huffman, Strategy::Rle, Strategy::Fixed];

    fn name(self) -> &'static str {
        match self {
            Strategy::Default => "default",
            Strategy::Filtered => "filtered",
            Strategy::Huffman => "huffman",
            Strategy::Rle => "rle",
            Strategy::Fixed => "fixed",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GzipEngine {
    /// Our own encoder at level 12, libdeflate at other levels, and zlib for parameters that these do not support.
    #[default]
    Auto,
    /// Only libdeflate: window 15 and the default strategy.
    Libdeflate,
    /// Only zlib: levels up to 9.
    Zlib,
}

impl Choice for GzipEngine {
    const ALL: &'static [Self] = &[GzipEngine::Auto, GzipEngine::Libdeflate, GzipEngine::Zlib];

    fn name(self) -> &'static str {
        match self {
            GzipEngine::Auto => "auto",
            GzipEngine::Libdeflate => "libdeflate",
            GzipEngine::Zlib => "zlib",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GzipParams {
    /// Effort, 1 to 12; zlib supports up to 9. Default 9.
    pub level: u32,
    /// Binary logarithm of the window in bytes, 8 to 15. Default 15. zlib uses 9 for 8.
    pub window: u32,
    /// Strategies to try on each block; the smallest result is kept. If empty, only the default strategy is tried.
    pub strategies: Set<Strategy>,
    pub engine: GzipEngine,
}

impl GzipParams {
    pub const DEFAULT_LEVEL: u32 = 9;
    /// Default window, binary logarithm.
    pub const DEFAULT_WINDOW: u32 = 15;
    /// Largest level of zlib, and of other packers.
    pub const MAX_ZLIB_LEVEL: u32 = 9;
    pub const MAX_LEVEL: u32 = 12;

    pub(crate) fn parse(list: &str) -> Result<Self, CodecError> {
        let mut params = GzipParams::default();
        for item in items(NAME, list) {
            match item.key {
                "level" | "compression-level" if item.text(LEVELS)? == "max" => params.level = Self::MAX_LEVEL,
                "level" | "compression-level" => params.level = item.number_of(1..=Self::MAX_LEVEL, LEVELS)?,
                "window" | "window-size" => params.window = item.number(8..=15)?,
                "engine" => params.engine = item.choice()?,
                "strategy" => params.strategies.insert(strategy(item.text("a strategy")?, &item)?),
                name => {
                    let strategy = strategy(name, &item)?;
                    item.flag()?;
                    params.strategies.insert(strategy);
                }
            }
        }
        params.check()?;
        Ok(params)
    }

    pub(crate) fn print(&self) -> String {
        let mut printed = ListWriter::default();
        printed.value("level", self.level, Self::DEFAULT_LEVEL);
        printed.value("window", self.window, Self::DEFAULT_WINDOW);
        printed.value("engine", self.engine.name(), GzipEngine::Auto.name());
        self.strategies.iter().for_each(|strategy| printed.flag(strategy.name(), true));
        printed.list()
    }

    /// Checks ranges, and that a library supports the combination.
    pub(crate) fn check(&self) -> Result<(), CodecError> {
        self.check_ranges()?;
        if self.level > Self::MAX_ZLIB_LEVEL && self.needs_zlib() {
            return Err(self.conflict("level", self.level, "9 or less: this needs zlib, which has no higher levels"));
        }
        if self.engine == GzipEngine::Libdeflate && self.needs_zlib() {
            let expected = "window 15 and strategy default: libdeflate supports nothing else";
            return Err(self.conflict("engine", "libdeflate", expected));
        }
        Ok(())
    }

    fn check_ranges(&self) -> Result<(), CodecError> {
        if !(1..=Self::MAX_LEVEL).contains(&self.level) {
            return Err(self.conflict("level", self.level, "1 to 12"));
        }
        if !(8..=15).contains(&self.window) {
            return Err(self.conflict("window", self.window, "8 to 15"));
        }
        Ok(())
    }

    /// Whether only zlib supports a parameter.
    fn needs_zlib(&self) -> bool {
        let other = self.strategies.iter().any(|strategy| strategy != Strategy::Default);
        other || self.window != Self::DEFAULT_WINDOW || self.engine == GzipEngine::Zlib
    }

    /// Whether our own encoder is used.
    pub(crate) fn uses_optimal(&self) -> bool {
        self.level == Self::MAX_LEVEL && self.engine == GzipEngine::Auto
    }

    /// Whether libdeflate is used for the default strategy.
    pub(crate) fn uses_libdeflate(&self) -> bool {
        let wanted = self.strategies.is_empty() || self.strategies.contains(Strategy::Default);
        wanted && self.window == Self::DEFAULT_WINDOW && self.engine != GzipEngine::Zlib && !self.uses_optimal()
    }

    /// The strategies that zlib is used for.
    pub(crate) fn zlib_strategies(&self) -> Vec<Strategy> {
        let libdeflate = self.uses_libdeflate() || self.uses_optimal();
        let mut wanted = self.strategies;
        if wanted.is_empty() {
            wanted.insert(Strategy::Default);
        }
        wanted.iter().filter(|strategy| !(libdeflate && *strategy == Strategy::Default)).collect()
    }

    fn conflict(&self, key: &str, value: impl std::fmt::Display, expected: &str) -> CodecError {
        let found = format!("{key}={value} in '{}'", self.print());
        CodecError::Conflict { codec: NAME, found, expected: expected.to_owned() }
    }
}

impl Default for GzipParams {
    fn default() -> Self {
        GzipParams {
            level: Self::DEFAULT_LEVEL,
            window: Self::DEFAULT_WINDOW,
            strategies: Set::EMPTY,
            engine: GzipEngine::Auto,
        }
    }
}

/// Finds the strategy of a name. Names of squashfs-tools and squashfs-tools-ng are accepted.
fn strategy(name: &str, item: &crate::parameters::Item<'_>) -> Result<Strategy, CodecError> {
    match name {
        "huffman_only" => Ok(Strategy::Huffman),
        "run_length_encoded" => Ok(Strategy::Rle),
        _ => find(name).ok_or_else(|| item.unknown(KNOWN)),
    }
}
