//! Encodes a block chunk by chunk.

use super::codes::{Repeats, SHORTEST, Sequence};
use super::effort::Effort;
use super::first;
use super::parts::{Part, cost, split};
use super::path::{Chunk, Path};
use crate::CodecError;
use crate::search::candidates::{CandidateList, Searcher};
use crate::traits::Compressor;
use crate::zstd::sequences::SequenceCoder;

/// Bytes of a chunk: the most that a block of zstd holds (RFC 8878, section 3.1.1.2.3).
const CHUNK: usize = 128 << 10;
/// Maximum number of parts per chunk of a uniform block.
const UNIFORM: usize = 2;

pub(crate) struct Optimal {
    effort: Effort,
    searcher: Searcher,
    found: CandidateList,
    path: Path,
    parts: Vec<Part>,
    sequences: Vec<Sequence>,
    other_parts: Vec<Part>,
    other_sequences: Vec<Sequence>,
    coder: SequenceCoder,
    /// Numbers of parts and of chunks of the last block.
    parts_of_block: usize,
    chunks_of_block: usize,
}

impl Optimal {
    /// An encoder for blocks of up to `block_size` bytes.
    pub(crate) fn new(effort: Effort, block_size: usize, checksum: bool) -> Result<Optimal, CodecError> {
        Ok(Optimal {
            effort,
            searcher: Searcher::new(effort.search, usize::MAX),
            found: CandidateList::default(),
            path: Path::new(),
            parts: Vec::new(),
            sequences: Vec::new(),
            other_parts: Vec::new(),
            other_sequences: Vec::new(),
            coder: SequenceCoder::new(block_size, checksum)?,
            parts_of_block: 0,
            chunks_of_block: 0,
        })
    }

    /// Memory of an encoder in bytes.
    pub(crate) fn memory(effort: &Effort, block_size: usize) -> usize {
        let chunk = block_size.min(CHUNK);
        let parts = (chunk / effort.part + 1) * size_of::<Part>();
        let sequences = chunk / SHORTEST * size_of::<Sequence>();
        let search = Searcher::memory(&effort.search, block_size) + CandidateList::memory(chunk) + Path::memory(chunk);
        search + 2 * (parts + sequences) + SequenceCoder::memory(block_size)
    }

    /// Finds the sequences of a chunk, in `self.sequences` and `self.parts`. Returns the repeats after it.
    fn parse(&mut self, src: &[u8], start: usize, size: usize, repeats: Repeats) -> Repeats {
        let Optimal { effort, searcher, found, path, parts, sequences, other_parts, other_sequences, .. } = self;
        let chunk = &src[start..start + size];
        searcher.find(src, start..start + size, found);
        let found = found.matches();
        first::parse(src, start, size, found, repeats, sequences);
        split(chunk, sequences, repeats, effort.part, parts);
        let mut after = repeats;
        for pass in 0..effort.passes {
            let nice = effort.search.nice();
            let chunk_of = Chunk { src, start, size, found, parts, repeats, nice, covered: effort.covered };
            let repeats_after = path.find(&chunk_of, other_sequences);
            split(chunk, other_sequences, repeats, effort.part, other_parts);
            if pass > 0 && cost(other_parts) >= cost(parts) {
                break;
            }
            std::mem::swap(sequences, other_sequences);
            std::mem::swap(parts, other_parts);
            after = repeats_after;
        }
        after
    }

    /// The coder, which keeps the sequences of the last block.
    pub(crate) fn coder(&mut self) -> &mut SequenceCoder {
        &mut self.coder
    }

    /// Whether the last block was split into few parts: at most [`UNIFORM`] per chunk.
    pub(crate) fn is_uniform(&self) -> bool {
        self.parts_of_block <= UNIFORM * self.chunks_of_block
    }

    /// Passes the blocks of a chunk to the coder.
    fn pass(&mut self) {
        let mut first = 0;
        let mut start = 0;
        for part in &self.parts {
            let sequences = &self.sequences[first..part.sequences];
            let covered: u32 = sequences.iter().map(|sequence| sequence.literals + sequence.length).sum();
            self.coder.push_block(sequences, (part.end - start) as u32 - covered);
            first = part.sequences;
            start = part.end;
        }
    }
}

impl Compressor for Optimal {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.coder.clear();
        self.searcher.begin(src)?;
        self.parts_of_block = 0;
        self.chunks_of_block = 0;
        let mut repeats = Repeats::START;
        for start in (0..src.len()).step_by(CHUNK) {
            let size = CHUNK.min(src.len() - start);
            repeats = self.parse(src, start, size, repeats);
            self.pass();
            self.parts_of_block += self.parts.len();
            self.chunks_of_block += 1;
        }
        self.coder.compress(src, out)
    }
}
