//! Cuts blocks: keeps the sequences of a start of the content, and stores the bytes after them as literals until the space is full.

use super::writer::{LAST_LITERALS, LAST_START, SHORT_MATCH, SHORT_RUN, SHORTEST_MATCH, STEP, Writer, more_bytes};
use super::{Lz4Params, NAME, encoder};
use crate::CodecError;
use crate::fit::{Cut, Cutter, Fitted};
use crate::traits::Compressor;

/// Bytes of a distance.
const DISTANCE: usize = 2;

pub(crate) struct Lz4Cutter(Box<dyn Compressor>);

impl Lz4Cutter {
    pub(crate) fn new(params: &Lz4Params) -> Lz4Cutter {
        Lz4Cutter(encoder(params))
    }
}

impl Compressor for Lz4Cutter {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.0.try_compress(src, out)
    }
}

impl Cutter for Lz4Cutter {
    fn cut(&mut self, src: &[u8], cut: &Cut, out: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        let end = longest(&out[..cut.whole], src.len(), cut.most);
        let Some(end) = end.filter(|end| end.content() > cut.least) else { return Ok(None) };
        let size = end.write(src, &mut out[end.at..cut.most]);
        let stored = end.at + size.ok_or(CodecError::Library { codec: NAME, function: "cut", code: 0 })?;
        Ok(Some(Fitted { content: end.content(), stored }))
    }
}

/// A match, after a number of literals.
#[derive(Debug, Clone, Copy)]
struct Match {
    literals: usize,
    length: usize,
    distance: usize,
}

/// Where a block is cut.
#[derive(Debug, Clone, Copy)]
struct End {
    /// Index of the first byte that is replaced.
    at: usize,
    /// Bytes of content before it.
    before: usize,
    /// The next match, shortened.
    shortened: Option<Match>,
    /// Number of the last literals.
    literals: usize,
}

impl End {
    /// The end that replaces all from a sequence on by as many literals as fit. `place` has its index and the content before it.
    fn with_literals((at, before): (usize, usize), size: usize, most: usize) -> End {
        End { at, before, shortened: None, literals: literals_in(most - at).min(size - before) }
    }

    fn content(&self) -> usize {
        self.before + self.shortened.map_or(0, |one| one.literals + one.length) + self.literals
    }

    /// Writes the new end of a block. Returns its size.
    fn write(&self, src: &[u8], out: &mut [u8]) -> Option<usize> {
        let mut writer = Writer::new(out);
        let mut rest = &src[self.before..self.content()];
        if let Some(Match { literals, length, distance }) = self.shortened {
            let (run, after) = rest.split_at(literals);
            writer.sequence(run, length, distance)?;
            rest = &after[length..];
        }
        writer.finish(rest)
    }
}

/// The cut with the most content whose result has at most `most` bytes. `size` is the content of the block.
fn longest(block: &[u8], size: usize, most: usize) -> Option<End> {
    // The start of the last sequence from which on the rest may be literals.
    let mut best = None;
    let mut at = 0;
    let mut before = 0;
    // The first literals follow no match.
    let mut last_length = usize::MAX;
    while at < most {
        if may_end(literals_if_few(most - at, size - before), last_length) {
            best = Some((at, before));
        }
        let Some((next, end)) = sequence(block, at) else { break };
        if end + 1 + LAST_LITERALS > most {
            let shortened = shorten(next, most - at, size - before).map(|(one, literals)| End {
                at,
                before,
                shortened: Some(one),
                literals,
            });
            let best = best.map(|place| End::with_literals(place, size, most));
            let longer = shortened.filter(|end| best.is_none_or(|best| best.content() < end.content()));
            return longer.or(best);
        }
        at = end;
        before += next.literals + next.length;
        last_length = next.length;
    }
    best.map(|place| End::with_literals(place, size, most))
}

/// Whether a block may end with a number of literals after a match of some length.
fn may_end(literals: usize, last_length: usize) -> bool {
    literals >= LAST_LITERALS && literals.saturating_add(last_length) >= LAST_START
}

/// The number of literals that fit, if it is small; otherwise some number that is enough for the end of a block. Most sequences are far
/// from the end.
#[inline(always)]
fn literals_if_few(capacity: usize, content: usize) -> usize {
    if capacity > SHORT_RUN && content >= LAST_START { LAST_START } else { literals_in(capacity).min(content) }
}

/// The sequence at an index, and the index after it. `None` for the last literals.
fn sequence(block: &[u8], at: usize) -> Option<(Match, usize)> {
    let token = *block.get(at)?;
    let (literals, at) = length(block, at + 1, token >> 4)?;
    let at = at + literals;
    let &[low, high] = block.get(at..)?.first_chunk::<DISTANCE>()?;
    let (more, end) = length(block, at + DISTANCE, token & 15)?;
    let distance = usize::from(u16::from_le_bytes([low, high]));
    Some((Match { literals, length: more + SHORTEST_MATCH, distance }, end))
}

/// A length whose first part is in the token, and the index after it.
fn length(block: &[u8], mut at: usize, first: u8) -> Option<(usize, usize)> {
    let mut length = usize::from(first);
    let mut is_open = length > SHORT_RUN;
    while is_open {
        let more = usize::from(*block.get(at)?);
        length += more;
        at += 1;
        is_open = more == STEP;
    }
    Some((length, at))
}

/// Most literals that fit into `space` bytes, at least 1, with their token and their number.
fn literals_in(capacity: usize) -> usize {
    let rest = capacity - 1;
    match rest.checked_sub(SHORT_RUN + 2) {
        None => rest.min(SHORT_RUN),
        Some(more) => SHORT_RUN + 1 + more / (STEP + 1) * STEP + (more % (STEP + 1)).min(STEP - 1),
    }
}

/// Shortens the match of a sequence so that the sequence and the last literals fit into `space` bytes. Returns the match, and the number of
/// the last literals. `rest` is the content from the sequence on.
fn shorten(next: Match, capacity: usize, rest: usize) -> Option<(Match, usize)> {
    let taken = 1 + more_bytes(next.literals) + next.literals + DISTANCE;
    let capacity = capacity.checked_sub(taken)?;
    let of_length = capacity.checked_sub(1 + LAST_LITERALS)?;
    let length = next.length.min(SHORT_MATCH + STEP * of_length);
    let left = capacity - more_bytes(length - SHORTEST_MATCH);
    let literals = literals_in(left).min(rest - next.literals - length);
    let is_valid = literals >= LAST_LITERALS && length + literals >= LAST_START;
    is_valid.then_some((Match { length, ..next }, literals))
}
