//! Extents of full and compact indexes.

use super::*;

/// Flags of a header, with the numbers of two algorithms.
fn header(flags: u16, algorithms: u8) -> [u8; 8] {
    let [low, high] = flags.to_le_bytes();
    [0, 0, 0, 0, low, high, algorithms, 0]
}

#[test]
fn full_index_has_all_types_of_extents() {
    let clusters = [
        start(Head::First, 0, 100),
        blocks(3),
        inside(2),
        start(Head::Plain, 50, 103),
        Cluster::Start(Start { head: Head::Second, offset: 40, block: 104, is_partial: true }),
        blocks(2),
        start(Head::First, 4095, 106),
        // The end of the file.
        start(Head::Plain, 77, 0),
    ];
    let file = full(7 * CONTENT + 77, header(6, 0x31), &clusters);
    let partial = Form::Coded(Coded { algorithm: 3, is_partial: true });
    assert_eq!(
        kinds(&extents(&file)),
        [
            (0, 3 * CONTENT + 50, stored(100 * BLOCK, 3 * 4096, coded(1))),
            (3 * CONTENT + 50, CONTENT - 10, stored(103 * BLOCK, 4096, Form::Plain)),
            (4 * CONTENT + 40, 3 * CONTENT - 41, stored(104 * BLOCK, 2 * 4096, partial)),
            (7 * CONTENT - 1, 78, stored(106 * BLOCK, 4096, coded(1))),
        ]
    );
}

#[test]
fn clusters_have_one_block_without_big_clusters() {
    let clusters = [start(Head::First, 0, 7), inside(1), inside(2), start(Head::First, 9, 8)];
    let file = full(4 * CONTENT, header(0, 0), &clusters);
    let found = extents(&file);
    assert_eq!(found[0].kind, stored(7 * BLOCK, 4096, coded(0)));
    assert_eq!(found[1].kind, stored(8 * BLOCK, 4096, coded(0)));
    // Big clusters of the other kind do not matter.
    assert_eq!(kinds(&extents(&full(4 * CONTENT, header(4, 0), &clusters))), kinds(&found));
}

#[test]
fn compact_index_has_the_same_extents() {
    let clusters = [
        start(Head::First, 0, 100),
        blocks(3),
        inside(2),
        start(Head::Plain, 50, 103),
        start(Head::First, 40, 104),
        blocks(2),
        start(Head::First, 4095, 106),
        inside(1),
        start(Head::Plain, 77, 0),
    ];
    let clusters = [&clusters[..7], &[blocks(1)], &clusters[8..]].concat();
    let size = 8 * CONTENT + 77;
    let expected = kinds(&extents(&full(size, header(6, 0x31), &clusters)));
    for has_short in [false, true] {
        let index = test_indexes::compact(&clusters, HEADER + 8, 100, has_short, true);
        let file = File { size, compact: true, header: header(6 | u16::from(has_short), 0x31), index };
        assert_eq!(kinds(&extents(&file)), expected);
    }
}

#[test]
fn logical_clusters_may_be_larger_than_blocks() {
    let clusters = [start(Head::First, 0, 100), blocks(2), start(Head::First, 16_000, 102)];
    let mut header = header(6, 1);
    header[7] = 2;
    let found = extents(&full(3 << 14, header, &clusters));
    assert_eq!(found[0].length, (2 << 14) + 16_000);
    assert_eq!(found[0].kind, stored(100 * BLOCK, 2 * 4096, coded(1)));
    assert_eq!(found[1].length, 384);
}

#[test]
fn last_extent_may_follow_the_index() {
    let clusters = [start(Head::First, 0, 9), inside(1), start(Head::First, 5, 0)];
    let mut header = header(8, 1);
    header[2] = 100;
    let size = 2 * CONTENT + 900;
    let found = extents(&full(size, header, &clusters));
    assert_eq!(found[0].kind, stored(9 * BLOCK, 4096, coded(1)));
    assert_eq!(found[1].kind, stored(HEADER + 16 + 24, 100, coded(1)));
    assert_eq!((found[1].start, found[1].length), (2 * CONTENT + 5, 895));

    let index = test_indexes::compact(&clusters, HEADER + 8, 9, false, false);
    let end = HEADER + 8 + index.len() as u64;
    let found = extents(&File { size, compact: true, header, index });
    assert_eq!(found[1].kind, stored(end, 100, coded(1)));

    header[3] = 0x10;
    let error = fault(&full(size, header, &clusters));
    assert!(error.contains("cluster of 4196 bytes at 104 of its block"), "{error}");
}

