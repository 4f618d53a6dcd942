//! Cuts frames: keeps the sequences of a start of the content and codes them again.
//!
//! The size of a start is only known after it was coded. The sizes of two starts say where the next one should end, on a scale of estimated
//! costs on which sizes grow nearly evenly. Two or three starts are coded for most inputs.

use zstd_sys::ZSTD_Sequence as RawSequence;

use super::ZstdParams;
use super::context::size_log;
use super::encoder::SequenceFinder;
use super::sequences::{SequenceCoder, Start};
use crate::CodecError;
use crate::fit::{Cut, Cutter, Fitted, SLACK};
use crate::search::log::{BIT, log2};
use crate::search::zstd::{Effort, Optimal};
use crate::traits::Compressor;

/// Largest number of starts that are coded.
const MOST_TRIALS: u32 = 10;
/// After this number of trials the search halves the range, and [`LATE_SLACK`] is good enough.
const EVEN_TRIALS: u32 = 4;
const LATE_SLACK: usize = 512;
/// Bits of a match without its distance, and bits of a repeated distance.
const MATCH: u32 = 8;
const REPEATED: u32 = 3;

pub(crate) struct ZstdCutter(Finder);

/// Finds and codes the sequences of an input.
enum Finder {
    Own(Box<Optimal>),
    Library(SequenceFinder, SequenceCoder),
}

impl ZstdCutter {
    /// A cutter for inputs of up to `largest` bytes.
    pub(crate) fn new(params: &ZstdParams, largest: usize) -> Result<ZstdCutter, CodecError> {
        Ok(ZstdCutter(match Effort::new(params.level, size_log(largest)) {
            Some(effort) => Finder::Own(Box::new(Optimal::new(effort, largest, false)?)),
            None => {
                let coder = SequenceCoder::of_level(params.level, largest)?;
                Finder::Library(SequenceFinder::new(params.level, largest)?, coder)
            }
        }))
    }

    /// Memory of a cutter in bytes.
    pub(crate) fn memory(params: &ZstdParams, largest: usize) -> usize {
        match Effort::new(params.level, size_log(largest)) {
            Some(effort) => Optimal::memory(&effort, largest),
            None => SequenceFinder::memory(params.level, largest) + SequenceCoder::memory(largest),
        }
    }

    fn coder(&mut self) -> &mut SequenceCoder {
        match &mut self.0 {
            Finder::Own(optimal) => optimal.coder(),
            Finder::Library(_, coder) => coder,
        }
    }
}

impl Compressor for ZstdCutter {
    fn try_compress(&mut self, src: &[u8], out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        match &mut self.0 {
            Finder::Own(optimal) => optimal.try_compress(src, out),
            Finder::Library(finder, coder) => {
                finder.find(src, coder)?;
                coder.compress(src, out)
            }
        }
    }
}

impl Cutter for ZstdCutter {
    fn cut(&mut self, src: &[u8], cut: &Cut, out: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        let coder = self.coder();
        let costs = Costs::of(coder.sequences(), src);
        let mut range = Range::new(&costs, coder.sequences(), src.len(), cut);
        let mut coded = 0;
        while let Some(start) = range.next(&costs, coder.sequences()) {
            coded = start.content;
            range.add(start, coder.compress_start(src, &start)?);
        }
        let best = range.low.filter(|trial| trial.start.content > cut.least);
        let Some(Trial { start, size: stored }) = best else { return Ok(None) };
        if coded != start.content {
            coder.compress_start(src, &start)?;
        }
        out[..stored].copy_from_slice(&coder.frame()[..stored]);
        Ok(Some(Fitted { content: start.content, stored }))
    }
}

/// A start that was coded.
#[derive(Debug, Clone, Copy)]
struct Trial {
    start: Start,
    size: usize,
}

/// The range in which the longest start that fits ends.
struct Range {
    /// The longest start that fits, as far as known.
    low: Option<Trial>,
    /// The shortest start that does not fit.
    high: Trial,
    /// Largest size of a result in bytes.
    most: usize,
    trials: u32,
}

impl Range {
    fn new(costs: &Costs, sequences: &[RawSequence], content: usize, cut: &Cut) -> Range {
        let whole = Start { content, ..costs.start(sequences, u64::MAX) };
        Range { low: None, high: Trial { start: whole, size: cut.whole }, most: cut.most, trials: 0 }
    }

    fn add(&mut self, start: Start, size: usize) {
        self.trials += 1;
        if size <= self.most {
            self.low = Some(Trial { start, size });
        } else {
            self.high = Trial { start, size };
        }
    }

    /// The next start to try. `None` if the best one is good enough, or if the search ends.
    fn next(&self, costs: &Costs, sequences: &[RawSequence]) -> Option<Start> {
        let (low, size) = self.low.map_or((Start::default(), 0), |low| (low.start, low.size));
        let high = self.high.start;
        let slack = if self.trials < EVEN_TRIALS { SLACK } else { LATE_SLACK };
        if self.most - size <= slack || self.trials == MOST_TRIALS {
            return None;
        }
        let middle = low.cost + (high.cost - low.cost) / 2;
        let aim = self.most.saturating_sub(SLACK / 2 + size) as u128;
        let share = u128::from(high.cost - low.cost) * aim / (self.high.size - size) as u128;
        let goals = if self.trials < EVEN_TRIALS { [low.cost + share as u64, middle] } else { [middle; 2] };
        let is_new = |start: &Start| low.content < start.content && start.content < high.content;
        goals.into_iter().map(|goal| costs.start(sequences, goal)).find(is_new)
    }
}

/// Estimated costs in [`BIT`]s.
struct Costs {
    /// Average cost of a literal, at least 1.
    literal: u64,
}

impl Costs {
    /// Estimates by the frequencies of the literals.
    fn of(sequences: &[RawSequence], src: &[u8]) -> Costs {
        let mut counts = [0u32; 256];
        let mut rest = src;
        for sequence in sequences {
            let (literals, after) = rest.split_at(sequence.litLength as usize);
            literals.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            rest = &after[sequence.matchLength as usize..];
        }
        let total: u32 = counts.iter().sum();
        let bits: u64 = counts.iter().map(|&count| u64::from(count) * u64::from(log2(total) - log2(count))).sum();
        Costs { literal: (bits / u64::from(total.max(1))).max(1) }
    }

    /// The longest start that costs at most `goal` and does not end in a match.
    fn start(&self, sequences: &[RawSequence], goal: u64) -> Start {
        let mut start = Start::default();
        let mut last = 0;
        for sequence in sequences {
            let literals = u64::from(sequence.litLength);
            let cost = start.cost + literals * self.literal + u64::from(match_cost(sequence, last));
            if cost > goal {
                let literals = ((goal - start.cost) / self.literal).min(literals);
                start.literals = literals as u32;
                start.content += literals as usize;
                start.cost += literals * self.literal;
                return start;
            }
            start.sequences += 1;
            start.content += (sequence.litLength + sequence.matchLength) as usize;
            start.cost = cost;
            last = sequence.offset;
        }
        start
    }
}

/// The cost of a match; 0 for literals without a match. `last` is the distance of the match before.
fn match_cost(sequence: &RawSequence, last: u32) -> u32 {
    match sequence.offset {
        0 => 0,
        distance if distance == last => (MATCH + REPEATED) * BIT,
        distance => MATCH * BIT + log2(distance),
    }
}
