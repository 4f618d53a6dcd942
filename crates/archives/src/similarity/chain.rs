//! Builds a chain of contents: each content is followed by the remaining content that shares most features with it.
//!
//! The occurrences of a feature form a list in the order of the contents. An occurrence is removed when its content is placed.
//! For each occurrence of a placed content, a bounded number of neighbours in its list is scored, so that the time is that of
//! sorting the features, however common they are.

/// Occurrences of a feature that are scored in each direction.
const NEAR: usize = 16;
/// Minimum score that counts, in quarter bits for each feature of the candidate: one rare feature of a million contents is a
/// fortieth of a content. With less in common, the order of the contents is better.
const LEAST: u64 = 3;
const NONE: u32 = u32::MAX;

/// Memory of a feature in bytes: in the list of all features, and as an occurrence.
pub(super) const FEATURE_BYTES: u64 = 8 + 17;
/// Additional memory of a content in bytes.
pub(super) const CONTENT_BYTES: u64 = 48;

/// Features of contents, which are numbered from 0.
#[derive(Debug, Default)]
pub(crate) struct Features {
    /// Features in the high halves, their contents in the low halves.
    pairs: Vec<u64>,
    /// Number of features of each content.
    counts: Vec<u8>,
}

impl Features {
    pub(crate) fn with_capacity(contents: usize, features: usize) -> Features {
        Features { pairs: Vec::with_capacity(features), counts: Vec::with_capacity(contents) }
    }

    /// Adds the features of the next content, at most 64.
    pub(crate) fn push(&mut self, features: &[u32]) {
        let content = self.counts.len() as u64;
        self.counts.push(features.len() as u8);
        self.pairs.extend(features.iter().map(|feature| u64::from(*feature) << 32 | content));
    }

    /// Renumbers the contents. `numbers` has the new number of each.
    pub(crate) fn renumber(&mut self, numbers: &[u32]) {
        for pair in &mut self.pairs {
            *pair = *pair >> 32 << 32 | u64::from(numbers[*pair as u32 as usize]);
        }
        let mut counts = vec![0; self.counts.len()];
        numbers.iter().zip(&self.counts).for_each(|(number, count)| counts[*number as usize] = *count);
        self.counts = counts;
    }
}

/// The contents' numbers in the order of the chain. The chain begins with the first content. If no remaining content has enough
/// in common with the last, it continues with the first remaining content.
pub(crate) fn chain(features: Features) -> Vec<u32> {
    let mut candidates = Candidates::new(features);
    let contents = candidates.placed.len();
    let mut order = Vec::with_capacity(contents);
    let mut first = 0;
    let mut next = None;
    while order.len() < contents {
        while candidates.placed.get(first) == Some(&true) {
            first += 1;
        }
        let content = next.unwrap_or(first as u32);
        order.push(content);
        next = candidates.after(content);
    }
    order
}

/// Contents that have not been placed.
struct Candidates {
    occurrences: Occurrences,
    placed: Vec<bool>,
    counts: Vec<u8>,
    /// Scores of the candidates for the next position, which are in `scored`; 0 for other contents.
    scores: Vec<u32>,
    scored: Vec<u32>,
}

impl Candidates {
    fn new(features: Features) -> Candidates {
        let contents = features.counts.len();
        let occurrences = Occurrences::new(features.pairs, contents);
        let placed = vec![false; contents];
        let scores = vec![0; contents];
        Candidates { occurrences, placed, counts: features.counts, scores, scored: Vec::new() }
    }

    /// Places a content, and returns the content that has most in common with it; the first, if there are several.
    fn after(&mut self, content: u32) -> Option<u32> {
        self.placed[content as usize] = true;
        for at in self.occurrences.range(content) {
            let occurrence = self.occurrences.of[at];
            self.score(occurrence);
            self.occurrences.unlink(occurrence);
        }
        self.best()
    }

    fn score(&mut self, from: u32) {
        let Candidates { occurrences, scores, scored, .. } = self;
        let weight = u32::from(occurrences.weights[from as usize]);
        for links in [&occurrences.before, &occurrences.after] {
            let mut at = links[from as usize];
            for _ in 0..NEAR {
                let Some(content) = occurrences.contents.get(at as usize) else { break };
                let score = &mut scores[*content as usize];
                if *score == 0 {
                    scored.push(*content);
                }
                *score += weight;
                at = links[at as usize];
            }
        }
    }

    fn best(&mut self) -> Option<u32> {
        // The score, the number of features, and the content.
        let mut best = (LEAST, 1, None);
        for content in std::mem::take(&mut self.scored) {
            let score = u64::from(std::mem::take(&mut self.scores[content as usize]));
            let count = u64::from(self.counts[content as usize]);
            let own = score * best.1;
            let other = best.0 * count;
            let is_first = best.2.is_none_or(|found| content < found);
            if own > other || own == other && is_first {
                best = (score, count, Some(content));
            }
        }
        best.2
    }
}

