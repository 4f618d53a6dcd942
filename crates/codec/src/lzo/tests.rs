//! Encoders against two decoders, and the decoder against handmade streams.

use proptest::prelude::*;

use super::writer::{M1_FAR_FIRST, M1_FAR_MOST, M1_MOST, M2_MOST, M3_MOST, M4_MOST, Match, Writer};
use super::*;

/// Each algorithm, and levels from the lowest to the highest.
fn all() -> Vec<LzoParams> {
    let algorithms = LzoAlgorithm::ALL.iter().map(|&algorithm| LzoParams { algorithm, ..LzoParams::default() });
    let levels = [1, 5, 8, 9].map(|level| LzoParams { level, ..LzoParams::default() });
    algorithms.chain(levels).collect()
}

fn compressed(params: &LzoParams, src: &[u8]) -> Vec<u8> {
    let mut out = vec![0; src.len() + src.len() / 16 + 67];
    let size = LzoEncoder::new(params).try_compress(src, &mut out).unwrap().unwrap();
    out.truncate(size);
    out
}

fn decompressed(src: &[u8], capacity: usize) -> Result<Vec<u8>, CodecError> {
    let mut dst = vec![0; capacity];
    let size = LzoDecoder.decompress(src, &mut dst)?;
    dst.truncate(size);
    Ok(dst)
}

/// Decompresses with another implementation.
fn decode_with_lzokay(src: &[u8], capacity: usize) -> Vec<u8> {
    let mut dst = vec![0; capacity];
    let size = lzokay::decompress::decompress(src, &mut dst).unwrap();
    dst.truncate(size);
    dst
}

fn check(src: &[u8]) {
    for params in all() {
        let packed = compressed(&params, src);
        assert!(decompressed(&packed, src.len()).unwrap() == src, "{params:?}, {} bytes", src.len());
        assert!(decode_with_lzokay(&packed, src.len()) == src, "{params:?}, {} bytes, decode_with_lzokay", src.len());
    }
}

/// Text of words that repeat at distances of all kinds.
fn wordy(size: usize, seed: u64, words: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut out = Vec::with_capacity(size + 32);
    while out.len() < size {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let word = (state >> 33) % words;
        let length = 1 + (word % 23) as usize;
        let bytes = (0..length as u64).map(|index| ((word + 1).wrapping_mul(0x9e37_79b9 + index * 77) >> 13) as u8);
        out.extend(bytes);
    }
    out.truncate(size);
    out
}

#[test]
fn round_trips_blocks_of_all_kinds() {
    for size in [2, 3, 4, 17, 18, 19, 20, 238, 239, 273, 274, 275, 4096, 5000, 70_000, 131_072, 200_000] {
        check(&vec![0; size]);
        check(&wordy(size, size as u64, 3));
        check(&wordy(size, 7, 900));
        check(&wordy(size, 9, u64::MAX >> 40));
    }
}

#[test]
fn reads_every_form_of_match() {
    for distance in
        [1, 2, 3, 7, 8, 15, 16, 17, M1_MOST, M2_MOST, M1_FAR_FIRST, M1_FAR_MOST, M3_MOST, M3_MOST + 1, M4_MOST]
    {
        for length in [2, 3, 4, 8, 9, 10, 33, 34, 264, 265, 288, 289, 5000] {
            for run in [1, 3, 4, 18, 19, 273, 274] {
                if length > 2 || (distance <= M1_MOST && run < 4) {
                    one_match(run, Match { length, distance });
                }
            }
        }
    }
}

