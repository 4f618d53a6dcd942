//! Files with flipped bits, and truncated files.

use packline_pln::{Error, Part};
use packline_testkit::Random;

use crate::support::*;

/// The sizes of a file's head, a piece's head, an entry and the trailer, in bytes.
const HEAD: usize = 32;
const PIECE: usize = 24;
const ENTRY: usize = 40;
const TRAILER: usize = 72;

/// Returns the parts of a file with their offsets, according to the document.
fn parts(file: &[u8]) -> Vec<(usize, Part)> {
    let mut parts = vec![(0, Part::Head)];
    let mut at = HEAD;
    let mut record = 0;
    let mut group = 0;
    while at < file.len() - TRAILER {
        let size = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        let part = match file[at] {
            0x52 => Part::Record(record),
            0x74 => Part::Table(group),
            _ => Part::Index,
        };
        record += u64::from(file[at] == 0x52);
        group += u64::from(file[at] == 0x74);
        parts.push((at, part));
        at += PIECE + size;
    }
    parts.push((file.len() - TRAILER, Part::Trailer));
    parts
}

/// Returns the offset and the name of the part that has a byte.
fn part_of(parts: &[(usize, Part)], byte: usize) -> (usize, Part) {
    parts[parts.partition_point(|(start, _)| *start <= byte) - 1]
}

/// Checks that both ways of reading find and name the damage of a file, and return no wrong bytes.
fn check(file: &[u8], content: &[u8], record_size: usize, (offset, part): (usize, Part), what: &str) {
    for piped in [false, true] {
        let (found, verified) = verified(file, piped);
        let [Error::Corrupt { part: named, fault }] = found.as_slice() else { panic!("{what}, {piped}: {found:?}") };
        // The magic is the beginning of the head.
        let named = if *named == Part::Magic { Part::Head } else { *named };
        assert_eq!((named, fault.offset), (part, offset as u64), "{what}, {piped}: {}", found[0]);
        assert_eq!(verified.blake3, None);
        let (out, read) =
            if piped { read_piped(file, &resources(0)) } else { crate::support::read(file, &resources(0)) };
        let outcome = read.unwrap_err();
        assert_eq!(outcome.to_string(), found[0].to_string(), "{what}, {piped}");
        let whole = match part {
            Part::Head => 0,
            Part::Record(number) => number as usize * record_size,
            Part::Table(group) => ((group as usize + 1) * 1024 * record_size).min(content.len()),
            _ => content.len(),
        };
        assert!(out == content[..whole], "{what}, {piped}: {} bytes instead of {whole}", out.len());
    }
}

#[test]
fn every_bit_of_a_small_file() {
    let content =
        [b"some words, some words, ".repeat(200), vec![0; 4096], Random::new(1).noise(4096), vec![7; 5]].concat();
    let file = file(&content, &["slack+lz4"], 4096);
    let parts = parts(&file);
    // One bit of each stored byte, and every bit of the other bytes.
    for byte in 0..file.len() {
        let (offset, part) = part_of(&parts, byte);
        let stored = matches!(part, Part::Record(_)) && byte >= offset + PIECE;
        for bit in if stored { byte % 8..byte % 8 + usize::from(byte % 16 == 0) } else { 0..8 } {
            let mut flipped = file.clone();
            flipped[byte] ^= 1 << bit;
            check(&flipped, &content, 4096, (offset, part), &format!("bit {bit} of byte {byte}, in {part}"));
        }
    }
}

#[test]
fn bits_of_a_larger_file() {
    let content = mixed(4096 * 1030, 2);
    let file = file(&content, &["zstd:level=1"], 4096);
    let parts = parts(&file);
    let mut random = Random::new(3);
    for _ in 0..25 {
        let byte = random.below(file.len() as u64) as usize;
        let mut flipped = file.clone();
        flipped[byte] ^= 1 << random.below(8);
        check(&flipped, &content, 4096, part_of(&parts, byte), &format!("a bit of byte {byte}"));
    }
    // The start of each rare kind of part.
    for (start, part) in parts.iter().filter(|(_, part)| !matches!(part, Part::Record(_))) {
        let mut flipped = file.clone();
        flipped[start + 30] ^= 1;
        check(&flipped, &content, 4096, (*start, *part), &format!("byte 30 of {part}"));
    }
}

#[test]
fn finds_all_damage() {
    let content = mixed(100_000, 4);
    let file = file(&content, &["lz4"], 4096);
    let parts = parts(&file);
    let wanted = [Part::Record(3), Part::Record(9), Part::Record(24), Part::Table(0), Part::Index];
    let mut flipped = file.clone();
    for (start, _) in parts.iter().filter(|(_, part)| wanted.contains(part)) {
        flipped[start + PIECE] ^= 0x10;
    }
    let named = |found: &[Error]| {
        let part = |error: &Error| if let Error::Corrupt { part, .. } = error { *part } else { panic!("{error}") };
        found.iter().map(part).collect::<Vec<_>>()
    };
    // The index does not match, so the file is read like a pipe.
    for piped in [false, true] {
        let (found, verified) = verified(&flipped, piped);
        assert_eq!(named(&found), wanted, "{piped}");
        assert_eq!(verified.records, 25 - 3);
    }
    // With the index, records after a damaged head are found.
    let mut flipped = file;
    let heads = parts.iter().filter(|(_, part)| wanted[..3].contains(part));
    heads.for_each(|(start, _)| flipped[start + 9] ^= 0x10);
    assert_eq!(named(&verified(&flipped, false).0), wanted[..3]);
    assert_eq!(named(&verified(&flipped, true).0), wanted[..1]);
}

