//! Codes the symbols of a block again: with other contexts, to find those that suit the block, or only the first ones.

use super::coder::{Coder, Symbol};
use super::encoder::LzmaSearch;
use super::model::Contexts;
use super::range::RangeEncoder;
use crate::fit::Fitted;

/// The symbols of a block, kept for coding them again.
pub(super) struct KeptSymbols {
    symbols: Vec<Symbol>,
    coder: Coder,
    /// Number of symbols of the start that [`LzmaSearch::encode_start`] encodes, and their bytes.
    cut: (usize, usize),
}

impl KeptSymbols {
    /// For blocks of up to `size` bytes. The memory is allocated at once and does not grow.
    pub(super) fn new(size: usize) -> KeptSymbols {
        KeptSymbols { symbols: Vec::with_capacity(size), coder: Coder::new(Contexts::USUAL), cut: (0, 0) }
    }

    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        size * size_of::<Symbol>() + Coder::MEMORY
    }

    pub(super) fn clear(&mut self) {
        self.symbols.clear();
        self.cut = (0, 0);
    }

    /// Adds the symbols of a window, the last one first.
    pub(super) fn add(&mut self, window: &[Symbol]) {
        self.symbols.extend(window.iter().rev());
    }

    /// Cuts before the last symbol that was coded. The last `left` symbols are not coded yet, and the coded ones end at `position`.
    pub(super) fn cut_before_last(&mut self, left: usize, position: usize) {
        let coded = self.symbols.len() - left;
        if let Some(last) = coded.checked_sub(1).and_then(|last| self.symbols.get(last)) {
            self.cut = (coded - 1, position - last.length());
        }
    }

    /// Codes the first `count` symbols with some contexts.
    fn code(&mut self, text: &[u8], contexts: Contexts, count: usize, range: &mut RangeEncoder) {
        let KeptSymbols { symbols, coder, .. } = self;
        coder.contexts = contexts;
        coder.reset();
        let mut at = 0;
        for symbol in &symbols[..count] {
            coder.encode(range, text, at, *symbol);
            at += symbol.length();
        }
    }

    /// Returns the bytes that the symbols take with some contexts, as one chunk.
    fn size(&mut self, text: &[u8], contexts: Contexts) -> usize {
        let mut range = RangeEncoder::new(&mut [], 0);
        self.code(text, contexts, self.symbols.len(), &mut range);
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

    /// Bytes of the start of the last block that [`LzmaSearch::encode_start`] encodes; 0 if the result passed no mark.
    pub(crate) fn content_of_start(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.cut.1)
    }

    /// Writes the start of the last block that ends at the mark that its result passed last, as [`LzmaSearch::encode_bare`]. `None` if it
    /// does not fit.
    pub(crate) fn encode_start(&mut self, out: &mut [u8]) -> Option<Fitted> {
        let LzmaSearch { kept, coder, text, .. } = self;
        let kept = kept.as_mut()?;
        let limit = out.len();
        let (count, content) = kept.cut;
        let mut range = RangeEncoder::new(out, 0);
        kept.code(text, coder.contexts, count, &mut range);
        Some(Fitted { content, stored: range.finish() }).filter(|fitted| fitted.stored <= limit)
    }
}
