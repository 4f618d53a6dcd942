//! Zip archives: of several programs, and made byte by byte.

mod before;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use packline_archives::decompress::Limits;
use packline_archives::zip::{ZipArchive, is_start};
use packline_testkit::tools;
use packline_tree::{Bookmark, Extent, Kind, Source};

use crate::tar_support::{Read, bytes, read_all, run};

/// An entry of a draft.
#[derive(Clone)]
struct Draft {
    name: Vec<u8>,
    flags: u16,
    method: u16,
    host: u8,
    attributes: u32,
    /// The date and the time of MS-DOS.
    moment: (u16, u16),
    extra: Vec<u8>,
    local_extra: Vec<u8>,
    stored: Vec<u8>,
    size: u32,
    crc: u32,
    /// Whether the sizes follow the content.
    follows: bool,
}

impl Draft {
    /// A stored file with permissions of Unix.
    fn file(name: &str, content: &[u8]) -> Draft {
        Draft {
            name: name.into(),
            flags: 0,
            method: 0,
            host: 3,
            attributes: 0o100_640 << 16,
            moment: (0, 0),
            extra: Vec::new(),
            local_extra: Vec::new(),
            stored: content.to_vec(),
            size: content.len() as u32,
            crc: crc32(content),
            follows: false,
        }
    }

    fn kind(self, mode: u32) -> Draft {
        Draft { attributes: mode << 16, ..self }
    }

    fn field(mut self, kind: u16, data: &[u8]) -> Draft {
        self.extra.extend([&kind.to_le_bytes()[..], &(data.len() as u16).to_le_bytes(), data].concat());
        self
    }

    /// The numbers that both headers have, from the version on.
    fn numbers(&self, sizes: bool) -> Vec<u8> {
        let flags = self.flags | if self.follows { 8 } else { 0 };
        let known = |number: u32| if sizes { number } else { 0 };
        let shorts = [20, flags, self.method, self.moment.1, self.moment.0];
        let longs = [known(self.crc), known(self.stored.len() as u32), known(self.size)];
        let shorts = shorts.iter().flat_map(|number| number.to_le_bytes());
        shorts.chain(longs.iter().flat_map(|number| number.to_le_bytes())).collect()
    }

