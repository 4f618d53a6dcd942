//! Indexes of random and hostile bytes end with an error, after a bounded number of steps.

use packline_testkit::Random;

use super::super::Shape;
use super::*;

const BIG: [u8; 8] = [0, 0, 0, 0, 6, 0, 0, 0];
const SMALL: [u8; 8] = [0; 8];

#[test]
fn rejects_indexes_that_break_a_rule() {
    let first = start(Head::First, 0, 1);
    for (header, clusters, expected) in [
        (SMALL, vec![inside(1), first], "logical cluster 0 without an extent"),
        (SMALL, vec![start(Head::First, 1, 1), first], "first extent at 1 of the file"),
        (SMALL, vec![first, start(Head::First, 4096, 1)], "extent at 4096 of logical cluster 1"),
        (SMALL, vec![first, inside(0)], "distance 0 in logical cluster 1"),
        (SMALL, vec![first, inside(2)], "distance 2 in logical cluster 1 at byte 88 (expected 1 to 1"),
        (SMALL, vec![first, first, inside(1), inside(3)], "distance 3 in logical cluster 3"),
        (SMALL, vec![first, blocks(1)], "cluster of 1 blocks in a file without big clusters"),
        (BIG, vec![first, blocks(1), blocks(1)], "number of blocks in logical cluster 2"),
        (BIG, vec![first, inside(1)], "extent at 0 without a number of blocks"),
        (BIG, vec![first, blocks(0)], "extent at 0 without a number of blocks"),
        (BIG, vec![first, blocks(257)], "12 MiB in at most 1 MiB"),
        (BIG, vec![first, blocks(2047)], "12 MiB in at most 1 MiB"),
        (SMALL, vec![start(Head::Plain, 0, 1), inside(1)], "not compressed"),
        (SMALL, vec![start(Head::First, 0, 1 << 20), first], "an end within the 4294967296 bytes"),
        ([0, 0, 0, 0, 0, 0, 2, 0], vec![first], "compression algorithm 2"),
        ([0, 0, 0, 0, 0, 0, 0xf0, 0], vec![start(Head::Second, 0, 1)], "compression algorithm 15"),
    ] {
        let file = full(clusters.len() as u64 * CONTENT, header, &clusters);
        let error = fault(&file);
        assert!(error.contains(expected), "{error}: {expected}");
    }
    let one_kind = File { size: 5000, compact: true, header: [0, 0, 0, 0, 2, 0, 0, 0], index: vec![0; 8] };
    assert!(fault(&one_kind).contains("big clusters of one kind"));
    let large = File { size: 5000, compact: true, header: [0, 0, 0, 0, 0, 0, 0, 3], index: vec![0; 8] };
    assert!(fault(&large).contains("logical clusters of 2^15 bytes"));
}

#[test]
fn a_fault_of_one_extent_does_not_affect_others() {
    let clusters = [start(Head::First, 0, 1 << 21), start(Head::First, 0, 2), start(Head::First, 9, 1 << 21)];
    let map = map(&full(3 * CONTENT, SMALL, &clusters));
    let mut reader = ExtentReader::new(&map, 0);
    let found: Vec<_> = std::iter::from_fn(|| reader.next_extent()).collect();
    let lengths =
        found.iter().map(|found| found.as_ref().map_or_else(|missing| missing.length, |extent| extent.length));
    assert_eq!(lengths.collect::<Vec<_>>(), [CONTENT, CONTENT + 9, CONTENT - 9]);
    assert!(found[0].is_err() && found[1].is_ok() && found[2].is_err());
    assert!(map.extent_at(CONTENT).is_ok());
}

#[test]
fn the_rest_is_missing_after_the_end_of_the_image() {
    let mut file = full(3 * CONTENT, SMALL, &[start(Head::First, 0, 1), start(Head::First, 0, 2)]);
    file.size = 1 << 62;
    let map = map(&file);
    let mut reader = ExtentReader::new(&map, 0);
    assert_eq!(reader.next_extent().unwrap().unwrap().length, CONTENT);
    let missing = reader.next_extent().unwrap().unwrap_err();
    assert_eq!((missing.length, reader.offset()), ((1 << 62) - CONTENT, 1 << 62));
    assert!(reader.next_extent().is_none());
    assert!(map.extent_at(1 << 61).is_err());
}

