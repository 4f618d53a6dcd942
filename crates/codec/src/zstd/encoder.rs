//! The zstd encoder: our own or the library's, by level and block size. `level=max` uses both.

use super::ZstdParams;
use super::context::{Context, LibraryParams, MIN_SIZE_LOG, bound, context_size, size_log};
use super::sequences::SequenceCoder;
use crate::CodecError;
use crate::search::zstd::{Effort, Optimal};
use crate::traits::{Compressor, keep_smallest};

/// An encoder for blocks of up to `block_size` bytes. `checksum` says whether frames end with a checksum of their content.
pub(crate) fn encoder(
    params: &ZstdParams,
    block_size: usize,
    checksum: bool,
) -> Result<Box<dyn Compressor>, CodecError> {
    let effort = Effort::new(params.level, size_log(block_size));
    let library = || LibraryEncoder::new(library_level(params, effort.is_some()), block_size, checksum);
    let Some(effort) = effort else { return Ok(Box::new(library()?)) };
    let own = Optimal::new(effort, block_size, checksum)?;
    if params.level < ZstdParams::MAX {
        return Ok(Box::new(own));
    }
    Ok(Box::new(Smallest { own, library: library()?, spare: vec![0; block_size] }))
}

/// The library's level for `level=max` where our own search is used too. Higher levels take longer, and are hardly smaller.
const BESIDE_OWN: i32 = 19;

fn library_level(params: &ZstdParams, has_own: bool) -> i32 {
    if has_own { BESIDE_OWN } else { params.level.min(ZstdParams::MAX_LEVEL) }
}

/// Keeps the smaller result of both encoders. The library's encoder adapts its prices as it proceeds, which makes some uniform blocks
/// smaller. Other blocks, which our own encoder splits, are left to our own encoder.
struct Smallest {
    own: Optimal,
    library: LibraryEncoder,
    spare: Vec<u8>,
}

impl Compressor for Smallest {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        let best = self.own.try_compress(src, out)?;
        if !self.own.is_uniform() {
            return Ok(best);
        }
        keep_smallest(best, out, &mut self.spare, |dst| self.library.try_compress(src, dst))
    }
}

/// Memory of an encoder for blocks of up to `block_size` bytes.
pub(crate) fn encoder_memory(params: &ZstdParams, block_size: usize) -> usize {
    let own = Effort::new(params.level, size_log(block_size)).map(|effort| Optimal::memory(&effort, block_size));
    let library = LibraryEncoder::memory(library_level(params, own.is_some()), block_size);
    match own {
        Some(own) if params.level < ZstdParams::MAX => own,
        Some(own) => own + library + block_size,
        None => library,
    }
}

pub(super) struct LibraryEncoder {
    context: Context,
    level: i32,
    /// Parameters for blocks of up to 2^([`MIN_SIZE_LOG`] + index) bytes.
    classes: Vec<LibraryParams>,
    /// The context's current parameters.
    current: Option<LibraryParams>,
    /// Whether frames end with a checksum of their content.
    checksum: bool,
}

impl LibraryEncoder {
    /// An encoder for blocks of up to `block_size` bytes.
    pub(super) fn new(level: i32, block_size: usize, checksum: bool) -> Result<Self, CodecError> {
        LibraryEncoder::with(level, classes(block_size, |log| LibraryParams::new(level, log)), checksum)
    }

    fn with(level: i32, classes: Vec<LibraryParams>, checksum: bool) -> Result<Self, CodecError> {
        let context = Context::new(memory_of(&classes))?;
        Ok(LibraryEncoder { context, level, classes, current: None, checksum })
    }

    /// Memory of an encoder in bytes.
    pub(super) fn memory(level: i32, block_size: usize) -> usize {
        memory_of(&classes(block_size, |log| LibraryParams::new(level, log)))
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

impl Compressor for LibraryEncoder {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.prepare(src.len())?;
        self.context.compress(src, out)
    }
}

/// Finds sequences by the library.
pub(super) struct SequenceFinder(LibraryEncoder);

impl SequenceFinder {
    /// A finder for blocks of up to `block_size` bytes.
    pub(super) fn new(level: i32, block_size: usize) -> Result<SequenceFinder, CodecError> {
        LibraryEncoder::with(level, SequenceFinder::classes(level, block_size), false).map(SequenceFinder)
    }

    /// Memory of a finder in bytes. The library also allocates space for a frame.
    pub(super) fn memory(level: i32, block_size: usize) -> usize {
        memory_of(&SequenceFinder::classes(level, block_size)) + bound(block_size)
    }

    fn classes(level: i32, block_size: usize) -> Vec<LibraryParams> {
        classes(block_size, |log| LibraryParams::of_cuts(level, log))
    }

    /// Replaces the sequences of a coder by those of a block.
    pub(super) fn find(&mut self, src: &[u8], coder: &mut SequenceCoder) -> Result<(), CodecError> {
        // The library fails for a last block of a few bytes.
        let last = src.len() % BLOCK;
        let last = if last < SHORTEST_BLOCK { last } else { 0 };
        let rest = &src[..src.len() - last];
        coder.clear();
        if !rest.is_empty() {
            self.0.prepare(src.len())?;
            self.0.context.find_sequences(rest, coder.list())?;
        }
        if last > 0 {
            coder.push_block(&[], last as u32);
        }
        Ok(())
    }
}

/// Largest block of a frame in bytes (RFC 8878, section 3.1.1.2.3).
const BLOCK: usize = 128 << 10;
/// Smallest block in bytes that the library searches.
const SHORTEST_BLOCK: usize = 16;

/// The parameters of all size classes of blocks of up to `block_size` bytes.
fn classes(block_size: usize, params: impl Fn(u32) -> LibraryParams) -> Vec<LibraryParams> {
    (MIN_SIZE_LOG..=size_log(block_size)).map(params).collect()
}

fn memory_of(classes: &[LibraryParams]) -> usize {
    classes.iter().map(context_size).max().unwrap_or(0)
}
