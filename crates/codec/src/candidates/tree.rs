//! Finds the nearest match of nearly every length.

use std::ops::Range;

use super::found::{Candidate, Found, KEPT, SPARE};
use super::prefetch;
use crate::bytes::{eight, slot};

/// Bytes after the block that are loaded.
pub(crate) const TREE_PADDING: usize = 16;
/// Hash bits of two, three and four bytes.
const TWO: u32 = 12;
const THREE: u32 = 15;
const FOUR: u32 = 16;
/// Keys of two bytes only reach back so far: farther, two bytes cost as much as they save.
const NEAR: usize = 1 << 7;
/// Shortest key of a tree, bytes.
const KEY: usize = 4;
/// Largest small block, bytes.
const SMALL: usize = 256 << 10;
/// Positions of which the roots are loaded ahead, and nodes.
const AHEAD: usize = 16;
const NODES_AHEAD: usize = 8;

/// Limits of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeEffort {
    /// A match at least this long is taken as it is, bytes. At least [`KEY`].
    pub(crate) nice: usize,
    /// Most positions that are compared, in blocks of up to [`SMALL`] bytes and in larger ones, which have more that count.
    pub(crate) depth: usize,
    pub(crate) deep: usize,
    /// Longest match, bytes.
    pub(crate) longest: usize,
    /// Largest distance, bytes.
    pub(crate) farthest: u32,
}

/// Trees of positions, used for one block after the other.
///
/// The positions with the same hash of four bytes are the nodes of a binary tree, ordered by the bytes that follow. The latest is the root,
/// and below each node are only earlier ones.
pub(crate) struct TreeFinder {
    effort: TreeEffort,
    two: Box<[u32]>,
    three: Box<[u32]>,
    roots: Box<[u32]>,
    /// By position, the roots of what is smaller and of what is larger; 0 if there is none.
    below: Vec<[u32; 2]>,
    /// Bytes of the block, and the first position that has not been searched.
    size: usize,
    at: usize,
    /// What the tables hold for the first position of the block. Lower numbers are of earlier blocks; they count as none.
    base: u32,
    /// What they will hold for the first position of the next block.
    next: u32,
}

/// The matches at a position, each longer than those before.
struct Tally<'a> {
    list: &'a mut [Candidate; SPARE],
    count: usize,
    longest: usize,
}

impl TreeFinder {
    pub(crate) fn new(effort: TreeEffort) -> TreeFinder {
        let table = |bits: u32| vec![0; 1 << bits].into_boxed_slice();
        let (two, three, roots) = (table(TWO), table(THREE), table(FOUR));
        TreeFinder { effort, two, three, roots, below: Vec::new(), size: 0, at: 0, base: 1, next: 1 }
    }

    /// Memory for blocks of up to `size` bytes.
    pub(crate) fn memory(size: usize) -> usize {
        size * size_of::<[u32; 2]>() + size_of::<u32>() * ((1 << TWO) + (1 << THREE) + (1 << FOUR))
    }

    /// Starts a block of `size` bytes, at most 2^[`LARGEST_LOG`](super::LARGEST_LOG).
    pub(crate) fn begin(&mut self, size: usize) {
        if self.next.checked_add(size as u32).is_none() {
            [&mut self.two, &mut self.three, &mut self.roots].into_iter().for_each(|table| table.fill(0));
            self.next = 1;
        }
        self.base = self.next;
        self.next += size as u32;
        (self.size, self.at) = (size, 0);
        self.below.reserve_exact(size.saturating_sub(self.below.len()));
        self.below.resize(size.max(self.below.len()), [0; 2]);
    }

    /// Finds the candidates of a part of the block, which has [`TREE_PADDING`] bytes behind it. Parts follow each other from the start of
    /// the block.
    #[inline(never)]
    pub(crate) fn find(&mut self, text: &[u8], part: Range<usize>, found: &mut Found) {
        assert!(text.len() >= self.size + TREE_PADDING && part.start == self.at && part.end <= self.size);
        self.at = part.end;
        found.clear(part.len());
        let mut at = part.start;
        while at < part.end {
            let longest = self.search(text, at, found);
            at += 1;
            if longest < self.effort.nice {
                continue;
            }
            let inside = (at + longest - 1).min(part.end) - at;
            found.add_none(inside);
            for at in at..at + inside {
                self.pass(text, at);
            }
            at += inside;
        }
        found.finish();
    }

    /// Adds the candidates of a position. Returns the length of the longest.
    #[inline(always)]
    fn search(&mut self, text: &[u8], at: usize, found: &mut Found) -> usize {
        let Some(list) = found.spare() else { return 0 };
        let mut tally = Tally { list, count: 0, longest: 1 };
        let rest = self.size - at;
        let most = rest.min(self.effort.nice);
        if most >= KEY {
            self.load_ahead(text, at);
            let now = eight(text, at);
            let position = self.base + at as u32;
            let [two, three] = self.add_short(now, position);
            let oldest = self.oldest(position);
            let mut weigh = |there: u32, bytes: usize, near: usize| {
                let distance = (position - there) as usize;
                if there < oldest || distance > near {
                    return;
                }
                let differing = eight(text, at - distance) ^ now;
                let length = (differing.trailing_zeros() as usize / 8).min(most);
                if length >= bytes {
                    tally.keep(length, distance);
                }
            };
            weigh(two, 2, NEAR);
            weigh(three, 3, usize::MAX);
            self.descend(text, at, most, &mut tally);
        }
        if tally.longest >= self.effort.nice {
            tally.extend(text, at, rest.min(self.effort.longest));
        }
        let Tally { count, longest, .. } = tally;
        found.add(Candidate::default(), count);
        longest
    }

