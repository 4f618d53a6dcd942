//! Tests the tar writer with our own reader. `tests/sources/tar_write.rs` uses other archivers.

use std::io::Cursor;

use packline_tree::{Extent, Source, Time};
use proptest::prelude::*;

use super::*;
use crate::tar::{TarOptions, TarSource};

const META: Meta = Meta::new(0o640, 7, 8, 1_700_000_000);

fn entry(path: impl Into<Bytes>, kind: Kind) -> Entry {
    Entry { path: path.into(), kind, meta: META, xattrs: Vec::new() }
}

fn archive(prefix: &str, entries: &[Entry]) -> Vec<u8> {
    let mut writer = TarWriter::new(prefix);
    let mut out = Vec::new();
    for entry in entries {
        writer.entry(&mut out, entry).unwrap();
    }
    out.resize(out.len() + end_of_archive(out.len() as u64), 0);
    out
}

fn read(archive: Vec<u8>) -> Vec<Entry> {
    let mut source = TarSource::new(Cursor::new(archive), TarOptions::named("test"));
    std::iter::from_fn(|| source.next_entry().unwrap()).collect()
}

fn round_trip(entries: &[Entry]) {
    assert_eq!(read(archive("", entries)), entries);
}

/// Number of headers before the first entry's own header.
fn blocks_before(entry: &Entry) -> usize {
    let mut writer = TarWriter::new("");
    let mut out = Vec::new();
    writer.entry(&mut out, entry).unwrap();
    out.len() / BLOCK - 1
}

#[test]
fn every_kind() {
    let device = Device { major: 4095, minor: 1_048_575 };
    round_trip(&[
        entry("", Kind::Dir),
        entry("file", Kind::File { size: 0 }),
        entry("dir", Kind::Dir),
        entry("dir/symlink", Kind::Symlink(b"../x/".to_vec())),
        entry("dir/hard", Kind::HardLink(b"file".to_vec())),
        entry("block", Kind::BlockDevice(device)),
        entry("char", Kind::CharDevice(Device { major: u32::MAX, minor: u32::MAX })),
        entry("fifo", Kind::Fifo),
    ]);
    let mut out = vec![1];
    assert_eq!(TarWriter::new("").entry(&mut out, &entry("s", Kind::Socket)), Err(Unstorable::Socket));
    assert_eq!(out, [1]);
}

#[test]
fn short_names_need_no_record_and_long_ones_do() {
    let plain = |length: usize| entry(vec![b'n'; length], Kind::File { size: 0 });
    assert_eq!(blocks_before(&plain(100)), 0);
    assert_eq!(blocks_before(&plain(101)), 2);
    let split = |first: usize, second: usize, kind: Kind| {
        entry([&vec![b'p'; first][..], b"/", &vec![b'n'; second]].concat(), kind)
    };
    let file = || Kind::File { size: 0 };
    assert_eq!(blocks_before(&split(155, 100, file())), 0);
    assert_eq!(blocks_before(&split(156, 100, file())), 2);
    assert_eq!(blocks_before(&split(155, 101, file())), 2);
    assert_eq!(blocks_before(&split(155, 99, Kind::Dir)), 0);
    assert_eq!(blocks_before(&split(155, 100, Kind::Dir)), 2);
    assert_eq!(blocks_before(&entry(vec![b'd'; 150], Kind::Dir)), 2, "a directory's own slash splits nothing");
    assert_eq!(blocks_before(&entry("l", Kind::Symlink(vec![b't'; 100]))), 0);
    assert_eq!(blocks_before(&entry("l", Kind::Symlink(vec![b't'; 101]))), 2);
}

#[test]
fn names_are_bytes() {
    let long = |byte: u8| vec![byte; 150];
    round_trip(&[
        entry(*b"\xff\xfe \n", Kind::File { size: 0 }),
        entry(long(0xff), Kind::Dir),
        entry("u", Kind::Symlink(long(0xfe))),
        entry("v", Kind::HardLink(long(0xff))),
    ]);
}

#[test]
fn a_prefix_is_put_before_paths_and_hard_links() {
    let entries = [
        entry("", Kind::Dir),
        entry("a", Kind::File { size: 0 }),
        entry("b", Kind::HardLink(b"a".to_vec())),
        entry("c", Kind::Symlink(b"a".to_vec())),
    ];
    let found = read(archive("top/", &entries));
    assert_eq!(found[0], entry("top", Kind::Dir));
    assert_eq!(found[2], entry("top/b", Kind::HardLink(b"top/a".to_vec())));
    assert_eq!(found[3], entry("top/c", Kind::Symlink(b"a".to_vec())));
    let dotted = archive("./", &entries);
    assert!(dotted.starts_with(b"./\0") && dotted[BLOCK..].starts_with(b"./a\0"));
}

#[test]
fn attributes_are_binary_safe_and_bad_ones_are_refused() {
    let with = |name: &[u8], value: &[u8]| {
        let mut entry = entry("f", Kind::File { size: 0 });
        entry.xattrs.push(Xattr { name: name.to_vec(), value: value.to_vec() });
        entry
    };
    let every_byte: Vec<u8> = (0..=255).collect();
    for value in [&b""[..], &every_byte, &every_byte.repeat(256)] {
        round_trip(&[with(b"user.name", value)]);
    }
    round_trip(&[with(b"user.a=b%c%3D", b"v"), with(b"security.capability", b"\x01\0\0\x02")]);
    for name in [&b""[..], b"user.a\0b"] {
        let refused = TarWriter::new("").entry(&mut Vec::new(), &with(name, b"v"));
        assert_eq!(refused, Err(Unstorable::Xattr(name.to_vec())));
    }
}

