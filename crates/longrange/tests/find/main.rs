//! Matches are correct, complete, and the same for any number of workers and any kind of window.

mod content;
mod far;
mod reference;

use content::{Offsets, check, covered, found, like_files, noise};
use packline_longrange::{FindError, Match, Settings, Window, find};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MIB: usize = 1 << 20;

#[test]
fn matches_do_not_depend_on_workers_or_windows() {
    let bytes = like_files(14 * MIB);
    for (level, least) in [(1, 32), (7, 32), (9, 64)] {
        let settings = Settings::new(level, bytes.len() as u64).with_least(least);
        let serial = found(&bytes, &settings, 0);
        check(&bytes, &serial, least);
        assert!(covered(&serial) > bytes.len() as u64 / 4, "level {level}");
        for workers in [1, 2, 7, 16] {
            assert_eq!(found(&bytes, &settings, workers), serial, "level {level}, {workers} workers, in memory");
            assert_eq!(
                found(&Offsets(bytes.clone()), &settings, workers),
                serial,
                "level {level}, {workers} workers, at offsets"
            );
        }
    }
}

#[test]
fn a_copy_is_one_match_at_any_position() {
    // The copies cross ends of segments, at odd distances.
    let original = noise(9 * MIB + 777, 1);
    let bytes = [&original[..], &noise(12_345, 2), &original[100..]].concat();
    let copy = Match {
        at: original.len() as u64 + 12_345,
        length: original.len() as u64 - 100,
        distance: original.len() as u64 + 12_245,
    };
    let window = bytes.len() as u64;
    assert_eq!(found(&bytes, &Settings::new(7, window), 2), [copy]);
    assert_eq!(found(&Offsets(bytes.clone()), &Settings::new(1, window), 2), [copy]);
}

#[test]
fn noise_has_no_matches() {
    let bytes = noise(5 * MIB, 3);
    assert_eq!(found(&bytes, &Settings::new(9, bytes.len() as u64), 2), []);
}

#[test]
fn short_windows() {
    for length in [0, 1, 31, 32, 33, 63, 64, 65, 100] {
        let bytes = vec![b'Z'; length];
        let matches = found(&bytes, &Settings::new(7, length as u64), 2);
        check(&bytes, &matches, 32);
        assert_eq!(matches, found(&Offsets(bytes.clone()), &Settings::new(7, length as u64), 1));
    }
    let twice = [noise(200, 4), noise(200, 4)].concat();
    assert_eq!(found(&twice, &Settings::new(9, 400), 1), [Match { at: 200, length: 200, distance: 200 }]);
}

/// Versions of one file, each with the same short pieces inserted at other positions.
fn versions() -> Vec<u8> {
    let original = noise(700_000, 11);
    let mut bytes = original.clone();
    for version in 1..14_usize {
        for (number, part) in original.chunks(1000).enumerate() {
            bytes.extend(part);
            bytes.extend(noise(44, (number * 331 + version * 97) as u64 % 700 + 1000));
        }
    }
    bytes
}

#[test]
fn searches_few_uncovered_bytes_again() {
    let bytes = versions();
    let settings = Settings::new(7, bytes.len() as u64);
    let matches = found(&bytes, &settings, 1);
    check(&bytes, &matches, 32);
    // Uncovered are the original, each piece once, and about one in thirty of the other copies, which have no sample.
    let fresh = 700_000 + 700 * 44;
    let left = bytes.len() as u64 - covered(&matches);
    assert!((fresh..fresh + 12 * 700 * 44 / 20).contains(&left), "{left} bytes are left over");
    for workers in [0, 2, 7] {
        assert_eq!(found(&bytes, &settings, workers), matches, "{workers} workers, in memory");
        assert_eq!(found(&Offsets(bytes.clone()), &settings, workers), matches, "{workers} workers, at offsets");
    }
}

#[test]
fn runs_and_short_periods_are_one_match() {
    for period in [1, 2, 3, 7, 8, 31, 32, 33, 63, 64] {
        let bytes: Vec<u8> = noise(period, 5).into_iter().cycle().take(200_000).collect();
        let whole = Match { at: period as u64, length: 200_000 - period as u64, distance: period as u64 };
        assert_eq!(found(&bytes, &Settings::new(1, 200_000), 1), [whole], "period {period}");
    }
    let zeros = vec![0; 9 * MIB];
    let whole = Match { at: 1, length: zeros.len() as u64 - 1, distance: 1 };
    assert_eq!(found(&zeros, &Settings::new(7, zeros.len() as u64), 2), [whole], "over the ends of segments");
}

#[test]
fn longer_periods_are_covered() {
    for period in [65, 100, 1000, 4099, 100_000] {
        let bytes: Vec<u8> = noise(period, 6).into_iter().cycle().take(MIB).collect();
        let matches = found(&bytes, &Settings::new(9, MIB as u64), 2);
        check(&bytes, &matches, 32);
        let missed = MIB as u64 - covered(&matches) - period as u64;
        // Bytes up to the first sample that occurs twice are uncovered.
        assert!(missed < 2000, "period {period}: {missed} bytes missed");
    }
}

