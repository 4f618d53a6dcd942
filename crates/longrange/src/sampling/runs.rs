//! Byte runs and short periods: ranges that repeat the bytes 1 to 64 bytes before.
//!
//! A rolling hash may choose all or no positions of such a range, so they are searched separately: at every [`GRID`]th byte, eight bytes are
//! compared with the eight bytes 1 to [`PERIOD_MOST`] later. This finds every range of more than `GRID + 2 * PERIOD_MOST` bytes.

use crate::matching::compare;
use crate::settings::SEGMENT;

/// The longest period in bytes.
pub(crate) const PERIOD_MOST: usize = 64;

/// Distance of two examined positions.
const GRID: usize = 128;

/// Bytes examined at a position: eight, and eight at each distance up to the longest period.
const LOOK: usize = PERIOD_MOST + 8;

/// The shortest range that becomes a match, in bytes.
const RUN_LEAST: usize = 64;

/// Upper bound of the memory for the runs of a segment: a list that may have grown to twice its length, and the runs as matches.
pub(crate) const MEMORY: u64 = SEGMENT / GRID as u64 * 2 * 2 * size_of::<Run>() as u64;

/// A range that repeats the bytes `period` bytes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Start of the bytes that equal the bytes `period` before them.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// 1 to 64 bytes.
    pub(crate) period: usize,
}

/// The runs in `bytes`, in order and without overlaps, searched from byte `from` on.
pub(crate) fn runs(bytes: &[u8], from: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut floor = 0;
    let mut at = from;
    while at < bytes.len() {
        match run_at(bytes, at, floor) {
            Some(run) => {
                runs.push(run);
                floor = run.end;
                at += (run.end - at).next_multiple_of(GRID);
            }
            None => at += GRID,
        }
    }
    runs
}

/// The run that contains the bytes at `at` in its first period or later, and no byte before `floor`.
fn run_at(bytes: &[u8], at: usize, floor: usize) -> Option<Run> {
    let look = bytes.get(at..)?.first_chunk::<LOOK>()?;
    if !repeats_soon(look) {
        return None;
    }
    let word = look.first_chunk::<8>()?;
    let periods = look[1..].windows(8).zip(1..).filter(|(other, _)| other == word).map(|(_, period)| period);
    periods.map(|period| run_of(bytes, at, period, floor)).find(|run| run.end - run.start >= RUN_LEAST)
}

/// Whether the first eight bytes occur again 1 to [`PERIOD_MOST`] bytes later.
///
/// All distances are compared in parallel, byte by byte and without branches, so that compilers vectorise the loop.
fn repeats_soon(look: &[u8; LOOK]) -> bool {
    let mut same = [true; PERIOD_MOST];
    for byte in 0..8 {
        let others = look[byte + 1..].iter();
        same.iter_mut().zip(others).for_each(|(same, other)| *same &= *other == look[byte]);
    }
    same.contains(&true)
}

fn run_of(bytes: &[u8], at: usize, period: usize, floor: usize) -> Run {
    let ahead = compare::forward(&bytes[at..], &bytes[at + period..]);
    let behind = compare::backward(&bytes[floor..at], &bytes[floor..at + period]);
    Run { start: at + period - behind, end: at + period + ahead, period }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::noise;

    #[test]
    fn finds_each_period_completely_at_any_position() {
        for period in 1..=PERIOD_MOST {
            for before in [0, 1, 63, 100] {
                let pattern = noise(period, 9);
                let stretch: Vec<u8> = pattern.iter().cycle().copied().take(1000).collect();
                // Neither neighbour continues the pattern.
                let mut first = noise(before, 9);
                let mut last = noise(300, 9);
                if let Some(byte) = first.last_mut() {
                    *byte = !pattern[period - 1];
                }
                last[0] = !pattern[1000 % period];
                let bytes = [first, stretch, last].concat();
                let run = Run { start: before + period, end: before + 1000, period };
                assert_eq!(runs(&bytes, 0), [run], "period {period}, {before} bytes before");
            }
        }
    }

    #[test]
    fn adjacent_runs_are_separate() {
        let bytes = [vec![1; 500], vec![2; 500]].concat();
        assert_eq!(runs(&bytes, 0), [Run { start: 1, end: 500, period: 1 }, Run { start: 501, end: 1000, period: 1 }]);
    }

    #[test]
    fn a_run_includes_bytes_before_the_search() {
        assert_eq!(runs(&[5; 400], 64), [Run { start: 1, end: 400, period: 1 }]);
    }

    #[test]
    fn finds_no_run_in_noise_and_short_ranges() {
        assert_eq!(runs(&noise(100_000, 9), 0), []);
        let bytes = [noise(50, 9), vec![3; 60], noise(50, 9)].concat();
        assert_eq!(runs(&bytes, 0), []);
        assert_eq!(runs(&[], 0), []);
    }
}
