//! Archives that are made byte by byte.

use std::io::{Cursor, Read as _};

use packline_tree::{Bookmark, Bytes, Device, Entry, Extent, Kind, Source};
use proptest::prelude::*;

use super::{CpioSource, Plain, is_start, plain};
use crate::decompress::Limits;

/// An entry of a newc archive.
#[derive(Clone)]
struct Draft {
    name: Vec<u8>,
    magic: &'static str,
    inode: u32,
    mode: u32,
    links: u32,
    content: Vec<u8>,
    device: (u32, u32),
    check: u32,
}

fn draft(name: &str, mode: u32) -> Draft {
    let name = [name.as_bytes(), b"\0"].concat();
    Draft { name, magic: "070701", inode: 0, mode, links: 1, content: Vec::new(), device: (0, 0), check: 0 }
}

fn file(name: &str, content: &str) -> Draft {
    Draft { content: content.into(), ..draft(name, 0o100_644) }
}

/// A name of a hard-linked file.
fn named(name: &str, inode: u32, links: u32, content: &str) -> Draft {
    Draft { inode, links, ..file(name, content) }
}

impl Draft {
    fn bytes(&self) -> Vec<u8> {
        let (major, minor) = self.device;
        let size = self.content.len() as u32;
        let name_size = self.name.len() as u32;
        let numbers =
            [self.inode, self.mode, 5, 6, self.links, 1_000_000_000, size, 8, 1, major, minor, name_size, self.check];
        let numbers: String = numbers.iter().map(|number| format!("{number:08X}")).collect();
        let mut bytes = [self.magic.as_bytes(), numbers.as_bytes(), &self.name].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend_from_slice(&self.content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn portable(&self) -> Vec<u8> {
        let Draft { inode, mode, links, name, content, device: (major, minor), .. } = self;
        let device = major << 8 | minor;
        let name_size = name.len();
        let size = content.len();
        let head = format!(
            "070707000010{inode:06o}{mode:06o}000005000006{links:06o}{device:06o}07346545000{name_size:06o}{size:011o}"
        );
        [head.as_bytes(), name, content].concat()
    }
}

fn end() -> Vec<u8> {
    draft("TRAILER!!!", 0).bytes()
}

fn archive(drafts: &[Draft]) -> Vec<u8> {
    let entries: Vec<u8> = drafts.iter().flat_map(Draft::bytes).collect();
    [entries, end()].concat()
}

type Found = Vec<(Entry, Vec<u8>)>;

fn content(source: &mut impl Source) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let mut buffer = [0; 7];
    while let Extent::Data(count) = Source::read(source, &mut buffer).map_err(|error| error.to_string())? {
        content.extend_from_slice(&buffer[..count]);
    }
    Ok(content)
}

fn read(bytes: &[u8]) -> Result<Found, String> {
    let mut source = CpioSource::new(bytes, "x", None);
    let mut found = Vec::new();
    while let Some(entry) = source.next_entry().map_err(|error| error.to_string())? {
        let content = if matches!(entry.kind, Kind::File { .. }) { content(&mut source)? } else { Vec::new() };
        found.push((entry, content));
    }
    Ok(found)
}

/// Paths, with the contents of files and the targets of links.
fn shown(bytes: &[u8]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let line = |(entry, content): (Entry, Vec<u8>)| match &entry.kind {
        Kind::File { .. } => format!("{}={}", text(&entry.path), text(&content)),
        Kind::HardLink(target) => format!("{}>{}", text(&entry.path), text(target)),
        _ => text(&entry.path),
    };
    read(bytes).unwrap().into_iter().map(line).collect()
}

#[test]
fn reads_each_kind_of_entry_in_each_form() {
    let device = Draft { device: (4, 65), ..draft("dev/tty", 0o020_620) };
    let block = Draft { device: (7, 0), ..draft("dev/loop", 0o060_660) };
    let link = Draft { content: b"to".to_vec(), ..draft("./link", 0o120_777) };
    let all = [
        draft(".", 0o040_755),
        file("/a//b", "content"),
        link,
        device,
        block,
        draft("fifo", 0o010_600),
        draft("s", 0o140_700),
    ];
    let portable: Vec<u8> = all.iter().chain([&draft("TRAILER!!!", 0)]).flat_map(Draft::portable).collect();
    for bytes in [archive(&all), portable] {
        assert!(is_start(&bytes));
        let found = read(&bytes).unwrap();
        let kinds: Vec<(&[u8], &Kind)> = found.iter().map(|(entry, _)| (&entry.path[..], &entry.kind)).collect();
        assert_eq!(
            kinds,
            [
                (&b""[..], &Kind::Dir),
                (b"a/b", &Kind::File { size: 7 }),
                (b"link", &Kind::Symlink(b"to".to_vec())),
                (b"dev/tty", &Kind::CharDevice(Device { major: 4, minor: 65 })),
                (b"dev/loop", &Kind::BlockDevice(Device { major: 7, minor: 0 })),
                (b"fifo", &Kind::Fifo),
                (b"s", &Kind::Socket),
            ]
        );
        let (entry, content) = &found[1];
        let meta = entry.meta;
        assert_eq!((meta.mode, meta.uid, meta.gid, meta.mtime.seconds()), (0o644, 5, 6, 1_000_000_000));
        assert_eq!(content, b"content");
    }
}

#[test]
fn the_name_with_the_content_is_the_file_and_the_others_are_links() {
    let last = [named("a", 9, 3, ""), file("between", "x"), named("b", 9, 3, ""), named("c", 9, 3, "data")];
    assert_eq!(shown(&archive(&last)), ["between=x", "c=data", "a>c", "b>c"]);
    let first = [named("a", 9, 3, "data"), named("b", 9, 3, ""), named("c", 9, 3, "data")];
    assert_eq!(shown(&archive(&first)), ["a=data", "b>a", "c>a"]);
    let middle = [named("a", 9, 3, ""), named("b", 9, 3, "data"), named("c", 9, 3, "")];
    assert_eq!(shown(&archive(&middle)), ["b=data", "a>b", "c>b"]);
    let empty = [named("a", 9, 2, ""), named("b", 8, 2, ""), named("c", 9, 2, ""), named("d", 8, 2, "")];
    assert_eq!(shown(&archive(&empty)), ["a=", "c>a", "b=", "d>b"]);
    let other = [named("a", 9, 2, "data"), named("b", 9, 2, "other")];
    assert_eq!(shown(&archive(&other)), ["a=data", "b=other"], "another size is another file");
    let unnumbered = [named("a", 0, 2, "data"), named("b", 0, 2, "data")];
    assert_eq!(shown(&archive(&unnumbered)), ["a=data", "b=data"]);
    // After the last name, the number may be used again.
    let again = [named("a", 9, 2, "data"), named("b", 9, 2, ""), named("c", 9, 2, ""), named("d", 9, 2, "more")];
    assert_eq!(shown(&archive(&again)), ["a=data", "b>a", "d=more", "c>d"]);
    let portable = [named("a", 9, 2, "data"), named("b", 9, 2, "data"), draft("TRAILER!!!", 0)];
    assert_eq!(shown(&portable.iter().flat_map(Draft::portable).collect::<Vec<_>>()), ["a=data", "b>a"]);
}

#[test]
fn a_name_that_waits_belongs_to_a_later_entry_of_the_same_path() {
    let own = [named("a", 9, 2, ""), named("a", 11, 1, "own"), named("b", 9, 2, "xx")];
    assert_eq!(shown(&archive(&own)), ["a=own", "b=xx"]);
    let directory = [named("a", 9, 2, ""), draft("a", 0o040_755), named("b", 9, 2, "xx")];
    assert_eq!(shown(&archive(&directory)), ["a", "b=xx"]);
    let waits = [named("a", 9, 2, ""), named("a", 8, 2, ""), named("b", 9, 2, "xx"), named("c", 8, 2, "yy")];
    assert_eq!(shown(&archive(&waits)), ["b=xx", "c=yy", "a>c"]);
    let never = [named("a", 9, 3, ""), named("b", 9, 3, ""), file("a", "own"), named("c", 9, 3, "")];
    assert_eq!(shown(&archive(&never)), ["a=own", "b=", "c>b"]);
    let twice = [named("a", 9, 3, ""), named("a", 9, 3, ""), named("b", 9, 3, "xx")];
    assert_eq!(shown(&archive(&twice)), ["b=xx", "a>b"]);
}

#[test]
fn archives_follow_one_another_with_zeros_between() {
    let one = archive(&[named("a", 9, 2, "one")]);
    let other = archive(&[named("b", 9, 2, "other")]);
    for zeros in [0, 1, 4, 511, 5000] {
        let both = [&one[..], &vec![0; zeros], &other, &vec![0; zeros]].concat();
        assert_eq!(shown(&both), ["a=one", "b=other"], "numbers of one archive have no meaning in the next");
    }
}

#[test]
fn sums_of_contents_are_compared() {
    let checked = |check| Draft { magic: "070702", check, ..file("a", "abc") };
    assert_eq!(shown(&archive(&[checked(294)])), ["a=abc"]);
    let error = read(&archive(&[checked(295)])).unwrap_err();
    assert!(error.contains("add up to 0x00000126 at byte 0 in entry a (expected 0x00000127"), "{error}");
    // Names without content have no sum.
    let linked = [Draft { magic: "070702", ..named("b", 9, 2, "") }, Draft { inode: 9, links: 2, ..checked(294) }];
    assert_eq!(shown(&archive(&linked)).len(), 2);
}

#[test]
fn faults_name_their_offset() {
    let good = file("a", "abc").bytes();
    let error = |bytes: &[u8]| read(bytes).unwrap_err();
    let after = |bytes: &[u8]| error(&[&good[..], bytes].concat());
    let at = good.len();
    for (found, expected) in [
        (error(&good), format!("the archive ends without TRAILER!!! at byte {at}")),
        (after(b"070708"), format!("the header begins with '070708' at byte {at} (expected 070701, 070702 or 070707)")),
        (after(b"0707010000"), format!("the archive ends 10 bytes into a header at byte {at}")),
        (after(&[b"070701", &[b'g'; 104][..]].concat()), format!("a field of a header is not a number at byte {at}")),
        (error(&good[..good.len() - 2]), format!("the archive is cut off: 1 byte is missing at byte {}", at - 2)),
        (error(&good[..111]), "the archive is cut off: 1 byte is missing at byte 111".to_string()),
        (after(&Draft { name: Vec::new(), ..file("a", "") }.bytes()), "a name of 0 bytes".to_string()),
        (after(&Draft { name: vec![b'a'; 200_000], ..file("a", "") }.bytes()), "a name of 200000 bytes".to_string()),
        (after(&Draft { name: b"aa".to_vec(), ..file("a", "") }.bytes()), "a name without a NUL byte".to_string()),
        (after(&file("a/../b", "").bytes()), "..".to_string()),
        (after(&draft("a", 0o170_000).bytes()), "mode 170000 has no known file type".to_string()),
        (after(&draft("l", 0o120_777).bytes()), "symbolic link to nothing".to_string()),
        (after(&file(".", "").bytes()), "the root of the tree is not a directory".to_string()),
        (after(&[&end()[..], b"junk"].concat()), "'junk' after the end of an archive".to_string()),
        (after(&[&end()[..], b"\x1f\x8b\x08\0"].concat()), "a second part that is compressed, with gzip".to_string()),
    ] {
        assert!(found.starts_with("x: ") && found.contains(&expected), "'{expected}' is not in: {found}");
    }
}

#[test]
fn names_of_links_have_a_memory_limit() {
    let long = "n".repeat(250);
    let names = (0..400).map(|number| format!("{number}/{}", [&*long; 250].join("/")));
    let drafts: Vec<Draft> = names.map(|name| named(&name, 9, u32::MAX, "")).collect();
    let error = read(&archive(&drafts)).unwrap_err();
    assert!(error.contains("hard links whose names need more than 16 MiB"), "{error}");
}

#[test]
fn contents_can_be_read_again_in_any_order() {
    let drafts =
        [file("a", "first"), named("b", 3, 2, ""), file("c", ""), named("d", 3, 2, "second"), file("e", "third")];
    let mut source = CpioSource::seekable(Cursor::new(archive(&drafts)), "x").unwrap();
    let mut files: Vec<(Bytes, Bookmark)> = Vec::new();
    while let Some(entry) = source.next_entry().unwrap() {
        if let Kind::File { .. } = entry.kind {
            files.push((entry.path, source.bookmark().unwrap()));
        }
    }
    let found: Vec<Vec<u8>> = files
        .iter()
        .rev()
        .map(|(path, bookmark)| {
            source.recall(bookmark, path).unwrap();
            content(&mut source).unwrap()
        })
        .collect();
    assert_eq!(found, [&b"third"[..], b"second", b"", b"first"]);
}

#[test]
fn other_inputs_pass_unchanged() {
    let limits = Limits::default();
    for bytes in
        [&b""[..], b"0707", b"a text", &archive(&[file("a", "b")])[..], &file("a", "b").bytes()[..], &[0; 9000][..]]
    {
        let Plain { mut reader, .. } = plain(Cursor::new(bytes.to_vec()), &limits).unwrap();
        let mut found = Vec::new();
        reader.read_to_end(&mut found).unwrap();
        assert!(found == bytes, "{} bytes", bytes.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), at in 0usize..400) {
        let mut damaged = archive(&[file("a", "abc"), named("b", 3, 2, ""), named("c", 3, 2, "x")]);
        for (byte, other) in damaged.iter_mut().skip(at).zip(&bytes).take(3) {
            *byte = *other;
        }
        let _ = read(&damaged);
        let _ = read(&bytes);
    }
}
