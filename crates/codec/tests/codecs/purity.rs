//! The output of an encoder depends only on the block: not on earlier calls, and not on the block's address.

use crate::common::{KINDS, Numbers, SPECS, compress, content, spec};
use packline_codec::Spec;
use proptest::prelude::*;

/// Blocks of many sizes and kinds in mixed order.
fn blocks(count: u64, limit: u64, seed: u64) -> Vec<Vec<u8>> {
    let mut numbers = Numbers::new(seed);
    let mut sizes = Numbers::new(seed + 1);
    let mut size = || match sizes.below(4) {
        0 => sizes.below(limit.min(300)) as usize,
        1 => sizes.below(limit / 4 + 1) as usize,
        2 => sizes.below(limit + 1) as usize,
        _ => limit as usize,
    };
    (0..count).map(|at| content(KINDS[numbers.below(6) as usize], size(), at + seed)).collect()
}

fn check(text: &str, spec: &Spec, blocks: &[Vec<u8>], limit: usize) {
    let mut used = spec.encoder(limit).unwrap();
    for (at, block) in blocks.iter().enumerate() {
        let fresh = compress(&mut *spec.encoder(limit).unwrap(), block);
        assert!(compress(&mut *used, block) == fresh, "{text}: block {at} of {} bytes depends on history", block.len());
    }
}

#[test]
fn a_used_encoder_equals_a_fresh_one() {
    for text in SPECS {
        check(text, &spec(text), &blocks(24, 8192, 1), 8192);
        check(text, &spec(text), &blocks(6, 131_072, 2), 131_072);
    }
}

#[test]
fn output_of_every_zstd_level_does_not_depend_on_earlier_blocks() {
    for level in (-7..=22).filter(|level| *level != 0) {
        let text = format!("zstd:level={level}");
        check(&text, &spec(&text), &blocks(8, 40_000, 3), 40_000);
        let crowded: Vec<_> = (0..2).map(|seed| crate::common::crowded(131_072, seed)).collect();
        check(&text, &spec(&text), &crowded, 131_072);
    }
}

#[test]
fn abandoned_block_does_not_change_the_next() {
    let random = content("random", 30_000, 1);
    let code = content("code", 30_000, 1);
    for text in SPECS {
        let mut encoder = spec(text).encoder(30_000).unwrap();
        let first = compress(&mut *encoder, &code);
        compress(&mut *encoder, &random);
        assert!(compress(&mut *encoder, &code) == first, "{text}");
    }
}

#[test]
fn output_does_not_depend_on_neighbours_in_memory() {
    // Two adjacent blocks, so that a library could mistake the second for a continuation of the first.
    let both = content("text", 60_000, 8);
    for text in SPECS {
        let spec = spec(text);
        let mut encoder = spec.encoder(30_000).unwrap();
        compress(&mut *encoder, &both[..30_000]);
        let after = compress(&mut *encoder, &both[30_000..]);
        let copy = both[30_000..].to_vec();
        let alone = compress(&mut *spec.encoder(30_000).unwrap(), &copy);
        assert!(after == alone, "{text}");
    }
}

#[test]
fn block_size_matters_only_to_dictionaries() {
    let block = content("code", 10_000, 8);
    for text in SPECS {
        let small = compress(&mut *spec(text).encoder(16_384).unwrap(), &block);
        let large = compress(&mut *spec(text).encoder(1 << 20).unwrap(), &block);
        assert!(small == large, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn output_does_not_depend_on_the_previous_block(a in proptest::collection::vec(0u8..7, 0..5000), b in proptest::collection::vec(0u8..4, 0..5000)) {
        for text in SPECS {
            let spec = spec(text);
            let mut used = spec.encoder(8192).unwrap();
            compress(&mut *used, &a);
            let fresh = compress(&mut *spec.encoder(8192).unwrap(), &b);
            prop_assert!(compress(&mut *used, &b) == fresh, "{}", text);
        }
    }
}
