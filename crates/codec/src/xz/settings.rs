//! Encoder settings of each level.

use liblzma_sys as sys;

use super::{LzmaModel, encoder_usage};
use crate::search::lzma::{Contexts, LARGEST, LzmaSearch, search_of};

/// The filter's flag that accepts an end mark (lzma/lzma12.h, `LZMA_LZMA1EXT_ALLOW_EOPM`).
const MAY_HAVE_END_MARK: u32 = 1;
/// Smallest dictionary of the encoder, bytes (lzma/lzma12.h, `LZMA_DICT_SIZE_MIN`).
pub(crate) const MIN_DICT: usize = 4096;

/// Memory missing from liblzma's own estimate, bytes: the encoder's probabilities and the state of the stream.
const STATE: usize = 64 * 1024;

/// Encoder settings of a [`LzmaModel`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    level: u32,
    extreme: bool,
    lc: u32,
    lp: u32,
    pb: u32,
    /// Upper bound in bytes of a block's dictionary.
    dict_limit: u32,
}

/// Match finder settings, with the library's names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub(crate) mode: sys::lzma_mode,
    pub(crate) mf: sys::lzma_match_finder,
    pub(crate) nice_len: u32,
    pub(crate) depth: u32,
}

impl Settings {
    /// Settings for blocks with dictionaries up to `dict_limit` bytes.
    pub(crate) fn new(model: &LzmaModel, dict_limit: u32) -> Self {
        let level = model.level.min(LzmaModel::MAX_LEVEL);
        let extreme = model.extreme || model.is_max();
        Settings { level, extreme, lc: model.lc, lp: model.lp, pb: model.pb, dict_limit }
    }

    /// The library's options for a block of `size` bytes. The dictionary is not larger than the block can use, because clearing large
    /// tables takes longer than compressing a short tail end.
    pub(crate) fn options(&self, size: usize) -> sys::lzma_options_lzma {
        let search = if self.extreme { extreme(self.level) } else { plain(self.level, useful(size)) };
        options(self.dictionary(size), [self.lc, self.lp, self.pb], search)
    }

    /// The dictionary size in bytes for a block of `size` bytes.
    pub(crate) fn dictionary(&self, size: usize) -> u32 {
        useful(size).min(self.dict_limit as usize) as u32
    }

    /// Our own encoder with these settings of a model, for blocks of up to `block_size` and [`LARGEST`] bytes. `None` if the library is
    /// faster.
    pub(crate) fn search(&self, model: &LzmaModel, block_size: usize) -> Option<LzmaSearch> {
        let mut search = LzmaSearch::new(search_of(self.level, self.extreme)?, self.contexts(), self.dict_limit);
        if model.is_max() {
            search.keep_symbols(block_size.min(LARGEST));
        }
        Some(search)
    }

    pub(crate) fn contexts(&self) -> Contexts {
        Contexts { lc: self.lc, lp: self.lp, pb: self.pb }
    }

    /// The same settings with other contexts.
    pub(crate) fn with(self, Contexts { lc, lp, pb }: Contexts) -> Settings {
        Settings { lc, lp, pb, ..self }
    }

    /// Memory of the library's encoder in bytes.
    pub(crate) fn library_memory(&self) -> usize {
        STATE + encoder_usage(&self.options(self.dict_limit as usize))
    }

    /// Memory of an encoder for blocks of up to `block_size` bytes, bytes, without a spare buffer. It includes our own encoder, and the
    /// library's encoder if that is used.
    pub(crate) fn memory(&self, block_size: usize) -> usize {
        let own = search_of(self.level, self.extreme);
        let is_enough = own.is_some() && block_size <= LARGEST;
        let library = if is_enough { 0 } else { self.library_memory() };
        library + own.map_or(0, |search| LzmaSearch::memory(&search, block_size.min(LARGEST)))
    }
}

/// The largest dictionary that a block of `size` bytes can use.
fn useful(size: usize) -> usize {
    size.max(MIN_DICT).next_power_of_two()
}

