//! Candidates are matches, and depend only on the block.

use proptest::prelude::*;

use super::*;

const EFFORT: Effort = Effort { bits: 10, four: 8, six: 10, twelve: 64, covering: 24, nice: 64 };

fn exact(nice: usize) -> Search {
    Search::Exact(Exact { format: Format::Zstd, nice })
}

/// All candidates of each position: the continued or the longest one, and the others.
fn all(finder: &mut Searcher, src: &[u8], part: usize) -> Vec<(Candidate, Vec<Candidate>)> {
    let mut found = CandidateList::default();
    let mut list = Vec::new();
    finder.begin(src).unwrap();
    for start in (0..src.len()).step_by(part) {
        let size = part.min(src.len() - start);
        finder.find(src, start..start + size, &mut found);
        let matches = found.matches();
        list.extend((0..size).map(|index| (matches.continued(index), matches.at(index).to_vec())));
    }
    list
}

/// Checks a block in a new searcher, after another block, and in parts.
fn check(src: &[u8], search: Search) {
    let fresh = all(&mut Searcher::new(search, usize::MAX), src, 1 << LARGEST_LOG);
    let mut used = Searcher::new(search, usize::MAX);
    all(&mut used, &src.iter().rev().map(|byte| byte ^ 1).collect::<Vec<_>>(), 1 << LARGEST_LOG);
    assert!(all(&mut used, src, 1 << LARGEST_LOG) == fresh);
    for (at, (continued, candidates)) in fresh.iter().enumerate() {
        assert!(candidates.len() <= 4 && candidates.is_sorted_by_key(|candidate| candidate.length()));
        for candidate in candidates.iter().chain(Some(continued).filter(|candidate| candidate.length() > 0)) {
            let length = candidate.length();
            let distance = candidate.distance() as usize;
            assert!((3..=LONGEST).contains(&length) && (1..=at).contains(&distance));
            assert_eq!(src[at..at + length], src[at - distance..][..length]);
        }
    }
    for (start, (_, candidates)) in all(&mut used, src, 1000).iter().enumerate() {
        assert!(candidates.iter().all(|candidate| candidate.distance() as usize <= start));
    }
}

#[test]
fn finds_repeated_bytes_as_one_match() {
    for period in [1, 2, 3, 7, 64] {
        let src: Vec<u8> = (0..5000).map(|index| (index % period * 37) as u8).collect();
        let found = all(&mut Searcher::new(Search::ByHash(EFFORT), usize::MAX), &src, src.len());
        let longest = found.iter().flat_map(|(_, candidates)| candidates).map(|candidate| candidate.length()).max();
        assert_eq!(longest, Some(LONGEST), "{period}");
        check(&src, Search::ByHash(EFFORT));
        check(&src, exact(64));
    }
}

#[test]
fn clears_tables_before_positions_overflow() {
    let mut used = Searcher::new(Search::ByHash(EFFORT), usize::MAX);
    let src: Vec<u8> = (0..300_000u32).map(|index| (index.wrapping_mul(index) >> 9) as u8).collect();
    let fresh = all(&mut Searcher::new(Search::ByHash(EFFORT), usize::MAX), &src, src.len());
    assert!((0..9).all(|_| all(&mut used, &src, src.len()) == fresh));
}

#[test]
fn does_not_search_inside_covering_matches() {
    let noise: Vec<u8> = (1..200u32).map(|index| (index.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    // At its 20th byte, the last 40 bytes of the first piece continue with the second piece.
    let [first, second, end] = [&noise[..40], &noise[60..110], &noise[120..150]];
    let src = [&first[20..], second, &noise[150..160], first, &noise[170..180], first, second, end].concat();
    let at = src.len() - end.len() - second.len() - first.len();
    let longest_inside = |covering| {
        let search = Search::ByHash(Effort { covering, ..EFFORT });
        let found = all(&mut Searcher::new(search, usize::MAX), &src, src.len());
        [0, 20, 40].map(|inside| found[at + inside].1.last().map_or(0, |candidate| candidate.length()))
    };
    assert_eq!([40, 41].map(longest_inside), [[40, 0, 50], [40, 70, 0]]);
}

#[test]
fn finds_long_match_after_many_with_the_same_twelve_bytes() {
    let record = |number: u8| [b"the same bytes first".as_slice(), &[number; 20]].concat();
    let longest_of_the_last = |others: u8| {
        let src = [b"start".to_vec()]
            .into_iter()
            .chain((0..=others).chain([0, others + 1]).map(record))
            .flatten()
            .collect::<Vec<_>>();
        let found = all(&mut Searcher::new(Search::ByHash(EFFORT), usize::MAX), &src, src.len());
        let (continued, candidates) = &found[src.len() - 80];
        candidates.iter().chain([continued]).map(|candidate| candidate.length()).max()
    };
    assert_eq!([1, 18, 19].map(longest_of_the_last), [Some(60), Some(60), Some(20)]);
}

/// The candidates that matter at a position: the nearest match of each length in [`super::exact::LENGTHS`], from the longest on, unless an
/// earlier match in this order has at most the same binary logarithm of the distance.
fn expected(src: &[u8], at: usize) -> Vec<(usize, usize)> {
    let common = |there: usize| {
        src[there..].iter().zip(&src[at..]).take(LONGEST).take_while(|(one, other)| one == other).count()
    };
    let mut found = Vec::new();
    let mut least = u32::MAX;
    let mut lengths: Vec<usize> =
        super::exact::LENGTHS.iter().map(|&length| length.into()).filter(|&length| length > 0).collect();
    lengths.dedup();
    for &length in lengths.iter().rev() {
        if let Some(there) = (0..at).rev().find(|&there| common(there) >= length)
            && (at - there + 3).ilog2() < least
        {
            least = (at - there + 3).ilog2();
            found.push((common(there), at - there));
        }
    }
    found.truncate(1 + list::KEPT);
    found
}

proptest! {
    #[test]
    fn finds_the_nearest_match_of_each_length(words in prop::collection::vec(prop::collection::vec(0u8..3, 1..60), 1..6), choices in prop::collection::vec(0usize..6, 0..60)) {
        let src: Vec<u8> = choices.iter().flat_map(|choice| words[choice % words.len()].clone()).take(700).collect();
        let found = all(&mut Searcher::new(exact(LONGEST), usize::MAX), &src, 1 << LARGEST_LOG);
        for (at, (longest, shorter)) in found.into_iter().enumerate() {
            let list = Some(longest).into_iter().chain(shorter.into_iter().rev()).filter(|candidate| candidate.length() > 0);
            let list: Vec<_> = list.map(|candidate| (candidate.length(), candidate.distance() as usize)).collect();
            prop_assert_eq!(list, expected(&src, at), "position {} of {:?}", at, src);
        }
    }

    #[test]
    fn candidates_are_matches(words in prop::collection::vec(prop::collection::vec(0u8..4, 1..12), 1..8), choices in prop::collection::vec(0usize..8, 0..900), nice in 8usize..200, low in 4u32..20) {
        let src: Vec<u8> = choices.iter().flat_map(|choice| words[choice % words.len()].clone()).collect();
        check(&src, Search::ByHash(Effort { nice, four: low, six: low + 2, twelve: low * 4, ..EFFORT }));
        check(&src, exact(nice));
    }
}
