//! Tars with faults: rejected by default, and read with a warning by a lenient reader if no data is lost.

use packline_archives::decompress::Limits;
use packline_archives::tar::{TarOptions, TarSource, open_stream};
use packline_tree::Source;

use crate::tar_support::*;

/// The entries and warnings of a lenient reader.
fn lenient(archive: &[u8]) -> Result<(Vec<Read>, Vec<String>), String> {
    read(archive, true)
}

fn read(archive: &[u8], lenient: bool) -> Result<(Vec<Read>, Vec<String>), String> {
    let options = TarOptions { lenient, ..TarOptions::named("test.tar") };
    let mut source = TarSource::new(archive, options);
    let read = read_all(&mut source).map_err(|error| error.to_string())?;
    Ok((read, source.take_warnings()))
}

/// Checks that a strict reader returns this error, and that a lenient reader returns the other message as its only warning.
fn forgiven(archive: &[u8], fault: &str, instead: &str) -> Vec<Read> {
    let refused = refusal(archive);
    assert!(refused.contains(fault), "'{fault}' is not in: {refused}");
    let (read, warnings) = lenient(archive).unwrap();
    let [warning] = &warnings[..] else { panic!("expected one warning: {warnings:?}") };
    let start = "test.tar: ";
    assert!(warning.starts_with(start) && warning.contains(" at byte ") && warning.ends_with(instead), "{warning}");
    read
}

/// Checks that a strict reader returns this warning too.
fn warned(archive: &[u8], warning: &str) -> Vec<Read> {
    for is_lenient in [false, true] {
        assert_eq!(read(archive, is_lenient).unwrap().1, [format!("test.tar: {warning}")], "lenient: {is_lenient}");
    }
    let options = TarOptions { strict: true, ..TarOptions::named("test.tar") };
    let refused = read_all(&mut TarSource::new(archive, options)).unwrap_err().to_string();
    assert!(format!("test.tar: {warning}").starts_with(&refused), "{refused}");
    read_bytes(archive).unwrap()
}

fn refused_by_both(archive: &[u8], fault: &str) {
    let message = refusal(archive);
    assert!(message.contains(fault), "'{fault}' is not in: {message}");
    assert_eq!(lenient(archive).unwrap_err(), message);
}

fn paths(read: &[Read]) -> Vec<&str> {
    read.iter().map(|read| std::str::from_utf8(&read.entry.path).unwrap()).collect()
}

#[test]
fn an_extended_header_before_the_end_mark() {
    let ahead = file("ahead", b"1");
    for header in [pax(b'x', &[("path", b"name")]), long(b'L', b"name"), long(b'K', b"name")] {
        let read =
            forgiven(&[ahead.clone(), header.clone(), end()].concat(), "extended header at the end", "it is ignored");
        assert_eq!(paths(&read), ["ahead"]);
        // Without the mark the archive was more probably truncated.
        refused_by_both(&[ahead.clone(), header].concat(), "extended header at the end");
    }
}

#[test]
fn a_time_that_is_not_a_number() {
    for value in [&b"soon"[..], b"99999999999999999999"] {
        let archive = [pax(b'x', &[("mtime", value), ("uid", b"5")]), file("name", b"1"), end()].concat();
        let read = forgiven(&archive, "mtime is '", "the record is ignored");
        assert_eq!((read[0].entry.meta.mtime.seconds(), read[0].entry.meta.uid), (7, 5));
    }
    let archive = [Header::ustar("name", b'0', 0).with(136, b"12xyz").seal(), end()].concat();
    let read = forgiven(&archive, "mtime field '12xyz", "the time is set to 0");
    assert_eq!(read[0].entry.meta.mtime.seconds(), 0);
    let record = pax(b'x', &[("mtime", b"44")]);
    let both = [record, Header::ustar("name", b'0', 0).with(136, b"12xyz").seal(), end()].concat();
    assert_eq!(read_bytes(&both).unwrap()[0].entry.meta.mtime.seconds(), 44, "the field does not count");
    assert_eq!(lenient(&both).unwrap().1, Vec::<String>::new());
}