    fn local(&self) -> Vec<u8> {
        let lengths = [self.name.len() as u16, self.local_extra.len() as u16].map(u16::to_le_bytes).concat();
        let mut bytes =
            [b"PK\x03\x04", &self.numbers(!self.follows)[..], &lengths, &self.name, &self.local_extra, &self.stored]
                .concat();
        if self.follows {
            let numbers = [0x0807_4b50, self.crc, self.stored.len() as u32, self.size];
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        bytes
    }

    fn central(&self, local: u32) -> Vec<u8> {
        let lengths = [self.name.len() as u16, self.extra.len() as u16, 0, 0, 0].map(u16::to_le_bytes).concat();
        let rest = [self.attributes, local].map(u32::to_le_bytes).concat();
        let made_by = [30, self.host];
        [b"PK\x01\x02", &made_by[..], &self.numbers(true), &lengths, &rest, &self.name, &self.extra].concat()
    }
}

/// CRC-32 bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// The end record.
fn end(entries: u16, size: usize, start: usize) -> Vec<u8> {
    let counts = [0, 0, entries, entries].map(u16::to_le_bytes).concat();
    let place = [size as u32, start as u32].map(u32::to_le_bytes).concat();
    [b"PK\x05\x06", &counts[..], &place, &[0, 0]].concat()
}

fn archive(drafts: &[Draft]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut central = Vec::new();
    for draft in drafts {
        central.extend(draft.central(bytes.len() as u32));
        bytes.extend(draft.local());
    }
    let start = bytes.len();
    bytes.extend(&central);
    bytes.extend(end(drafts.len() as u16, central.len(), start));
    bytes
}

fn open(archive: &[u8]) -> Result<packline_archives::zip::ZipSource, packline_tree::Error> {
    ZipArchive::open(Arc::new(archive.to_vec()), "test.zip".into())?.source(&Limits::default())
}

/// The entries as a caller and as workers read them, and by bookmarks.
fn read(archive: &[u8]) -> Result<Vec<Read>, packline_tree::Error> {
    let all = read_all(&mut open(archive)?)?;
    let mut source = open(archive)?;
    let mut plain = Vec::new();
    let mut marks = Vec::new();
    while let Some(entry) = source.next_entry()? {
        let is_file = matches!(entry.kind, Kind::File { .. });
        marks.push(source.bookmark().filter(|_| is_file));
        plain.push((entry, content(&mut source)?));
    }
    let found: Vec<_> = all.iter().map(|read| (read.entry.clone(), read.content.clone())).collect();
    assert!(plain == found);
    for ((entry, expected), mark) in plain.iter().zip(&marks).rev() {
        let Some(mark) = mark else { continue };
        source.recall(mark, &entry.path)?;
        assert!(content(&mut source)? == *expected);
    }
    Ok(all)
}

/// The content of the current entry, in small pieces.
fn content(source: &mut dyn Source) -> Result<Vec<u8>, packline_tree::Error> {
    let mut all = Vec::new();
    let mut piece = [0; 777];
    while let Extent::Data(count) = source.read(&mut piece)? {
        all.extend(&piece[..count]);
    }
    Ok(all)
}

fn refusal(archive: &[u8]) -> String {
    match read(archive) {
        Ok(all) => panic!("accepted as {:?}", all.iter().map(|read| &read.entry).collect::<Vec<_>>()),
        Err(error) => error.to_string(),
    }
}

/// A tree with links, permissions, times and a larger file, below `directory`.
fn tree(directory: &Path) {
    let write = |name: &str, content: &[u8]| fs::write(directory.join(name), content).unwrap();
    fs::create_dir_all(directory.join("d/empty")).unwrap();
    write("d/large", &bytes(5, 700_000));
    write("d/small", b"small");
    write("d/none", b"");
    write("d/\u{e4}\u{20ac}", b"name");
    std::os::unix::fs::symlink("small", directory.join("d/link")).unwrap();
    run("chmod", &["4751", "d/small"], directory);
    run("touch", &["-h", "-d", "@1500000001", "d/small", "d/link"], directory);
}

#[test]
fn archives_of_other_programs_give_the_tree() {
    let programs: [(&str, &str); 6] = [
        ("zip", "zip -qry ../z.zip d"),
        ("zip", "zip -qry0 ../z.zip d"),
        ("zip", "zip -qry -Z bzip2 ../z.zip d"),
        ("zip", "zip -qry - d | cat > ../z.zip"),
        ("bsdtar", "bsdtar -cf ../z.zip --format zip d"),
        ("bsdtar", "bsdtar -cf ../z.zip --format zip --options zip:compression=store d"),
    ];
    for (program, script) in programs {
        if !tools::need(&[program]) {
            continue;
        }
        let top = tempfile::tempdir().unwrap();
        let source = top.path().join("tree");
        tree(&source);
        run("sh", &["-c", &format!("LC_ALL=C.UTF-8; export LC_ALL; {script}")], &source);
        let zip = fs::read(top.path().join("z.zip")).unwrap();
        assert!(is_start(&zip), "{script}");
        let all = read(&zip).unwrap_or_else(|error| panic!("{script}: {error}"));
        let find = |path: &str| all.iter().find(|read| read.entry.path == path.as_bytes()).unwrap();
        assert_eq!(all.len(), 7, "{script}");
        assert!(find("d/large").content == bytes(5, 700_000), "{script}");
        assert_eq!(find("d/\u{e4}\u{20ac}").content, b"name", "{script}");
        assert_eq!(find("d/empty").entry.kind, Kind::Dir, "{script}");
        assert_eq!(find("d/link").entry.kind, Kind::Symlink(b"small".to_vec()), "{script}");
        let meta = find("d/small").entry.meta;
        assert_eq!((meta.mode, meta.mtime.seconds()), (0o4751, 1_500_000_001), "{script}");
        let owner = fs::metadata(source.join("d/small")).map(|found| std::os::unix::fs::MetadataExt::uid(&found));
        assert_eq!(meta.uid, owner.unwrap(), "{script}");
    }
}

#[test]
fn archives_of_python_give_their_contents() {
    if !tools::need(&["python3"]) {
        return;
    }
    let script = r#"
import zipfile, sys, io
class Stream(io.RawIOBase):
    def __init__(self, out): self.out = out
    def writable(self): return True
    def write(self, data): return self.out.write(data)
how, path = sys.argv[1:]
out = open(path, "wb")
with zipfile.ZipFile(Stream(out) if how == "stream" else out, "w") as z:
    for number, method in enumerate([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]):
        with z.open(zipfile.ZipInfo(f"f{number}"), "w", force_zip64=how == "wide") as f: pass
        info = zipfile.ZipInfo(f"g{number}"); info.compress_type = method
        with z.open(info, "w", force_zip64=how == "wide") as f: f.write(b"some text, " * 20000)
"#;
    for how in ["file", "stream", "wide"] {
        let top = tempfile::tempdir().unwrap();
        run("python3", &["-c", script, how, "z.zip"], top.path());
        let all = read(&fs::read(top.path().join("z.zip")).unwrap()).unwrap_or_else(|error| panic!("{how}: {error}"));
        assert_eq!(all.len(), 8);
        for pair in all.chunks(2) {
            assert!(pair[0].content.is_empty() && pair[1].content == b"some text, ".repeat(20_000), "{how}");
        }
    }
}

#[test]
fn other_methods_are_decoded() {
    let text = b"some text, ".repeat(20_000);
    for (method, program, options) in [(93, "zstd", "-cq"), (95, "xz", "-cq"), (12, "bzip2", "-cq")] {
        if !tools::need(&[program]) {
            continue;
        }
        let output = crate::tar_support::fed(program, &[options], &text);
        let stored = output.stdout;
        let draft = Draft { method, stored, ..Draft::file("f", &text) };
        let all = read(&archive(std::slice::from_ref(&draft))).unwrap();
        assert!(all[0].content == text, "{program}");
        let cut = Draft { stored: draft.stored[..draft.stored.len() - 9].to_vec(), ..draft.clone() };
        let message = refusal(&archive(&[cut]));
        assert!(message.starts_with("test.zip: ") && message.contains("in entry f"), "{message}");
        let longer = Draft { stored: [&draft.stored[..], b"more"].concat(), ..draft.clone() };
        let message = refusal(&archive(&[longer]));
        assert!(message.contains("in entry f"), "{program}: {message}");
        let larger = Draft { size: draft.size - 1, ..draft };
        assert!(refusal(&archive(&[larger])).contains("more content than the size"), "{program}");
    }
}

#[test]
fn attributes_come_from_fields_and_hosts() {
    let date = 20 << 9 | 3 << 5 | 4;
    let owners = [1, 4, 7, 0, 0, 0, 4, 8, 0, 0, 0];
    let drafts = [
        Draft::file("exact", b"").field(0x5455, &[1, 9, 0, 0, 0]).field(0x7875, &owners),
        Draft { moment: (date, 5 << 11), ..Draft::file("local", b"") },
        Draft { host: 0, attributes: 1, ..Draft::file("read-only", b"") },
        Draft { host: 0, attributes: 16, ..Draft::file("dir", b"") },
        Draft { host: 10, attributes: 0, ..Draft::file("a\\b\\", b"") },
        Draft { host: 0, name: b"\x81".to_vec(), ..Draft::file("", b"") },
        Draft::file("link", b"to").kind(0o120_777),
        Draft::file("pipe", b"").kind(0o10_600),
        Draft::file("device", b"").kind(0o60_600),
        Draft::file("./", b"").kind(0o40_700),
    ];
    let mut source = open(&archive(&drafts)).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = source.next_entry().unwrap() {
        all.push((String::from_utf8(entry.path).unwrap(), entry.kind, entry.meta));
    }
    let file = Kind::File { size: 0 };
    let shown: Vec<_> = all.iter().map(|(path, kind, meta)| (&**path, kind.clone(), meta.mode)).collect();
    let expected = [
        ("exact", file.clone(), 0o640),
        ("local", file.clone(), 0o640),
        ("read-only", file.clone(), 0o444),
        ("dir", Kind::Dir, 0o755),
        ("a/b", Kind::Dir, 0o755),
        ("\u{fc}", file, 0o644),
        ("link", Kind::Symlink(b"to".to_vec()), 0o777),
        ("pipe", Kind::Fifo, 0o600),
        ("", Kind::Dir, 0o700),
    ];
    assert_eq!(shown, expected);
    assert_eq!((all[0].2.mtime.seconds(), all[0].2.uid, all[0].2.gid), (9, 7, 8));
    assert_eq!(all[1].2.mtime.seconds(), 952_146_000);
    let warnings = source.take_warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("device") && warnings[0].contains("left out"), "{warnings:?}");
}