/// All occurrences of features that more than one content has, by feature and then by content.
struct Occurrences {
    contents: Vec<u32>,
    /// The next occurrences of the same feature whose contents have not been placed.
    before: Vec<u32>,
    after: Vec<u32>,
    /// The rarity of the feature in quarter bits, at least 1.
    weights: Vec<u8>,
    /// The occurrences of each content, content by content.
    of: Vec<u32>,
    /// Start of the occurrences of each content, and the end.
    starts: Vec<u32>,
}

impl Occurrences {
    fn new(mut pairs: Vec<u64>, contents: usize) -> Occurrences {
        pairs.sort_unstable();
        pairs.dedup();
        let shared = || pairs.chunk_by(|a, b| a >> 32 == b >> 32).filter(|group| group.len() > 1);
        let count = shared().map(<[u64]>::len).sum();
        let list = || Vec::with_capacity(count);
        let mut found = Occurrences {
            contents: list(),
            before: list(),
            after: list(),
            weights: Vec::with_capacity(count),
            of: Vec::new(),
            starts: Vec::new(),
        };
        for group in shared() {
            found.add(group, quarters(contents) - quarters(group.len()));
        }
        drop(pairs);
        found.index(contents);
        found
    }

    fn add(&mut self, group: &[u64], weight: u32) {
        let first = self.contents.len() as u32;
        let last = first + group.len() as u32 - 1;
        self.contents.extend(group.iter().map(|pair| *pair as u32));
        self.before.extend((first..=last).map(|at| if at == first { NONE } else { at - 1 }));
        self.after.extend((first..=last).map(|at| if at == last { NONE } else { at + 1 }));
        self.weights.resize(self.contents.len(), weight.max(1) as u8);
    }

    /// Lists the occurrences of each content.
    fn index(&mut self, contents: usize) {
        self.starts = vec![0; contents + 1];
        self.contents.iter().for_each(|content| self.starts[*content as usize + 1] += 1);
        for at in 0..contents {
            self.starts[at + 1] += self.starts[at];
        }
        self.of = vec![0; self.contents.len()];
        for (occurrence, content) in (0..).zip(&self.contents) {
            let start = &mut self.starts[*content as usize];
            self.of[*start as usize] = occurrence;
            *start += 1;
        }
        // Each start is now the start of the next content.
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    fn range(&self, content: u32) -> std::ops::Range<usize> {
        self.starts[content as usize] as usize..self.starts[content as usize + 1] as usize
    }

    fn unlink(&mut self, occurrence: u32) {
        let before = self.before[occurrence as usize];
        let after = self.after[occurrence as usize];
        if let Some(link) = self.after.get_mut(before as usize) {
            *link = after;
        }
        if let Some(link) = self.before.get_mut(after as usize) {
            *link = before;
        }
    }
}

/// Four times the binary logarithm of a number that is not 0.
fn quarters(number: usize) -> u32 {
    u128::from(number as u32).pow(4).checked_ilog2().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of contents among others without features, which make the features rare.
    fn order(contents: &[&[u32]]) -> Vec<u32> {
        let mut features = Features::default();
        contents.iter().for_each(|content| features.push(content));
        (0..1000).for_each(|_| features.push(&[]));
        let mut order = chain(features);
        order.retain(|number| (*number as usize) < contents.len());
        order
    }

    #[test]
    fn contents_follow_those_that_share_most() {
        let contents: [&[u32]; 5] = [&[1, 2, 3, 4], &[9], &[1, 20, 30, 40], &[2, 3, 4, 50], &[9, 20]];
        assert_eq!(order(&contents), [0, 3, 1, 4, 2]);
    }

    #[test]
    fn without_anything_in_common_the_order_stays() {
        assert_eq!(order(&[&[1], &[], &[2], &[3]]), [0, 1, 2, 3]);
        assert!(order(&[]).is_empty());
    }

    #[test]
    fn chooses_the_first_of_equal_candidates() {
        assert_eq!(order(&[&[7, 8], &[1], &[7, 9], &[7, 10]]), [0, 2, 3, 1]);
    }

    #[test]
    fn a_feature_of_all_contents_costs_no_more() {
        let mut features = Features::default();
        (0..200_000u32).for_each(|number| features.push(&[1, 2, 3, number / 2 + 10]));
        let found = chain(features);
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert!((0..200_000).eq(sorted));
        assert!(found.chunks(2).all(|pair| pair[0] / 2 == pair[1] / 2));
    }

    proptest::proptest! {
        #[test]
        fn each_content_comes_once(contents in proptest::collection::vec(proptest::collection::vec(0u32..40, 0..9), 0..60)) {
            let contents: Vec<&[u32]> = contents.iter().map(Vec::as_slice).collect();
            let mut found = order(&contents);
            found.sort_unstable();
            assert!((0..contents.len() as u32).eq(found));
        }

        #[test]
        fn new_numbers_change_nothing_else(contents in proptest::collection::vec(proptest::collection::vec(0u32..40, 0..9), 0..60)) {
            let mut one = Features::default();
            let mut other = Features::default();
            contents.iter().rev().for_each(|content| one.push(content));
            contents.iter().for_each(|content| other.push(content));
            one.renumber(&(0..contents.len() as u32).rev().collect::<Vec<_>>());
            assert_eq!(chain(one), chain(other));
        }
    }
}
