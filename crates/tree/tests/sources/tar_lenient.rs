//! Tars with faults: rejected by default, and read with a warning by a lenient reader if no data is lost.

use packline_tree::Source;
use packline_tree::tar::{TarOptions, TarSource};

use crate::tar_support::*;

/// Entries and warnings of a lenient reader.
fn lenient(archive: &[u8]) -> Result<(Vec<Read>, Vec<String>), String> {
    let options = TarOptions { lenient: true, ..TarOptions::named("test.tar") };
    let mut source = TarSource::new(archive, options);
    let read = read_all(&mut source).map_err(|error| error.to_string())?;
    Ok((read, source.take_warnings()))
}

/// Rejected by a strict reader with this message; a lenient one gives the other as its only warning.
fn forgiven(archive: &[u8], fault: &str, instead: &str) -> Vec<Read> {
    let refused = refusal(archive);
    assert!(refused.contains(fault), "'{fault}' is not in: {refused}");
    let (read, warnings) = lenient(archive).unwrap();
    let [warning] = &warnings[..] else { panic!("expected one warning: {warnings:?}") };
    let start = "test.tar: ";
    assert!(warning.starts_with(start) && warning.contains(" at byte ") && warning.ends_with(instead), "{warning}");
    read
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
        // Without the mark it is more likely that the archive was cut.
        refused_by_both(&[ahead.clone(), header].concat(), "extended header at the end");
    }
}

#[test]
fn a_time_that_is_no_number() {
    for value in [&b"soon"[..], b"1e9", b"99999999999999999999"] {
        let archive = [pax(b'x', &[("mtime", value), ("uid", b"5")]), file("name", b"1"), end()].concat();
        let read = forgiven(&archive, "mtime is '", "the record is ignored");
        assert_eq!((read[0].entry.meta.mtime, read[0].entry.meta.uid), (7, 5));
    }
    let archive = [Header::ustar("name", b'0', 0).with(136, b"12xyz").seal(), end()].concat();
    let read = forgiven(&archive, "mtime field '12xyz", "the time is set to 0");
    assert_eq!(read[0].entry.meta.mtime, 0);
    let record = pax(b'x', &[("mtime", b"44")]);
    let both = [record, Header::ustar("name", b'0', 0).with(136, b"12xyz").seal(), end()].concat();
    assert_eq!(read_bytes(&both).unwrap()[0].entry.meta.mtime, 44, "the field does not count");
    assert_eq!(lenient(&both).unwrap().1, Vec::<String>::new());
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
          it is taken for the root"]
    );
}

#[test]
fn what_loses_something_is_refused_all_the_same() {
    let tail = [file("name", b"1"), end()].concat();
    let with = |header: Vec<u8>| [header, tail.clone()].concat();
    refused_by_both(&with(Header::ustar("", b'0', 0).seal()), "the name is empty");
    refused_by_both(&with(Header::ustar("", b'2', 0).link("to").seal()), "the name is empty");
    refused_by_both(&with(long(b'L', b"")), "long name of no bytes");
    refused_by_both(&with(pax(b'x', &[("path", b"a\0b")])), "the name holds a NUL byte");
    refused_by_both(&with(pax(b'x', &[("uid", b"root")])), "uid is 'root'");
    refused_by_both(&with(pax(b'x', &[("size", b"all")])), "size is 'all'");
    refused_by_both(&with(raw_pax(b'x', b"99 mtime=ab\n")), "record of 99 bytes");
    refused_by_both(&with(Header::gnu("odd", b'Z', 0).seal()), "unknown entry type 'Z'");
    refused_by_both(&with(Header::gnu("odd", b'0', 0).with(108, b"zzz").seal()), "uid field 'zzz");
}

#[test]
fn an_input_without_a_block_is_no_tar() {
    refused_by_both(b"", "test.tar: is empty: it ends at byte 0 (expected a tar: at least one block of 512 bytes)");
    for zeros in [512, 1024, 10_240] {
        assert_eq!(read_bytes(&vec![0; zeros]).unwrap(), [], "{zeros} zeros");
    }
}
