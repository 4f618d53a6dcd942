//! Blocks of our own encoder, decoded by the library.

use packline_testkit::Random;
use proptest::prelude::*;

use super::*;
use crate::Decoder;
use crate::search::hard_inputs::{de_bruijn, fibonacci, periodic};

fn level(level: u32) -> Lz4Params {
    Lz4Params { hc: true, level, acceleration: 1 }
}

fn compress(encoder: &mut dyn Compressor, src: &[u8]) -> Vec<u8> {
    let mut out = vec![0; src.len() + src.len() / 255 + 16];
    let size = encoder.try_compress(src, &mut out).unwrap().unwrap();
    out.truncate(size);
    out
}

/// Returns the positions at which matches start and end.
fn matches(packed: &[u8]) -> Vec<[usize; 2]> {
    let mut rest = packed.iter().map(|&byte| usize::from(byte));
    let mut at = 0;
    let mut found = Vec::new();
    while let Some(token) = rest.next() {
        let run = length(token >> 4, &mut rest);
        rest.by_ref().take(run).for_each(drop);
        at += run;
        if rest.len() > 0 {
            rest.by_ref().take(2).for_each(drop);
            let start = at;
            at += length(token & 15, &mut rest) + 4;
            found.push([start, at]);
        }
    }
    found
}

fn length(short: usize, rest: &mut impl Iterator<Item = usize>) -> usize {
    let mut length = short;
    if short < 15 {
        return length;
    }
    loop {
        let more = rest.next().unwrap();
        length += more;
        if more < 255 {
            break;
        }
    }
    length
}

/// Checks that the block decodes to `src`, and that it keeps the rules for its end. Returns its size.
fn check(src: &[u8]) -> usize {
    let packed = compress(&mut Optimal::default(), src);
    let mut back = vec![0; src.len()];
    assert_eq!(Lz4Decoder.decompress(&packed, &mut back), Ok(src.len()));
    assert!(back == src, "{} bytes", src.len());
    if let Some([start, end]) = matches(&packed).last() {
        assert!(start + 12 <= src.len() && end + 5 <= src.len(), "{start} {end} {}", src.len());
    }
    packed.len()
}

#[test]
fn levels_11_and_12_are_our_own() {
    let src = Random::new(1).prose(100_000);
    let own = compress(&mut Optimal::default(), &src);
    assert!([11, 12].iter().all(|&number| compress(&mut *encoder(&level(number)), &src) == own));
    assert!(compress(&mut *encoder(&level(10)), &src) != own);
}

#[test]
fn is_as_small_as_the_library() {
    let src = Random::new(2).prose(300_000);
    let library = compress(&mut LibraryEncoder::new(&level(12)), &src).len();
    let own = check(&src);
    assert!(own <= library + library / 2000, "{own} {library}");
}

#[test]
fn round_trips_sizes_at_edges() {
    let text = Random::new(3).prose(1 << 20);
    for size in (0..60).chain([270, 273, 528, 4095, 4112, 65_535, 65_552, 131_072, 262_143, 262_145, 1 << 20]) {
        check(&text[..size]);
        check(&vec![7; size]);
    }
}

#[test]
fn handles_hard_inputs() {
    for period in [1, 2, 3, 31, 64] {
        let size = check(&periodic(period));
        assert!(size < 700, "{period}: {size}");
    }
    let noise = Random::new(4).noise(200_000);
    assert!(check(&noise) < 201_000);
    assert!(check(&[&noise[..60_000], &noise[..60_000]].concat()) < 61_000);
    assert!(check(&fibonacci(131_072)) < 2000);
    assert!(check(&de_bruijn()) < 20_000);
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
    fn round_trips_words(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 1..20), choices in prop::collection::vec(0usize..20, 0..400)) {
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
