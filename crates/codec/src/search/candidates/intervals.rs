//! All earlier occurrences of the bytes at a position: an index of the suffixes of a block.
//!
//! Suffixes with a common prefix are neighbours in sorted order: an interval. Intervals form a tree. The intervals that contain a suffix
//! are the path from its leaf to the root, each with a shorter prefix. A visit of a position makes the position the latest occurrence of
//! each prefix on its path, and finds the previous occurrence: the nearest match of each length.
//!
//! libsais sorts the suffixes. Prefixes have only the lengths in [`LENGTHS`]. Otherwise paths could be as long as the longest prefix.

use libsais_sys::libsais as sys;

use super::{AHEAD, LARGEST_LOG, LONGEST, NAME, prefetch};
use crate::CodecError;

/// Every length up to this one is distinguished.
pub(super) const DISTINCT: usize = 32;
/// The distinguished lengths above [`DISTINCT`].
const LONG: [usize; 10] = [40, 48, 64, 96, 128, 192, 256, 512, 1024, LONGEST];
/// Shortest prefix of an interval in bytes. Only the root has a shorter one.
const SHORTEST: usize = 3;
/// Maximum number of intervals on a path.
pub(super) const DEPTH: usize = DISTINCT + 1 - SHORTEST + LONG.len();

/// The length of an interval's prefix, by the number of bytes that its suffixes have in common.
pub(super) static LENGTHS: [u16; LONGEST + 1] = lengths();

const fn lengths() -> [u16; LONGEST + 1] {
    let mut lengths = [0; LONGEST + 1];
    let mut common = SHORTEST;
    let mut length = SHORTEST;
    let mut next = 0;
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

/// An interval: the length of its prefix in the high bits, its number in the low bits. The root is 0.
type Interval = u32;
const NUMBER: u32 = (1 << LARGEST_LOG) - 1;
const ROOT: Interval = 0;
/// No position. Counted modulo 2^32, it is one byte before position 0.
pub(super) const NEVER: u32 = u32::MAX;
/// Number of intervals visited between checks for the end of a path.
const STRIDE: usize = 2;

#[derive(Clone, Copy)]
struct Node {
    parent: Interval,
    /// The last position that visited the interval, or [`NEVER`].
    latest: u32,
}

#[derive(Default)]
pub(super) struct Intervals {
    /// Nodes by number.
    nodes: Vec<Node>,
    /// The suffixes. Their `common` becomes the innermost interval of each position.
    suffixes: Suffixes,
    /// The intervals around the innermost one that may still grow, from the root on.
    open: Vec<Interval>,
}

impl Intervals {
    /// Memory for blocks of up to `size` bytes.
    pub(super) fn memory(size: usize) -> usize {
        Suffixes::memory(size) + (size + 1) * size_of::<Node>() + DEPTH * size_of::<Interval>()
    }

    /// Builds the index of a block of at most 2^[`LARGEST_LOG`] bytes. No position of it is visited yet.
    #[inline(never)]
    pub(super) fn build(&mut self, src: &[u8]) -> Result<(), CodecError> {
        self.suffixes.sort(src)?;
        self.nodes.clear();
        self.nodes.push(Node { parent: ROOT, latest: NEVER });
        self.open.clear();
        let mut innermost = ROOT;
        for index in 0..src.len() {
            let at = self.suffixes.sorted[index] as usize;
            let common = u32::from(LENGTHS[(self.suffixes.common[at] as usize).min(LONGEST)]);
            let earlier = innermost;
            if common != length(innermost) {
                innermost = self.move_to(innermost, common);
            }
            // The first suffix has no suffix before it.
            if let Some(before) = index.checked_sub(1) {
                let before = self.suffixes.sorted[before] as usize;
                self.suffixes.common[before] = earlier.max(innermost) as i32;
            }
        }
        if let Some(&last) = self.suffixes.sorted.last() {
            self.suffixes.common[last as usize] = innermost as i32;
        }
        self.move_to(innermost, 0);
        Ok(())
    }

    /// Closes the open intervals with prefixes longer than `common`, and opens an interval of length `common` if there is none.
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

    /// Visits a position. Calls `found` with the length and the latest position of each prefix, from the longest to the shortest. The
    /// position is [`NEVER`] if there is none, and a few such calls may come last.
    #[inline(always)]
    pub(super) fn visit(&mut self, at: usize, mut found: impl FnMut(u32, u32)) {
        let Intervals { nodes, suffixes, .. } = self;
        let innermost = &suffixes.common;
        if let Some(&ahead) = innermost.get(at + AHEAD) {
            prefetch(nodes, (ahead as Interval & NUMBER) as usize);
        }
        let mut interval = innermost[at] as Interval;
        while interval != ROOT {
            // Several at a time: the end of a path is hard to predict. The root is its own parent and has no latest position.
            for _ in 0..STRIDE {
                let number = interval & NUMBER;
                let node = &mut nodes[number as usize];
                let now = if number == ROOT { NEVER } else { at as u32 };
                let latest = std::mem::replace(&mut node.latest, now);
                found(length(interval), latest);
                interval = node.parent;
            }
        }
    }
}

/// Length of the prefix in bytes.
#[inline(always)]
fn length(interval: Interval) -> u32 {
    interval >> LARGEST_LOG
}

/// Upper bound of the bytes that the library allocates while it sorts, in addition to two for each byte of the block.
const LIBRARY: usize = 128 << 10;

/// The sorted suffixes of a block.
#[derive(Default)]
pub(crate) struct Suffixes {
    /// The position of each suffix, in sorted order.
    pub(crate) sorted: Vec<i32>,
    /// By position: the number of bytes that the suffix has in common with the previous one in sorted order. Free for other use after it
    /// was read.
    pub(crate) common: Vec<i32>,
}

impl Suffixes {
    /// Memory for blocks of up to `size` bytes.
    pub(crate) fn memory(size: usize) -> usize {
        LIBRARY + 2 * size + 2 * size * size_of::<i32>()
    }

    /// Sorts the suffixes of a block of less than 2^31 bytes.
    pub(crate) fn sort(&mut self, src: &[u8]) -> Result<(), CodecError> {
        self.sorted.resize(src.len(), 0);
        self.common.resize(src.len(), 0);
        let size = src.len() as i32;
        // SAFETY: the array has as many elements as the block has bytes, and no spare elements. A null pointer asks for no frequencies.
        let code = unsafe { sys::libsais(src.as_ptr(), self.sorted.as_mut_ptr(), size, 0, std::ptr::null_mut()) };
        check("libsais", code)?;
        // SAFETY: both arrays have as many elements as the block has bytes, and the suffixes have been sorted.
        let code = unsafe { sys::libsais_plcp(src.as_ptr(), self.sorted.as_ptr(), self.common.as_mut_ptr(), size) };
        check("libsais_plcp", code)
    }
}

fn check(function: &'static str, code: i32) -> Result<(), CodecError> {
    match code {
        0 => Ok(()),
        -2 => Err(CodecError::OutOfMemory { codec: NAME }),
        code => Err(CodecError::Library { codec: NAME, function, code: code.into() }),
    }
}
