//! Compact indexes that are written are read again.

use packline_testkit::Random;

use super::*;
use crate::format::test_indexes;

/// An extent of a file: bytes of content, and blocks stored.
type Extents = [(u64, u16)];

const CLUSTER: u64 = 4096;

/// Returns the logical clusters of a file whose extents are stored one after another from block 1000 on.
fn clusters(extents: &Extents, is_big: bool) -> Vec<Cluster> {
    let mut clusters = Vec::new();
    let mut at = 0;
    let mut block = 1000;
    let mut starts = Vec::new();
    for (length, blocks) in extents {
        starts.push((at, block, *blocks));
        at += length;
        block += u64::from(*blocks);
    }
    for number in 0..at.div_ceil(CLUSTER) {
        let last = starts.iter().rfind(|(start, ..)| start / CLUSTER <= number).unwrap();
        let distance = number - last.0 / CLUSTER;
        clusters.push(match distance {
            0 => {
                let offset = (last.0 % CLUSTER) as u32;
                Cluster::Start(Start { head: Head::First, offset, block: last.1, is_partial: false })
            }
            1 if is_big => Cluster::Inside(Inside { back: 1, blocks: Some(last.2) }),
            _ => Cluster::Inside(Inside { back: distance as u32, blocks: None }),
        });
    }
    clusters
}

fn check(extents: &Extents, start: u64, has_short: bool, is_big: bool) {
    let clusters = clusters(extents, is_big);
    let count = clusters.len() as u64;
    let bytes = test_indexes::compact(&clusters, start, 1000, has_short, is_big);
    let index = CompactIndex::new(CompactParameters { start, count, cluster_bits: 12, has_short, is_big }).unwrap();
    for (number, expected) in (0..).zip(&clusters) {
        let place = index.place(number);
        let at = (place.offset - start) as usize;
        let decoded = index.decode(&bytes[at..at + place.bytes], place.number).unwrap();
        assert_eq!(decoded, *expected, "cluster {number} of {count} at {start}, {extents:?}");
    }
    assert_eq!(index.place(count - 1).end() - start, bytes.len() as u64, "{count} clusters at {start}");
}

#[test]
fn decodes_what_the_writer_encodes_for_all_sizes_and_starts() {
    let mut random = Random::new(5);
    for start in (0..32).step_by(8) {
        for count in 1..=60 {
            for (has_short, is_big) in [(false, false), (true, false), (false, true), (true, true)] {
                for most in [1, 3, 40] {
                    let mut extents = Vec::new();
                    let mut left: u64 = count * CLUSTER - random.below(CLUSTER - 1);
                    while left > 0 {
                        let length = (CLUSTER + random.below(most * CLUSTER)).min(left);
                        // The next extent starts in another logical cluster.
                        let length = if left - length < CLUSTER { left } else { length };
                        let blocks = if is_big && length > 2 * CLUSTER { 1 + random.below(9) as u16 } else { 1 };
                        extents.push((length, blocks));
                        left -= length;
                    }
                    check(&extents, start, has_short, is_big);
                }
            }
        }
    }
}

#[test]
fn short_packs_start_at_multiples_of_their_size() {
    let place = |start, count, number, has_short| {
        let parameters = CompactParameters { start, count, cluster_bits: 12, has_short, is_big: true };
        let place = CompactIndex::new(parameters).unwrap().place(number);
        (place.offset, place.bytes, place.number)
    };
    assert_eq!(place(8, 40, 5, true), (24, 8, 1));
    assert_eq!(place(8, 40, 6, true), (32, 32, 0));
    assert_eq!(place(8, 40, 37, true), (64, 32, 15));
    assert_eq!(place(8, 40, 38, true), (96, 8, 0));
    assert_eq!(place(32, 40, 0, true), (32, 32, 0));
    assert_eq!(place(8, 40, 6, false), (32, 8, 0));
    assert_eq!(place(8, 5, 4, true), (24, 8, 0));
    // 6 values in long packs, of which 3 are used.
    assert_eq!(place(8, 3, 2, true), (16, 8, 0));
}

#[test]
fn rejects_logical_clusters_too_large_for_the_values() {
    let index = |cluster_bits, count, has_short| {
        CompactIndex::new(CompactParameters { start: 0, count, cluster_bits, has_short, is_big: true })
    };
    assert!(index(14, 100, false).is_some());
    assert!(index(15, 100, false).is_none());
    assert!(index(13, 100, true).is_none());
    assert!(index(13, 15, true).is_some());
}

#[test]
fn any_pack_is_decoded_in_bounded_time() {
    let mut random = Random::new(11);
    for is_big in [false, true] {
        let parameters = CompactParameters { start: 0, count: 1 << 20, cluster_bits: 12, has_short: true, is_big };
        let index = CompactIndex::new(parameters).unwrap();
        for _ in 0..20_000 {
            let pack = random.noise(32);
            for number in 0..16 {
                index.decode(&pack, number);
            }
            index.decode(&pack[..8], 0);
            index.decode(&pack[..8], 1);
        }
    }
}
