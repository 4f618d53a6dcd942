//! Anchors: positions that depend only on the bytes there, so that equal parts of two contents have the same ones.

/// Bytes that are hashed at an anchor.
const HASHED: usize = 16;
/// Minimum distance in bytes between two anchors, which bounds their number.
const APART: usize = 64;
/// One position in this many is an anchor.
const ONE_IN: u16 = 256;
/// Positions that are compared at once.
const GROUP: usize = 32;

/// A position in a content, chosen by the bytes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Hash of the bytes from there on.
    pub hash: u32,
    pub at: u32,
}

/// Appends the anchors of a content of less than 4 GiB.
pub fn add_anchors(content: &[u8], found: &mut Vec<Anchor>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return avx2::add_anchors(content, found);
    }
    add_anchors_with(content, found);
}

/// [`super::add_anchors_with`], compiled for vectors of 32 bytes.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)] // calls a function that requires AVX2
mod avx2 {
    use super::Anchor;

    /// As [`super::add_anchors_with`]. Requires AVX2.
    pub(super) fn add_anchors(content: &[u8], found: &mut Vec<Anchor>) {
        #[target_feature(enable = "avx2")]
        fn with_avx2(content: &[u8], found: &mut Vec<Anchor>) {
            super::add_anchors_with(content, found);
        }
        // SAFETY: the caller checked that the processor has AVX2.
        unsafe { with_avx2(content, found) }
    }
}

#[inline(always)] // inlined into functions for other processors
fn add_anchors_with(content: &[u8], found: &mut Vec<Anchor>) {
    let mut padded = [0; GROUP + HASHED];
    let mut at = 0;
    while let Some(rest) = content.get(at..).filter(|rest| rest.len() >= HASHED) {
        let positions = GROUP.min(rest.len() - HASHED + 1);
        let group = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        let ahead = first_anchor(group).filter(|&ahead| ahead < positions);
        match ahead.and_then(|ahead| Some((ahead, rest[ahead..].first_chunk()?))) {
            Some((ahead, bytes)) => {
                found.push(Anchor { hash: hash(u128::from_le_bytes(*bytes)), at: (at + ahead) as u32 });
                at += ahead + APART;
            }
            None => at += positions,
        }
    }
}

/// Returns the first anchor of a group. All positions are compared together, as vectors, because few groups have an anchor.
#[inline(always)]
fn first_anchor(group: &[u8; GROUP + HASHED]) -> Option<usize> {
    // Marks of the width of the sums need no conversion between vectors.
    let mut marks = [0_u16; GROUP];
    for (at, mark) in marks.iter_mut().enumerate() {
        *mark = is_anchor(group, at).into();
    }
    let any = marks.iter().fold(0, |any, mark| any | mark);
    if any == 0 { None } else { marks.iter().position(|&mark| mark > 0) }
}

/// Whether the four bytes at a position mark an anchor. Four zeros do not: runs of zeros are everywhere.
#[inline(always)]
fn is_anchor(bytes: &[u8; GROUP + HASHED], at: usize) -> bool {
    let part = |index: usize, factor: u16| u16::from(bytes[at + index]).wrapping_mul(factor);
    let sum = part(0, 0x9e37).wrapping_add(part(1, 0x79b1)).wrapping_add(part(2, 0x85eb)).wrapping_add(part(3, 0xca6b));
    sum.wrapping_add(0x5bd1) < u16::MAX / ONE_IN
}

fn hash(number: u128) -> u32 {
    let [low, high] = [number as u64, (number >> 64) as u64];
    ((low.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high.wrapping_mul(0xc2b2_ae3d_27d4_eb4f)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use packline_testkit::Random;
    use proptest::prelude::*;

    use super::*;

    fn anchors(content: &[u8]) -> Vec<Anchor> {
        let mut found = Vec::new();
        add_anchors(content, &mut found);
        found
    }

    #[test]
    fn monotonous_content_has_few_anchors() {
        for period in 1..40 {
            let bytes: Vec<u8> = (0..100_000).map(|at| (at % period * 37) as u8).collect();
            assert!(anchors(&bytes).len() <= bytes.len().div_ceil(APART));
        }
        assert!(anchors(&[0; 10_000]).is_empty() && anchors(&[255; 10_000]).is_empty());
        let count = anchors(&Random::new(3).noise(1 << 20)).len();
        assert!((2800..3800).contains(&count), "{count}");
    }

    #[test]
    fn the_end_of_a_content_has_all_its_anchors() {
        let noise = Random::new(5).noise(3_000);
        let all = anchors(&noise);
        for length in 0..noise.len() {
            let wanted = all.iter().take_while(|anchor| anchor.at as usize + HASHED <= length);
            assert!(anchors(&noise[..length]).iter().eq(wanted), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn each_processor_finds_the_same(seed: u64, length in 0usize..5000) {
            let content = Random::new(seed).noise(length);
            let mut found = Vec::new();
            add_anchors_with(&content, &mut found);
            prop_assert_eq!(anchors(&content), found);
        }
    }
}
