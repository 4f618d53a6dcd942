//! Changes seeds at random. The number of a change decides everything.

use std::ops::Range;

use packline_testkit::Random;

/// Longest input in bytes.
const LONGEST: usize = 256 << 10;

/// Numbers that limits and sizes often miss.
const NUMBERS: [u64; 10] =
    [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0x7fff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff];

/// Returns one of the seeds with 1, 2, 4 or 8 changes.
pub fn changed(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut random = Random::new(number);
    let mut bytes = one_of(seeds, &mut random).clone();
    for _ in 0..1 << random.below(4) {
        change(&mut bytes, seeds, &mut random);
        bytes.truncate(LONGEST);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let range = range(bytes.len(), random);
    match random.below(8) {
        0 if !range.is_empty() => bytes[range.start] ^= 1u8 << random.below(8),
        1 => random.noise(range.len()).into_iter().zip(&mut bytes[range]).for_each(|(new, byte)| *byte = new),
        2 | 3 => number(&mut bytes[range.start..], random),
        4 => drop(bytes.drain(range)),
        5 => bytes.truncate(range.start),
        6 => {
            let copy = bytes[range.clone()].repeat(1 + random.below(4) as usize);
            bytes.splice(range.end..range.end, copy);
        }
        _ => {
            let other = one_of(seeds, random);
            let from = self::range(other.len(), random);
            bytes.splice(range, other[from].iter().copied());
        }
    }
}

fn one_of<'a, T>(items: &'a [T], random: &mut Random) -> &'a T {
    &items[random.below(items.len() as u64) as usize]
}

/// Overwrites the first 1, 2, 4 or 8 bytes with a number in either byte order, or adds a small number to it.
fn number(bytes: &mut [u8], random: &mut Random) {
    let Some(field) = bytes.get_mut(..1usize << random.below(4)) else { return };
    let mut old = [0; 8];
    old[..field.len()].copy_from_slice(field);
    let near = u64::from_le_bytes(old).wrapping_add(random.below(9)).wrapping_sub(4);
    let number = if random.below(2) == 0 { near } else { *one_of(&NUMBERS, random) };
    field.copy_from_slice(&number.to_le_bytes()[..field.len()]);
    if random.below(2) == 0 {
        field.reverse();
    }
}

/// A range below `length`: mostly short, and often near the start, where formats have their headers.
fn range(length: usize, random: &mut Random) -> Range<usize> {
    let below = |limit: usize, random: &mut Random| random.below(limit as u64 + 1) as usize;
    let within = if random.below(2) == 0 { length.min(128) } else { length };
    let start = below(within, random);
    let longest = if random.below(4) == 0 { length } else { 16 };
    start..start + below(longest.min(length - start), random)
}

#[test]
fn number_decides_the_change() {
    let seeds = [b"the first seed".to_vec(), vec![7; 300], Vec::new()];
    let all: Vec<Vec<u8>> = (0..200).map(|number| changed(&seeds, number)).collect();
    assert!((0..200).all(|number| changed(&seeds, number) == all[number as usize]));
    let kept = all.iter().filter(|bytes| seeds.contains(bytes)).count();
    assert!(kept < 60, "{kept} of 200 equal a seed");
}
