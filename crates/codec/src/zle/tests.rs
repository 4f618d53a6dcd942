//! Handmade vectors, and a plain encoder to compare with.

use proptest::prelude::*;

use super::{MOST_ZEROS, N, ZleDecoder, ZleEncoder, portable, zeros};
use crate::traits::Compressor;
use crate::{CodecError, Decoder};

/// Compresses into a buffer of twice the size.
fn encode(src: &[u8]) -> Vec<u8> {
    let mut out = vec![0xA5; src.len() * 2];
    let size = ZleEncoder.try_compress(src, &mut out).unwrap().unwrap();
    out.truncate(size);
    out
}

fn decode(src: &[u8], capacity: usize) -> Result<Vec<u8>, CodecError> {
    let mut dst = vec![0xA5; capacity];
    let made = ZleDecoder.decompress(src, &mut dst)?;
    dst.truncate(made);
    Ok(dst)
}

/// The rules of OpenZFS's encoder, a byte at a time.
fn plain(src: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < src.len() {
        let rest = &src[at..];
        let zeros = rest.iter().take(MOST_ZEROS).take_while(|byte| **byte == 0).count();
        if zeros > 0 {
            out.push((N + zeros - 1) as u8);
            at += zeros;
            continue;
        }
        let limit = rest.len().min(N);
        let pair = (0..limit - 1).find(|&at| rest[at] == 0 && rest[at + 1] == 0);
        let length = pair.unwrap_or(limit - usize::from(rest[limit - 1] == 0));
        out.push((length - 1) as u8);
        out.extend_from_slice(&rest[..length]);
        at += length;
    }
    out
}

#[test]
fn known_blocks() {
    let long = [b'x'; 65];
    let lone_at_end = [&[b'y'; 63][..], &[0, b'z']].concat();
    for (content, block) in [
        (&b""[..], &b""[..]),
        (b"a", b"\x00a"),
        (b"\0", b"\x40"),
        (b"\0\0\0", b"\x42"),
        (b"a\0", b"\x00a\x40"),
        (b"a\0b", b"\x02a\0b"),
        (b"a\0\0b", b"\x00a\x41\x00b"),
        (b"\0a\0b\0\0", b"\x40\x02a\0b\x41"),
        (&[0; 192], b"\xFF"),
        (&[0; 193], b"\xFF\x40"),
        (&long, &[&[63][..], &long[..64], &[0, b'x']].concat()),
        // A single zero in the last place of a run counts as the first of two.
        (&lone_at_end, &[&[62][..], &lone_at_end[..63], &[64, 0, b'z']].concat()),
    ] {
        assert_eq!(encode(content), block, "{content:?}");
        assert_eq!(plain(content), block, "{content:?}");
        assert_eq!(decode(block, content.len()).unwrap(), content);
    }
}

#[test]
fn reads_unusual_valid_streams() {
    assert_eq!(decode(b"\x40\x40\x02\0\0\0\x41", 7).unwrap(), [0; 7]);
}

#[test]
fn rejects_cut_and_overlong_blocks() {
    let cut = CodecError::Malformed { codec: "zle", size: 3, reason: "ends within a run of bytes" };
    for capacity in [0, 3, 400] {
        assert_eq!(decode(b"\x02ab", capacity), Err(cut.clone()));
    }
    assert_eq!(decode(b"\x01ab\xFF", 193), Err(CodecError::TooLong { codec: "zle", size: 4, capacity: 193 }));
    assert_eq!(decode(b"\x01ab", 1), Err(CodecError::TooLong { codec: "zle", size: 3, capacity: 1 }));
    assert_eq!(decode(b"\x40", 0), Err(CodecError::TooLong { codec: "zle", size: 1, capacity: 0 }));
}

#[test]
fn a_small_destination_is_not_an_error_but_not_smaller() {
    let content = [&[b'x'; 70][..], &[0; 300], &[b'y'; 30]].concat();
    let whole = encode(&content);
    for capacity in 0..whole.len() + 70 {
        let made = ZleEncoder.try_compress(&content, &mut vec![0; capacity]).unwrap();
        assert_eq!(made, (capacity >= whole.len()).then_some(whole.len()), "{capacity}");
    }
}

/// Runs of zeros and of other bytes, of lengths around those of tokens.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![1usize..5, 60usize..68, 124usize..132, 188usize..196, 380usize..388];
    let run = (length, any::<bool>(), 1u8..4).prop_map(|(length, zeros, seed)| {
        let byte = |at: usize| if zeros || at * usize::from(seed) % 7 == 6 { 0 } else { seed };
        (0..length).map(byte).collect::<Vec<u8>>()
    });
    proptest::collection::vec(run, 0..12).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn equals_the_plain_encoder_and_round_trips(content in content()) {
        let block = encode(&content);
        prop_assert_eq!(&block, &plain(&content));
        for spare in [0, 1, 63, 64, 200] {
            prop_assert_eq!(&decode(&block, content.len() + spare).unwrap(), &content);
        }
        if !content.is_empty() {
            prop_assert!(decode(&block, content.len() - 1).is_err());
        }
    }

    #[test]
    fn decodes_or_rejects_any_bytes(block in proptest::collection::vec(any::<u8>(), 0..200), capacity in 0usize..3000) {
        if let Ok(content) = decode(&block, capacity) {
            prop_assert!(content.len() <= capacity);
            prop_assert_eq!(decode(&plain(&content), capacity).unwrap(), content);
        }
    }
}

#[test]
fn portable_and_simd_masks_are_equal() {
    let mut state = 1u64;
    for _ in 0..2000 {
        let mut expected = 0;
        let window: [u8; N] = std::array::from_fn(|at| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(at as u64 + 1);
            let byte = [0, 0, 1, 0x80, 0x7F, 0xFF, (state >> 40) as u8, 2][(state >> 61) as usize];
            expected |= u64::from(byte == 0) << at;
            byte
        });
        assert_eq!((zeros(&window), portable(&window)), (expected, expected), "{window:?}");
    }
}
