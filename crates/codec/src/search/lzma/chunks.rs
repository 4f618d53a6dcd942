//! LZMA2: LZMA in chunks (xz `doc/xz-file-format.txt`, section 5.3.1; the format itself follows xz's decoder).
//!
//! A chunk has a control byte, its sizes, and coded data or plain bytes. The model continues from chunk to chunk, except after plain bytes.

use super::encoder::LzmaSearch;
use super::range::{FLUSH, RangeEncoder};
use crate::CodecError;

/// Maximum size of a chunk's data in bytes.
const MAX_CHUNK: usize = 1 << 16;
/// Upper bound of the bytes that one symbol takes.
const SYMBOL: usize = 64;
/// Size from which on a chunk ends after a window.
const FULL: usize = 61 << 10;
/// Bytes of the control byte, two sizes and the contexts.
const HEADER: usize = 6;
const PLAIN_HEADER: usize = 3;

/// The state that a chunk resets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reset {
    Nothing,
    Model,
    /// The model. The chunk also stores its contexts.
    Contexts,
    /// The model, its contexts and the dictionary.
    All,
}

/// The chunks of a block.
struct Chunks {
    reset: Reset,
    /// Index in the output of the current chunk.
    at: usize,
    /// The first position of the current chunk.
    start: usize,
}

impl LzmaSearch {
    /// Writes the block, changed by a filter, as LZMA2 to `out` from `at` on. Returns the index after it, or `None` if it does not fit.
    pub(crate) fn encode_chunks(
        &mut self,
        src: &[u8],
        filter: impl FnOnce(&mut [u8]),
        out: &mut [u8],
        at: usize,
    ) -> Result<Option<usize>, CodecError> {
        self.begin(src, filter)?;
        Ok(self.encode_all(src, out, at))
    }

    fn encode_all(&mut self, src: &[u8], out: &mut [u8], at: usize) -> Option<usize> {
        let mut chunks = Chunks { reset: Reset::All, at, start: 0 };
        while chunks.start < src.len() {
            self.encode_chunk(&mut chunks, out)?;
        }
        *out.get_mut(chunks.at)? = 0;
        Some(chunks.at + 1)
    }

    /// Encodes the next chunk. `None` if it does not fit.
    fn encode_chunk(&mut self, chunks: &mut Chunks, out: &mut [u8]) -> Option<()> {
        let first = chunks.at + HEADER - usize::from(!chunks.reset.has_contexts());
        let mut range = RangeEncoder::new(out, first);
        let mut position = chunks.start;
        let full = first + FULL;
        while position < self.size() && range.at() < full {
            if self.is_done() {
                self.search(position);
            }
            let most = first + MAX_CHUNK - SYMBOL;
            position = self.encode(&mut range, position, |range| range.at() < most);
        }
        let end = range.at() + FLUSH;
        let size = position - chunks.start;
        // Plain bytes are used only between windows, because symbols depend on earlier symbols, and plain bytes reset them.
        if end - chunks.at >= size + PLAIN_HEADER && size <= MAX_CHUNK && self.is_done() {
            return self.store(chunks, out, size);
        }
        range.finish();
        if end > out.len() {
            return None;
        }
        chunks.reset.put(out.get_mut(chunks.at..first)?, size, end - first, self.coder.contexts.byte());
        *chunks = Chunks { reset: Reset::Nothing, at: end, start: position };
        Some(())
    }

    /// Stores the chunk as plain bytes.
    fn store(&mut self, chunks: &mut Chunks, out: &mut [u8], size: usize) -> Option<()> {
        let end = chunks.at + PLAIN_HEADER + size;
        let there = out.get_mut(chunks.at..end)?;
        let [high, low] = (size as u16).wrapping_sub(1).to_be_bytes();
        let control = if chunks.reset == Reset::All { 1 } else { 2 };
        there[..PLAIN_HEADER].copy_from_slice(&[control, high, low]);
        let stop = chunks.start + size;
        there[PLAIN_HEADER..].copy_from_slice(&self.text[chunks.start..stop]);
        self.reset();
        let reset = if chunks.reset.has_contexts() { Reset::Contexts } else { Reset::Model };
        *chunks = Chunks { reset, at: end, start: stop };
        Some(())
    }
}

impl Reset {
    fn has_contexts(self) -> bool {
        matches!(self, Reset::Contexts | Reset::All)
    }

    /// Writes the header of coded data.
    fn put(self, header: &mut [u8], plain: usize, coded: usize, contexts: u8) {
        let kind = match self {
            Reset::Nothing => 0x80,
            Reset::Model => 0xa0,
            Reset::Contexts => 0xc0,
            Reset::All => 0xe0,
        };
        let plain = (plain as u32 - 1).to_be_bytes();
        let [high, low] = (coded as u16).wrapping_sub(1).to_be_bytes();
        let all = [kind | plain[1], plain[2], plain[3], high, low, contexts];
        header.copy_from_slice(&all[..header.len()]);
    }
}
