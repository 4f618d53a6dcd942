//! Encodes a block part by part.

use super::PADDING;
use super::coder::{Coder, CoderState, Symbol};
use super::effort::skipped;
use super::model::Contexts;
use super::path::{Path, REACH, Window};
use super::range::{FLUSH, RangeEncoder};
use super::recode::KeptSymbols;
use crate::CodecError;
use crate::fit::Marks;
use crate::search::candidates::{CandidateList, LARGEST_LOG, Search, Searcher};

/// Largest block in bytes.
pub(crate) const LARGEST: usize = 1 << LARGEST_LOG;
/// Bytes whose candidates are found together.
const PART: usize = 16 << 10;

/// Encodes blocks of up to [`LARGEST`] bytes. The result depends only on the block and the parameters.
pub(crate) struct LzmaSearch {
    nice: usize,
    skipped: Option<u32>,
    searcher: Searcher,
    found: CandidateList,
    path: Path,
    pub(super) coder: Coder,
    symbols: Vec<Symbol>,
    /// The symbols of the block so far, if [`LzmaSearch::keep_symbols`] was called.
    pub(super) kept: Option<KeptSymbols>,
    /// The block, followed by [`PADDING`] zeros.
    pub(super) text: Vec<u8>,
    part: (usize, usize),
}

impl LzmaSearch {
    pub(crate) fn new(search: Search, contexts: Contexts, dictionary: u32) -> LzmaSearch {
        LzmaSearch {
            nice: search.nice(),
            skipped: skipped(&search),
            searcher: Searcher::new(search, dictionary as usize),
            found: CandidateList::default(),
            path: Path::new(),
            coder: Coder::new(contexts),
            symbols: Vec::with_capacity(REACH),
            kept: None,
            text: Vec::new(),
            part: (0, 0),
        }
    }

    /// Memory of an encoder for blocks of up to `size` bytes.
    pub(crate) fn memory(search: &Search, size: usize) -> usize {
        let symbols = REACH * size_of::<Symbol>();
        let search = Searcher::memory(search, size) + CandidateList::memory(PART.min(size));
        search + Path::MEMORY + Coder::MEMORY + symbols + size + PADDING
    }

    /// Keeps the symbols of blocks of up to `size` bytes for [`LzmaSearch::cheaper_contexts`] and [`LzmaSearch::encode_start`].
    pub(crate) fn keep_symbols(&mut self, size: usize) {
        self.kept = Some(KeptSymbols::new(size));
    }

    /// Memory in bytes of [`LzmaSearch::keep_symbols`].
    pub(crate) fn kept_memory(size: usize) -> usize {
        KeptSymbols::memory(size)
    }

    /// Sets the contexts of the next blocks. Returns the previous contexts.
    pub(crate) fn set_contexts(&mut self, contexts: Contexts) -> Contexts {
        std::mem::replace(&mut self.coder.contexts, contexts)
    }

    /// Starts a block, which `filter` may change after it has been copied.
    pub(super) fn begin(&mut self, src: &[u8], filter: impl FnOnce(&mut [u8])) -> Result<(), CodecError> {
        self.text.clear();
        self.text.reserve_exact(src.len() + PADDING);
        self.text.extend_from_slice(src);
        filter(&mut self.text);
        self.text.resize(src.len() + PADDING, 0);
        self.coder.reset();
        self.symbols.clear();
        if let Some(kept) = &mut self.kept {
            kept.clear();
        }
        self.part = (0, 0);
        self.searcher.begin(&self.text[..src.len()])
    }

    /// Bytes of the block.
    pub(super) fn size(&self) -> usize {
        self.text.len() - PADDING
    }

    /// Finds the symbols of the next window, which starts at `start`. The last symbol comes first.
    pub(super) fn search(&mut self, start: usize) {
        let size = self.size();
        if start >= self.part.1 {
            self.part = (start, (start + PART).min(size));
            self.searcher.find(&self.text[..size], self.part.0..self.part.1, &mut self.found);
        }
        let LzmaSearch { nice, skipped, found, path, coder, symbols, kept, text, part, .. } = self;
        path.prices.set(&coder.model, coder.contexts);
        let window = Window {
            text,
            start,
            part: *part,
            found: found.matches(),
            model: &coder.model,
            contexts: coder.contexts,
            nice: *nice,
            skipped: *skipped,
        };
        path.find(&window, coder.past, symbols);
        kept.iter_mut().for_each(|kept| kept.add(symbols));
    }

    /// Codes symbols of the window while `goes_on` returns true. Returns the position after them.
    #[inline(always)]
    pub(super) fn encode(
        &mut self,
        range: &mut RangeEncoder,
        mut at: usize,
        goes_on: impl Fn(&RangeEncoder) -> bool,
    ) -> usize {
        let LzmaSearch { coder, symbols, text, .. } = self;
        while goes_on(range)
            && let Some(symbol) = symbols.pop()
        {
            coder.encode(range, text, at, symbol);
            at += symbol.length();
        }
        at
    }

    /// Whether all symbols of the window are coded.
    pub(super) fn is_done(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Resets the model and the state.
    pub(super) fn reset(&mut self) {
        self.coder.reset();
    }

    /// Writes the block as LZMA with an end mark to `out` from `at` on. Returns the index after it, or `None` if it does not fit.
    pub(crate) fn encode_marked(&mut self, src: &[u8], out: &mut [u8], at: usize) -> Result<Option<usize>, CodecError> {
        self.begin(src, |_| {})?;
        let limit = out.len();
        let mut range = RangeEncoder::new(out, at);
        if !self.encode_symbols(&mut range, Marks::NONE, limit) {
            return Ok(None);
        }
        self.coder.encode_end(&mut range, src.len());
        Ok(Some(range.finish()).filter(|end| *end <= limit))
    }

    /// Writes the block as LZMA without an end mark to `out`. Returns its size, or `None` if it does not fit. If symbols are kept, the last
    /// mark that the size passes is the next cut.
    pub(crate) fn encode_bare(
        &mut self,
        src: &[u8],
        marks: Marks,
        out: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
        self.begin(src, |_| {})?;
        let limit = out.len();
        let mut range = RangeEncoder::new(out, 0);
        if !self.encode_symbols(&mut range, marks, limit) {
            return Ok(None);
        }
        Ok(Some(range.finish()).filter(|end| *end <= limit))
    }

    /// Finds and codes all symbols of the block. Returns false if they end after `limit` bytes of the output.
    fn encode_symbols(&mut self, range: &mut RangeEncoder, mut marks: Marks, limit: usize) -> bool {
        let mut position = 0;
        while position < self.size() {
            if self.is_done() {
                self.search(position);
            }
            position = self.encode(range, position, |range| range.at() + FLUSH <= marks.next);
            let size = range.at() + FLUSH;
            if size > marks.next {
                marks.pass(size);
                if let Some(kept) = &mut self.kept {
                    kept.cut_before_last(self.symbols.len(), position);
                }
            }
            if range.at() > limit {
                return false;
            }
        }
        true
    }
}

const _: () = assert!(size_of::<CoderState>() <= 20);
