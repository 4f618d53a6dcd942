//! Codes sequences by libzstd.

use zstd_sys as sys;
use zstd_sys::{ZSTD_cParameter as Parameter, ZSTD_strategy as Strategy};

use super::context::{Context, LibraryParams, MIN_SIZE_LOG, bound, context_size, size_log};
use crate::CodecError;
use crate::search::zstd::{SHORTEST, Sequence};

pub(crate) struct SequenceCoder {
    context: Context,
    style: Style,
    /// The binary logarithm of the window for which the context is set.
    window_log: Option<u32>,
    sequences: Vec<sys::ZSTD_Sequence>,
    /// The frame, with space for the largest one. With less space the library returns a wrong error code.
    frame: Vec<u8>,
    checksum: bool,
}

/// How carefully sequences are coded.
#[derive(Debug, Clone, Copy)]
struct Style {
    level: i32,
    strategy: Strategy,
    target_length: u32,
}

impl Style {
    const CAREFUL: Style = Style { level: 1, strategy: Strategy::ZSTD_btultra, target_length: 16 };

    /// The style of a level's frames that are cut, of up to `size` bytes.
    fn of_level(level: i32, size: usize) -> Style {
        let LibraryParams { strategy, target_length, .. } = LibraryParams::of_cuts(level, size_log(size));
        let strategy = match strategy {
            Strategy::ZSTD_fast | Strategy::ZSTD_dfast => strategy,
            // The others differ only in their search.
            _ => Strategy::ZSTD_btlazy2,
        };
        Style { level, strategy, target_length }
    }

    /// Parameters that search nothing. The strategy determines how carefully tables are chosen.
    fn params(self, window_log: u32) -> LibraryParams {
        let chain_log = 6;
        let hash_log = 6;
        let search_log = 1;
        let min_match = SHORTEST as u32;
        let Style { strategy, target_length, .. } = self;
        LibraryParams { window_log, chain_log, hash_log, search_log, min_match, target_length, strategy, split: false }
    }

    fn memory_of_context(self, block_size: usize) -> usize {
        (MIN_SIZE_LOG..=size_log(block_size)).map(|log| context_size(&self.params(log))).max().unwrap_or(0)
    }
}

/// A start of a frame's content: sequences, and a part of the literals after them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Start {
    /// Number of sequences.
    pub(super) sequences: usize,
    pub(super) literals: u32,
    /// Bytes of content.
    pub(super) content: usize,
    /// Estimated cost.
    pub(super) cost: u64,
}

impl SequenceCoder {
    /// A coder that codes carefully.
    pub(crate) fn new(block_size: usize, checksum: bool) -> Result<SequenceCoder, CodecError> {
        SequenceCoder::with_style(Style::CAREFUL, block_size, checksum)
    }

    /// A coder of the sequences of a level of the library.
    pub(super) fn of_level(level: i32, block_size: usize) -> Result<SequenceCoder, CodecError> {
        SequenceCoder::with_style(Style::of_level(level, block_size), block_size, false)
    }

    fn with_style(style: Style, block_size: usize, checksum: bool) -> Result<SequenceCoder, CodecError> {
        let context = Context::new(style.memory_of_context(block_size))?;
        Ok(SequenceCoder { context, style, window_log: None, sequences: Vec::new(), frame: Vec::new(), checksum })
    }

    /// Memory for blocks of up to `block_size` bytes.
    pub(crate) fn memory(block_size: usize) -> usize {
        let sequences = block_size / SHORTEST * size_of::<sys::ZSTD_Sequence>();
        Style::CAREFUL.memory_of_context(block_size) + sequences + bound(block_size)
    }

    /// The sequences of all blocks.
    pub(super) fn sequences(&self) -> &[sys::ZSTD_Sequence] {
        &self.sequences
    }

    pub(super) fn list(&mut self) -> &mut Vec<sys::ZSTD_Sequence> {
        &mut self.sequences
    }

    /// The frame that was coded last, and bytes after it.
    pub(super) fn frame(&self) -> &[u8] {
        &self.frame
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
        self.sequences.push(end_of_block(literals));
    }

    /// Codes the blocks of `src` as a frame.
    pub(crate) fn compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let size = self.code(src, self.sequences.len())?;
        let frame = &self.frame[..size];
        Ok(out.get_mut(..size).map(|out| {
            out.copy_from_slice(frame);
            size
        }))
    }

    /// Codes a start of the content, which is shorter than `src`, as a frame. Returns its size.
    pub(super) fn compress_start(&mut self, src: &[u8], start: &Start) -> Result<usize, CodecError> {
        let content = &src[..start.content];
        let is_end = |last: &sys::ZSTD_Sequence| last.matchLength == 0;
        if start.literals == 0 && self.sequences[..start.sequences].last().is_some_and(is_end) {
            return self.code(content, start.sequences);
        }
        let next = std::mem::replace(&mut self.sequences[start.sequences], end_of_block(start.literals));
        let size = self.code(content, start.sequences + 1);
        self.sequences[start.sequences] = next;
        size
    }

    /// Codes the first `count` sequences as a frame. Returns its size.
    fn code(&mut self, src: &[u8], count: usize) -> Result<usize, CodecError> {
        let window_log = size_log(src.len());
        if self.window_log != Some(window_log) {
            self.configure(window_log)?;
            self.window_log = Some(window_log);
        }
        self.frame.resize(bound(src.len()).max(self.frame.len()), 0);
        self.context.compress_sequences(&self.sequences[..count], src, &mut self.frame)
    }

    fn configure(&mut self, window_log: u32) -> Result<(), CodecError> {
        self.context.configure(self.style.level, &self.style.params(window_log), self.checksum)?;
        // The library does not copy buffers that stay in place to its context.
        self.context.set(Parameter::ZSTD_c_experimentalParam9, 1)?; // ZSTD_c_stableInBuffer
        self.context.set(Parameter::ZSTD_c_experimentalParam10, 1)?; // ZSTD_c_stableOutBuffer
        self.context.set(Parameter::ZSTD_c_experimentalParam11, 1)?; // ZSTD_c_blockDelimiters: explicit
        self.context.set(Parameter::ZSTD_c_experimentalParam12, 1)?; // ZSTD_c_validateSequences
        self.context.set(Parameter::ZSTD_c_experimentalParam19, 1) // ZSTD_c_searchForExternalRepcodes
    }
}

/// A sequence without a match ends a block (zstd.h, `ZSTD_sf_explicitBlockDelimiters`).
fn end_of_block(literals: u32) -> sys::ZSTD_Sequence {
    sys::ZSTD_Sequence { offset: 0, litLength: literals, matchLength: 0, rep: 0 }
}