/// Distances that lead back one logical cluster at a time, from an extent that never starts.
#[test]
fn lookups_are_bounded() {
    let count = 200_000;
    let mut clusters = vec![start(Head::First, 0, 1)];
    clusters.extend((1..count).map(|_| inside(1)));
    let file = full(u64::from(count as u32) * CONTENT, SMALL, &clusters);
    let input = input(&file);
    let shared: Arc<dyn ReadBytes> = Arc::<Bytes>::clone(&input);
    let inode = MapInode { compact: false, size: file.size, end: HEADER };
    let map = Arc::new(Map::open(shared, &image(), inode).unwrap());
    let error = map.extent_at(150_000 * CONTENT).unwrap_err().to_string();
    assert!(error.contains("no start of the extent"), "{error}");
    let error = map.extent_at(5).unwrap_err().to_string();
    assert!(error.contains("does not end before"), "{error}");
    assert!(input.reads.load(Ordering::Relaxed) < 40, "each window is read about once");
}

/// Bytes that often have types, distances and lengths that are valid.
fn random_index(random: &mut Random, compact: bool) -> Vec<u8> {
    let mut bytes = random.noise(600);
    match random.below(4) {
        0 => {}
        1 => bytes.iter_mut().for_each(|byte| *byte &= 0x13),
        2 if !compact => {
            for entry in bytes.chunks_exact_mut(8) {
                entry[0] = random.below(3) as u8;
                entry[1] = 0;
                entry[3] &= 15;
                entry[4] = 1 + random.below(3) as u8;
                entry[5] = if random.below(3) == 0 { 8 } else { 0 };
                entry[6..].fill(0);
            }
        }
        _ => bytes.iter_mut().step_by(2).for_each(|byte| *byte = 0),
    }
    if random.below(2) == 0 {
        bytes[..16].fill(0);
    }
    bytes
}

/// Whatever the index says: no panic, extents without gaps, and random access never contradicts sequential access.
#[test]
fn random_indexes_are_read_consistently() {
    let mut random = Random::new(77);
    let mut sound = 0;
    for _ in 0..30_000 {
        let compact = random.below(3) == 0;
        let mut header = [0; 8];
        header[4] = random.bits() as u8 & 0x3f;
        header[2] = random.below(40) as u8;
        header[0] = random.below(12) as u8;
        header[6] = [0, 1, 3, 0x31][random.below(4) as usize];
        header[7] = if random.below(4) == 0 { random.bits() as u8 } else { 0 };
        let size = match random.below(3) {
            0 => 1 + random.below(40 * CONTENT),
            1 => 1 + random.below(1 << 40),
            _ => CONTENT * (1 + random.below(30)),
        };
        let file = File { size, compact, header, index: random_index(&mut random, compact) };
        let Ok(map) = try_map(&file) else { continue };
        sound += u32::from(check_consistency(&Arc::new(map), size, &mut random));
    }
    assert!(sound > 2000, "only {sound} indexes have an extent");
}

/// Returns whether an extent was found.
fn check_consistency(map: &Arc<Map>, size: u64, random: &mut Random) -> bool {
    let mut reader = ExtentReader::new(map, 0);
    let mut at = 0;
    let mut found = Vec::new();
    let mut is_complete = true;
    while let Some(next) = reader.next_extent() {
        match next {
            Ok(extent) => {
                assert_eq!(extent.start, at);
                assert!(extent.length > 0);
                at = extent.end();
                found.push(extent);
            }
            Err(missing) => {
                at += missing.length;
                is_complete = false;
            }
        }
        assert_eq!(reader.offset(), at);
        assert!(found.len() < 1000);
    }
    assert_eq!(at, size);
    // A search in records whose starts do not increase may find any of them.
    let is_sorted = is_complete || !matches!(map.shape, Shape::Records(_));
    for _ in 0..4 {
        let offset = random.below(size);
        let Ok(extent) = map.extent_at(offset) else { continue };
        assert!(extent.contains(offset));
        let known = found.iter().find(|known| known.contains(offset));
        assert!(!is_sorted || known.is_none_or(|known| *known == extent), "{known:?}, {extent:?}");
        if extent.unit().is_some() {
            assert_eq!(map.extent_of_key(extent.key).unwrap(), extent);
        }
        let again = ExtentReader::new(map, offset);
        assert!(again.offset() <= offset);
    }
    !found.is_empty()
}