#[test]
fn large_and_negative_numbers() {
    for size in [0o777_7777_7777u64, 0o777_7777_7777 + 1, 1 << 40, i64::MAX as u64] {
        let mut out = Vec::new();
        TarWriter::new("").entry(&mut out, &entry("f", Kind::File { size })).unwrap();
        let mut source = TarSource::new(Cursor::new(out), TarOptions::named("test"));
        assert_eq!(source.next_entry().unwrap().unwrap().kind, Kind::File { size });
    }
    let too_large = TarWriter::new("").entry(&mut Vec::new(), &entry("f", Kind::File { size: 1 << 63 }));
    assert_eq!(too_large, Err(Unstorable::Size(1 << 63)));
    for (uid, gid, mtime) in [(0o777_7777, 0x20_0000, -1), (u32::MAX, 0, 1 << 33), (0, 0, (1 << 33) - 1)] {
        let mut entry = entry("f", Kind::Fifo);
        entry.meta = Meta::new(0o7777, uid, gid, mtime);
        round_trip(&[entry]);
    }
}

#[test]
fn a_fraction_of_a_second_needs_an_extended_header() {
    for (seconds, nanoseconds) in [(5, 1), (-2, 500_000_000), (1 << 33, 999_999_999)] {
        let mut entry = entry("f", Kind::Fifo);
        entry.meta.mtime = Time::new(seconds, nanoseconds);
        assert_eq!(blocks_before(&entry), 2);
        round_trip(&[entry]);
    }
    assert_eq!(blocks_before(&entry("f", Kind::Fifo)), 0);
}

#[test]
fn archives_end_at_a_record() {
    for blocks in 0..45u64 {
        let end = end_of_archive(blocks * 512) as u64;
        assert!((1024..1024 + RECORD_BYTES).contains(&end), "{blocks}: {end}");
        assert_eq!((blocks * 512 + end) % RECORD_BYTES, 0);
    }
}

fn sparse(size: u64, segments: &[(u64, u64)]) -> Vec<u8> {
    let segments: Vec<_> = segments.iter().map(|&(offset, length)| MapSegment { offset, length }).collect();
    let mut shape = MapShape::default();
    segments.iter().for_each(|&segment| shape.add(segment));
    shape.close(size);
    let mut out = Vec::new();
    let file = entry("some/where", Kind::File { size });
    TarWriter::new("").sparse_file(&mut out, &file, size, &shape).unwrap();
    let before = out.len() as u64;
    shape.head(&mut out);
    segments.iter().for_each(|&segment| shape.line(&mut out, segment));
    shape.tail(&mut out);
    assert_eq!(out.len() % BLOCK, 0);
    out.resize(out.len() + shape.content_bytes() as usize, b'd');
    assert_eq!(out.len() as u64 - before, shape.stored_bytes());
    out.resize(out.len() + padding(shape.stored_bytes()), 0);
    out.resize(out.len() + end_of_archive(out.len() as u64), 0);
    out
}

/// The extents of the only file. Adjacent extents of the same kind are joined.
fn extents(archive: Vec<u8>) -> (Entry, Vec<(bool, u64)>) {
    let mut source = TarSource::new(Cursor::new(archive), TarOptions::named("test"));
    let entry = source.next_entry().unwrap().unwrap();
    let (mut found, mut buffer): (Vec<(bool, u64)>, _) = (Vec::new(), [0; 4096]);
    loop {
        let (data, length) = match source.read(&mut buffer).unwrap() {
            Extent::Data(length) => (buffer[..length].iter().all(|&byte| byte == b'd'), length as u64),
            Extent::Hole(length) => (false, length),
            Extent::End => break,
        };
        match found.last_mut() {
            Some(last) if last.0 == data => last.1 += length,
            _ => found.push((data, length)),
        }
    }
    assert_eq!(source.next_entry().unwrap(), None);
    (entry, found)
}

#[test]
fn maps_with_holes_everywhere() {
    let file = |size| entry("some/where", Kind::File { size });
    assert_eq!(extents(sparse(1 << 50, &[])), (file(1 << 50), vec![(false, 1 << 50)]));
    assert_eq!(extents(sparse(0, &[])), (file(0), vec![]));
    assert_eq!(extents(sparse(9, &[(0, 9)])), (file(9), vec![(true, 9)]));
    let both = extents(sparse(10_000, &[(1000, 5), (5000, 5000)]));
    assert_eq!(both, (file(10_000), vec![(false, 1000), (true, 5), (false, 3995), (true, 5000)]));
    assert_eq!(extents(sparse(8, &[(0, 1)])).1, [(true, 1), (false, 7)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_map(gaps in prop::collection::vec((1u64..5000, 1u64..5000), 0..200), rest in 0u64..3) {
        let mut at = 0;
        let mut segments = Vec::new();
        let mut expected = Vec::new();
        for (hole, data) in gaps {
            segments.push((at + hole, data));
            expected.extend([(false, hole), (true, data)]);
            at += hole + data;
        }
        expected.extend((rest > 0).then_some((false, rest)));
        prop_assert_eq!(extents(sparse(at + rest, &segments)).1, expected);
    }

    #[test]
    fn any_record_length(length in 0usize..11_000) {
        let mut entry = entry("f", Kind::Fifo);
        entry.xattrs.push(Xattr { name: b"user.n".to_vec(), value: vec![b'='; length] });
        prop_assert_eq!(read(archive("", std::slice::from_ref(&entry))), [entry]);
    }
}
