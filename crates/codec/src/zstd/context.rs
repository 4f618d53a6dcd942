//! The zstd encoder: one context in our own memory, reused for all blocks.

use std::os::raw::c_int;
use std::ptr::NonNull;

use zstd_sys as sys;
use zstd_sys::ZSTD_cParameter as Parameter;

use super::table::{self, Search};
use super::{NAME, ZstdParams};
use crate::CodecError;
use crate::bounded::Compressor;

/// Smallest size class, binary logarithm: the library's smallest window (zstd.h, `ZSTD_WINDOWLOG_MIN`).
const MIN_SIZE_LOG: u32 = 10;

pub(crate) struct ZstdEncoder {
    context: Context,
    level: i32,
    /// Parameters for blocks of up to 2^([`MIN_SIZE_LOG`] + index) bytes.
    classes: Vec<Search>,
    /// The context's current parameters.
    current: Option<Search>,
    /// Whether frames end with a checksum of their content.
    checksum: bool,
}

impl ZstdEncoder {
    /// An encoder for blocks of up to `block_size` bytes.
    pub(crate) fn new(params: &ZstdParams, block_size: usize) -> Result<Self, CodecError> {
        let classes = classes(params.level, block_size);
        let context = Context::new(classes.iter().map(context_size).max().unwrap_or(0))?;
        Ok(ZstdEncoder { context, level: params.level, classes, current: None, checksum: false })
    }

    /// Adds a checksum to each frame.
    pub(crate) fn with_checksum(mut self) -> Self {
        self.checksum = true;
        self
    }

    fn prepare(&mut self, size: usize) -> Result<(), CodecError> {
        let class = (size_log(size) - MIN_SIZE_LOG) as usize;
        let search = self.classes.get(class).copied();
        if self.current != search {
            search.map_or(Ok(()), |search| self.context.configure(self.level, &search, self.checksum))?;
            self.current = search;
        }
        Ok(())
    }
}

impl Compressor for ZstdEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.prepare(src.len())?;
        self.context.compress(src, out)
    }
}

/// Upper bound of the size of a frame.
pub(crate) fn bound(size: usize) -> usize {
    // SAFETY: no precondition.
    unsafe { sys::ZSTD_compressBound(size) }
}

/// Memory of an encoder for blocks of up to `block_size` bytes.
pub(crate) fn encoder_memory(params: &ZstdParams, block_size: usize) -> usize {
    classes(params.level, block_size).iter().map(context_size).max().unwrap_or(0)
}

/// The size class of a block: the library chooses the same parameters for all blocks of a class.
fn size_log(size: usize) -> u32 {
    size.next_power_of_two().ilog2().max(MIN_SIZE_LOG)
}

fn classes(level: i32, block_size: usize) -> Vec<Search> {
    let logs = MIN_SIZE_LOG..=size_log(block_size);
    logs.map(|log| table::own(level, log).unwrap_or_else(|| library(level, log))).collect()
}

/// The library's parameters for a level.
fn library(level: i32, size_log: u32) -> Search {
    // The library splits only blocks of 128 KiB and more. At levels above the default smaller ones are split too: that saves a percent for
    // a tenth more work.
    let split_from = if level > ZstdParams::DEFAULT_LEVEL { 13 } else { 17 };
    // SAFETY: any level and size may be passed; those out of range are clamped.
    let params = unsafe { sys::ZSTD_getCParams(level, 1 << size_log, 0) };
    Search {
        window_log: params.windowLog,
        chain_log: params.chainLog,
        hash_log: params.hashLog,
        search_log: params.searchLog,
        min_match: params.minMatch,
        target_length: params.targetLength,
        strategy: params.strategy,
        split: params.strategy as u32 >= sys::ZSTD_strategy::ZSTD_btopt as u32 && params.windowLog >= split_from,
    }
}

fn raw(search: &Search) -> sys::ZSTD_compressionParameters {
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
fn context_size(search: &Search) -> usize {
    // SAFETY: no precondition.
    let size = unsafe { sys::ZSTD_estimateCCtxSize_usingCParams(raw(search)) };
    if is_error(size) { 0 } else { size }
}

/// A context of the library in our own memory, so that its size is known in advance.
struct Context {
    raw: NonNull<sys::ZSTD_CCtx>,
    _memory: Vec<u64>, // words, because the library requires alignment to 8 bytes
}

// SAFETY: the context is memory owned by this value alone, whose heap address does not change when the value moves; the library keeps no
// thread-local state.
unsafe impl Send for Context {}

impl Context {
    fn new(size: usize) -> Result<Self, CodecError> {
        let mut memory = vec![0u64; size.div_ceil(size_of::<u64>())];
        // SAFETY: the memory is valid for the size given, and aligned to 8 bytes.
        let raw = unsafe { sys::ZSTD_initStaticCCtx(memory.as_mut_ptr().cast(), size_of_val(&*memory)) };
        let failed = CodecError::Library { codec: NAME, function: "ZSTD_initStaticCCtx", code: 0 };
        Ok(Context { raw: NonNull::new(raw).ok_or(failed)?, _memory: memory })
    }

    fn configure(&mut self, level: i32, search: &Search, checksum: bool) -> Result<(), CodecError> {
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

    fn set(&mut self, parameter: Parameter, value: c_int) -> Result<(), CodecError> {
        // SAFETY: the context is valid.
        let code = unsafe { sys::ZSTD_CCtx_setParameter(self.raw.as_ptr(), parameter, value) };
        check("ZSTD_CCtx_setParameter", code)
    }

    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<Option<usize>, CodecError> {
        // SAFETY: the context is valid; both pointers are valid for the lengths given and do not overlap.
        let size = unsafe {
            let (out, capacity) = (dst.as_mut_ptr().cast(), dst.len());
            sys::ZSTD_compress2(self.raw.as_ptr(), out, capacity, src.as_ptr().cast(), src.len())
        };
        if is_error(size) && is_full(size) {
            return Ok(None);
        }
        check("ZSTD_compress2", size)?;
        Ok(Some(size))
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
