//! Bytes inserted, lost and moved.

use packline_recovery::{Error, PacketLocation};
use packline_runtime::Resources;
use packline_testkit::Random;

use crate::support::*;

fn sidecar_of(file: &[u8]) -> Vec<u8> {
    protected(file, "3%", PacketLocation::Sidecar, &Resources::new(1))
}

#[track_caller]
fn assert_lost(original: &[u8], damaged: &[u8], lost: std::ops::RangeInclusive<usize>) {
    let sidecar = sidecar_of(original);
    let case = Case { file: damaged, sidecar: Some(&sidecar) };
    let resources = Resources::new(1);
    let examined = case.examined(&resources).unwrap();
    assert!(lost.contains(&examined.lost) && !examined.is_whole(), "{} lost", examined.lost);
    assert!(case.repaired(&resources).unwrap() == original);
}

#[test]
fn shifted_bytes_cost_only_their_own_shards() {
    let original = Random::new(1).noise(300_000);
    for at in [0, 1, 1000, 150_000, 299_000] {
        let inserted = [&original[..at], &[7; 1024], &original[at..]].concat();
        assert_lost(&original, &inserted, 0..=1);
        let removed = [&original[..at], &original[(at + 1024).min(original.len())..]].concat();
        assert_lost(&original, &removed, 1..=2);
        let both = [&inserted[..], b"some more"].concat();
        assert_lost(&original, &both, 0..=2);
    }
    let reordered = [&original[200_000..], &original[..200_000]].concat();
    assert_lost(&original, &reordered, 1..=3);
    let several: Vec<u8> = original.chunks(100_001).flat_map(|part| [part, b"xyz"].concat()).collect();
    assert_lost(&original, &several, 1..=5);
}

#[test]
fn finds_all_equal_shards() {
    let mut original = vec![0; 400_000];
    original[200_000..200_100].fill(1);
    let inserted = [&original[..200_050], &[9; 77], &original[200_050..]].concat();
    assert_lost(&original, &inserted, 0..=2);
    assert_lost(&original, &original[..399_000], 0..=1);
    let longer = [&original[..], &[0; 5]].concat();
    assert_lost(&original, &longer, 0..=0);
}

/// A short last shard ends before some columns.
#[test]
fn repairs_a_short_last_shard_to_its_length() {
    let original = Random::new(4).noise((65 << 20) + 5);
    let sidecar = sidecar_of(&original);
    let case = Case { file: &original[..original.len() - 3], sidecar: Some(&sidecar) };
    assert!(case.repaired(&Resources::new(2)).unwrap() == original);
}

#[test]
fn repairs_a_truncated_tail_within_the_budget() {
    let original = Random::new(5).noise(1 << 20);
    let sidecar = sidecar_of(&original);
    let resources = Resources::new(1);
    // 3 % of 512 shards are 16 shards; one more is added.
    for (cut, repaired) in [(1, true), (17 * 2048, true), (17 * 2048 + 1, false), (1 << 20, false)] {
        let case = Case { file: &original[..original.len() - cut], sidecar: Some(&sidecar) };
        match case.repaired(&resources) {
            Ok(bytes) => assert!(repaired && bytes == original, "{cut}"),
            Err(Error::Beyond { lost, repairable: 17, .. }) => assert!(!repaired && lost > 17, "{cut}"),
            Err(other) => panic!("{other}"),
        }
    }
}
