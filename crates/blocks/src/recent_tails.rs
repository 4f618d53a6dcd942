//! Keeps the bytes of recent tail ends, so that a tail end inside one of them needs no bytes of its own.
//!
//! Matches are found by anchors: positions that depend only on the bytes there, so that both tail ends have the same ones. The number of kept
//! tail ends affects the bytes of the image, so it depends on the size of fragment blocks alone. All tail ends, instead of recent ones, would
//! save 0.02 to 0.06 % of an image (`bench/results/2026-11-24-sharing.md`), but would have to stay in memory.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use packline_codec::Anchor;

use crate::TailPlace;

/// Number of anchors of a tail end that are looked up, evenly spread over it.
const LOOKED_UP: usize = 4;
/// Upper bound of the kept bytes, in fragment blocks.
const BLOCKS: usize = 8;
/// Upper bound of the kept bytes.
const MOST: usize = 1 << 20;
/// Kept bytes for each bucket of anchors: few, because about one position in 256 is an anchor.
const PER_BUCKET: usize = 256;
/// Bytes that a kept tail end counts in addition to its content and anchors. Part of the rule that decides which tail ends are
/// forgotten, so another value changes images.
const PER_TAIL: usize = 40;

/// A tail end that is kept.
#[derive(Debug)]
struct Tail {
    place: TailPlace,
    /// The number of its first byte, among the bytes of all tail ends in the order in which they were kept.
    start: u64,
    length: u32,
    /// The number of its anchors.
    anchors: u32,
}

/// An anchor of a tail end; tail ends are numbered in the order in which they were kept.
#[derive(Debug)]
struct AnchorRef {
    anchor: Anchor,
    tail: u32,
    /// Distance to the previous anchor in the same bucket, in anchors. 0 if there is none.
    back: u32,
}

/// Recent tail ends. Their contents are in a ring, without an allocation for each of them. Their anchors are in a ring too, because a
/// hash table would have to remove each anchor of a tail end that is forgotten.
#[derive(Debug)]
pub(crate) struct RecentTails {
    /// Maximum of `bytes`.
    most: usize,
    bytes: usize,
    tails: VecDeque<Tail>,
    /// Number of the first tail end.
    first: u32,
    contents: VecDeque<u8>,
    /// The number of the first byte in `contents`.
    first_byte: u64,
    spots: VecDeque<AnchorRef>,
    /// The number of the first anchor in `spots`. Numbers start at 1.
    first_spot: u64,
    /// The number of the last anchor in each bucket. 0 if there is none. Their count is a power of two.
    buckets: Box<[u64]>,
    /// A random odd factor, so that no input can put all anchors into one bucket.
    key: u32,
}

impl Tail {
    /// The bytes that count for the maximum.
    fn counted(&self) -> usize {
        PER_TAIL + self.length as usize + self.anchors as usize * size_of::<Anchor>()
    }
}

impl RecentTails {
    /// Keeps nothing yet; `size`: bytes of a fragment block.
    pub(crate) fn new(size: usize) -> RecentTails {
        let most = (BLOCKS * size).min(MOST);
        RecentTails {
            most,
            bytes: 0,
            tails: VecDeque::new(),
            first: 0,
            contents: VecDeque::with_capacity(most),
            first_byte: 0,
            spots: VecDeque::new(),
            first_spot: 1,
            buckets: vec![0; (most / PER_BUCKET).next_power_of_two()].into_boxed_slice(),
            key: RandomState::new().hash_one(0) as u32 | 1,
        }
    }

    /// Returns the position of a part of a kept tail end with this content.
    pub(crate) fn find(&self, content: &[u8], anchors: &[Anchor]) -> Option<TailPlace> {
        let step = anchors.len().div_ceil(LOOKED_UP).max(1);
        anchors.iter().step_by(step).find_map(|anchor| self.find_at(content, anchor))
    }

    /// Keeps a tail end. A tail end without anchors would never be found.
    pub(crate) fn keep(&mut self, content: &[u8], anchors: &[Anchor], place: TailPlace) {
        if anchors.is_empty() {
            return;
        }
        let start = self.first_byte + self.contents.len() as u64;
        let tail = Tail { place, start, length: content.len() as u32, anchors: anchors.len() as u32 };
        // Forgotten first, so that the contents never exceed the capacity that they have from the start.
        while self.bytes + tail.counted() > self.most {
            if self.tails.is_empty() {
                return;
            }
            self.forget_first();
        }
        let number = self.first + self.tails.len() as u32;
        for &anchor in anchors {
            self.push_anchor(anchor, number);
        }
        self.contents.extend(content);
        self.bytes += tail.counted();
        self.tails.push_back(tail);
    }

    pub(crate) fn memory(&self) -> usize {
        self.contents.len()
            + self.tails.capacity() * size_of::<Tail>()
            + self.spots.capacity() * size_of::<AnchorRef>()
            + size_of_val(&*self.buckets)
    }