#[test]
fn uses_the_number_of_a_time_with_letters_after_it() {
    let archive = [pax(b'x', &[("mtime", b"1700000000.25 UTC"), ("uid", b"5")]), file("name", b"1"), end()].concat();
    let expected = "mtime is '1700000000.25 UTC' at byte 512 in entry PaxHeader/x (expected seconds, with or without a fraction): \
                    the time is set to 1700000000.25";
    let read = warned(&archive, expected);
    assert_eq!((read[0].entry.meta.mtime.to_string(), read[0].entry.meta.uid), ("1700000000.25".to_string(), 5));
}

#[test]
fn skips_entries_of_unknown_types() {
    for kind in [b'A', b'N', b'E', b'I', b'Z', b'8', 0xff] {
        let acl = [pax(b'x', &[("mtime", b"9")]), Header::ustar("odd", kind, 600).body(&[b'u'; 600])].concat();
        let archive = [file("ahead", b"1"), acl, file("after", b"2"), end()].concat();
        let escaped = kind.escape_ascii();
        let expected = format!(
            "unknown entry type '{escaped}' at byte 2048 in entry odd (expected a type of POSIX, GNU tar or star): \
             the entry is skipped"
        );
        let read = warned(&archive, &expected);
        assert_eq!(paths(&read), ["ahead", "after"]);
        assert_eq!(read[1].entry.meta.mtime.seconds(), 7, "headers of a skipped entry do not apply to the next one");
    }
}

#[test]
fn counts_entries_with_acls() {
    let acl = |name: &str| {
        [pax(b'x', &[("SCHILY.acl.access", b"user::rw-,user:7:r--,mask::r--,other::r--")]), file(name, b"")].concat()
    };
    let one = "test.tar: 1 entry has an ACL, which packline does not read (the first is a)";
    let both = "test.tar: 2 entries have ACLs, which packline does not read (the first is a)";
    for (tar, expected) in [(acl("a"), one), ([file("plain", b""), acl("a"), acl("b"), file("c", b"")].concat(), both)]
    {
        let (_, warnings) = read(&[tar, end()].concat(), false).unwrap();
        assert_eq!(warnings, [expected]);
    }
}

#[test]
fn counts_entries_of_unknown_types() {
    let odd: Vec<u8> = (0..100).flat_map(|_| Header::ustar("odd", b'A', 3).body(b"acl")).collect();
    let (found, warnings) = read(&[odd, file("after", b"2"), end()].concat(), false).unwrap();
    assert_eq!(paths(&found), ["after"]);
    assert_eq!(warnings.len(), 6);
    assert_eq!(warnings[5], "test.tar: 100 entries of unknown types are skipped in total");
}

#[test]
fn ends_at_a_single_block_of_zeros_before_other_bytes() {
    let archive = [file("ahead", b"1"), vec![0; 512], b"junk".repeat(1000)].concat();
    let expected = "no header after a single block of zeros at byte 1536 (expected two blocks): \
                    the archive is taken to end there";
    assert_eq!(paths(&warned(&archive, expected)), ["ahead"]);
}

#[test]
fn keeps_a_content_whose_padding_is_missing() {
    let ahead = file("ahead", b"1");
    for cut in [1, 300, 511] {
        let archive = [&ahead[..], &file("last", b"2")[..1024 - cut]].concat();
        let at = 2048 - cut;
        let expected = format!(
            "the archive ends {cut} bytes before the padding of the content does at byte {at} in entry last \
             (expected whole blocks of 512 bytes): the content is complete"
        );
        let read = warned(&archive, &expected);
        assert_eq!((paths(&read), &read[1].content[..]), (vec!["ahead", "last"], &b"2"[..]));
        let options = TarOptions { end_mark: true, ..TarOptions::named("test.tar") };
        let strict = read_all(&mut TarSource::new(&archive[..], options)).unwrap_err().to_string();
        assert!(strict.contains("ends without an end mark"), "{strict}");
    }
    refused_by_both(&file("last", b"22")[..513], "the archive is cut off: 1 byte is missing");
}

#[test]
fn a_directory_without_a_name() {
    let archive = [file("ahead", b"1"), Header::ustar("", b'5', 0).seal(), end()].concat();
    let refused = refusal(&archive);
    assert!(refused.contains("the name is empty at byte 1024"), "{refused}");
    let (read, warnings) = lenient(&archive).unwrap();
    assert_eq!(paths(&read), ["ahead", ""]);
    assert_eq!(
        warnings,
        ["test.tar: a directory without a name at byte 1024 (expected a name, or ./ for the root directory): \
          it is treated as the root"]
    );
}

