//! All earlier occurrences of the bytes at a position: an index of the suffixes of a block.
//!
//! Suffixes with a common prefix are neighbours in sorted order: an interval. Intervals form a tree. The intervals that contain a suffix
//! are the path from its leaf to the root, each with a shorter prefix. A visit of a position makes the position the latest occurrence of
//! each prefix on its path, and finds the previous occurrence: the nearest match of each length.
//!
//! libsais sorts the suffixes. The caller limits the lengths that prefixes have. Otherwise paths could be as long as the longest prefix.

use libsais_sys::libsais as sys;

use super::{LARGEST_LOG, NAME, prefetch};
use crate::CodecError;

/// Number of positions whose memory is loaded ahead.
const AHEAD: usize = 8;

/// An interval: the length of its prefix in the high bits, its number in the low bits. The root is 0.
pub(crate) type Interval = u32;
const NUMBER: u32 = (1 << LARGEST_LOG) - 1;
pub(crate) const ROOT: Interval = 0;
/// No position. Counted modulo 2^32, it is one byte before position 0.
pub(crate) const NEVER: u32 = u32::MAX;

#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub(crate) parent: Interval,
    /// The last position that visited the interval, or [`NEVER`].
    pub(crate) latest: u32,
}

#[derive(Default)]
pub(crate) struct Intervals {
    /// Nodes by number.
    pub(crate) nodes: Vec<Node>,
    /// The suffixes. Their `common` becomes the innermost interval of each position.
    suffixes: Suffixes,
    /// The intervals around the innermost one that may still grow, from the root on.
    open: Vec<Interval>,
}

impl Intervals {
    /// Memory for blocks of up to `size` bytes with at most `depth` intervals on a path.
    pub(crate) fn memory(size: usize, depth: usize) -> usize {
        Suffixes::memory(size) + (size + 1) * size_of::<Node>() + depth * size_of::<Interval>()
    }

    /// Builds the index of a block of at most 2^[`LARGEST_LOG`] bytes. No position of it is visited yet. `shorten` returns the length of the
    /// longest prefix that has at most a number of bytes.
    #[inline(always)]
    pub(crate) fn build(&mut self, src: &[u8], shorten: impl Fn(usize) -> u32) -> Result<(), CodecError> {
        self.suffixes.sort(src)?;
        self.nodes.clear();
        self.nodes.reserve_exact(src.len() + 1);
        self.nodes.push(Node { parent: ROOT, latest: NEVER });
        self.open.clear();
        let mut innermost = ROOT;
        for index in 0..src.len() {
            let at = self.suffixes.sorted[index] as usize;
            let common = shorten(self.suffixes.common[at] as usize);
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
            self.nodes[number(innermost)].parent = parent;
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

    /// Returns the innermost interval of a position, and loads the node of a later position ahead.
    #[inline(always)]
    pub(crate) fn innermost(&self, at: usize) -> Interval {
        let innermost = &self.suffixes.common;
        if let Some(&ahead) = innermost.get(at + AHEAD) {
            prefetch(&self.nodes, number(ahead as Interval));
        }
        innermost[at] as Interval
    }
}

/// Length of the prefix in bytes.
#[inline(always)]
pub(crate) fn length(interval: Interval) -> u32 {
    interval >> LARGEST_LOG
}

/// The index of the interval's node.
#[inline(always)]
pub(crate) fn number(interval: Interval) -> usize {
    (interval & NUMBER) as usize
}

/// Upper bound of the bytes that the library allocates while it sorts, in addition to two for each byte of the block.
const LIBRARY: usize = 128 << 10;

/// The sorted suffixes of a block.
#[derive(Default)]
struct Suffixes {
    /// The position of each suffix, in sorted order.
    sorted: Vec<i32>,
    /// By position: the number of bytes that the suffix has in common with the previous one in sorted order. Free for other use after it
    /// was read.
    common: Vec<i32>,
}

impl Suffixes {
    /// Memory for blocks of up to `size` bytes.
    fn memory(size: usize) -> usize {
        LIBRARY + 2 * size + 2 * size * size_of::<i32>()
    }

    /// Sorts the suffixes of a block of less than 2^31 bytes.
    fn sort(&mut self, src: &[u8]) -> Result<(), CodecError> {
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