#[test]
fn entries_of_one_path_come_in_the_order_of_the_directory() {
    let drafts = [Draft::file("a", b"1"), Draft::file("b", b""), Draft { follows: true, ..Draft::file("./a", b"22") }];
    let all = read(&archive(&drafts)).unwrap();
    let shown: Vec<_> = all.iter().map(|read| (&read.entry.path[..], &read.content[..])).collect();
    assert_eq!(shown, [(&b"a"[..], &b"1"[..]), (b"b", b""), (b"a", b"22")]);
    assert!(read(&archive(&[])).unwrap().is_empty());
}

#[test]
fn rejects_what_is_not_a_path_in_the_tree() {
    for (name, what) in [
        ("../x", "'..'"),
        ("a/../../x", "'..'"),
        ("/../x", "'..'"),
        ("..\\x", "'..'"),
        ("a\0b", "NUL"),
        ("", "empty"),
        (".", "root of the tree is not a directory"),
    ] {
        let host = if name.contains('\\') { 0 } else { 3 };
        let message = refusal(&archive(&[Draft::file("ok", b"ok"), Draft { host, ..Draft::file(name, b"x") }]));
        assert!(message.contains(what) && message.contains("at byte 1"), "{name}: {message}");
    }
}

/// As Info-ZIP.
#[test]
fn absolute_names_are_below_the_root_with_one_warning() {
    let windows = Draft { host: 0, ..Draft::file("\\\\host\\x", b"2") };
    let bytes = archive(&[Draft::file("ok", b"0"), Draft::file("/etc/passwd", b"1"), windows]);
    let mut source = open(&bytes).unwrap();
    let paths: Vec<_> = read_all(&mut source).unwrap().into_iter().map(|read| read.entry.path).collect();
    assert_eq!(paths, [&b"ok"[..], b"etc/passwd", b"host/x"]);
    let expected = "2 names begin with /, which is removed (the first is /etc/passwd)";
    let warnings = source.take_warnings();
    assert!(warnings.len() == 1 && warnings[0].ends_with(expected), "{warnings:?}");
}

