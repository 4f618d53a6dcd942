//! Forms of maps: which is chosen, and that the reader finds the same extents.

use packline_blocks::Error;
use packline_volume::Piece as Read;

use super::*;
use crate::format::inode::Layout;
use crate::write::contents::{Coded, CodedEnd, Content, Contents, Owner, Piece, Stored, Tail};
use crate::write::map::{MapMaker, MapPlan, ZeroCluster, Zeros};

/// One file.
struct One {
    content: Content,
    pieces: Vec<Piece>,
}

impl Contents for One {
    fn content(&self, owner: Owner) -> Option<Content> {
        (owner == Owner::File(0)).then_some(self.content)
    }

    fn pieces(&self, _: Owner) -> Box<dyn Iterator<Item = Piece> + '_> {
        Box::new(self.pieces.iter().copied())
    }

    fn read_tail(&self, _: Owner, to: &mut [u8]) -> Result<(), Error> {
        to.fill(7);
        Ok(())
    }
}

fn coded(length: u64, start: u64, bytes: u32) -> Piece {
    Piece { length, stored: Stored::Coded(Coded { start, bytes, is_partial: false }) }
}

fn plain(length: u64, start: u64) -> Piece {
    Piece { length, stored: Stored::Plain { start } }
}

fn hole(length: u64) -> Piece {
    Piece { length, stored: Stored::Hole }
}

fn one(pieces: &[Piece], fragment: Option<(u64, u64)>) -> One {
    let covered: u64 = pieces.iter().map(|piece| piece.length).sum();
    let (more, tail) = fragment.map_or((0, Tail::None), |(length, offset)| (length, Tail::Packed(offset)));
    One { content: Content { size: covered + more, tail }, pieces: pieces.to_vec() }
}

fn maker(contents: &One, form: Form) -> MapMaker<'_> {
    let cluster = ZeroCluster { start: 1 << 20, bytes: 4096, content: 131_072 };
    let zeros = Zeros { cluster: Some(cluster), plain: 2 << 20 };
    MapMaker { contents, form, algorithm: 3, zeros: Some(zeros), device_block_bits: None }
}