/// A stream of a long run, a short match, some literals, a match, and literals.
fn one_match(run: usize, found: Match) {
    let noise = wordy(M4_MOST + 600, 5, u64::MAX >> 30);
    let (history, rest) = noise.split_at(M4_MOST);
    let mut out = vec![0; 2 * noise.len()];
    let mut writer = Writer::new(&mut out);
    writer.step(history, Match { length: 3, distance: 5 }).unwrap();
    writer.step(&rest[..run], found).unwrap();
    let size = writer.finish(&rest[..2]).unwrap();
    let mut expected = history.to_vec();
    let copy = |bytes: &mut Vec<u8>, found: Match| {
        (0..found.length).for_each(|_| bytes.push(bytes[bytes.len() - found.distance]));
    };
    copy(&mut expected, Match { length: 3, distance: 5 });
    expected.extend(&rest[..run]);
    copy(&mut expected, found);
    expected.extend(&rest[..2]);
    assert!(decompressed(&out[..size], expected.len()).unwrap() == expected, "{found:?} after {run}");
    assert!(decode_with_lzokay(&out[..size], expected.len()) == expected, "{found:?} after {run}, decode_with_lzokay");
}

#[test]
fn higher_levels_save_bytes() {
    let text = wordy(100_000, 3, 2000);
    let size = |list: &str| compressed(&LzoParams::parse(list).unwrap(), &text).len();
    let fast = size("algorithm=lzo1x_1");
    let weak = size("level=1");
    let usual = size("level=8");
    let best = size("level=9");
    assert!(best <= usual && usual < weak && weak < fast, "{best} {usual} {weak} {fast}");
}

#[test]
fn errors_name_the_fault() {
    let wrong = |src: &[u8], capacity: usize| decompressed(src, capacity).unwrap_err().to_string();
    assert!(wrong(&[], 9).contains("ends too early"));
    assert!(wrong(&[20, b'a', b'b'], 9).contains("ends too early"));
    assert!(wrong(&[0x11, 0], 9).contains("ends too early"));
    assert!(wrong(&[18, b'a', 0x40, 1, 0x11, 0, 0], 99).contains("reaches back"));
    assert!(wrong(&[0x11, 0, 0, 1], 9).contains("follow the end"));
    assert!(wrong(&[18, b'a', 0x12, 0, 0], 9).contains("not a stream"));
    assert!(wrong(&[18, b'a', 0x20, 0, 0, 0, 0], 99).contains("ends too early"));
    assert!(matches!(decompressed(&[18, b'a', 0x20, 200, 0, 0, 0x11, 0, 0], 99), Err(CodecError::TooLong { .. })));
    assert_eq!(decompressed(&[0x11, 0, 0], 0).unwrap(), b"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trips_any_content(size in 2usize..40_000, seed: u64, words in 1u64..5000) {
        check(&wordy(size, seed, words));
    }

    #[test]
    fn both_decoders_agree(src in proptest::collection::vec(prop_oneof![0u8..70, any::<u8>()], 0..300), capacity in 0usize..2000) {
        let mut dst = vec![0; capacity];
        let theirs = lzokay::decompress::decompress(&src, &mut dst).map(|size| dst[..size].to_vec());
        let ours = decompressed(&src, capacity);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
        prop_assert!(ours.is_err() || ours.unwrap() == theirs.unwrap());
    }

    #[test]
    fn both_decoders_agree_on_damaged_data(seed: u64, words in 1u64..300, at in 0usize..100, to: u8, less in 0usize..200) {
        let text = wordy(3000, seed, words);
        let mut packed = compressed(&LzoParams::default(), &text);
        let place = packed.len() * at / 100;
        packed[place] = to;
        let mut dst = vec![0; text.len() - less];
        let theirs = lzokay::decompress::decompress(&packed, &mut dst).map(|size| dst[..size].to_vec());
        let ours = decompressed(&packed, dst.len());
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
        prop_assert!(ours.is_err() || ours.unwrap() == theirs.unwrap());
    }

    #[test]
    fn small_destination_is_not_an_error(size in 2usize..3000, seed: u64, share in 0usize..100) {
        let src = wordy(size, seed, 50);
        for params in all() {
            let full = compressed(&params, &src);
            let mut out = vec![0; full.len() * share / 100];
            prop_assert_eq!(LzoEncoder::new(&params).try_compress(&src, &mut out).unwrap(), None);
        }
    }
}
