//! Finds the contexts that suit a block by coding its symbols again with each.

use super::coder::{Coder, Symbol};
use super::encoder::LzmaSearch;
use super::model::Contexts;
use super::range::RangeEncoder;

/// The symbols of a block, kept for coding them again.
pub(super) struct KeptSymbols {
    symbols: Vec<Symbol>,
    coder: Coder,
}

impl KeptSymbols {
    /// For blocks of up to `size` bytes. The memory is allocated at once and does not grow.
    pub(super) fn new(size: usize) -> KeptSymbols {
        KeptSymbols { symbols: Vec::with_capacity(size), coder: Coder::new(Contexts::USUAL) }
    }

    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        size * size_of::<Symbol>() + Coder::MEMORY
    }

    pub(super) fn clear(&mut self) {
        self.symbols.clear();
    }

    /// Adds the symbols of a window, the last one first.
    pub(super) fn add(&mut self, window: &[Symbol]) {
        self.symbols.extend(window.iter().rev());
    }

    /// Returns the bytes that the symbols take with some contexts, as one chunk.
    fn size(&mut self, text: &[u8], contexts: Contexts) -> usize {
        let KeptSymbols { symbols, coder } = self;
        coder.contexts = contexts;
        coder.reset();
        let mut range = RangeEncoder::new(&mut [], 0);
        let mut at = 0;
        for symbol in symbols {
            coder.encode(&mut range, text, at, *symbol);
            at += symbol.length();
        }
        range.at()
    }
}

impl LzmaSearch {
    /// Returns the contexts with which the kept symbols of the last block take the fewest bytes, if fewer than with its own contexts. The
    /// literal bits are chosen first, then the position bits.
    ///
    /// This takes as long as coding the block 20 times.
    pub(crate) fn cheaper_contexts(&mut self) -> Option<Contexts> {
        let LzmaSearch { kept, coder, text, .. } = self;
        let kept = kept.as_mut()?;
        let mut best = coder.contexts;
        let mut least = kept.size(text, best);
        for others in [Contexts::other_literals, Contexts::other_positions] {
            for contexts in others(best) {
                let size = kept.size(text, contexts);
                if size < least {
                    least = size;
                    best = contexts;
                }
            }
        }
        Some(best).filter(|best| *best != coder.contexts)
    }
}