/// Plans and writes a map after an inode of 32 bytes; returns layout, start, and the bytes from the header on.
fn written(contents: &One, form: Form) -> (MapPlan, Vec<u8>) {
    let maker = maker(contents, form);
    let plan = maker.plan(Owner::File(0)).unwrap();
    let mut bytes = Vec::new();
    maker
        .write(&plan, Owner::File(0), 32, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
    assert_eq!(bytes.len() as u64, plan.end(32) - 32);
    (plan, bytes)
}

fn fault(contents: &One, form: Form) -> String {
    maker(contents, form).plan(Owner::File(0)).map_or_else(|error| error.to_string(), |_| "sound".into())
}

#[test]
fn encoded_extents_have_the_shortest_records() {
    const K: u64 = 1024;
    let bytes = |pieces: &[Piece], fragment| written(&one(pieces, fragment), Form::Extents).1.len() as u64;
    let three = [coded(128 * K, 5000, 10), coded(128 * K, 5010, 20), plain(128 * K, 5030)];
    // Records of 4 bytes need the position of the first, and each extent after the one before.
    assert_eq!(bytes(&three, None), 8 + 8 + 3 * 4);
    assert_eq!(bytes(&three[..1], None), 8 + 8);
    let apart = [coded(128 * K, 5000, 10), coded(128 * K, 5011, 20), coded(77, 5031, 9)];
    assert_eq!(bytes(&apart, None), 8 + 3 * 8);
    assert_eq!(bytes(&three, Some((9, 1 << 40))), 8 + 4 * 8);
    // Records of 16 bytes start at a multiple of 16, which is 48 after an inode of 32 bytes.
    assert_eq!(bytes(&[coded(128 * K, 5000, 10), coded(64 * K, 9, 20), coded(7, 5, 5)], None), 16 + 3 * 16);
    assert_eq!(bytes(&[coded(128 * K, 1 << 32, 10), coded(128 * K, 9, 20)], None), 16 + 2 * 16);
    assert_eq!(bytes(&[coded(100 * K, 5000, 10), coded(100 * K, 9000, 20)], None), 16 + 2 * 16);
    // A common size is at most 128 MiB, and a start below 4 GiB.
    assert_eq!(bytes(&[hole(1 << 28)], None), 16 + 16);
    assert_eq!(bytes(&[hole(1 << 33), coded(77, 5, 5)], None), 32 + 2 * 32);
    // Holes are cut, if that is shorter than long records.
    assert_eq!(bytes(&[coded(128 * K, 5000, 10), hole(256 * K), coded(128 * K, 6000, 10)], None), 8 + 4 * 8);
    assert_eq!(bytes(&[coded(128 * K, 5000, 10), hole(128 << 20), coded(128 * K, 6000, 10)], None), 16 + 3 * 16);
    let many: Vec<Piece> = (0..65).map(|number| coded(4096, number * 10, 10)).collect();
    assert_eq!(bytes(&many[..64], None), 8 + 8 + 64 * 4);
    assert_eq!(bytes(&many, None), 8 + 65 * 8);
}

#[test]
fn clusters_are_compact_if_they_are_consecutive() {
    let plan = |pieces: &[Piece], fragment| written(&one(pieces, fragment), Form::Clusters).0;
    let consecutive =
        [coded(20_000, 8192, 8192), coded(50_000, 16_384, 12_288), plain(8192, 28_672), coded(5000, 36_864, 4096)];
    assert_eq!(plan(&consecutive, None).layout(), Layout::CompressedCompact);
    assert_eq!(plan(&consecutive, None).start(), 8);
    assert_eq!(plan(&consecutive, Some((5000, 77))).layout(), Layout::CompressedCompact);
    assert_eq!(plan(&consecutive, Some((5000, 1 << 32))).layout(), Layout::CompressedFull);
    assert_eq!(plan(&[coded(20_000, 8192, 8192), coded(50_000, 20_480, 4096)], None).layout(), Layout::CompressedFull);
    assert_eq!(plan(&[coded(20_000, 8192, 8192), hole(65_536)], None).layout(), Layout::CompressedFull);
    assert_eq!(plan(&[], Some((5, 7))).layout(), Layout::CompressedFull);
    assert_eq!(plan(&[], None).layout(), Layout::Plain);
}

#[test]
fn content_that_does_not_compress_needs_no_index() {
    let plan = |pieces: &[Piece], fragment| written(&one(pieces, fragment), Form::Clusters);
    let (flat, bytes) = plan(&[plain(65_536, 8192), plain(5000, 8192 + 65_536)], None);
    assert_eq!((flat.layout(), flat.start(), bytes.len()), (Layout::Plain, 2, 0));
    assert_eq!(plan(&[plain(8192, 8192), plain(5000, 40_960)], None).0.layout(), Layout::CompressedFull);
    assert_eq!(plan(&[plain(8192, 8192), coded(9000, 16_384, 8192)], None).0.layout(), Layout::CompressedCompact);
    assert_eq!(plan(&[plain(8192, 8192)], Some((5, 7))).0.layout(), Layout::CompressedCompact);
}

#[test]
fn the_end_of_a_flat_file_follows_its_inode() {
    let ending = |pieces: &[Piece], bytes: u32| {
        let mut file = one(pieces, None);
        file.content.size += u64::from(bytes);
        file.content.tail = Tail::Inline(bytes);
        file
    };
    let (plan, bytes) = written(&ending(&[plain(4096, 12_288), plain(4096, 16_384)], 100), Form::Flat);
    assert_eq!((plan.layout(), plan.start(), bytes), (Layout::Inline, 3, vec![7; 100]));
    let (alone, bytes) = written(&ending(&[], 4000), Form::Flat);
    assert_eq!((alone.layout(), alone.start(), bytes), (Layout::Inline, 0, vec![7; 4000]));
    assert!(fault(&ending(&[hole(4096)], 100), Form::Flat).contains("scattered"));
    assert!(fault(&ending(&[plain(4096, 12_288)], 100), Form::Extents).contains("ends in its inode"));
}

#[test]
fn the_end_of_a_compressed_file_follows_its_index() {
    let ending = |pieces: &[Piece], tail: Tail, length: u64| {
        let mut file = one(pieces, None);
        file.content.size += length;
        file.content.tail = tail;
        file
    };
    let coded_end = Tail::Coded(CodedEnd { length: 9000, bytes: 100 });
    let whole = |tail, pieces: &[Piece], length| {
        let (plan, bytes) = written(&ending(pieces, tail, length), Form::Clusters);
        let end = bytes.len() - tail.inline_bytes() as usize;
        assert!(bytes[end..].iter().all(|byte| *byte == 7) && plan.together(32) == u64::from(tail.inline_bytes()));
        // The header has the bytes of the end, and its flag.
        assert_eq!(u32::from(u16::from_le_bytes([bytes[2], bytes[3]])), tail.inline_bytes());
        assert_eq!((bytes[4] & 8, plan.features() & incompat::INLINE_CLUSTERS), (8, incompat::INLINE_CLUSTERS));
        plan
    };
    let alone = whole(coded_end, &[], 9000);
    assert_eq!((alone.layout(), alone.start()), (Layout::CompressedCompact, 0));
    let after = whole(coded_end, &[coded(20_000, 8192, 8192), plain(4096, 16_384)], 9000);
    assert_eq!((after.layout(), after.start()), (Layout::CompressedCompact, 3));
    let apart = whole(coded_end, &[coded(20_000, 8192, 8192), hole(65_536)], 9000);
    assert_eq!(apart.layout(), Layout::CompressedFull);
    let stored = whole(Tail::Inline(100), &[coded(20_000, 8192, 8192)], 100);
    assert_eq!((stored.layout(), stored.start()), (Layout::CompressedCompact, 2));
    // Without compression, no index is needed.
    let (flat, bytes) = written(&ending(&[plain(4096, 12_288)], Tail::Inline(4000), 4000), Form::Clusters);
    assert_eq!((flat.layout(), flat.start(), flat.together(32), bytes.len()), (Layout::Inline, 3, 4032, 4000));
    assert_eq!((flat.together(64), flat.together(100)), (4064, 4000));
}

#[test]
fn chunks_are_as_large_as_the_parts_of_a_file() {
    let plan = |pieces: &[Piece]| written(&one(pieces, None), Form::Flat);
    let (flat, bytes) = plan(&[plain(65_536, 8192), plain(100, 8192 + 65_536)]);
    assert_eq!((flat.layout(), flat.start(), bytes.len()), (Layout::Plain, 2, 0));
    let (chunks, bytes) = plan(&[plain(65_536, 8192), hole(65_536), plain(65_536, 8192), plain(5000, 73_728)]);
    assert_eq!((chunks.layout(), chunks.start()), (Layout::Chunks, 4));
    let numbers: Vec<u32> = bytes.chunks(4).map(|number| u32::from_le_bytes(number.try_into().unwrap())).collect();
    assert_eq!(numbers, [2, u32::MAX, 2, 18]);
    let (zeros, bytes) = plan(&[hole(1_000_000)]);
    assert_eq!((zeros.start(), bytes), (8, vec![0xff; 4]));
    assert_eq!(plan(&[hole(1)]).1, [0xff; 4]);
    assert_eq!(plan(&[plain(4096, 8192), plain(4096, 0)]).1, [2, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn pieces_that_do_not_fit_a_form_are_rejected() {
    for (form, pieces, expected) in [
        (
            Form::Clusters,
            vec![coded(5000, 8192, 4096), coded(3000, 12_288, 4096), coded(5000, 16_384, 4096)],
            "two extents",
        ),
        (Form::Clusters, vec![coded(5000, 8192, 4095)], "4095 bytes"),
        (Form::Clusters, vec![coded(5000, 8191, 4096)], "at byte 8191"),
        (Form::Clusters, vec![coded(5000, 8192, 257 * 4096)], "1052672 bytes"),
        (Form::Extents, vec![coded(5000, 8192, 0)], "in 0 at"),
        (Form::Extents, vec![plain((1 << 20) + 1, 8192)], "in 1048577 at"),
        (Form::Flat, vec![plain(5000, 8193)], "8193"),
        (Form::Flat, vec![coded(5000, 8192, 4096)], "Coded"),
        (Form::Flat, vec![plain(5000, 8192), plain(5000, 4096)], "multiples of 8"),
    ] {
        let fault = fault(&one(&pieces, None), form);
        assert!(fault.contains(expected), "{fault}: {expected}");
    }
    let mut short = one(&[coded(5000, 8192, 4096)], None);
    short.content.size += 1;
    for form in [Form::Clusters, Form::Extents] {
        assert!(fault(&short, form).contains("pieces of 5000 bytes of a file of 5001 bytes"));
    }
    let overlapping = one(&[coded(5000, 8192, 4096), coded(5000, 12_288, 4096)], Some((100, 0)));
    assert!(fault(&overlapping, Form::Clusters).contains("sound"));
    let overlapping = one(&[coded(5000, 8192, 4096), coded(1000, 12_288, 4096)], Some((100, 0)));
    assert!(fault(&overlapping, Form::Clusters).contains("two extents"));
}

#[test]
fn sizes_beyond_the_format_are_rejected_and_others_take_little() {
    for form in [Form::Clusters, Form::Flat, Form::Extents] {
        assert!(fault(&one(&[hole(1 << 63)], None), form).contains("less than 8 EiB"));
        let largest = one(&[hole(i64::MAX as u64)], None);
        let planned = maker(&largest, form).plan(Owner::File(0));
        match form {
            Form::Clusters => assert!(planned.unwrap_err().to_string().contains("at most 64 TiB")),
            // One record of 32 bytes at a multiple of 32.
            Form::Extents => assert_eq!(planned.unwrap().end(32), 96),
            // Chunks of 8 TiB.
            Form::Flat => assert_eq!(planned.unwrap().end(32), 32 + 4 * (1 << 20)),
        }
    }
}

#[test]
fn holes_between_clusters_refer_to_stored_zeros() {
    // Holes of all lengths around multiples of the stored zeros.
    for length in [4096, 4097, 131_072, 131_073, 131_072 + 4095, 131_072 + 4096, 300_000, 262_143] {
        let file = one(&[plain(4096, 8192), hole(length), coded(9000, 12_288, 8192)], None);
        let (plan, bytes) = written(&file, Form::Clusters);
        assert_eq!(plan.layout(), Layout::CompressedFull, "{length}");
        assert_eq!(bytes.len() as u64, 16 + file.content.size.div_ceil(4096) * 8, "{length}");
    }
    // A hole that is shorter than a block is plain.
    let (_, bytes) = written(&one(&[plain(4096, 8192), hole(100)], None), Form::Clusters);
    let last: [u8; 8] = bytes[24..32].try_into().unwrap();
    assert_eq!(last, [0, 0, 0, 0, 0, 2, 0, 0]);
}

/// Holes of an image that is written and read again are holes, except in clusters.
#[test]
fn holes_stay_holes() {
    let mut content = vec![1; 65_536];
    content.resize(65_536 * 5, 0);
    content.extend([2; 65_536]);
    let nodes = [Node::dir(""), Node::file("a", content)];
    for options in forms() {
        let image = open(make(&nodes, &options, 5).image);
        let inode = image.resolve(b"a").unwrap().unwrap();
        let Found::File(file) = &inode.node else { panic!("no file") };
        let mut pieces = Volume::pieces(&image, file, 0);
        let mut holes = 0;
        while let Some(piece) = pieces.next_piece() {
            holes += match piece.unwrap() {
                Read::Hole { length } => length,
                _ => 0,
            };
        }
        assert_eq!(holes > 0, options.form() != Form::Clusters, "{}", options.codec.name());
    }
}
