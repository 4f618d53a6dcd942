//! Extents of encoded records.

use packline_volume::{Piece, Unit};

use super::*;
use crate::read::packed::Packed;

/// Flags of encoded extents with records of 4 << `size` bytes.
fn header(size: u16, more: u16, bits: u8, count: u32) -> [u8; 8] {
    let [low, high] = (1 | size << 1 | more).to_le_bytes();
    let [a, b, c, d] = count.to_le_bytes();
    [a, b, c, d, low, high, 0, bits]
}

fn word(algorithm: u32, bytes: u32) -> u32 {
    (algorithm << 28) | bytes
}

/// Returns records of `bytes` bytes from their complete words.
fn records(bytes: usize, records: &[[u32; 5]]) -> Vec<u8> {
    let padded = |record: &[u32; 5]| {
        let mut all: Vec<u8> = record.iter().flat_map(|word| word.to_le_bytes()).collect();
        all.resize(32, 0);
        all.truncate(bytes);
        all
    };
    records.iter().flat_map(padded).collect()
}

fn file(size: u64, header: [u8; 8], index: Vec<u8>) -> File {
    File { size, compact: false, header, index }
}

#[test]
fn short_records_are_stored_one_after_another() {
    let list = [[word(4, 1000), 0, 0, 0, 0], [0; 5], [word(0, 20_000), 0, 0, 0, 0], [word(2, 7) | 1 << 27, 0, 0, 0, 0]];
    let index = [&0x1_2345_u64.to_le_bytes()[..], &records(4, &list)].concat();
    let size = 3 * 16_384 + 5000;
    let partial = Form::Coded(Coded { algorithm: 1, is_partial: true });
    assert_eq!(
        kinds(&extents(&file(size, header(0, 0, 2, 0), index))),
        [
            (0, 16_384, stored(0x1_2345, 1000, coded(3))),
            (16_384, 16_384, ExtentKind::Hole),
            (2 * 16_384, 16_384, stored(0x1_2345 + 1000, 20_000, Form::Plain)),
            (3 * 16_384, 5000, stored(0x1_2345 + 21_000, 7, partial)),
        ]
    );
}

#[test]
fn records_of_8_bytes_have_positions() {
    let list = [[word(4, 1000), 77_777, 0, 0, 0], [word(0, 4096), 8192, 0, 0, 0], [0x1234_5678, 9, 0, 0, 0]];
    let file = file(2 * 4096 + 5, header(1, 0x30, 0, 0), records(8, &list));
    assert_eq!(
        kinds(&extents(&file)),
        [
            (0, 4096, stored(77_777, 1000, coded(3))),
            (4096, 4096, stored(8192, 4096, Form::Interlaced)),
            (8192, 5, ExtentKind::Fragment(0x9_1234_5678)),
        ]
    );
}

#[test]
fn long_records_have_starts() {
    for (size, bytes) in [(2, 16), (3, 32)] {
        let list = [
            [word(4, 1000), 77_777, 0, 100, 0],
            [word(0, 1_000_003), 9, 0, 5000, 0],
            [0, 0, 0, 1_005_003, 0],
            [word(1, 50), 60, 0, 1_100_000, 0],
        ];
        let list_bytes = records(bytes, &list);
        // Records of 32 bytes start at byte 96.
        let padding = if bytes == 32 { vec![0; 24] } else { vec![0; 8] };
        let file = file(2_000_000, header(size, 0, 0, 4), [padding, list_bytes].concat());
        assert_eq!(
            kinds(&extents(&file)),
            [
                (0, 100, ExtentKind::Hole),
                (100, 4900, stored(77_777, 1000, coded(3))),
                (5000, 1_000_003, stored(9, 1_000_003, Form::Plain)),
                (1_005_003, 94_997, ExtentKind::Hole),
                (1_100_000, 900_000, stored(60, 50, coded(0))),
            ]
        );
    }
    let hole = file(77, header(2, 0, 0, 0), Vec::new());
    assert_eq!(kinds(&extents(&hole)), [(0, 77, ExtentKind::Hole)]);
}

#[test]
fn starts_beyond_4_gib_need_records_of_32_bytes() {
    let list = [[word(4, 1000), 1, 0, 0, 0], [word(4, 1000), 2, 0, 4096, 1]];
    let index = [vec![0; 24], records(32, &list)].concat();
    let map = map(&file((1 << 32) + 5000, header(3, 0, 0, 2), index));
    let extent = map.extent_at((1 << 32) + 4096).unwrap();
    assert_eq!((extent.start, extent.length, extent.key), ((1 << 32) + 4096, 904, 1));
    // The first extent has more content than any cluster.
    assert!(map.extent_at(4095).unwrap_err().to_string().contains("12 MiB"));
}

