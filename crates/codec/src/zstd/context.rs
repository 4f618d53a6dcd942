//! A compression context of libzstd in our own memory.

use std::os::raw::c_int;
use std::ptr::NonNull;

use zstd_sys as sys;
use zstd_sys::{ZSTD_cParameter as Parameter, ZSTD_strategy as Strategy};

use super::NAME;
use crate::CodecError;

/// Upper bound of the size of a frame.
pub(crate) fn bound(size: usize) -> usize {
    // SAFETY: no precondition.
    unsafe { sys::ZSTD_compressBound(size) }
}

fn raw(search: &LibraryParams) -> sys::ZSTD_compressionParameters {
    sys::ZSTD_compressionParameters {
        windowLog: search.window_log,
        chainLog: search.chain_log,
        hashLog: search.hash_log,
        searchLog: search.search_log,
        minMatch: search.min_match,
        targetLength: search.target_length,
        strategy: search.strategy,
    }
}

/// Memory of a context for one frame with these parameters.
pub(super) fn context_size(search: &LibraryParams) -> usize {
    // SAFETY: no precondition.
    let size = unsafe { sys::ZSTD_estimateCCtxSize_usingCParams(raw(search)) };
    if is_error(size) { 0 } else { size }
}

/// A context of the library in our own memory, so that its size is known in advance.
pub(super) struct Context {
    raw: NonNull<sys::ZSTD_CCtx>,
    _memory: Vec<u64>, // words, because the library requires alignment to 8 bytes
}

// SAFETY: the context is memory owned by this value alone, whose heap address does not change when the value moves; the library keeps no
// thread-local state.
unsafe impl Send for Context {}

impl Context {
    pub(super) fn new(size: usize) -> Result<Self, CodecError> {
        let mut memory = vec![0u64; size.div_ceil(size_of::<u64>())];
        // SAFETY: the memory is valid for the size given, and aligned to 8 bytes.
        let raw = unsafe { sys::ZSTD_initStaticCCtx(memory.as_mut_ptr().cast(), size_of_val(&*memory)) };
        let failed = CodecError::Library { codec: NAME, function: "ZSTD_initStaticCCtx", code: 0 };
        Ok(Context { raw: NonNull::new(raw).ok_or(failed)?, _memory: memory })
    }

    pub(super) fn configure(&mut self, level: i32, search: &LibraryParams, checksum: bool) -> Result<(), CodecError> {
        let both = sys::ZSTD_ResetDirective::ZSTD_reset_session_and_parameters;
        // SAFETY: the context is valid.
        check("ZSTD_CCtx_reset", unsafe { sys::ZSTD_CCtx_reset(self.raw.as_ptr(), both) })?;
        // The level still determines the meaning of a target length of 0.
        self.set(Parameter::ZSTD_c_compressionLevel, level)?;
        self.set(Parameter::ZSTD_c_contentSizeFlag, 1)?;
        self.set(Parameter::ZSTD_c_checksumFlag, c_int::from(checksum))?;
        self.set(Parameter::ZSTD_c_dictIDFlag, 0)?;
        // SAFETY: the context is valid.
        check("ZSTD_CCtx_setCParams", unsafe { sys::ZSTD_CCtx_setCParams(self.raw.as_ptr(), raw(search)) })?;
        // Set explicitly, because the library's choice may differ between machines.
        self.set(Parameter::ZSTD_c_experimentalParam13, switch(search.split))?; // ZSTD_c_splitAfterSequences
        self.set(Parameter::ZSTD_c_experimentalParam14, switch(search.by_rows())) // ZSTD_c_useRowMatchFinder
    }

    pub(super) fn set(&mut self, parameter: Parameter, value: c_int) -> Result<(), CodecError> {
        // SAFETY: the context is valid.
        let code = unsafe { sys::ZSTD_CCtx_setParameter(self.raw.as_ptr(), parameter, value) };
        check("ZSTD_CCtx_setParameter", code)
    }

