//! Splits the steps of a section into the parts that become DEFLATE's blocks.
//!
//! The first split is the best one at the borders of atoms, which are a few hundred steps long. Then each border moves to the best step near
//! it, and parts that cost less together are merged.

use super::statistics::{Statistics, Tally};
use super::symbols::Step;

/// Smallest number of steps of an atom.
const LEAST: usize = 256;
/// Largest number of atoms.
const MOST: usize = 48;
/// Largest number of steps that a border moves at once.
const REACH: usize = 2048;
/// A border does not move nearer to other borders than this number of steps.
const APART: usize = 64;

/// A part of a section that becomes a block.
pub(super) struct Part {
    /// End of the part in the steps.
    pub(super) steps: usize,
    /// End of the part in the section.
    pub(super) end: usize,
    pub(super) statistics: Statistics,
}

/// Splits steps into the parts that cost least together.
pub(super) fn split(steps: &[Step]) -> Vec<Part> {
    let size = (steps.len() / MOST + 1).max(LEAST);
    let atoms: Vec<Statistics> = steps.chunks(size).map(Statistics::of).collect();
    let firsts = cheapest(&atoms);
    let mut ends = Vec::new();
    let mut end = atoms.len();
    while end > 0 {
        ends.push((end * size).min(steps.len()));
        end = firsts[end];
    }
    ends.reverse();
    parts(steps, &moved(steps, ends))
}

/// Splits a path where the parts of another path end, and moves these borders.
pub(super) fn move_borders(steps: &[Step], other: &[Part]) -> Vec<Part> {
    parts(steps, &moved(steps, same_ends(steps, other)))
}

/// Splits a path where the parts of another path end.
pub(super) fn keep_borders(steps: &[Step], other: &[Part]) -> Vec<Part> {
    parts(steps, &same_ends(steps, other))
}

/// For each number of atoms, the first atom of their last part.
fn cheapest(atoms: &[Statistics]) -> Vec<usize> {
    let mut firsts = vec![0; atoms.len() + 1];
    let mut costs = vec![u64::MAX; atoms.len() + 1];
    costs[0] = 0;
    for first in 0..atoms.len() {
        let mut sum = Statistics::new();
        for end in first + 1..=atoms.len() {
            sum.add(&atoms[end - 1]);
            let cost = costs[first] + sum.cost();
            if cost < costs[end] {
                costs[end] = cost;
                firsts[end] = first;
            }
        }
    }
    firsts
}

/// The steps of a path that end at or first after the ends of the parts of another path.
fn same_ends(steps: &[Step], other: &[Part]) -> Vec<usize> {
    let mut ends = Vec::with_capacity(other.len());
    let mut at = 0;
    let mut bytes = 0;
    for part in other {
        while bytes < part.end && at < steps.len() {
            bytes += steps[at].bytes();
            at += 1;
        }
        ends.push(at);
    }
    ends.dedup();
    ends
}

/// Moves borders, and removes those that save nothing.
fn moved(steps: &[Step], ends: Vec<usize>) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::with_capacity(ends.len());
    let mut ends = ends.into_iter();
    let mut border = ends.next();
    while let (Some(middle), Some(end)) = (border, ends.next()) {
        let start = kept.last().copied().unwrap_or(0);
        kept.extend(best_border(steps, start, middle, end));
        border = Some(end);
    }
    kept.extend(border);
    kept
}

/// The best border between `start` and `end`, near `middle`. `None` if one part costs no more than two.
fn best_border(steps: &[Step], start: usize, middle: usize, end: usize) -> Option<usize> {
    let low = middle.saturating_sub(REACH).max(start + APART).min(middle);
    let high = (middle + REACH).min(end.saturating_sub(APART)).max(middle);
    let mut left = Tally::of(&steps[start..low]);
    let mut right = Tally::of(&steps[low..end]);
    let mut best = low;
    let mut least = left.cost() + right.cost();
    for (at, step) in (low + 1..).zip(&steps[low..high]) {
        left.add(*step);
        right.remove(*step);
        let cost = left.cost() + right.cost();
        if cost < least {
            least = cost;
            best = at;
        }
    }
    (least < Tally::of(&steps[start..end]).cost()).then_some(best)
}

fn parts(steps: &[Step], ends: &[usize]) -> Vec<Part> {
    let mut first = 0;
    let mut bytes = 0;
    let part = |&end: &usize| {
        let range = &steps[first..end];
        first = end;
        bytes += range.iter().map(|step| step.bytes()).sum::<usize>();
        Part { steps: end, end: bytes, statistics: Statistics::of(range) }
    };
    ends.iter().map(part).collect()
}
