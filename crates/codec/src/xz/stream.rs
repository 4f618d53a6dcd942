//! One liblzma stream, reused for all blocks to keep its memory.

use std::mem::MaybeUninit;

use liblzma_sys as sys;

use super::Bcj;
use super::tables::Tables;
use crate::CodecError;

/// The container around the compressed data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// .xz, with a CRC-32 of the content, the only check that Linux supports.
    Xz(Option<Bcj>),
    /// Legacy .lzma.
    Alone,
}

/// Initialises a raw coder.
type Start = unsafe extern "C" fn(*mut sys::lzma_stream, *const sys::lzma_filter) -> sys::lzma_ret;

/// LZMA1 with an optional end mark (lzma/lzma12.h, `LZMA_FILTER_LZMA1EXT`), which the crate does not declare.
const LZMA1EXT: sys::lzma_vli = 0x4000_0000_0000_0002;

pub(crate) enum CodeResult {
    Ended {
        /// Bytes consumed of the source.
        read: usize,
        /// Bytes written to the destination.
        written: usize,
    },
    Full,
    /// The source ended before the stream did.
    Short {
        /// Bytes written to the destination.
        written: usize,
    },
    /// The library rejected the data.
    Rejected(sys::lzma_ret),
}

pub(crate) struct Stream {
    inner: sys::lzma_stream,
    codec: &'static str,
    /// Dropped after the stream has ended.
    _tables: Tables,
}

// SAFETY: the stream and all it points to is owned by this value alone; liblzma keeps no thread-local state.
unsafe impl Send for Stream {}

impl Stream {
    /// A stream that has not allocated memory yet.
    pub(crate) fn new(codec: &'static str) -> Self {
        // SAFETY: all fields are integers and raw pointers, and zero is the library's own `LZMA_STREAM_INIT`.
        let mut inner = unsafe { MaybeUninit::<sys::lzma_stream>::zeroed().assume_init() };
        let tables = Tables::new();
        inner.allocator = tables.allocator();
        Stream { inner, codec, _tables: tables }
    }