/// The library's options for decoding `size` bytes of content, or up to an end mark if `size` is all ones; an end mark is accepted.
pub(crate) fn decoder_options(dict_size: u32, contexts: [u32; 3], size: u64) -> sys::lzma_options_lzma {
    let search =
        Search { mode: sys::lzma_mode_LZMA_MODE_FAST, mf: sys::lzma_match_finder_LZMA_MF_HC3, nice_len: 32, depth: 1 };
    let mut options = options(dict_size.max(MIN_DICT as u32), contexts, search);
    options.ext_flags = MAY_HAVE_END_MARK;
    options.ext_size_low = size as u32;
    options.ext_size_high = (size >> 32) as u32;
    options
}

/// The library's options from a dictionary size in bytes, `[lc, lp, pb]` and a search.
pub(crate) fn options(dict_size: u32, contexts: [u32; 3], search: Search) -> sys::lzma_options_lzma {
    let [lc, lp, pb] = contexts;
    sys::lzma_options_lzma {
        dict_size,
        preset_dict: std::ptr::null(),
        preset_dict_size: 0,
        lc,
        lp,
        pb,
        mode: search.mode,
        nice_len: search.nice_len,
        mf: search.mf,
        depth: search.depth,
        ext_flags: 0,
        ext_size_low: 0,
        ext_size_high: 0,
        reserved_int4: 0,
        reserved_int5: 0,
        reserved_int6: 0,
        reserved_int7: 0,
        reserved_int8: 0,
        reserved_enum1: 0,
        reserved_enum2: 0,
        reserved_enum3: 0,
        reserved_enum4: 0,
        reserved_ptr1: std::ptr::null_mut(),
        reserved_ptr2: std::ptr::null_mut(),
    }
}

/// The library's presets (lzma/lzma_encoder_presets.c of 5.8) except level 6, the default.
fn plain(level: u32, size: usize) -> Search {
    let fast = |mf, nice_len, depth| Search { mode: sys::lzma_mode_LZMA_MODE_FAST, mf, nice_len, depth };
    let normal = |mf, nice_len| Search { mode: sys::lzma_mode_LZMA_MODE_NORMAL, mf, nice_len, depth: 0 };
    match level {
        0 => fast(sys::lzma_match_finder_LZMA_MF_HC3, 128, 4),
        1 => fast(sys::lzma_match_finder_LZMA_MF_HC4, 128, 8),
        2 => fast(sys::lzma_match_finder_LZMA_MF_HC4, 273, 24),
        3 => fast(sys::lzma_match_finder_LZMA_MF_HC4, 273, 48),
        4 => normal(sys::lzma_match_finder_LZMA_MF_BT4, 16),
        5 => normal(sys::lzma_match_finder_LZMA_MF_BT4, 32),
        6 => usual(size),
        _ => normal(sys::lzma_match_finder_LZMA_MF_BT4, 64),
    }
}

/// Level 6, tuned on blocks of a Debian root. For blocks of up to 256 KiB the result is not larger than with the library's preset (bt4,
/// 64), which is tuned for complete files, and takes a tenth to two fifths less work. Clearing the preset's 4-byte hash is also slow for a
/// small block.
fn usual(size: usize) -> Search {
    let (mf, nice_len) = match size {
        0..=0x4000 => (sys::lzma_match_finder_LZMA_MF_BT3, 48),
        0x4001..=0x4_0000 => (sys::lzma_match_finder_LZMA_MF_BT3, 56),
        _ => (sys::lzma_match_finder_LZMA_MF_BT4, 64),
    };
    Search { mode: sys::lzma_mode_LZMA_MODE_NORMAL, mf, nice_len, depth: 0 }
}

/// The search of a level with the library's `LZMA_PRESET_EXTREME`.
fn extreme(level: u32) -> Search {
    let (nice_len, depth) = if level == 3 || level == 5 { (192, 0) } else { (273, 512) };
    let mf = sys::lzma_match_finder_LZMA_MF_BT4;
    Search { mode: sys::lzma_mode_LZMA_MODE_NORMAL, mf, nice_len, depth }
}
