//! A window that begins with a reference.

use crate::content::{Offsets, check, covered, found, like_files, noise};
use packline_longrange::{Match, Settings};

const MIB: usize = 1 << 20;

fn settings(window: &[u8], reference: usize) -> Settings {
    Settings::new(7, window.len() as u64).with_reference(reference as u64)
}

#[test]
fn matches_repeat_only_the_reference() {
    let bytes = like_files(14 * MIB);
    for reference in [1, 3 * MIB, 4 * MIB, 9 * MIB + 5, bytes.len()] {
        let settings = settings(&bytes, reference);
        let serial = found(&bytes, &settings, 0);
        check(&bytes, &serial, 32);
        for one in &serial {
            assert!(one.at >= reference as u64 && one.at - one.distance + one.length <= reference as u64, "{one:?}");
        }
        for workers in [1, 2, 7] {
            assert_eq!(found(&bytes, &settings, workers), serial, "{reference}: {workers} workers, in memory");
            assert_eq!(found(&Offsets(bytes.clone()), &settings, workers), serial, "{reference}: at offsets");
        }
    }
    let all = found(&bytes, &settings(&bytes, 9 * MIB + 5), 2);
    assert!(covered(&all) > MIB as u64, "{} bytes", covered(&all));
}

#[test]
fn a_match_continues_after_a_change_in_place() {
    // As in a tar, headers that differ only in a number, each before a content.
    let record = |number: u64, time: u64| {
        [noise(700, 1), time.to_le_bytes().to_vec(), noise(800, 2), noise(500, number + 3)].concat()
    };
    let old: Vec<u8> = (0..4000).flat_map(|number| record(number, number)).collect();
    let new: Vec<u8> = (0..4000).flat_map(|number| record(number, number + (1 << 40))).collect();
    let window = [&old[..], &new].concat();
    let matches = found(&window, &settings(&window, old.len()), 2);
    check(&window, &matches, 32);
    let in_place = matches.iter().filter(|one| one.distance == old.len() as u64).count();
    assert!(in_place * 10 >= matches.len() * 9, "{in_place} of {}", matches.len());
}

#[test]
fn runs_are_not_matches() {
    let old = noise(100_000, 3);
    let window = [&old[..], &[0; 100_000], &old[..50_000]].concat();
    let copy = Match { at: 200_000, length: 50_000, distance: 200_000 };
    assert_eq!(found(&window, &settings(&window, old.len()), 1), [copy]);
}