#[test]
fn reading_in_order_reads_each_record_about_once() {
    let count = 100_000;
    let list: Vec<[u32; 5]> = (0..count).map(|number| [word(4, 1 + number % 50), 0, 0, 0, 0]).collect();
    let index = [&7u64.to_le_bytes()[..], &records(4, &list)].concat();
    let file = file(u64::from(count) * 4096, header(0, 0, 0, 0), index);
    let input = input(&file);
    let shared: Arc<dyn ReadBytes> = Arc::<Bytes>::clone(&input);
    let inode = MapInode { compact: false, size: file.size, end: HEADER };
    let map = Arc::new(Map::open(shared, &image(), inode).unwrap());
    let found = all(&map);
    assert_eq!(found.len(), count as usize);
    let reads = || input.reads.swap(0, Ordering::Relaxed);
    assert!(reads() < 100 + 3 * 1024);
    // Random access finds the same, and remembers positions.
    for extent in found.iter().rev().step_by(997) {
        assert_eq!(map.extent_at(extent.start + 5).unwrap(), *extent);
        let reader = ExtentReader::new(&map, extent.start);
        assert_eq!(reader.offset(), if extent.key > 1024 { 0 } else { extent.start });
    }
    assert!(reads() < 100 + 5 * 101 + 3 * 1024);
}

#[test]
fn parts_of_the_packed_inode_are_shared_or_plain() {
    let list = [[word(4, 1000), 77_777, 0, 0, 0], [word(0, 200_000), 9, 0, 150_000, 0], [0, 0, 0, 350_000, 0]];
    let map = map(&file(360_000, header(2, 0, 0, 3), [vec![0; 8], records(16, &list)].concat()));
    let shared = map.piece_at(149_000, 5000).unwrap();
    let Piece::Shared { place, length: 1000 } = shared else { panic!("{shared:?}") };
    assert_eq!((place.unit, place.offset), (0, 149_000));
    let unit = map.unit(0).unwrap();
    assert_eq!((unit.offset, unit.stored, unit.length), (77_777, 1000, 150_000));
    let own = |offset, most| match map.piece_at(offset, most).unwrap() {
        Piece::Own { unit: Unit { offset, stored, length, form: packline_volume::PLAIN }, start: 0, length: used } => {
            assert_eq!((stored, length), (used, used));
            (offset, length)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(own(150_001, 10), (10, 10));
    assert_eq!(own(150_000, u64::MAX), (9, 131_072));
    assert_eq!(map.piece_at(355_000, 10_000).unwrap(), Piece::Hole { length: 5000 });
    assert!(map.piece_at(360_000, 1).is_err());
    assert!(map.unit(1).is_err() && map.unit(2).is_err() && map.unit(3).is_err());
    assert_eq!(map.keys(), 3);
}

#[test]
fn rejects_records_that_break_a_rule() {
    let long = |list: &[[u32; 5]]| {
        let index = [vec![0; 8], records(16, list)].concat();
        fault(&file(20 << 20, header(2, 0, 0, list.len() as u32), index))
    };
    let sound = [word(4, 1000), 77_777, 0, 0, 0];
    let after = |start| [word(4, 1000), 9, 0, start, 0];
    for (list, expected) in [
        (vec![sound, after(1 << 20), after(1 << 19)], "extent at 524288 after the one at 1048576"),
        (vec![sound, after(0)], "extent at 0 after the one at 0"),
        (vec![sound, after(21 << 20)], "at most the size 20971520"),
        (vec![sound, after(13 << 20)], "12 MiB in at most 1 MiB"),
        (vec![[word(4, (1 << 20) + 1), 9, 0, 0, 0], after(100)], "12 MiB in at most 1 MiB"),
        (vec![[word(3, 10), 9, 0, 0, 0], after(100)], "compression algorithm 2"),
        (vec![[word(15, 10), 9, 0, 0, 0], after(100)], "compression algorithm 14"),
        (vec![[word(0, 99), 9, 0, 0, 0], after(100)], "not compressed"),
        (vec![[word(4, 99), 9, 1 << 31, 0, 0], after(100)], "an end within"),
        (vec![[word(4, 99), u32::MAX, u32::MAX, 0, 0], after(100)], "an end within"),
    ] {
        let error = long(&list);
        assert!(error.contains(expected), "{error}: {expected}");
    }
    // The number of records has 48 bits.
    let mut many = header(2, 0, 0, 5);
    many[6] = 0xff;
    many[7] = 0x7f;
    let file = file(5000, many, [vec![0; 8], records(16, &[sound])].concat());
    assert!(map(&file).extent_at(10).unwrap_err().to_string().contains("bytes of the image"));
}
