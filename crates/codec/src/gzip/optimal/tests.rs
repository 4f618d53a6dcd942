//! Streams of our own encoder, decoded by libdeflate and by zlib.

use std::os::raw::c_ulong;

use packline_testkit::Random;
use proptest::prelude::*;

use super::super::libdeflate::{Deflater, Inflater};
use super::*;
use crate::Decoder;
use crate::search::hard_inputs::{de_bruijn, fibonacci, periodic};

fn compress(encoder: &mut dyn Compressor, src: &[u8]) -> Vec<u8> {
    let mut out = vec![0; src.len() + src.len() / 1000 + 64];
    let size = encoder.try_compress(src, &mut out).unwrap().unwrap();
    out.truncate(size);
    out
}

/// Decompresses with zlib, whose checks of codes are those of Linux.
#[allow(unsafe_code)]
fn zlib(packed: &[u8], size: usize) -> Vec<u8> {
    let mut back = vec![0; size + 1];
    let mut made = back.len() as c_ulong;
    // SAFETY: both buffers are valid for the lengths given.
    let code = unsafe { libz_sys::uncompress(back.as_mut_ptr(), &mut made, packed.as_ptr(), packed.len() as c_ulong) };
    assert_eq!(code, libz_sys::Z_OK);
    back.truncate(made as usize);
    back
}

/// Checks that both decoders return the block. Returns its size.
fn check(src: &[u8]) -> usize {
    let packed = compress(&mut Optimal::default(), src);
    let mut back = vec![0; src.len()];
    assert_eq!(Inflater::new().unwrap().decompress(&packed, &mut back), Ok(src.len()));
    assert!(back == src && zlib(&packed, src.len()) == src, "{} bytes", src.len());
    packed.len()
}

#[test]
fn is_about_as_small_as_libdeflate_on_random_words() {
    let mut random = Random::new(1);
    for size in [8 << 10, 128 << 10, 400_000] {
        let src = random.prose(size);
        let theirs = compress(&mut Deflater::new(12).unwrap(), &src).len();
        let ours = check(&src);
        assert!(ours <= theirs + theirs / 100, "{size}: {ours} {theirs}");
    }
}

#[test]
fn round_trips_sizes_at_edges() {
    let text = Random::new(2).prose(500_000);
    let section = 1 << 17;
    for size in
        (1..50).chain([255, 258, 259, 260, 4096, 32_768, 32_769, SMALL + 1, section, section + 1, SECTION, 2 * SECTION])
    {
        check(&text[..size]);
        check(&vec![7; size]);
    }
}

#[test]
fn handles_hard_inputs() {
    for period in [1, 2, 3, 31, 64] {
        let size = check(&periodic(period));
        assert!(size < 600, "{period}: {size}");
    }
    let noise = Random::new(3).noise(200_000);
    assert!(check(&noise) < 200_050);
    assert!(check(&[&noise[..30_000], &noise[..30_000]].concat()) < 31_000);
    assert!(check(&fibonacci(131_072)) < 1000);
    assert!(check(&de_bruijn()) < 12_000);
}

#[test]
fn long_runs_are_not_searched_and_as_small_as_libdeflate() {
    let noise = Random::new(6).noise(3000);
    for period in [1, 3, 100] {
        let run: Vec<u8> = noise[..period].iter().copied().cycle().take(60_000).collect();
        let src = [&noise[1000..2000], &run, &noise[2000..], &run[..300]].concat();
        let mut matches = Matches::default();
        matches.find(&src, 0).unwrap();
        let unsearched = (0..src.len()).filter(|at| matches.least(*at) > symbols::SHORTEST).count();
        assert_eq!(unsearched, run.len() - 2 * period - 1 - 2 * symbols::LONGEST);
        let theirs = compress(&mut Deflater::new(12).unwrap(), &src).len();
        let ours = check(&src);
        assert!(ours <= theirs + 8, "{period}: {ours} {theirs}");
    }
}

/// Each position has many matches of different lengths and distances, more than are kept.
#[test]
fn keeps_steps_where_matches_abound() {
    let mut random = Random::new(4);
    let words: Vec<Vec<u8>> = (3..40).map(|size| random.noise(40)[..size].to_vec()).collect();
    let mut src = Vec::new();
    for (number, byte) in random.noise(60_000).into_iter().enumerate() {
        let word = &words[usize::from(byte) % words.len()];
        src.extend(&word[..(number % word.len()) + 1]);
    }
    src.truncate(131_072);
    let theirs = compress(&mut Deflater::new(12).unwrap(), &src).len();
    let ours = check(&src);
    assert!(ours <= theirs + theirs / 30, "{ours} {theirs}");
}

#[test]
fn output_does_not_depend_on_earlier_blocks() {
    let mut used = Optimal::default();
    let mut random = Random::new(5);
    for src in [random.noise(70_000), fibonacci(131_072), random.prose(300_000), de_bruijn(), vec![0; 3000]] {
        assert!(compress(&mut used, &src) == compress(&mut Optimal::default(), &src));
    }
}

proptest! {
    #[test]
    fn round_trips_words(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 1..20), choices in prop::collection::vec(0usize..20, 1..400)) {
        check(&choices.iter().flat_map(|choice| words[choice % words.len()].clone()).collect::<Vec<_>>());
    }

    #[test]
    fn small_destination_is_not_an_error(size in 14usize..3000, seed: u64, share in 0usize..100) {
        let src = Random::new(seed).prose(size);
        let full = compress(&mut Optimal::default(), &src);
        let mut out = vec![0; full.len() * share / 100];
        prop_assert_eq!(Optimal::default().try_compress(&src, &mut out).unwrap(), None);
    }
}
