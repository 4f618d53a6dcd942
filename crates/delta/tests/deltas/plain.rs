//! Files that are their own plain form.

use packline_delta::{DeltaOptions, Error};
use packline_runtime::MemoryFault;
use packline_testkit::Random;

use super::support::{applied, made, resources, round_trip};

#[test]
fn edges() {
    let noise = Random::new(1).noise(5000);
    for (old, new) in [
        (&b""[..], &b""[..]),
        (b"", b"x"),
        (b"x", b""),
        (b"x", b"x"),
        (b"x", b"y"),
        (b"", &noise),
        (&noise, b""),
        (&noise, &noise),
        (&noise[..1000], &noise),
        (&noise, &noise[4000..]),
    ] {
        let (delta, _) = round_trip(old, new);
        let literals = if old.len() >= new.len() { 0 } else { new.len() - old.len() };
        assert!(delta.len() <= literals + 400, "{} and {} bytes: {}", old.len(), new.len(), delta.len());
    }
}

#[test]
fn finds_moved_changed_and_new_bytes() {
    let mut random = Random::new(2);
    let old = random.noise(9 << 20);
    let inserted = random.noise(3000);
    let other = random.prose(100_000);
    let mut changed = old[2 << 20..3 << 20].to_vec();
    changed.iter_mut().step_by(50_000).for_each(|byte| *byte ^= 0x55);
    let new =
        [&inserted[..], &old[..2 << 20], &changed, &old[7 << 20..], &other, &old[3 << 20..7 << 20], &old[5000..9000]]
            .concat();
    let (delta, made) = round_trip(&old, &new);
    let compressed = 40_000;
    assert!(delta.len() < 3000 + 20 * 60 + compressed, "{} bytes", delta.len());
    assert!(made.literals < 200_000, "{}", made.literals);
}

#[test]
fn many_small_changes_cost_a_few_bytes_each() {
    let mut random = Random::new(3);
    let old = random.noise(4 << 20);
    let mut new = old.clone();
    let places: Vec<usize> = (0..new.len()).step_by(1536).collect();
    places.iter().for_each(|place| new[*place] = new[*place].wrapping_add(1));
    let (delta, _) = round_trip(&old, &new);
    assert!(delta.len() < places.len() * 8, "{} bytes for {} changes", delta.len(), places.len());
}

#[test]
fn copies_long_runs_across_segments() {
    let mut random = Random::new(4);
    let head = random.noise(10_000);
    let tail = random.noise(10_000);
    let zeros = vec![0; 14 << 20];
    let old = [&head[..], &zeros, &tail].concat();
    let new = [&head[..9000], b"changed", &head[9000..], &zeros, &tail].concat();
    let (delta, made) = round_trip(&old, &new);
    assert!(delta.len() < 500 && made.literals < 100, "{} bytes, {}", delta.len(), made.literals);
}

#[test]
fn rejects_another_old_file() {
    let old = Random::new(5).noise(3000);
    let new = Random::new(6).noise(3000);
    let (delta, _) = round_trip(&old, &new);
    let shorter = applied(&old[..2999], &delta, &resources(1)).unwrap_err().to_string();
    assert_eq!(shorter, "the delta was made for another file: 2999 bytes (expected 3000 bytes)");
    let mut other = old.clone();
    other[77] ^= 1;
    let changed = applied(&other, &delta, &resources(1));
    assert!(matches!(changed, Err(Error::OtherOld { .. })), "{changed:?}");
}

#[test]
fn detects_each_flipped_bit() {
    let mut random = Random::new(7);
    let old = random.prose(20_000);
    let new = [&old[..9000], &random.prose(700), &old[9100..]].concat();
    let (delta, _) = round_trip(&old, &new);
    for (at, bit) in (0..delta.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut damaged = delta.clone();
        damaged[at] ^= 1 << bit;
        if let Ok(made) = applied(&old, &damaged, &resources(0)) {
            assert!(made == new, "bit {bit} of byte {at}");
        }
    }
    for length in 0..delta.len() {
        let error = applied(&old, &delta[..length], &resources(0)).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. } | Error::NotDelta), "{length}: {error}");
    }
    assert!(applied(&old, &[&delta[..], b"x"].concat(), &resources(0)).is_err());
}

#[test]
fn memory_changes_no_byte_and_too_little_is_an_error() {
    let mut random = Random::new(8);
    let old = random.prose(6 << 20);
    let new = [&random.prose(5 << 20)[..], &old].concat();
    let options = DeltaOptions::default();
    let (whole, _) = made(&old, &new, &options, &resources(2)).unwrap();
    let Err(Error::Memory(MemoryFault { needed, .. })) =
        made(&old, &new, &options, &resources(2).memory_limit(1 << 20))
    else {
        panic!("1 MiB suffices");
    };
    assert!(needed < 256 << 20, "{needed}");
    assert!(made(&old, &new, &options, &resources(2).memory_limit(needed)).unwrap().0 == whole);
    let Err(Error::Memory(MemoryFault { needed, .. })) = applied(&old, &whole, &resources(2).memory_limit(1 << 20))
    else {
        panic!("1 MiB suffices");
    };
    assert!(needed < 64 << 20, "{needed}");
    assert!(applied(&old, &whole, &resources(2).memory_limit(needed)).unwrap() == new);
}

#[test]
fn all_levels_reproduce_the_file() {
    let mut random = Random::new(9);
    let old = random.prose(300_000);
    let new = [&old[..100_000], &random.prose(50_000), &old[90_000..]].concat();
    for level in DeltaOptions::LEVELS {
        let mut options = DeltaOptions::default();
        options.level = level;
        let (delta, _) = made(&old, &new, &options, &resources(2)).unwrap();
        assert!(applied(&old, &delta, &resources(2)).unwrap() == new);
    }
}

#[test]
fn no_copy_continues_after_the_old_file() {
    let mut random = Random::new(10);
    let first = random.noise(30_000);
    let second = random.noise(30_000);
    // The same bytes follow the old content in the new file and in the window of the search.
    let new = [&second[..], &first, &second].concat();
    round_trip(&[&first[..], &second[..3000]].concat(), &new);
    round_trip(&first, &[&first[..], &first, &first].concat());
}