    pub(super) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        // SAFETY: the context is valid; both pointers are valid for the lengths given and do not overlap.
        let size = unsafe {
            let out = dst.as_mut_ptr().cast();
            let capacity = dst.len();
            sys::ZSTD_compress2(self.raw.as_ptr(), out, capacity, src.as_ptr().cast(), src.len())
        };
        if is_error(size) && is_full(size) {
            return Ok(None);
        }
        check("ZSTD_compress2", size)?;
        Ok(Some(size))
    }

    /// Finds the sequences of `src`, in blocks that end with a sequence without a match. The context cannot compress afterwards, because the
    /// library goes on collecting sequences.
    pub(super) fn find_sequences(
        &mut self,
        src: &[u8],
        sequences: &mut Vec<sys::ZSTD_Sequence>,
    ) -> Result<(), CodecError> {
        // SAFETY: no precondition.
        let most = unsafe { sys::ZSTD_sequenceBound(src.len()) };
        let none = sys::ZSTD_Sequence { offset: 0, litLength: 0, matchLength: 0, rep: 0 };
        sequences.clear();
        sequences.resize(most, none);
        // SAFETY: the context is valid and is used for nothing else; the pointers are valid for the lengths given and do not overlap.
        let count = unsafe {
            let list = sequences.as_mut_ptr();
            sys::ZSTD_generateSequences(self.raw.as_ptr(), list, most, src.as_ptr().cast(), src.len())
        };
        check("ZSTD_generateSequences", count)?;
        sequences.truncate(count);
        Ok(())
    }

    /// Codes sequences. A sequence without a match ends each block.
    pub(super) fn compress_sequences(
        &mut self,
        sequences: &[sys::ZSTD_Sequence],
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, CodecError> {
        // SAFETY: the context is valid, and set to validate the sequences; the pointers are valid for the lengths given, and `dst` does not
        // overlap the others.
        let size = unsafe {
            let out = dst.as_mut_ptr().cast();
            let capacity = dst.len();
            let list = sequences.as_ptr();
            let count = sequences.len();
            sys::ZSTD_compressSequences(self.raw.as_ptr(), out, capacity, list, count, src.as_ptr().cast(), src.len())
        };
        check("ZSTD_compressSequences", size)?;
        Ok(size)
    }
}

fn switch(on: bool) -> c_int {
    let switch = if on { sys::ZSTD_ParamSwitch_e::ZSTD_ps_enable } else { sys::ZSTD_ParamSwitch_e::ZSTD_ps_disable };
    switch as c_int
}

pub(super) fn is_error(code: usize) -> bool {
    // SAFETY: no precondition.
    unsafe { sys::ZSTD_isError(code) != 0 }
}

fn is_full(code: usize) -> bool {
    // SAFETY: no precondition.
    let code = unsafe { sys::ZSTD_getErrorCode(code) };
    code == sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall
}

pub(super) fn check(function: &'static str, code: usize) -> Result<(), CodecError> {
    if is_error(code) {
        let code = (code as isize) as i64; // the library's errors are small negative numbers
        return Err(CodecError::Library { codec: NAME, function, code });
    }
    Ok(())
}

/// Smallest size class, binary logarithm: the library's smallest window (zstd.h, `ZSTD_WINDOWLOG_MIN`).
pub(super) const MIN_SIZE_LOG: u32 = 10;

/// The size class whose parameters searches of larger blocks have if their results are cut, binary logarithm. See [`LibraryParams::of_cuts`].
const CUTS_LOG: u32 = 18;
/// The highest level of such searches.
const CUTS_LEVEL_MOST: i32 = 3;

/// The library's parameters for a frame (zstd.h, `ZSTD_compressionParameters`), and its derived decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LibraryParams {
    pub(super) window_log: u32,
    pub(super) chain_log: u32,
    pub(super) hash_log: u32,
    pub(super) search_log: u32,
    pub(super) min_match: u32,
    pub(super) target_length: u32,
    pub(super) strategy: Strategy,
    /// Whether a block is split where its statistics change.
    pub(super) split: bool,
}

impl LibraryParams {
    /// The library's parameters for a level and blocks of up to 2^`size_log` bytes.
    pub(super) fn new(level: i32, size_log: u32) -> LibraryParams {
        // SAFETY: any level and size are accepted; the library clamps those out of range.
        let params = unsafe { sys::ZSTD_getCParams(level, 1 << size_log, 0) };
        LibraryParams {
            window_log: params.windowLog,
            chain_log: params.chainLog,
            hash_log: params.hashLog,
            search_log: params.searchLog,
            min_match: params.minMatch,
            target_length: params.targetLength,
            strategy: params.strategy,
            split: params.strategy as u32 >= Strategy::ZSTD_btopt as u32 && params.windowLog >= 17,
        }
    }

    /// The parameters of a search whose result is cut. At low levels, the library's parameters for 256 KiB make blocks of 128 KiB to 1 MiB 1 to 3 %
    /// smaller, in about the same time: they find matches of 4 bytes at level 3, where those of the block's own size class find matches of 5 bytes.
    pub(super) fn of_cuts(level: i32, size_log: u32) -> LibraryParams {
        let usual = LibraryParams::new(level, size_log);
        if level > CUTS_LEVEL_MOST || size_log < CUTS_LOG - 1 {
            return usual;
        }
        LibraryParams { window_log: usual.window_log, ..LibraryParams::new(level, CUTS_LOG) }
    }

    /// Whether the library finds matches by rows of a hash table. The library uses a new salt for the hash in each frame, but this only
    /// permutes rows. The same positions share a row with any salt, so that frames do not depend on earlier ones.
    pub(super) fn by_rows(&self) -> bool {
        let strategy = matches!(self.strategy, Strategy::ZSTD_greedy | Strategy::ZSTD_lazy | Strategy::ZSTD_lazy2);
        strategy && self.window_log > 14
    }
}

/// The size class of a block: the library chooses the same parameters for all blocks of a class.
pub(super) fn size_log(size: usize) -> u32 {
    size.next_power_of_two().ilog2().max(MIN_SIZE_LOG)
}