#[test]
fn rejects_what_cannot_be_read() {
    let file = || Draft::file("f", b"content");
    let message = |draft| refusal(&archive(&[draft]));
    assert!(message(Draft { flags: 1, ..file() }).contains("encrypted content"));
    assert!(message(Draft { method: 9, ..file() }).contains("compression method 9 (deflate64)"));
    assert!(message(Draft { crc: 5, ..file() }).contains("CRC-32"));
    assert!(message(Draft { size: 8, ..file() }).contains("the content ends 1 bytes early"));
    assert!(message(Draft { size: 6, ..file() }).contains("more content"));
    assert!(message(file().kind(0o40_700)).contains("not a file"));
    assert!(message(Draft::file("l", b"").kind(0o120_777)).contains("symbolic link to nothing"));
    assert!(message(Draft::file("l", b"a\0").kind(0o120_777)).contains("NUL"));
    assert!(message(Draft::file("l", &[b'a'; 65_536]).kind(0o120_777)).contains("at most 65535"));
    let mut parts = archive(&[file()]);
    let at = parts.len() - 18;
    parts[at] = 1;
    assert!(refusal(&parts).contains("an archive of several parts"));
    let mut number = archive(&[file()]);
    number[at + 4] = 2;
    number[at + 6] = 2;
    assert!(refusal(&number).contains("entries"), "{}", refusal(&number));
    let mut more = archive(&[file()]);
    more.push(b'\n');
    assert!(refusal(&more).contains("no end record"));
    // A comment that is itself the end of an archive without entries.
    let mut hidden = archive(&[file()]);
    let comment = end(0, 0, 0);
    let at = hidden.len() - 2;
    hidden[at..].copy_from_slice(&(comment.len() as u16).to_le_bytes());
    hidden.extend(comment);
    assert!(
        refusal(&hidden).contains("a central directory of 0 entries in 0 bytes from byte 0"),
        "{}",
        refusal(&hidden)
    );
}

#[test]
fn rejects_headers_that_disagree() {
    let whole = archive(&[Draft::file("f", b"content")]);
    for (at, what) in
        [(0, "no local header"), (8, "compression method"), (14, "checksum"), (18, "size"), (22, "size"), (30, "name")]
    {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        let message = refusal(&damaged);
        assert!(message.contains(what) && message.contains("at byte 0"), "{at}: {message}");
    }
}