#[test]
fn last_extent_may_be_in_the_packed_inode() {
    let clusters = [start(Head::First, 0, 9), inside(1), start(Head::First, 5, 2), inside(1)];
    let mut bytes = header(0x28, 1);
    bytes[..4].copy_from_slice(&0x1234_5678_u32.to_le_bytes());
    let size = 3 * CONTENT + 900;
    let found = extents(&full(size, bytes, &clusters));
    assert_eq!(found[1].kind, ExtentKind::Fragment(0x2_1234_5678));
    assert_eq!(found[1].length, CONTENT + 895);

    let index = test_indexes::compact(&clusters, HEADER + 8, 9, false, false);
    let found = extents(&File { size, compact: true, header: bytes, index });
    assert_eq!(found[1].kind, ExtentKind::Fragment(0x1234_5678));

    let whole = File { size: 77, compact: false, header: [5, 0, 0, 0, 0, 0, 0, 0x80], index: Vec::new() };
    assert_eq!(kinds(&extents(&whole)), [(0, 77, ExtentKind::Fragment(5))]);
}

#[test]
fn long_extents_are_found_by_chains_of_distances() {
    // 12 MiB, and a start before and after it.
    let count = 3072;
    let mut clusters = vec![start(Head::First, 0, 1), start(Head::First, 0, 2)];
    clusters.extend((1..count).map(|distance| inside(distance.min(2047))));
    clusters.push(start(Head::First, 0, 3));
    let file = full((u64::from(count) + 2) * CONTENT, header(0, 1), &clusters);
    let found = extents(&file);
    assert_eq!((found.len(), found[1].length), (3, 12 << 20));

    clusters.insert(3000, inside(2047));
    let error = fault(&full((u64::from(count) + 3) * CONTENT, header(0, 1), &clusters));
    assert!(error.contains("12 MiB"), "{error}");
}

#[test]
fn reads_of_an_index_are_in_windows() {
    let clusters: Vec<Cluster> = (0..50_000).map(|number| start(Head::First, 0, 1 + number)).collect();
    let file = full(50_000 * CONTENT, header(0, 1), &clusters);
    let input = input(&file);
    let inode = MapInode { compact: false, size: file.size, end: HEADER };
    let shared: Arc<dyn ReadBytes> = Arc::<Bytes>::clone(&input);
    let map = Arc::new(Map::open(shared, &image(), inode).unwrap());
    assert_eq!(all(&map).len(), 50_000);
    let reads = input.reads.load(Ordering::Relaxed);
    // 400,000 bytes. The last window extends beyond the image, so its 500 entries at most are read one by one, twice each.
    assert!(reads < 100 + 2 * 2 * 512, "{reads} reads");
}

#[test]
fn interlaced_content_is_in_two_parts() {
    let clusters = [start(Head::First, 0, 9), start(Head::Plain, 1000, 10), start(Head::First, 1000, 11)];
    let found = extents(&full(3 * CONTENT, header(0x10, 1), &clusters));
    let extent = found[1];
    assert_eq!(extent.kind, stored(10 * BLOCK, 4096, Form::Interlaced));
    let part = |skip: u64, most: u64| match extent.piece(skip, most, None, BLOCK) {
        Some(packline_volume::Piece::Own { unit, start: 0, length }) if unit.is_plain() => {
            (unit.offset - 10 * BLOCK, unit.stored, length)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(part(0, CONTENT), (1000, 3096, 3096));
    assert_eq!(part(10, 20), (1010, 20, 20));
    assert_eq!(part(3096, 1000), (0, 1000, 1000));
    assert_eq!(part(3100, 996), (4, 996, 996));
}
