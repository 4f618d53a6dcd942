//! Keeps the bytes of recent tail ends, so that a tail end inside one of them needs no bytes of its own.
//!
//! Matches are found by anchors: positions that depend only on the bytes there, so that both tail ends have the same ones. The number of kept
//! tail ends affects the bytes of the image, so it depends on the size of fragment blocks alone. All tail ends, instead of recent ones, would
//! save 0.02 to 0.06 % of an image (`bench/results/2026-11-24-sharing.md`), but would have to stay in memory.

use std::collections::VecDeque;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use packline_codec::{Anchor, anchors};

use crate::format::layout::TailPlace;

/// Number of anchors of a tail end that are looked up, evenly spread over it.
const LOOKED_UP: usize = 4;
/// Upper bound of the kept bytes, in fragment blocks.
const BLOCKS: usize = 8;
/// Upper bound of the kept bytes.
const MOST: usize = 1 << 20;

/// The anchors of a tail end, and a copy of it for [`RecentTails`]. Without anchors there is no copy.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    anchors: Box<[Anchor]>,
    content: Box<[u8]>,
}

impl Sample {
    /// Called on workers.
    pub(crate) fn of(content: &[u8]) -> Sample {
        let anchors = anchors(content).into_boxed_slice();
        let content = if anchors.is_empty() { Box::default() } else { content.into() };
        Sample { anchors, content }
    }
}

/// A tail end that is kept.
#[derive(Debug)]
struct Tail {
    place: TailPlace,
    sample: Sample,
}

/// An anchor of a tail end; tail ends are numbered in the order in which they were kept.
#[derive(Debug)]
struct AnchorRef {
    anchor: Anchor,
    tail: u32,
}

/// Recent tail ends.
#[derive(Debug)]
pub(crate) struct RecentTails {
    /// Maximum of `bytes`.
    most: usize,
    bytes: usize,
    tails: VecDeque<Tail>,
    /// Number of the first tail end.
    first: u32,
    /// The last spot of each hash.
    spots: HashTable<AnchorRef>,
}

/// The hash of an anchor for tables, which use the upper and the lower bits.
fn bits(anchor: &Anchor) -> u64 {
    u64::from(anchor.hash) << 32 | u64::from(anchor.hash)
}

impl Tail {
    fn memory(&self) -> usize {
        size_of::<Tail>() + self.sample.content.len() + size_of_val(&*self.sample.anchors)
    }
}

impl RecentTails {
    /// Keeps nothing yet; `size`: bytes of a fragment block.
    pub(crate) fn new(size: usize) -> RecentTails {
        let most = (BLOCKS * size).min(MOST);
        RecentTails { most, bytes: 0, tails: VecDeque::new(), first: 0, spots: HashTable::new() }
    }

    /// Returns the position of a part of a kept tail end with this content.
    pub(crate) fn find(&self, content: &[u8], sample: &Sample) -> Option<TailPlace> {
        let anchors = &sample.anchors;
        let step = anchors.len().div_ceil(LOOKED_UP).max(1);
        anchors.iter().step_by(step).find_map(|anchor| self.find_at(content, anchor))
    }

    /// Keeps a tail end. A tail end without anchors would never be found.
    pub(crate) fn keep(&mut self, sample: Sample, place: TailPlace) {
        if sample.anchors.is_empty() {
            return;
        }
        let number = self.first + self.tails.len() as u32;
        for &anchor in &sample.anchors {
            let spot = AnchorRef { anchor, tail: number };
            match self.entry(anchor) {
                Entry::Occupied(mut old) => *old.get_mut() = spot,
                Entry::Vacant(none) => drop(none.insert(spot)),
            }
        }
        let tail = Tail { place, sample };
        self.bytes += tail.memory();
        self.tails.push_back(tail);
        while self.bytes > self.most {
            self.forget_first();
        }
    }

    pub(crate) fn memory(&self) -> usize {
        let spare = self.tails.capacity() - self.tails.len();
        self.bytes + spare * size_of::<Tail>() + self.spots.allocation_size()
    }

    fn find_at(&self, content: &[u8], anchor: &Anchor) -> Option<TailPlace> {
        let spot = self.spots.find(bits(anchor), |spot| spot.anchor.hash == anchor.hash)?;
        let tail = self.tails.get((spot.tail - self.first) as usize)?;
        let start = spot.anchor.at.checked_sub(anchor.at)?;
        let is_there = tail.sample.content.get(start as usize..)?.starts_with(content);
        is_there.then(|| TailPlace { fragment: tail.place.fragment, offset: tail.place.offset + start })
    }

    fn forget_first(&mut self) {
        let Some(tail) = self.tails.pop_front() else { return };
        self.bytes -= tail.memory();
        for &anchor in &tail.sample.anchors {
            let first = self.first;
            if let Entry::Occupied(spot) = self.entry(anchor)
                && spot.get().tail == first
            {
                spot.remove();
            }
        }
        self.first += 1;
    }

    fn entry(&mut self, anchor: Anchor) -> Entry<'_, AnchorRef> {
        self.spots.entry(bits(&anchor), |spot| spot.anchor.hash == anchor.hash, |spot| bits(&spot.anchor))
    }
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;

    use super::*;

    fn keep(tails: &mut RecentTails, content: &[u8], fragment: u32) {
        tails.keep(Sample::of(content), TailPlace { fragment, offset: 7 });
    }

    fn find(tails: &RecentTails, content: &[u8]) -> Option<(u32, u32)> {
        tails.find(content, &Sample::of(content)).map(|place| (place.fragment, place.offset))
    }

    #[test]
    fn parts_are_found_and_others_are_not() {
        let mut tails = RecentTails::new(1 << 17);
        let mut random = Random::new(1);
        let contents: Vec<Vec<u8>> = (0..6).map(|_| random.noise(60_000)).collect();
        contents.iter().zip(0..).for_each(|(content, fragment)| keep(&mut tails, content, fragment));
        for (content, fragment) in contents.iter().zip(0..) {
            for (start, length) in [(0, 60_000), (0, 5000), (1, 9000), (123, 40_000), (50_000, 10_000)] {
                let place = find(&tails, &content[start..start + length]);
                assert_eq!(place, Some((fragment, 7 + start as u32)), "{length} bytes at {start}");
            }
            let mut other = content[100..20_000].to_vec();
            other[19_899] ^= 1;
            assert_eq!(find(&tails, &other), None);
            assert_eq!(find(&tails, &[&content[59_000..], b"end"].concat()), None);
        }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut tails = RecentTails::new(4096);
        let mut random = Random::new(2);
        let contents: Vec<Vec<u8>> = (0..100).map(|_| random.noise(4000)).collect();
        for (content, fragment) in contents.iter().zip(0..) {
            keep(&mut tails, content, fragment);
            assert!(tails.bytes <= BLOCKS * 4096);
        }
        let kept = contents.iter().filter(|content| find(&tails, &content[100..]).is_some()).count();
        assert_eq!(kept, tails.tails.len());
        assert!(find(&tails, &contents[99][100..]).is_some() && (6..8).contains(&kept), "{kept}");
        assert_eq!(tails.spots.len(), tails.tails.iter().map(|tail| tail.sample.anchors.len()).sum::<usize>());
        // A tail end larger than the memory replaces all others, and is dropped, too.
        keep(&mut tails, &random.noise(40_000), 100);
        assert_eq!((tails.tails.len(), tails.spots.len(), tails.bytes), (0, 0, 0));
    }
}
