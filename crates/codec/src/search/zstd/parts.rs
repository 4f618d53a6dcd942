//! Splits a chunk into blocks: neighbours are merged as long as they get cheaper.

use super::codes::{Repeats, Sequence};
use super::statistics::Statistics;

/// A part of a chunk that becomes a block.
pub(super) struct Part {
    /// End of the part's sequences, and of its bytes, in the chunk.
    pub(super) sequences: usize,
    pub(super) end: usize,
    pub(super) statistics: Statistics,
    cost: u64,
    /// How much merging the part with the next one saves.
    gain: i64,
}

/// Splits the chunk `src` into parts of at least `size` bytes.
pub(super) fn split(src: &[u8], sequences: &[Sequence], mut repeats: Repeats, size: usize, parts: &mut Vec<Part>) {
    parts.clear();
    let mut first = 0;
    let mut start = 0;
    loop {
        let mut part = next(src, sequences, first, start, size);
        part.statistics = Statistics::new(&src[start..part.end], &sequences[first..part.sequences], &mut repeats);
        part.cost = part.statistics.cost();
        first = part.sequences;
        start = part.end;
        parts.push(part);
        if first == sequences.len() {
            break;
        }
    }
    merge(parts);
}

/// Returns the cost of coding the parts.
pub(super) fn cost(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.cost + part.statistics.bits()).sum()
}

/// The extent of the next part: sequences until the part has `size` bytes. The last part extends to the end.
fn next(src: &[u8], sequences: &[Sequence], first: usize, start: usize, size: usize) -> Part {
    let mut end = start;
    let mut count = first;
    while count < sequences.len() && end - start < size {
        end += (sequences[count].literals + sequences[count].length) as usize;
        count += 1;
    }
    let end = if count == sequences.len() { src.len() } else { end };
    Part { sequences: count, end, statistics: Statistics::none(), cost: 0, gain: i64::MIN }
}

/// Merges neighbours, the best first, while that saves something.
fn merge(parts: &mut Vec<Part>) {
    for index in 0..parts.len() {
        set_gain(parts, index);
    }
    while let Some(index) = best(parts) {
        let Part { sequences, end, statistics, .. } = parts.remove(index + 1);
        let part = &mut parts[index];
        part.statistics.add(&statistics);
        part.sequences = sequences;
        part.end = end;
        part.cost = part.statistics.cost();
        set_gain(parts, index);
        if index > 0 {
            set_gain(parts, index - 1);
        }
    }
}

/// The part whose merging with the next one saves most; the first of equal ones.
fn best(parts: &[Part]) -> Option<usize> {
    let gaining = parts.iter().enumerate().filter(|(_, part)| part.gain > 0);
    gaining.max_by_key(|&(index, part)| (part.gain, std::cmp::Reverse(index))).map(|(index, _)| index)
}

fn set_gain(parts: &mut [Part], index: usize) {
    let gain = parts.get(index + 1).map_or(i64::MIN, |next| {
        let part = &parts[index];
        let mut both = part.statistics.clone();
        both.add(&next.statistics);
        (part.cost + next.cost) as i64 - both.cost() as i64
    });
    parts[index].gain = gain;
}