    /// Adds a position to the tables only.
    #[inline(always)]
    fn pass(&mut self, text: &[u8], at: usize) {
        let most = (self.size - at).min(self.effort.nice);
        if most < KEY {
            return;
        }
        self.add_short(eight(text, at), self.base + at as u32);
        let mut tally = Tally { list: &mut [Candidate::default(); SPARE], count: 0, longest: usize::MAX };
        self.descend(text, at, most, &mut tally);
    }

    /// Loads what later positions need.
    #[inline(always)]
    fn load_ahead(&self, text: &[u8], at: usize) {
        let root_of = |at: usize| slot(eight(text, at) << 32, FOUR);
        prefetch(&self.roots, root_of(at + AHEAD));
        let there = self.roots[root_of(at + NODES_AHEAD)];
        prefetch(&self.below, there.wrapping_sub(self.base) as usize);
    }

    /// The oldest position that counts.
    #[inline(always)]
    fn oldest(&self, position: u32) -> u32 {
        position.saturating_sub(self.effort.farthest).max(self.base)
    }

    /// Adds a position to the tables of short keys. Returns those before it.
    #[inline(always)]
    fn add_short(&mut self, now: u64, position: u32) -> [u32; 2] {
        let two = std::mem::replace(&mut self.two[slot(now << 48, TWO)], position);
        let three = std::mem::replace(&mut self.three[slot(now << 40, THREE)], position);
        [two, three]
    }

    /// Makes the position the root of its tree, and keeps the matches of up to `most` bytes on the way down.
    #[inline(always)]
    fn descend(&mut self, text: &[u8], at: usize, most: usize, tally: &mut Tally) {
        let base = self.base;
        let oldest = self.oldest(base + at as u32);
        let root = &mut self.roots[slot(eight(text, at) << 32, FOUR)];
        let mut there = std::mem::replace(root, base + at as u32);
        let below = self.below.as_flattened_mut();
        // Where the next smaller and the next larger position are stored, and what they have in common with this one.
        let (mut smaller, mut larger) = (2 * at, 2 * at + 1);
        let (mut smaller_length, mut larger_length) = (0, 0);
        let mut left = if self.size > SMALL { self.effort.deep } else { self.effort.depth };
        while there >= oldest && left > 0 {
            left -= 1;
            let from = (there - base) as usize;
            // SAFETY: `from` is an earlier position of this block, since the tables hold nothing else from `base` on; less than `most` bytes are
            // known to be equal, and `most` bytes from `at` on are in the block.
            let (length, order) = unsafe { compare(text, from, at, smaller_length.min(larger_length), most) };
            if length > tally.longest {
                tally.keep(length, at - from);
            }
            if length >= most {
                // As far as they count they are equal: the later one takes the place of the earlier one.
                (below[smaller], below[larger]) = (below[2 * from], below[2 * from + 1]);
                return;
            }
            if order {
                below[smaller] = there;
                smaller = 2 * from + 1;
                smaller_length = length;
                there = below[smaller];
            } else {
                below[larger] = there;
                larger = 2 * from;
                larger_length = length;
                there = below[larger];
            }
        }
        (below[smaller], below[larger]) = (0, 0);
    }
}

/// Number of equal bytes at two positions, of which the first `known` are known to be; at most `most`. And whether the first is smaller.
///
/// # Safety
///
/// `known` must be less than `most`, and `most` bytes from both positions on must be in the block, which has [`TREE_PADDING`] bytes behind it.
#[inline(always)]
unsafe fn compare(text: &[u8], from: usize, at: usize, known: usize, most: usize) -> (usize, bool) {
    debug_assert!(known < most && from.max(at) + most + TREE_PADDING <= text.len());
    // SAFETY: by the caller's contract, fewer than `most` bytes before it are in the block, and eight more are in the padding.
    let word = |at: usize| u64::from_le(unsafe { text.as_ptr().add(at).cast::<u64>().read_unaligned() });
    let mut length = known;
    loop {
        let (one, other) = (word(from + length), word(at + length));
        if one != other {
            let same = (one ^ other).trailing_zeros() & !7;
            let is_smaller = (one >> same) as u8 <= (other >> same) as u8;
            return ((length + same as usize / 8).min(most), is_smaller);
        }
        length += 8;
        if length >= most {
            return (most, false);
        }
    }
}

impl Tally<'_> {
    /// Keeps a match if it is longer than those before. A shorter one at a distance of the same price, as LZMA has it, is dropped.
    #[inline(always)]
    fn keep(&mut self, length: usize, distance: usize) {
        if length <= self.longest {
            return;
        }
        self.longest = length;
        let candidate = Candidate::new(length as u32, distance);
        if self.count > 0 && price_class(distance) == price_class(self.list[self.count - 1].distance() as usize) {
            self.count -= 1;
        }
        if self.count == SPARE {
            self.list.copy_within(SPARE - KEPT.., 0);
            self.count = KEPT;
        }
        self.list[self.count] = candidate;
        self.count += 1;
    }

    /// Makes the longest match as long as it is.
    #[cold]
    fn extend(&mut self, text: &[u8], at: usize, most: usize) {
        if let Some(last) = self.list[..self.count].last_mut() {
            let distance = last.distance() as usize;
            let same = text[at..at + most].iter().zip(&text[at - distance..]).skip(self.longest);
            self.longest += same.take_while(|(here, there)| here == there).count();
            *last = Candidate::new(self.longest as u32, distance);
        }
    }
}

/// Distances of the same class have nearly the same price: each of the nearest has its own.
#[inline(always)]
fn price_class(distance: usize) -> usize {
    const NEAREST: usize = 128;
    if distance <= NEAREST {
        return distance;
    }
    let log = (distance - 1).ilog2();
    NEAREST + 2 * log as usize + ((distance - 1) >> (log - 1) & 1)
}