    pub(crate) fn codec(&self) -> &'static str {
        self.codec
    }

    /// Compresses `src` as one stream.
    pub(crate) fn encode(
        &mut self,
        format: Format,
        options: &sys::lzma_options_lzma,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<CodeResult, CodecError> {
        // SAFETY: the stream is initialised; options and filters live during the calls, which copy them.
        let code = unsafe {
            match format {
                Format::Xz(bcj) => {
                    let filters = chain(bcj, options);
                    sys::lzma_stream_encoder(&mut self.inner, filters.as_ptr(), sys::lzma_check_LZMA_CHECK_CRC32)
                }
                Format::Alone => sys::lzma_alone_encoder(&mut self.inner, options),
            }
        };
        self.started(code, "lzma_stream_encoder")?;
        Ok(self.code(src, dst))
    }

    /// Compresses `src` to raw LZMA, without a header and without an end mark.
    pub(crate) fn encode_bare(
        &mut self,
        options: &sys::lzma_options_lzma,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<CodeResult, CodecError> {
        self.run_bare(sys::lzma_raw_encoder, "lzma_raw_encoder", options, src, dst)
    }

    /// Decompresses `src`, raw LZMA whose length is in `options`.
    pub(crate) fn decode_bare(
        &mut self,
        options: &sys::lzma_options_lzma,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<CodeResult, CodecError> {
        self.run_bare(sys::lzma_raw_decoder, "lzma_raw_decoder", options, src, dst)
    }

    fn run_bare(
        &mut self,
        start: Start,
        function: &'static str,
        options: &sys::lzma_options_lzma,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<CodeResult, CodecError> {
        let filters = bare(options);
        // SAFETY: `start` initialises a coder, and the stream is initialised. Options and filters live during the call, which copies them
        // and their reference.
        let code = unsafe { start(&mut self.inner, filters.as_ptr()) };
        self.started(code, function)?;
        Ok(self.code(src, dst))
    }

    /// Compresses the start of `src` that fits into `dst` to MicroLZMA. `dst` has at least 6 bytes.
    pub(crate) fn encode_micro(
        &mut self,
        options: &sys::lzma_options_lzma,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<CodeResult, CodecError> {
        // SAFETY: the stream is initialised; the options live during the call, which copies them.
        let code = unsafe { sys::lzma_microlzma_encoder(&mut self.inner, options) };
        self.started(code, "lzma_microlzma_encoder")?;
        Ok(self.code(src, dst))
    }

    /// Decompresses `src`, MicroLZMA whose content fills `dst`, or at least fills `dst` unless it is `whole`.
    pub(crate) fn decode_micro(
        &mut self,
        dict_size: u32,
        whole: bool,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<CodeResult, CodecError> {
        let size = src.len() as u64;
        let content = dst.len() as u64;
        // SAFETY: the stream is initialised.
        let code = unsafe { sys::lzma_microlzma_decoder(&mut self.inner, size, content, u8::from(whole), dict_size) };
        self.started(code, "lzma_microlzma_decoder")?;
        Ok(self.code(src, dst))
    }

    /// Decompresses the stream at the start of `src`, using at most `memory` bytes.
    pub(crate) fn decode(
        &mut self,
        format: Format,
        memory: u64,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<CodeResult, CodecError> {
        // SAFETY: the stream is initialised.
        let code = unsafe {
            match format {
                Format::Xz(_) => sys::lzma_stream_decoder(&mut self.inner, memory, 0),
                Format::Alone => sys::lzma_alone_decoder(&mut self.inner, memory),
            }
        };
        self.started(code, "lzma_stream_decoder")?;
        Ok(self.code(src, dst))
    }

    /// The memory in bytes that the last rejected stream needs.
    pub(crate) fn needed_memory(&self) -> u64 {
        // SAFETY: the stream is initialised.
        unsafe { sys::lzma_memusage(&self.inner) }
    }

    fn started(&self, code: sys::lzma_ret, function: &'static str) -> Result<(), CodecError> {
        match code {
            sys::lzma_ret_LZMA_OK => Ok(()),
            sys::lzma_ret_LZMA_MEM_ERROR => Err(CodecError::OutOfMemory { codec: self.codec }),
            code => Err(CodecError::Library { codec: self.codec, function, code: i64::from(code) }),
        }
    }

    /// Runs the coder until it ends, fails, or exhausts the source or the destination.
    fn code(&mut self, src: &[u8], dst: &mut [u8]) -> CodeResult {
        self.inner.next_in = src.as_ptr();
        self.inner.avail_in = src.len();
        self.inner.next_out = dst.as_mut_ptr();
        self.inner.avail_out = dst.len();
        let code = loop {
            // SAFETY: a coder was set up; input and output are valid for the lengths given and do not overlap.
            let code = unsafe { sys::lzma_code(&mut self.inner, sys::lzma_action_LZMA_FINISH) };
            if code != sys::lzma_ret_LZMA_OK || self.inner.avail_out == 0 {
                break code;
            }
        };
        let read = src.len() - self.inner.avail_in;
        let written = dst.len() - self.inner.avail_out;
        match code {
            sys::lzma_ret_LZMA_STREAM_END => CodeResult::Ended { read, written },
            sys::lzma_ret_LZMA_OK | sys::lzma_ret_LZMA_BUF_ERROR if written == dst.len() => CodeResult::Full,
            sys::lzma_ret_LZMA_BUF_ERROR => CodeResult::Short { written },
            code => CodeResult::Rejected(code),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is initialised and ended once.
        unsafe { sys::lzma_end(&mut self.inner) }
    }
}

/// The filters of an .xz block: a branch filter if there is one, LZMA2, the end mark.
fn chain(bcj: Option<Bcj>, options: &sys::lzma_options_lzma) -> [sys::lzma_filter; 3] {
    let filter = |id, options| sys::lzma_filter { id, options };
    let lzma2 = filter(sys::LZMA_FILTER_LZMA2, std::ptr::from_ref(options).cast_mut().cast());
    let end = filter(sys::LZMA_VLI_UNKNOWN, std::ptr::null_mut());
    match bcj {
        Some(bcj) => [filter(bcj.id().into(), std::ptr::null_mut()), lzma2, end],
        None => [lzma2, end, filter(sys::LZMA_VLI_UNKNOWN, std::ptr::null_mut())],
    }
}

/// The filters of raw LZMA.
pub(super) fn bare(options: &sys::lzma_options_lzma) -> [sys::lzma_filter; 2] {
    let options = std::ptr::from_ref(options).cast_mut().cast();
    let end = sys::lzma_filter { id: sys::LZMA_VLI_UNKNOWN, options: std::ptr::null_mut() };
    [sys::lzma_filter { id: LZMA1EXT, options }, end]
}

/// Memory in bytes of an encoder with these options, by the library's own estimate.
pub(crate) fn encoder_usage(options: &sys::lzma_options_lzma) -> usize {
    let filters = chain(Some(Bcj::X86), options);
    // SAFETY: the filters and options live during the call.
    let usage = unsafe { sys::lzma_raw_encoder_memusage(filters.as_ptr()) };
    usize::try_from(usage).unwrap_or(usize::MAX)
}