    fn push_anchor(&mut self, anchor: Anchor, tail: u32) {
        let number = self.first_spot + self.spots.len() as u64;
        let bucket = self.bucket(anchor.hash);
        let last = std::mem::replace(&mut self.buckets[bucket], number);
        let back = if last == 0 { 0 } else { u32::try_from(number - last).unwrap_or(0) };
        self.spots.push_back(AnchorRef { anchor, tail, back });
    }

    fn bucket(&self, hash: u32) -> usize {
        let bits = self.buckets.len().trailing_zeros();
        (u64::from(hash.wrapping_mul(self.key)) << bits >> u32::BITS) as usize
    }

    /// The last kept anchor with this hash.
    fn last_spot(&self, hash: u32) -> Option<&AnchorRef> {
        let mut at = self.buckets[self.bucket(hash)].checked_sub(self.first_spot)?;
        loop {
            let spot = self.spots.get(at as usize)?;
            if spot.anchor.hash == hash {
                return Some(spot);
            }
            let back = u64::from(spot.back);
            at = at.checked_sub(back).filter(|_| back > 0)?;
        }
    }

    fn find_at(&self, content: &[u8], anchor: &Anchor) -> Option<TailPlace> {
        let spot = self.last_spot(anchor.hash)?;
        let tail = self.tails.get((spot.tail - self.first) as usize)?;
        let start = spot.anchor.at.checked_sub(anchor.at)?;
        let fits = tail.length.checked_sub(start)? as usize >= content.len();
        let is_there = fits && self.is_at(content, tail.start + u64::from(start));
        is_there.then(|| TailPlace { fragment: tail.place.fragment, offset: tail.place.offset + start })
    }

    /// Whether the kept bytes from a number on, of which there are enough, are this content.
    fn is_at(&self, content: &[u8], number: u64) -> bool {
        let at = (number - self.first_byte) as usize;
        let (first, second) = self.contents.as_slices();
        match first.get(at..) {
            Some(rest) if rest.len() >= content.len() => rest.starts_with(content),
            Some(rest) => content.strip_prefix(rest).is_some_and(|content| second.starts_with(content)),
            None => second[at - first.len()..].starts_with(content),
        }
    }

    fn forget_first(&mut self) {
        let Some(tail) = self.tails.pop_front() else { return };
        self.bytes -= tail.counted();
        self.contents.drain(..tail.length as usize);
        self.first_byte += u64::from(tail.length);
        self.spots.drain(..tail.anchors as usize);
        self.first_spot += u64::from(tail.anchors);
        self.first += 1;
    }
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;

    use packline_codec::add_anchors;

    use super::*;

    fn anchors(content: &[u8]) -> Vec<Anchor> {
        let mut found = Vec::new();
        add_anchors(content, &mut found);
        found
    }

    fn keep(tails: &mut RecentTails, content: &[u8], fragment: u32) {
        tails.keep(content, &anchors(content), TailPlace { fragment, offset: 7 });
    }

    fn find(tails: &RecentTails, content: &[u8]) -> Option<(u32, u32)> {
        tails.find(content, &anchors(content)).map(|place| (place.fragment, place.offset))
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
        assert_eq!(tails.spots.len(), tails.tails.iter().map(|tail| tail.anchors as usize).sum::<usize>());
        assert_eq!(tails.contents.len(), tails.tails.iter().map(|tail| tail.length as usize).sum::<usize>());
        // A tail end larger than the memory replaces all others, and is dropped, too.
        keep(&mut tails, &random.noise(40_000), 100);
        assert_eq!((tails.tails.len(), tails.spots.len(), tails.bytes), (0, 0, 0));
    }

    /// The place of the last anchor with the same hash, by a search through all kept tail ends.
    fn find_slowly(kept: &[(Vec<u8>, u32)], content: &[u8]) -> Option<(u32, u32)> {
        let of_content = anchors(content);
        let step = of_content.len().div_ceil(LOOKED_UP).max(1);
        of_content.iter().step_by(step).find_map(|anchor| {
            let mut all = kept.iter().rev().flat_map(|(tail, fragment)| {
                anchors(tail).into_iter().rev().map(move |anchor| (anchor, tail, *fragment))
            });
            let (spot, tail, fragment) = all.find(|(spot, ..)| spot.hash == anchor.hash)?;
            let offset = spot.at.checked_sub(anchor.at)?;
            tail[offset as usize..].starts_with(content).then_some((fragment, 7 + offset))
        })
    }

    #[test]
    fn finds_what_a_search_through_all_kept_tail_ends_finds() {
        let mut random = Random::new(4);
        let pool = random.noise(20_000);
        let mut tails = RecentTails::new(1024);
        let mut kept: Vec<(Vec<u8>, u32)> = Vec::new();
        let mut found = 0;
        for fragment in 0..2_000 {
            let start = random.below(19_000) as usize;
            let length = random.below(1_000) as usize;
            let content = &pool[start..start + length];
            let place = find_slowly(&kept, content);
            assert_eq!(find(&tails, content), place, "tail end {fragment}");
            found += usize::from(place.is_some());
            keep(&mut tails, content, fragment);
            if !anchors(content).is_empty() {
                kept.push((content.to_vec(), fragment));
            }
            kept.drain(..kept.len() - tails.tails.len());
        }
        assert!(found > 20, "{found}");
    }
}