/// A group whose table is damaged is read sequentially, and the damage of its records is reported first.
#[test]
fn a_record_and_its_table() {
    let content = mixed(4096 * 40, 10);
    let mut file = file(&content, &["lz4"], 4096);
    let wanted = [Part::Record(30), Part::Table(0)];
    for (start, part) in parts(&file) {
        file[start + PIECE] ^= u8::from(wanted.contains(&part));
    }
    for resources in resource_sets() {
        for (out, read) in [read(&file, &resources), read_piped(&file, &resources)] {
            assert!(out == content[..30 * 4096], "{resources:?}: {}", out.len());
            assert!(matches!(read, Err(Error::Corrupt { part: Part::Record(30), .. })), "{resources:?}: {read:?}");
        }
    }
    for piped in [false, true] {
        let (found, verified) = verified(&file, piped);
        assert_eq!((found.len(), verified.records), (2, 39), "{piped}: {found:?}");
    }
}

#[test]
fn finds_exchanged_records() {
    let content = Random::new(5).noise(4096 * 4);
    let mut file = file(&content, &["none"], 4096);
    let record = PIECE + 4096;
    let (first, rest) = file[HEAD..].split_at_mut(record);
    first.swap_with_slice(&mut rest[..record]);
    for piped in [false, true] {
        let (found, _) = verified(&file, piped);
        assert!(found[0].to_string().starts_with("record 0, at byte 32: the check of its head"), "{}", found[0]);
    }
}

/// Returns the number of records that end before the cut, and their bytes of content.
fn whole_before(parts: &[(usize, Part)], cut: usize, content: &[u8], record_size: usize) -> (u64, usize) {
    let ends = parts.windows(2).filter(|pair| matches!(pair[0].1, Part::Record(_)) && pair[1].0 <= cut);
    let records = ends.count();
    (records as u64, (records * record_size).min(content.len()))
}

fn check_cut(file: &[u8], cut: usize, content: &[u8], record_size: usize, parts: &[(usize, Part)]) {
    let (records, whole) = whole_before(parts, cut, content, record_size);
    for piped in [false, true] {
        let (out, read) = if piped {
            read_piped(&file[..cut], &resources(1))
        } else {
            crate::support::read(&file[..cut], &resources(0))
        };
        assert!(out == content[..whole], "cut at {cut}: {} bytes instead of {whole}", out.len());
        match read.unwrap_err() {
            Error::Cut { length, part, offset, records: outcome, bytes, missing } => {
                assert_eq!((length, outcome, bytes), (cut as u64, records, whole as u64), "{cut}");
                assert!(missing > 0 && offset <= length, "{cut}");
                let (start, real) = part_of(parts, cut);
                // Between two parts the missing part is unknown.
                assert!((real, start as u64) == (part, offset) || start == cut, "{cut}: {part}");
            }
            other => panic!("cut at {cut}: {other}"),
        }
        if piped {
            let (found, verified) = verified(&file[..cut], true);
            assert!(found.len() == 1 && matches!(found[0], Error::Cut { .. }), "{cut}: {found:?}");
            assert_eq!(verified.records, records);
        }
    }
}

#[test]
fn reads_all_complete_records_of_a_truncated_file() {
    let content = [mixed(30_000, 6), vec![0; 9000]].concat();
    let file = file(&content, &["slack+zstd:level=3"], 4096);
    let parts = parts(&file);
    let mut points: Vec<usize> = parts.iter().flat_map(|(start, _)| [*start, start + 1, start + PIECE]).collect();
    let mut random = Random::new(7);
    points.extend((0..1000).map(|_| random.below(file.len() as u64) as usize));
    for cut in points {
        check_cut(&file, cut, &content, 4096, &parts);
    }
}

#[test]
fn reports_bytes_after_the_end() {
    let content = mixed(9000, 8);
    let one = file(&content, &["lz4"], 4096);
    for more in [&b"\0"[..], b"more", &one] {
        let two = [&one, more].concat();
        for (out, read) in [read(&two, &resources(2)), read_piped(&two, &resources(2))] {
            assert!(out == content);
            let outcome = read.unwrap_err().to_string();
            let end = one.len();
            assert!(outcome.contains(&format!("after the trailer, at byte {end}")) || more == one, "{outcome}");
        }
        let (found, _) = verified(&two, true);
        assert!(found[0].to_string().contains("concatenated .pln files are not"), "{}", found[0]);
    }
}

#[test]
fn reports_another_kind_of_file() {
    for other in [&b""[..], b"x", b"\x1f\x8b\x08\0 and so on, which is a gzip file of some kind or another", &[0; 4096]]
    {
        for (out, read) in [read(other, &resources(0)), read_piped(other, &resources(0))] {
            let outcome = read.unwrap_err().to_string();
            let found = if other.is_empty() { "in the head" } else { "is not a .pln file" };
            assert!(out.is_empty() && outcome.contains(found) && outcome.contains("expected"), "{outcome}");
        }
    }
}

#[test]
fn reports_a_missing_piece() {
    let content = mixed(50_000, 9);
    let file = file(&content, &["lz4"], 4096);
    let parts = parts(&file);
    for pair in parts.windows(2) {
        let without = [&file[..pair[0].0], &file[pair[1].0..]].concat();
        for piped in [false, true] {
            let (found, _) = verified(&without, piped);
            assert!(!found.is_empty(), "without {}", pair[0].1);
        }
    }
    assert_eq!(parts.len(), 1 + 13 + 1 + 1 + 1);
    assert_eq!(file.len() - parts[parts.len() - 2].0, PIECE + ENTRY + TRAILER);
}