#[test]
fn rejects_faults_that_lose_data() {
    let tail = [file("name", b"1"), end()].concat();
    let with = |header: Vec<u8>| [header, tail.clone()].concat();
    refused_by_both(&with(Header::ustar("", b'0', 0).seal()), "the name is empty");
    refused_by_both(&with(Header::ustar("", b'2', 0).link("to").seal()), "the name is empty");
    refused_by_both(&with(long(b'L', b"")), "long name of no bytes");
    refused_by_both(&with(pax(b'x', &[("path", b"a\0b")])), "the name holds a NUL byte");
    refused_by_both(&with(pax(b'x', &[("uid", b"root")])), "uid is 'root'");
    refused_by_both(&with(pax(b'x', &[("size", b"all")])), "size is 'all'");
    refused_by_both(&with(raw_pax(b'x', b"99 mtime=ab\n")), "record of 99 bytes");
    refused_by_both(&with(Header::gnu("odd", b'0', 0).with(108, b"zzz").seal()), "uid field 'zzz");
}

#[test]
fn an_input_without_a_block_is_not_a_tar() {
    refused_by_both(b"", "test.tar: is empty (expected a tar)");
    for zeros in [512, 1024, 10_240] {
        assert_eq!(read_bytes(&vec![0; zeros]).unwrap(), [], "{zeros} zeros");
    }
}

/// A device of zeros, or a stream with one after an archive, has no end.
#[test]
fn zeros_without_an_end_are_an_error() {
    use std::io::{Read as _, repeat};
    let archive = |bytes: Vec<u8>| std::io::Cursor::new(bytes).chain(repeat(0));
    let whole = [file("name", b"content"), end()].concat();
    let cases = [
        (Vec::new(), false, "at byte 0"),
        (Vec::new(), true, "at byte 0"),
        (whole.clone(), false, "at byte 2048"),
        (whole, true, "at byte 1024"),
    ];
    for (bytes, ignore_zeros, place) in cases {
        let options = TarOptions { ignore_zeros, ..TarOptions::named("test.tar") };
        let error = read_all(&mut TarSource::new(archive(bytes), options)).unwrap_err().to_string();
        let expected = format!("more than 268435456 bytes of zeros {place}");
        assert!(error.starts_with("test.tar: ") && error.contains(&expected), "{expected}: {error}");
    }
    // The end of a cpio archive.
    let padded = format!("070701{}{:08x}{:08x}TRAILER!!!\0\0\0\0", "0".repeat(88), 11, 0).into_bytes();
    let open = |bytes: Vec<u8>| open_stream(archive(bytes), TarOptions::named("test.tar"), &Limits::default());
    let error = read_all(&mut *open(padded).unwrap()).unwrap_err().to_string();
    assert!(error.contains("more than 268435456 bytes of zeros"), "{error}");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &[file("name", b"content"), end()].concat()).unwrap();
    let error = read_all(&mut *open(gzip.finish().unwrap()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("more than 268435456 bytes of zeros follow the stream"), "{error}");
    // A finite number of zeros is the end of an archive, or an empty one.
    for bytes in [vec![0; 8 << 20], [file("name", b"content"), vec![0; 8 << 20]].concat()] {
        read_all(&mut TarSource::new(&bytes[..], TarOptions::named("test.tar"))).unwrap();
    }
}

/// As GNU tar, which prints "Removing leading `/' from member names" once.
#[test]
fn absolute_names_are_below_the_root_with_one_warning() {
    let archive = [file("/a", b"1"), file("b", b"2"), file("//c/d", b"3"), end()].concat();
    let (read, warnings) = read(&archive, false).unwrap();
    assert_eq!(paths(&read), ["a", "b", "c/d"]);
    assert_eq!(warnings, ["test.tar: 2 names begin with /, which is removed (the first is /a)"]);
    let archive = [file("/a", b"1"), end()].concat();
    assert_eq!(lenient(&archive).unwrap().1, ["test.tar: 1 name begins with /, which is removed (the first is /a)"]);
}