#[test]
fn hostile_content_has_no_more_samples() {
    let thue_morse = |n: usize| if n.count_ones().is_multiple_of(2) { b'a' } else { b'b' };
    // A pattern with a sample, repeated at distances too large and uneven for a run.
    let again =
        |n: usize| -> Vec<u8> { (0..n).flat_map(|n| [noise(40, 7), noise(30 + n % 50, n as u64)].concat()).collect() };
    let fibonacci = {
        let (mut a, mut b) = (vec![b'a'], vec![b'a', b'b']);
        while b.len() < 5 * MIB {
            (a, b) = (b.clone(), [b, a].concat());
        }
        b
    };
    let hurting = [(0..5 * MIB).map(thue_morse).collect(), again(60_000), fibonacci, de_bruijn(22)];
    for (number, bytes) in hurting.iter().enumerate() {
        let settings = Settings::new(7, bytes.len() as u64);
        let matches = found(bytes, &settings, 2);
        check(bytes, &matches, 32);
        assert_eq!(matches, found(&Offsets(bytes.clone()), &settings, 1), "{number}");
    }
}

/// Each sequence of `order` bytes a and b once: the sequence of a shift register, built greedily ("prefer one").
fn de_bruijn(order: u32) -> Vec<u8> {
    let mask = (1_usize << order) - 1;
    let mut seen = vec![false; 1 << order];
    let mut state = 0_usize;
    let mut bytes = Vec::with_capacity(1 << order);
    for _ in 0..1_usize << order {
        let one = (state << 1 | 1) & mask;
        state = if seen[one] { one & !1 } else { one };
        seen[state] = true;
        bytes.push(if state & 1 == 1 { b'b' } else { b'a' });
    }
    bytes
}

#[test]
fn returns_the_error_of_the_window() {
    struct Torn(usize);
    impl Window for Torn {
        fn length(&self) -> u64 {
            20 * MIB as u64
        }
        fn read(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
            if at as usize + into.len() > self.0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            into.fill(at as u8);
            Ok(())
        }
    }
    for workers in [0, 2, 7] {
        let settings = Settings::new(7, 20 * MIB as u64);
        let end = find::<()>(Arc::new(Torn(9 * MIB)), &settings, workers, &|| false, &mut |_| Ok(()));
        let Err(FindError::Read { at, length, .. }) = end else { panic!("{end:?}") };
        assert!(at < 9 * MIB as u64 && at as usize + length > 9 * MIB, "the first of the segments that are not there");
    }
}

#[test]
fn the_consumer_and_stop_end_the_search() {
    let bytes = Arc::new(like_files(10 * MIB));
    let settings = Settings::new(7, bytes.len() as u64);
    for workers in [0, 2, 7] {
        let end = find(bytes.clone(), &settings, workers, &|| false, &mut |_| Err("full"));
        assert!(matches!(end, Err(FindError::Consumer("full"))));
        for after in [0, 1, 3, 4, 6, 8] {
            let asked = AtomicUsize::new(0);
            let stop = || asked.fetch_add(1, Ordering::SeqCst) >= after;
            let end = find::<()>(bytes.clone(), &settings, workers, &stop, &mut |_| Ok(()));
            assert!(matches!(end, Err(FindError::Cancelled)), "{workers} workers, stopped after {after}");
        }
    }
}

#[test]
fn rejects_too_long_a_window_without_reading_it() {
    struct Endless;
    impl Window for Endless {
        fn length(&self) -> u64 {
            packline_longrange::WINDOW_MOST + 1
        }
        fn read(&self, _: u64, _: &mut [u8]) -> std::io::Result<()> {
            panic!("nothing is to be read")
        }
    }
    let end = find::<()>(Arc::new(Endless), &Settings::new(1, Endless.length()), 2, &|| false, &mut |_| Ok(()));
    assert!(matches!(end, Err(FindError::TooLong { .. })));
}

/// Pieces of noise, of runs, and of earlier content.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = (0_u8..4, 1_usize..3000, any::<u64>());
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| {
        let mut bytes = Vec::new();
        for (kind, length, seed) in pieces {
            match kind {
                0 => bytes.extend(noise(length, seed)),
                1 => bytes.extend(noise(seed as usize % 70 + 1, seed).into_iter().cycle().take(length)),
                2 => bytes.extend(noise(length, seed).iter().map(|byte| b'a' + byte % 2)),
                _ => {
                    let start = seed as usize % (bytes.len() + 1);
                    bytes.extend_from_within(start..(start + length).min(bytes.len()));
                }
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn matches_are_correct_and_equal_at_offsets(bytes in pieces(), level in 1_u32..=9, least in 32_u64..100) {
        let settings = Settings::new(level, bytes.len() as u64).with_least(least);
        let matches = found(&bytes, &settings, 1);
        check(&bytes, &matches, least);
        prop_assert_eq!(found(&Offsets(bytes.clone()), &settings, 1), matches);
    }
}
