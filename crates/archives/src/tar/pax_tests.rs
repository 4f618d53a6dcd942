//! Tests of PAX records.

use super::*;
use proptest::prelude::*;

fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let body = key.len() + value.len() + 3;
    let mut length = body + 1;
    while length != body + length.to_string().len() {
        length = body + length.to_string().len();
    }
    [length.to_string().as_bytes(), b" ", key.as_bytes(), b"=", value, b"\n"].concat()
}

fn parse(records: &[u8]) -> Result<Pax, RecordFault> {
    let mut pax = Pax::default();
    pax.apply(records, false, false).map(|_| pax)
}

#[test]
fn later_records_win_and_empty_ones_take_back() {
    let mut pax = Pax::default();
    pax.apply(&[record("path", b"g"), record("uid", b"7"), record("GNU.sparse.size", b"9")].concat(), true, false)
        .unwrap();
    assert!(pax.sparse.size.is_none());
    pax.apply(&[record("path", b"a"), record("path", b"b"), record("uid", b"")].concat(), false, false).unwrap();
    assert_eq!((pax.path.unwrap(), pax.uid), (b"b".to_vec(), None));
}

#[test]
fn only_an_unusable_time_can_be_ignored() {
    let records = [record("mtime", b"3"), record("uid", b"7"), record("mtime", b"soon"), record("gid", b"8")].concat();
    assert_eq!(parse(&records).unwrap_err().at, 19);
    let mut pax = Pax::default();
    let mended = pax.apply(&records, false, true).unwrap();
    assert_eq!((pax.mtime, pax.uid, pax.gid), (Some(Time::from_seconds(3)), Some(7), Some(8)));
    let [Mended { fault, instead }] = &mended[..] else { panic!("{mended:?}") };
    assert_eq!((fault.at, &*fault.what, &**instead), (19, "mtime is 'soon'", "the record is ignored"));
    for key in ["uid", "size", "SCHILY.devmajor", "GNU.sparse.map"] {
        assert!(Pax::default().apply(&record(key, b"soon"), false, true).is_err(), "{key}");
    }
}

#[test]
fn uses_the_number_of_a_time_with_letters_after_it() {
    for lenient in [false, true] {
        let mut pax = Pax::default();
        let mended = pax.apply(&record("mtime", b"1700000000.5s"), false, lenient).unwrap();
        let [Mended { fault, instead }] = &mended[..] else { panic!("{mended:?}") };
        assert_eq!(
            (pax.mtime, fault.at, &**instead),
            (Some(Time::new(1_700_000_000, 500_000_000)), 0, "the time is set to 1700000000.5")
        );
        assert_eq!(fault.what, "mtime is '1700000000.5s'");
    }
}

#[test]
fn finds_acls_that_say_more_than_the_permissions() {
    let plain = "user::rw-\ngroup::r--\nother::r--\n";
    for (key, value, expected) in [
        ("SCHILY.acl.access", plain.to_string(), false),
        ("SCHILY.acl.access", String::new(), false),
        ("SCHILY.acl.access", plain.replace('\n', ","), false),
        ("SCHILY.acl.access", format!("{plain}user:max:r--\nmask::r--\n"), true),
        ("SCHILY.acl.access", "user::rw-,group::r--,group:5:rwx,mask::rwx,other::r--".to_string(), true),
        ("SCHILY.acl.default", plain.to_string(), true),
        ("SCHILY.acl.default", String::new(), false),
        ("SCHILY.acl.ace", "owner@:rwx:::allow".to_string(), true),
        ("SCHILY.fflags", "nodump".to_string(), false),
    ] {
        assert_eq!(parse(&record(key, value.as_bytes())).unwrap().has_acl, expected, "{key} {value}");
    }
}

#[test]
fn attributes_in_both_forms() {
    let pax = parse(
        &[
            record("SCHILY.xattr.user.b", b"\0\n=\xff"),
            record("SCHILY.xattr.user.empty", b""),
            record("LIBARCHIVE.xattr.user.a%20b", b"AAEC"),
        ]
        .concat(),
    )
    .unwrap();
    let expected = [("user.b", &b"\0\n=\xff"[..]), ("user.empty", b""), ("user.a b", b"\0\x01\x02")];
    for (xattr, (name, value)) in pax.xattrs.iter().zip(expected) {
        assert_eq!((&xattr.name[..], &xattr.value[..]), (name.as_bytes(), value));
    }
    assert_eq!(pax.xattrs.len(), 3);
}

#[test]
fn lies_are_found() {
    for (records, what) in [
        (&b"10 path=ab"[..], "does not end in a newline"),
        (b"11 path=abc\n", "does not end in a newline"),
        (b"99 path=ab\n", "99 bytes where 11 are left"),
        (b"18446744073709551617 path=ab\n", "without a length"),
        (b"9223372036854775807 path=ab\n", "9223372036854775807 bytes"),
        (b"0 path=ab\n", "record of 0 bytes"),
        (b"2 path=ab\n", "record of 2 bytes"),
        (b"path=ab\n", "without a length"),
        (b"-5 a=b\n", "without a length"),
        (b"7 path\n", "without KEY="),
        (b"8 path\n", "8 bytes where 7 are left"),
        (b"8 path\n\n", "without KEY="),
        (b"5 =b\n", "without KEY="),
        (b"12 size=-12\n", "size is '-12'"),
        (b"14 mtime=soon\n", "mtime is 'soon'"),
        (b"11", "without a length"),
    ] {
        let fault = parse(records).unwrap_err();
        assert!(fault.what.contains(what), "{records:?}: {}", fault.what);
    }
    let fault = parse(&[record("uid", b"1"), record("size", b"99999999999999999999")].concat()).unwrap_err();
    assert_eq!(fault.at, record("uid", b"1").len());
}

#[test]
fn sparse_records() {
    let zero = [("numblocks", "2"), ("offset", "0"), ("numbytes", "5"), ("offset", "10"), ("numbytes", "1")];
    let zero: Vec<u8> = zero.iter().flat_map(|(k, v)| record(&format!("GNU.sparse.{k}"), v.as_bytes())).collect();
    let one = record("GNU.sparse.map", b"0,5,10,1");
    for records in [zero, one] {
        let segments = parse(&records).unwrap().sparse.map.finish(11, 6).unwrap();
        assert_eq!(segments, [Segment { offset: 0, length: 5 }, Segment { offset: 10, length: 1 }]);
    }
    for bad in [record("GNU.sparse.numbytes", b"5"), record("GNU.sparse.map", b"1,2,3"), record("GNU.sparse.map", b"x")]
    {
        assert!(parse(&bad).is_err());
    }
    assert!(parse(&record("GNU.sparse.map", b"")).unwrap().sparse.map.finish(5, 0).unwrap().is_empty());
}

proptest! {
    #[test]
    fn any_bytes_do_not_panic(records in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&records);
    }

    #[test]
    fn values_come_back(value in prop::collection::vec(any::<u8>(), 1..3000)) {
        prop_assert_eq!(parse(&record("path", &value)).unwrap().path.unwrap(), value);
    }
}
