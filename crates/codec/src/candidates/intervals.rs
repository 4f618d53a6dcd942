//! All earlier occurrences of what begins at a position: an index of the suffixes of a block.
//!
//! Suffixes with a common prefix are neighbours in sorted order: an interval. Intervals form a tree; those that contain a suffix are the
//! path from its leaf to the root, each with a shorter prefix. A visit of a position makes it the latest occurrence of each prefix on its
//! path, and finds those before it: the nearest match of each length.
//!
//! Prefixes have only the lengths of [`LENGTHS`], or paths could be as long as the longest prefix.

use super::suffixes::Suffixes;
use super::{AHEAD, LARGEST_LOG, LONGEST, prefetch};

/// Lengths up to this one are distinct.
pub(super) const DISTINCT: usize = 32;
/// The longer ones.
const LONG: [usize; 10] = [40, 48, 64, 96, 128, 192, 256, 512, 1024, LONGEST];
/// Shortest prefix of an interval, bytes. Above is the root alone.
const SHORTEST: usize = 3;
/// Most intervals on a path.
const DEPTH: usize = DISTINCT + 1 - SHORTEST + LONG.len();

/// The length of the prefix of an interval by what its suffixes have in common.
pub(super) static LENGTHS: [u16; LONGEST + 1] = lengths();

const fn lengths() -> [u16; LONGEST + 1] {
    let mut lengths = [0; LONGEST + 1];
    let (mut common, mut length, mut next) = (SHORTEST, SHORTEST, 0);
    while common <= LONGEST {
        if common <= DISTINCT {
            length = common;
        } else if common == LONG[next] {
            length = common;
            next += 1;
        }
        lengths[common] = length as u16;
        common += 1;
    }
    lengths
}

/// An interval: the length of its prefix, and below it its number. The root is 0.
type Interval = u32;
const NUMBER: u32 = (1 << LARGEST_LOG) - 1;
const ROOT: Interval = 0;
const NEVER: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    parent: Interval,
    /// The last position that visited it, or [`NEVER`].
    latest: u32,
}

#[derive(Default)]
pub(super) struct Intervals {
    /// By number.
    nodes: Vec<Node>,
    /// Of each position, with the longest prefix.
    innermost: Vec<Interval>,
    /// The intervals around the innermost one that may still grow, from the root on.
    open: Vec<Interval>,
}

impl Intervals {
    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        (size + 1) * (size_of::<Node>() + size_of::<Interval>()) + DEPTH * size_of::<Interval>()
    }

    /// Builds the index of a block of `size` bytes, at most 2^[`LARGEST_LOG`], of which no position is visited.
    #[inline(never)]
    pub(super) fn build(&mut self, suffixes: &Suffixes, size: usize) {
        self.nodes.clear();
        self.nodes.push(Node { parent: ROOT, latest: NEVER });
        self.innermost.resize(size, ROOT);
        self.open.clear();
        let mut innermost = ROOT;
        let mut before = None;
        for (at, common) in suffixes.iter() {
            let common = LENGTHS[(common as usize).min(LONGEST)].into();
            if let Some(before) = before {
                let earlier = innermost;
                if common != length(innermost) {
                    innermost = self.move_to(innermost, common);
                }
                self.innermost[before as usize] = earlier.max(innermost);
            }
            before = Some(at);
        }
        if let Some(last) = before {
            self.innermost[last as usize] = innermost;
        }
        self.move_to(innermost, 0);
    }

    /// Closes the open intervals with prefixes longer than `common`, and opens one of that length if there is none.
    #[inline(always)]
    fn move_to(&mut self, mut innermost: Interval, common: u32) -> Interval {
        while length(innermost) > common {
            let outer = self.open.pop().unwrap_or(ROOT);
            let parent = if length(outer) < common { self.create(outer, common) } else { outer };
            self.nodes[(innermost & NUMBER) as usize].parent = parent;
            innermost = parent;
        }
        if length(innermost) < common { self.create(innermost, common) } else { innermost }
    }

    #[inline(always)]
    fn create(&mut self, outer: Interval, common: u32) -> Interval {
        let interval = common << LARGEST_LOG | self.nodes.len() as u32;
        self.nodes.push(Node { parent: ROOT, latest: NEVER });
        self.open.push(outer);
        interval
    }

    /// Visits a position: calls `found` with the length and the earlier position of matches, from the longest to the shortest, each the nearest
    /// of its length.
    #[inline(always)]
    pub(super) fn visit(&mut self, at: usize, mut found: impl FnMut(usize, usize)) {
        let Intervals { nodes, innermost, .. } = self;
        if let Some(&ahead) = innermost.get(at + AHEAD) {
            prefetch(nodes, (ahead & NUMBER) as usize);
        }
        let mut interval = innermost[at];
        while interval != ROOT {
            let node = &mut nodes[(interval & NUMBER) as usize];
            let latest = std::mem::replace(&mut node.latest, at as u32);
            if latest != NEVER {
                found(length(interval) as usize, latest as usize);
            }
            interval = node.parent;
        }
    }
}

/// Length of the prefix, bytes.
#[inline(always)]
fn length(interval: Interval) -> u32 {
    interval >> LARGEST_LOG
}
