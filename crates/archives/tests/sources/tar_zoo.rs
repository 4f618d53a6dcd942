//! A zoo of malformed tars with their error messages, and of unusual but readable tars.
//!
//! Long because it is a list of cases.

use crate::tar_support::*;
use packline_archives::tar::{MAX_EXTENDED, MAX_GLOBAL, MAX_LONG_NAME};
use packline_tree::{Device, Kind};

fn assert_refused(archive: &[u8], parts: &[&str]) {
    let message = refusal(archive);
    assert!(message.starts_with("test.tar: "), "{message}");
    for part in parts {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
}

fn base_256(value: i64) -> [u8; 12] {
    let mut field = [if value < 0 { 0xff } else { 0 }; 12];
    field[4..].copy_from_slice(&value.to_be_bytes());
    field[0] |= 0x80;
    field
}

#[test]
fn truncated() {
    let whole = [file("dir/name", &[7; 1000]), end()].concat();
    for length in [1, 100, 511] {
        let parts = [&*format!("the archive ends {length} bytes into a header at byte 0"), "512 bytes"];
        assert_refused(&whole[..length], &parts);
    }
    assert_refused(&whole[..512], &["cut off: 1000 bytes are missing at byte 512 in entry dir/name"]);
    assert_refused(&whole[..1511], &["the archive is cut off: 1 byte is missing at byte 1511 in entry dir/name"]);
    let next = [&whole[..1536], &whole[..64]].concat();
    assert_refused(&next, &["64 bytes into a header at byte 1536"]);
    let huge = [file("small", b"x"), Header::ustar("huge", b'0', 1 << 32).seal()].concat();
    assert_refused(&huge, &["cut off: 4294967296 bytes are missing", "in entry huge"]);
    let pax = pax(b'x', &[("path", &[b'p'; 2000])]);
    assert_refused(&pax[..1000], &["the archive is cut off", "in entry PaxHeader/x"]);
    assert_refused(&pax, &["extended header at the end", "an entry after it"]);
    assert_refused(&[pax, end()].concat(), &["extended header at the end"]);
    assert_refused(&[long(b'L', b"name"), end()].concat(), &["extended header at the end"]);
}

#[test]
fn bad_checksums() {
    let mut archive = [file("one", b"1"), file("two", b"2"), end()].concat();
    archive[1024] ^= 1;
    assert_refused(&archive, &["bad header checksum '", "at byte 1024"]);
    assert_refused(&[b'#'; 2048], &["bad header checksum '########' at byte 0"]);
    assert_refused(&b"not a tar at all, but text\n".repeat(100), &["bad header checksum"]);
}

#[test]
fn lying_extended_headers() {
    let tail = [file("f", b""), end()].concat();
    for (records, part) in [
        (&b"99 path=ab\n"[..], "record of 99 bytes where 11 are left"),
        (b"10 path=ab\n", "does not end in a newline"),
        (b"11 path=abc", "does not end in a newline"),
        (b"0 path=ab\n", "record of 0 bytes"),
        (b"18446744073709551616 path=ab\n", "without a length"),
        (b"path=ab\n", "without a length"),
        (b"8 path1\n", "without KEY="),
        (b"14 size=-1234\n", "size is '-1234'"),
        (b"28 size=9223372036854775808\n", "size is '9223372036854775808'"),
        (b"13 mtime=one\n", "mtime is 'one'"),
        (b"25 GNU.sparse.map=1,2,3,\n", "not a list of pairs"),
        (b"26 GNU.sparse.numbytes=12\n", "numbytes without GNU.sparse.offset"),
        (b"35 LIBARCHIVE.xattr.user.a=#######\n", "is not base64"),
    ] {
        assert_refused(&[raw_pax(b'x', records), tail.clone()].concat(), &[part, "at byte 512"]);
    }
    let second = [record("uid", b"1"), b"77 x=y\n".to_vec()].concat();
    assert_refused(&[raw_pax(b'g', &second), tail.clone()].concat(), &["at byte 520 in entry PaxHeader/x"]);
    let nul = pax(b'x', &[("path", b"a\0b")]);
    assert_refused(&[nul, tail.clone()].concat(), &["the name holds a NUL byte"]);
    let uid = pax(b'x', &[("uid", b"4294967296")]);
    assert_refused(&[uid, tail].concat(), &["uid 4294967296", "0 to 4294967295", "in entry f"]);
}

#[test]
fn extended_headers_beyond_bounds() {
    for (kind, size, limit) in [
        (b'x', 1 << 30, MAX_EXTENDED),
        (b'x', MAX_EXTENDED + 1, MAX_EXTENDED),
        (b'g', MAX_GLOBAL + 1, MAX_GLOBAL),
        (b'L', MAX_LONG_NAME + 1, MAX_LONG_NAME),
        (b'K', (1 << 33) - 1, MAX_LONG_NAME),
    ] {
        let header = Header::ustar("ext", kind, size).seal();
        let parts =
            [&*format!("extended header of {size} bytes at byte 0 in entry ext"), &format!("at most {limit} bytes")];
        assert_refused(&header, &parts);
    }
    // Missing data must not be allocated either, so this ends at once.
    assert_refused(
        &Header::ustar("ext", b'x', MAX_EXTENDED).seal(),
        &["the archive is cut off: 16777216 bytes are missing"],
    );
    let many: Vec<u8> = (0..3)
        .flat_map(|index| pax(b'g', &[(&*format!("SCHILY.xattr.user.{index}"), &vec![1; 400_000][..])]))
        .collect();
    assert_refused(&many, &["global attributes of 1200018 bytes", "at most 1048576 bytes"]);
}

#[test]
fn unusable_numbers() {
    let tail = end();
    for (at, field, part) in [
        (124, &base_256(-1)[..], "size -1"),
        (124, &base_256(i64::MIN), "size -9223372036854775808"),
        (124, b"77777777777x", "size field '77777777777x' is not a number"),
        (124, &[0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0], "size field"),
        (124, &[0xbf; 12], "size field"),
        (108, &[0xff; 8], "uid -1"),
        (116, &[0x80, 0, 0, 1, 0, 0, 0, 0], "gid 4294967296"),
        (136, b"-0000000001\0", "mtime field"),
        (100, b"rw-r--r-", "mode field"),
    ] {
        let archive = [Header::gnu("f", b'0', 0).with(at, field).seal(), tail.clone()].concat();
        assert_refused(&archive, &[part, "at byte 0 in entry f"]);
    }
    let device = Header::gnu("dev", b'3', 0).with(329, b"zzz");
    assert_refused(&device.seal(), &["device major number field", "in entry dev"]);
}

#[test]
fn invalid_names() {
    for (name, part) in [
        ("", "the name is empty"),
        ("a/../b", "contains '..'"),
        ("../etc/passwd", "contains '..'"),
        ("./", "the root of the tree is not a directory"),
    ] {
        let kind = if name == "./" { b'6' } else { b'0' };
        assert_refused(&Header::ustar(name, kind, 0).seal(), &[part, "at byte 0"]);
    }
    let component = [long(b'L', &[b'n'; 256]), file("short", b"")].concat();
    assert_refused(&component, &["a component of the name has 256 bytes", "at byte 1024"]);
    let path = [long(b'L', &b"d/".repeat(40_000)), file("short", b"")].concat();
    assert_refused(&path, &["the name has 80000 bytes"]);
    for (kind, target, part) in [
        (b'1', "", "hard link to '': the name is empty"),
        (b'1', "../x", "hard link to '../x': the path contains '..'"),
        (b'2', "", "symbolic link to nothing"),
    ] {
        assert_refused(&Header::ustar("link", kind, 0).link(target).seal(), &[part, "in entry link"]);
    }
    let target = [long(b'K', &[b't'; 65_536]), Header::gnu("link", b'2', 0).seal()].concat();
    assert_refused(&target, &["symbolic link to a target of 65536 bytes"]);
    let target = [pax(b'x', &[("linkpath", b"a\0b")]), Header::gnu("link", b'2', 0).seal()].concat();
    assert_refused(&target, &["target with a NUL byte"]);
}

#[test]
fn empty_long_names() {
    for body in [&b""[..], b"\0", b"\0name"] {
        let header = Header::gnu("././@LongLink", b'L', body.len() as u64).body(body);
        assert_refused(&[header, file("f", b"")].concat(), &["long name of no bytes at byte 0"]);
    }
}

#[test]
fn rejected_types() {
    assert_refused(&Header::gnu("part", b'M', 100).body(&[0; 100]), &["from another volume", "in entry part"]);
    let part = [pax(b'g', &[("GNU.volume.offset", b"512")]), file("rest", b"r")].concat();
    assert_refused(&part, &["from another volume", "in entry rest"]);
}

/// A GNU header of type `S` with segments, size and stored size.
fn old_sparse(pairs: &[(u64, u64)], size: u64, stored: u64) -> Header {
    let mut header = Header::gnu("sparse", b'S', stored);
    for (index, (offset, length)) in pairs.iter().enumerate() {
        header.put(386 + 24 * index, format!("{offset:011o}\0{length:011o}\0").as_bytes());
    }
    header.with(483, format!("{size:011o}\0").as_bytes())
}

#[test]
fn sparse_maps_that_lie() {
    for (pairs, size, stored, part) in [
        (&[(0, 512), (511, 512)][..], 5000, 1024, "sparse segment 2 at 511 overlaps or precedes the previous segment"),
        (&[(1024, 512), (0, 512)], 5000, 1024, "sparse segment 2 at 0 overlaps or precedes"),
        (&[(4800, 512)], 5000, 512, "reaches byte 5312, past the end of the file"),
        (&[(0, 512)], 5000, 513, "sparse map of 512 bytes over 513 stored bytes"),
        (&[(0, 512), (1024, 512)], 5000, 512, "sparse map of 1024 bytes over 512 stored bytes"),
        (&[], 5000, 1, "sparse map of 0 bytes over 1 stored bytes"),
    ] {
        let old = old_sparse(pairs, size, stored).body(&vec![1; stored as usize]);
        assert_refused(&old, &[part, "in entry sparse"]);
        let map: Vec<String> = pairs.iter().map(|(offset, length)| format!("{offset},{length}")).collect();
        let records = [("GNU.sparse.size", size.to_string()), ("GNU.sparse.map", map.join(","))];
        let records: Vec<(&str, &[u8])> = records.iter().map(|(key, value)| (*key, value.as_bytes())).collect();
        assert_refused(&[pax(b'x', &records), file("sparse", &vec![1; stored as usize])].concat(), &[part]);
        let text: String = pairs.iter().map(|(offset, length)| format!("{offset}\n{length}\n")).collect();
        let body = [padded(format!("{}\n{text}", pairs.len()).as_bytes()), vec![1; stored as usize]].concat();
        assert_refused(&[pax_1_0(size), file("sparse", &body)].concat(), &[part]);
    }
}

fn pax_1_0(size: u64) -> Vec<u8> {
    pax_1(size, b"0")
}

fn pax_1(size: u64, minor: &[u8]) -> Vec<u8> {
    let size = size.to_string();
    pax(
        b'x',
        &[
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", minor),
            ("GNU.sparse.realsize", size.as_bytes()),
            ("GNU.sparse.name", b"sparse"),
        ],
    )
}

#[test]
fn sparse_maps_near_two_to_the_63() {
    let edge = base_256(i64::MAX);
    let old = old_sparse(&[(0, 512)], 0, 512).with(386, &edge).with(483, &edge);
    assert_refused(&old.body(&[0; 512]), &["sparse segment of 512 bytes at 9223372036854775807", "below 2^63"]);
    let negative = old_sparse(&[(0, 512)], 5000, 512).with(386, &base_256(-512));
    assert_refused(&negative.body(&[0; 512]), &["not a pair of numbers"]);
    let size = old_sparse(&[], 0, 0).with(483, &base_256(-1));
    assert_refused(&size.seal(), &["unusable size of a sparse file"]);
    let whole = old_sparse(&[], 0, 0).with(483, &edge).seal();
    let archive = [whole, end()].concat();
    let mut source =
        packline_archives::tar::TarSource::new(&archive[..], packline_archives::tar::TarOptions::default());
    let entry = packline_tree::Source::next_entry(&mut source).unwrap().unwrap();
    assert_eq!(entry.kind, Kind::File { size: i64::MAX as u64 });
    let hole = packline_tree::Source::read(&mut source, &mut [0; 10]).unwrap();
    assert_eq!(hole, packline_tree::Extent::Hole(i64::MAX as u64));
}

#[test]
fn text_maps_that_lie() {
    let with = |body: &[u8]| [pax_1_0(5000), file("GNUSparseFile.1/sparse", body)].concat();
    let full = ["300\n", &"0\n0\n".repeat(127)].concat();
    assert_refused(&with(full.as_bytes()), &["the sparse map does not end within the content"]);
    assert_refused(&with(&padded(b"2\n0\n512\n")), &["has a line that is not a number"]);
    assert_refused(&with(b"1\n0\n"), &["does not end within"]);
    assert_refused(&with(&padded(b"1\nzero\n")), &["has a line that is not a number"]);
    assert_refused(&with(&padded(b"1\n\n")), &["an unusable number"]);
    assert_refused(&with(&padded(b"99999999999999999999\n")), &["an unusable number"]);
    assert_refused(&with(&padded(b"000000000000000000000\n")), &["has a line that is not a number"]);
    assert_refused(&with(&padded(b"9223372036854775807\n0\n1\n")), &["has a line that is not a number"]);
    let cut = with(&padded(b"1\n0\n512\n"));
    assert_refused(&cut[..cut.len() - 512], &["the archive ends within an entry", "in entry sparse"]);
    let unknown = pax(b'x', &[("GNU.sparse.major", b"2"), ("GNU.sparse.minor", b"1"), ("GNU.sparse.realsize", b"1")]);
    assert_refused(&[unknown, file("f", b"")].concat(), &["sparse file of format 2.1, size 1"]);
}

#[test]
fn extension_blocks_that_end_too_early() {
    let header = old_sparse(&[(0, 512)], 9000, 512).with(482, &[1]).seal();
    assert_refused(&header, &["the archive ends within an entry", "in entry sparse"]);
    assert_refused(&[header.clone(), vec![0; 100]].concat(), &["the archive ends within an entry", "in entry sparse"]);
    assert_refused(&[header, vec![1; 100]].concat(), &["100 bytes into a header"]);
}

fn one(archive: &[u8]) -> Read {
    let mut all = read_bytes(archive).unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn sparse_forms_agree() {
    let pairs = [(512, 512), (2048, 1024), (8000, 0), (8192, 100)];
    let body = bytes(5, 1636);
    let mut expected = vec![0; 9000];
    expected[512..1024].copy_from_slice(&body[..512]);
    expected[2048..3072].copy_from_slice(&body[512..1536]);
    expected[8192..8292].copy_from_slice(&body[1536..]);
    let map: Vec<String> = pairs.iter().map(|(offset, length)| format!("{offset},{length}")).collect();
    let mut zero = record("GNU.sparse.size", b"9000");
    for (offset, length) in pairs {
        zero.extend(record("GNU.sparse.offset", offset.to_string().as_bytes()));
        zero.extend(record("GNU.sparse.numbytes", length.to_string().as_bytes()));
    }
    let one_map = record("GNU.sparse.map", map.join(",").as_bytes());
    let text: String = pairs.iter().map(|(offset, length)| format!("{offset}\n{length}\n")).collect();
    let text = [padded(format!("4\n{text}").as_bytes()), body.clone()].concat();
    let name = record("GNU.sparse.name", b"sparse");
    let star = Header::ustar("sparse", b'S', 1636).with(508, b"tar\0").with(452, b"00000021450\0");
    let star = pairs.iter().enumerate().fold(star, |header, (index, (offset, length))| {
        header.with(356 + 24 * index, format!("{offset:011o} {length:011o} ").as_bytes())
    });
    let mut extended = old_sparse(&pairs[..2], 9000, 1636).with(482, &[1]).seal();
    let mut block = [0; 512];
    for (index, (offset, length)) in pairs[2..].iter().enumerate() {
        block[24 * index..24 * index + 24].copy_from_slice(format!("{offset:011o}\0{length:011o}\0").as_bytes());
    }
    extended.extend_from_slice(&block);
    extended.extend(padded(&body));
    for (form, archive) in [
        ("old", old_sparse(&pairs, 9000, 1636).body(&body)),
        ("old, extended", extended),
        ("star", star.body(&body)),
        ("0.0", [raw_pax(b'x', &[&name[..], &zero].concat()), file("x", &body)].concat()),
        (
            "0.1",
            [raw_pax(b'x', &[&one_map[..], &name, &record("GNU.sparse.size", b"9000")].concat()), file("x", &body)]
                .concat(),
        ),
        ("1.0", [pax_1(9000, b"0"), file("GNUSparseFile.1/x", &text)].concat()),
        ("1.1", [pax_1(9000, b"1"), file("GNUSparseFile.1/x", &text)].concat()),
        ("1 without a minor number", [pax_1(9000, b""), file("GNUSparseFile.1/x", &text)].concat()),
    ] {
        let archive = [archive, file("after", b"a")].concat();
        let all = read_bytes(&archive).unwrap();
        assert_eq!(all.len(), 2, "{form}");
        assert_eq!(all[0].entry.path, b"sparse", "{form}");
        assert!(all[0].content == expected, "{form}");
        assert_eq!(all[0].holes, 9000 - 1636, "{form}");
        assert_eq!(all[1].content, b"a", "{form}");
    }
}

#[test]
fn ends_of_archives() {
    let entry = file("f", b"content");
    let garbage = b"garbage".repeat(300);
    let zeros = [1, 100, 511, 513, 1023, 1025, 1535].map(|count| vec![0; count]);
    let tails = [vec![], vec![0; 512], end(), vec![0; 10240], [end(), garbage].concat(), [end(), vec![1]].concat()];
    for tail in tails.into_iter().chain(zeros) {
        assert_eq!(one(&[entry.clone(), tail].concat()).content, b"content");
    }
    let two = [entry.clone(), vec![0; 512], entry].concat();
    assert_eq!(read_bytes(&two).unwrap().len(), 2, "a single zero block is skipped");
    for zeros in [512, 513, 1024, 1500, 10_240, 1 << 20] {
        assert!(read_bytes(&vec![0; zeros]).unwrap().is_empty(), "{zeros}");
    }
}

#[test]
fn names_what_is_not_a_tar() {
    let with = |at: usize, magic: &[u8]| {
        let mut bytes = vec![0; 100_000];
        bytes[at..at + magic.len()].copy_from_slice(magic);
        bytes
    };
    for (bytes, what) in [
        (with(1080, b"\x53\xef"), "an ext2, ext3 or ext4 image (expected a tar)"),
        (with(1024, b"\xe2\xe1\xf5\xe0"), "an EROFS image (expected a tar)"),
        (with(32_769, b"CD001"), "an ISO 9660 image (expected a tar)"),
        (with(65_600, b"_BHRfS_M"), "a btrfs image (expected a tar)"),
        (with(0, b"070701"), "a damaged cpio archive (expected a tar)"),
        (with(90_000, b"x"), "other bytes after zeros: not an empty tar at byte 90000 (expected a tar)"),
        (with(1024, b"x"), "other bytes after zeros: not an empty tar at byte 1024 (expected a tar)"),
        (with(512, b"x"), "bad header checksum"),
    ] {
        assert_refused(&bytes, &[what]);
    }
}

#[test]
fn files_of_star_whose_map_is_in_further_blocks() {
    let pairs: Vec<(u64, u64)> = (0..30).map(|index| (1024 * index, 512)).collect();
    let body = bytes(9, 30 * 512);
    let mut expected = vec![0; 40_000];
    for (index, (offset, length)) in pairs.iter().enumerate() {
        expected[*offset as usize..][..*length as usize].copy_from_slice(&body[512 * index..][..512]);
    }
    let mut blocks = vec![0; 1024];
    for (index, (offset, length)) in pairs.iter().enumerate() {
        let at = 24 * (index % 21) + 512 * (index / 21);
        blocks[at..at + 24].copy_from_slice(format!("{offset:011o} {length:011o} ").as_bytes());
    }
    blocks[504] = 1;
    // star counts the blocks of the map in the size, and other programs do not.
    for (prefix, name, stored) in [
        ("", &b"sparse"[..], 1024 + 30 * 512),
        ("a/prefix", b"a/prefix/sparse", 1024 + 30 * 512),
        ("", b"sparse", 30 * 512),
    ] {
        let header = Header::ustar("sparse", b'S', stored).with(345, prefix.as_bytes());
        let header = header.with(452, b"00000116100\0").with(476, b"00000000005 00000000005 ").with(508, b"tar\0");
        let archive = [header.seal(), blocks.clone(), body.clone(), file("after", b"a")].concat();
        let all = read_bytes(&archive).unwrap();
        assert_eq!((&all[0].entry.path[..], all.len()), (name, 2));
        assert!(all[0].content == expected, "{prefix} {stored}");
        assert_eq!(all[1].content, b"a");
    }
}

/// A directory in the oldest form with a size: of Perl's Archive::Tar and of plexus-archiver, as libarchive's tests have them
/// (test_compat_tar_directory_1).
#[test]
fn keeps_the_entry_after_a_directory_with_a_size_and_no_content() {
    let next = file("next", b"n");
    for kind in [b'0', 0, b'7', b'D'] {
        for header in [Header::v7("dir/", kind, 1), Header::ustar("dir/", kind, 1000)] {
            let all = read_bytes(&[header.seal(), next.clone(), end()].concat()).unwrap();
            let found: Vec<_> = all.iter().map(|read| (&read.entry.path[..], &read.content[..])).collect();
            assert_eq!(found, [(&b"dir"[..], &b""[..]), (b"next", b"n")], "{kind}");
            assert_eq!(all[0].entry.kind, Kind::Dir);
        }
        let with_content = [Header::ustar("dir/", kind, 3).body(b"abc"), next.clone(), end()].concat();
        assert_eq!(read_bytes(&with_content).unwrap().len(), 2, "{kind}");
    }
    assert_eq!(one(&Header::v7("dir/", b'0', 1).seal()).entry.kind, Kind::Dir);
}

#[test]
fn directories_old_and_new() {
    for archive in [
        Header::v7("dir/", b'0', 0).seal(),
        Header::v7("./dir//", 0, 0).seal(),
        Header::ustar("/dir", b'5', 0).seal(),
        Header::gnu("dir/", b'D', 12).body(b"Yfile\0Nno\0\0"),
        [pax(b'x', &[("path", b"dir/")]), Header::ustar("other", b'0', 0).seal()].concat(),
        [Header::gnu("label", b'V', 0).seal(), Header::gnu("dir/", b'5', 0).seal()].concat(),
        // An ignored size, with and without blocks after it.
        [Header::ustar("dir", b'5', 4096).seal(), end()].concat(),
    ] {
        let read = one(&archive);
        assert_eq!((&read.entry.path[..], &read.entry.kind), (&b"dir"[..], &Kind::Dir));
    }
    assert_eq!(one(&Header::ustar("./", b'5', 0).seal()).entry.path, b"");
}

#[test]
fn links_with_a_size() {
    let link = Header::ustar("link", b'1', 5).link("./f");
    for archive in [
        [link.clone().seal(), file("after", b"")].concat(),
        [link.clone().body(b"hello"), file("after", b"")].concat(),
        [pax(b'x', &[("size", b"5")]), link.clone().body(&file("inner", b"")[..5]), file("after", b"")].concat(),
    ] {
        let all = read_bytes(&archive).unwrap();
        assert_eq!(all[0].entry.kind, Kind::HardLink(b"f".to_vec()));
        assert_eq!(all[1].entry.path, b"after");
    }
}

#[test]
fn checksums_of_both_kinds() {
    let header = Header::v7("f\u{e4}\u{f6}", b'0', 0);
    for block in [header.clone().seal(), header.seal_signed()] {
        assert_eq!(one(&block).entry.path, "f\u{e4}\u{f6}".as_bytes());
    }
}

#[test]
fn devices_fifos_and_contiguous_files() {
    let device =
        |kind| one(&Header::ustar("d", kind, 0).with(329, b"0000010\0").with(337, b"0000377\0").seal()).entry.kind;
    assert_eq!(device(b'3'), Kind::CharDevice(Device { major: 8, minor: 255 }));
    assert_eq!(device(b'4'), Kind::BlockDevice(Device { major: 8, minor: 255 }));
    assert_eq!(device(b'6'), Kind::Fifo);
    assert_eq!(one(&Header::ustar("f", b'7', 2).body(b"ab")).content, b"ab");
    let big =
        [pax(b'x', &[("SCHILY.devmajor", b"70000"), ("SCHILY.devminor", b"1")]), Header::ustar("d", b'3', 0).seal()];
    assert_eq!(one(&big.concat()).entry.kind, Kind::CharDevice(Device { major: 70_000, minor: 1 }));
}

#[test]
fn records_over_names_over_headers() {
    let global = pax(b'g', &[("uid", b"70"), ("mtime", b"-1.5"), ("comment", b"c"), ("SCHILY.xattr.user.g", b"1")]);
    let local = pax(b'x', &[("path", b"from/pax"), ("uid", b""), ("hdrcharset", b"BINARY"), ("SCHILY.ino", b"7")]);
    let archive = [
        global,
        file("one", b""),
        long(b'L', b"from/long"),
        file("two", b""),
        long(b'L', b"from/long"),
        local,
        file("three", b""),
        pax(b'g', &[("uid", b"71"), ("SCHILY.xattr.user.g", b"2")]),
        file("four", b""),
        pax(b'x', &[("path", b"replaced")]),
        raw_pax(b'X', &record("path", b"by solaris")),
        file("five", b""),
    ];
    let all = read_bytes(&archive.concat()).unwrap();
    let found: Vec<_> = all
        .iter()
        .map(|read| {
            let entry = &read.entry;
            let path = String::from_utf8_lossy(&entry.path).into_owned();
            (path, entry.meta.uid, entry.meta.mtime.to_string(), entry.xattrs[0].value[0])
        })
        .collect();
    let expected = [
        ("one", 70, b'1'),
        ("from/long", 70, b'1'),
        ("from/pax", 1, b'1'),
        ("four", 71, b'2'),
        ("by solaris", 71, b'2'),
    ];
    assert_eq!(found, expected.map(|(path, uid, value)| (path.to_owned(), uid, "-1.5".to_owned(), value)));
}

#[test]
fn attributes_of_three_archivers() {
    let records: &[(&str, &[u8])] = &[
        ("RHT.security.selinux", b"system_u:object_r:bin_t:s0"),
        ("LIBARCHIVE.xattr.user.both", b"AQI"),
        ("SCHILY.xattr.user.both", b"\x01\x02"),
        ("SCHILY.xattr.user.a%3Db", b"="),
        ("SCHILY.xattr.user.twice", b"1"),
        ("SCHILY.xattr.user.twice", b"2"),
        ("SCHILY.acl.access", b"user::rw-"),
    ];
    let xattrs = one(&[pax(b'x', records), file("f", b"")].concat()).entry.xattrs;
    let found: Vec<_> = xattrs.iter().map(|xattr| (&xattr.name[..], &xattr.value[..])).collect();
    let expected: [(&[u8], &[u8]); 4] = [
        (b"security.selinux", b"system_u:object_r:bin_t:s0\0"),
        (b"user.a=b", b"="),
        (b"user.both", b"\x01\x02"),
        (b"user.twice", b"2"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_cut_of_a_rich_archive_is_read_or_rejected_in_one_line() {
    let archive = [
        pax(b'g', &[("comment", b"x")]),
        pax_1_0(5000),
        file("GNUSparseFile.1/x", &[padded(b"1\n512\n512\n"), vec![3; 512]].concat()),
        old_sparse(&[(0, 512)], 900, 512).body(&[1; 512]),
        long(b'K', b"target"),
        Header::gnu("link", b'2', 0).seal(),
        end(),
    ]
    .concat();
    for length in (0..archive.len()).step_by(64) {
        if let Err(error) = read_bytes(&archive[..length]) {
            assert!(!error.to_string().contains('\n'));
        }
    }
    for at in 0..archive.len() {
        let mut damaged = archive.clone();
        damaged[at] ^= 0x15;
        if let Err(error) = read_bytes(&damaged) {
            assert!(!error.to_string().contains('\n'));
        }
    }
}