#[test]
fn rejects_entries_that_overlap() {
    // Two entries of one content.
    let draft = Draft::file("f", b"content");
    let local = draft.local();
    let central = [draft.central(0), draft.central(0)].concat();
    let twice = [&local[..], &central, &end(2, central.len(), local.len())].concat();
    assert!(refusal(&twice).contains("two entries with one local header"));
    // A content that contains another entry.
    let inner = Draft::file("inner", &[7; 100]);
    let outer = Draft::file("outer", &inner.local());
    let start = outer.local().len() - inner.local().len();
    let central = [outer.central(0), inner.central(start as u32)].concat();
    let quoted = [&outer.local()[..], &central, &end(2, central.len(), outer.local().len())].concat();
    assert!(refusal(&quoted).contains("overlaps"), "{}", refusal(&quoted));
    // Extra fields that contain another entry.
    let hidden = Draft { local_extra: inner.local(), ..Draft::file("outer", b"") };
    let hidden = Draft { stored: b"x".to_vec(), size: 1, crc: crc32(b"x"), ..hidden };
    let start = hidden.local().len() - 1 - inner.local().len();
    let central = [hidden.central(0), inner.central(start as u32)].concat();
    let quoted = [&hidden.local()[..], &central, &end(2, central.len(), hidden.local().len())].concat();
    assert!(refusal(&quoted).contains("overlaps"), "{}", refusal(&quoted));
    // A content that contains the central directory.
    let mut beyond = archive(&[Draft::file("f", b"content")]);
    let at = beyond.len() - 22 - 46 - 1 + 20;
    beyond[at] = 60;
    assert!(refusal(&beyond).contains("overlaps"), "{}", refusal(&beyond));
}

/// Any damage is an error or changes nothing that matters, and never a panic.
#[test]
fn cut_and_damaged_archives_end() {
    let drafts = [
        Draft::file("a", &bytes(1, 3000)).field(0x5455, &[1, 9, 0, 0, 0]),
        Draft { follows: true, ..Draft::file("b/c", b"content") },
        Draft::file("link", b"a").kind(0o120_777),
    ];
    let whole = archive(&drafts);
    read(&whole).unwrap();
    for length in (0..whole.len()).step_by(64).chain(whole.len() - 80..whole.len()) {
        assert!(read(&whole[..length]).is_err(), "{length}");
    }
    let headers = (0..80).chain(3000..whole.len());
    for at in headers {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let _ = read(&damaged);
        }
    }
}

/// An archive of one entry whose numbers are all in records of 64 bits.
fn wide(draft: &Draft, entries: u64) -> Vec<u8> {
    let numbers = [u64::from(draft.size), draft.stored.len() as u64, 0].map(u64::to_le_bytes).concat();
    let mut central = draft.clone().field(1, &numbers).central(u32::MAX);
    central[20..28].fill(0xff);
    let mut bytes = draft.local();
    bytes[18..26].fill(0xff);
    let start = bytes.len() as u64;
    let end = start + central.len() as u64;
    let record = [entries, entries, central.len() as u64, start].map(u64::to_le_bytes).concat();
    bytes.extend(
        [&central[..], b"PK\x06\x06", &44u64.to_le_bytes(), &[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0], &record].concat(),
    );
    bytes.extend([&b"PK\x06\x07\0\0\0\0"[..], &end.to_le_bytes(), &[1, 0, 0, 0]].concat());
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &[0xff; 12], &[0, 0]].concat());
    bytes
}

#[test]
fn numbers_may_have_64_bits() {
    let draft = Draft::file("f", b"content");
    assert_eq!(read(&wide(&draft, 1)).unwrap()[0].content, b"content");
    for entries in [0, 2, u64::MAX] {
        assert!(refusal(&wide(&draft, entries)).contains("entries"), "{entries}");
    }
    let whole = wide(&draft, 1);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        let _ = read(&damaged);
    }
}

#[test]
fn rejects_bookmarks_of_other_sources() {
    let whole = archive(&[Draft::file("a", b"1")]);
    let mut source = open(&whole).unwrap();
    for mark in [Bookmark::opaque((), 0), Bookmark::Number(u64::MAX)] {
        assert!(source.recall(&mark, b"a").unwrap_err().to_string().contains("bookmark"));
    }
    assert!(source.recall(&Bookmark::Number(0), b"a").is_ok());
}
