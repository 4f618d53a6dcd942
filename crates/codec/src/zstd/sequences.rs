//! Codes sequences by libzstd.

use zstd_sys as sys;
use zstd_sys::{ZSTD_cParameter as Parameter, ZSTD_strategy as Strategy};

use super::context::{Context, LibraryParams, MIN_SIZE_LOG, bound, context_size, size_log};
use crate::CodecError;
use crate::search::zstd::{SHORTEST, Sequence};

pub(crate) struct SequenceCoder {
    context: Context,
    /// The binary logarithm of the window for which the context is set.
    window_log: Option<u32>,
    sequences: Vec<sys::ZSTD_Sequence>,
    /// The frame, with space for the largest one. With less space the library returns a wrong error code.
    frame: Vec<u8>,
    checksum: bool,
}

impl SequenceCoder {
    pub(crate) fn new(block_size: usize, checksum: bool) -> Result<SequenceCoder, CodecError> {
        let context = Context::new(memory_of_context(block_size))?;
        Ok(SequenceCoder { context, window_log: None, sequences: Vec::new(), frame: Vec::new(), checksum })
    }

    /// Memory for blocks of up to `block_size` bytes.
    pub(crate) fn memory(block_size: usize) -> usize {
        let sequences = block_size / SHORTEST * size_of::<sys::ZSTD_Sequence>();
        memory_of_context(block_size) + sequences + bound(block_size)
    }

    pub(crate) fn clear(&mut self) {
        self.sequences.clear();
    }

    /// Adds a block: sequences, and the literals after them.
    pub(crate) fn push_block(&mut self, sequences: &[Sequence], literals: u32) {
        let raw = |sequence: &Sequence| sys::ZSTD_Sequence {
            offset: sequence.distance,
            litLength: sequence.literals,
            matchLength: sequence.length,
            rep: 0,
        };
        self.sequences.extend(sequences.iter().map(raw));
        // A sequence without a match ends a block (zstd.h, `ZSTD_sf_explicitBlockDelimiters`).
        self.sequences.push(sys::ZSTD_Sequence { offset: 0, litLength: literals, matchLength: 0, rep: 0 });
    }

    /// Codes the blocks of `src` as a frame.
    pub(crate) fn compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let window_log = size_log(src.len());
        if self.window_log != Some(window_log) {
            self.configure(window_log)?;
            self.window_log = Some(window_log);
        }
        self.frame.resize(bound(src.len()).max(self.frame.len()), 0);
        let size = self.context.compress_sequences(&self.sequences, src, &mut self.frame)?;
        let frame = &self.frame[..size];
        Ok(out.get_mut(..size).map(|out| {
            out.copy_from_slice(frame);
            size
        }))
    }

    fn configure(&mut self, window_log: u32) -> Result<(), CodecError> {
        self.context.configure(1, &search(window_log), self.checksum)?;
        // The library does not copy buffers that stay in place to its context.
        self.context.set(Parameter::ZSTD_c_experimentalParam9, 1)?; // ZSTD_c_stableInBuffer
        self.context.set(Parameter::ZSTD_c_experimentalParam10, 1)?; // ZSTD_c_stableOutBuffer
        self.context.set(Parameter::ZSTD_c_experimentalParam11, 1)?; // ZSTD_c_blockDelimiters: explicit
        self.context.set(Parameter::ZSTD_c_experimentalParam12, 1)?; // ZSTD_c_validateSequences
        self.context.set(Parameter::ZSTD_c_experimentalParam19, 1) // ZSTD_c_searchForExternalRepcodes
    }
}

fn memory_of_context(block_size: usize) -> usize {
    (MIN_SIZE_LOG..=size_log(block_size)).map(|log| context_size(&search(log))).max().unwrap_or(0)
}

/// Parameters that search nothing. The strategy determines how carefully tables are chosen.
fn search(window_log: u32) -> LibraryParams {
    let chain_log = 6;
    let hash_log = 6;
    let search_log = 1;
    let min_match = SHORTEST as u32;
    let target_length = 16;
    let strategy = Strategy::ZSTD_btultra;
    LibraryParams { window_log, chain_log, hash_log, search_log, min_match, target_length, strategy, split: false }
}
