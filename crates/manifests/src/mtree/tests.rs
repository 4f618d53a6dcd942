//! Tests of manifests: each keyword, the current directory, contents of files of the host, and malformed lines.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use packline_tree::{Device, Entry, Extent, Kind, Meta, Source, Time};

use super::*;

struct Fake;

impl PseudoHost for Fake {
    fn user(&mut self, name: &str) -> Option<u32> {
        (name == "ann").then_some(1000)
    }

    fn group(&mut self, name: &str) -> Option<u32> {
        (name == "staff").then_some(50)
    }

    fn time(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn run(&mut self, _: &[u8]) -> io::Result<File> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

fn read_below(base: &Path, text: &[u8]) -> Result<Vec<(Entry, Bytes)>, Error> {
    let mtree = Mtree::read("list", base, text, &mut Fake)?;
    let mut source = MtreeSource::new(mtree, 9, 0);
    let mut found = Vec::new();
    let mut buffer = [0; 7];
    while let Some(entry) = source.next_entry()? {
        let mut content = Bytes::new();
        while let Extent::Data(count) = source.read(&mut buffer)? {
            content.extend_from_slice(&buffer[..count]);
        }
        found.push((entry, content));
    }
    Ok(found)
}

fn entries(text: &[u8]) -> Vec<Entry> {
    let found = read_below(Path::new("/does-not-exist"), text).unwrap();
    found.into_iter().map(|(entry, _)| entry).collect()
}

fn paths(text: &[u8]) -> Vec<String> {
    entries(text).iter().map(|entry| String::from_utf8_lossy(&entry.path).into_owned()).collect()
}

fn error_below(base: &Path, text: &str) -> String {
    read_below(base, text.as_bytes()).err().map(|error| error.to_string()).unwrap_or_default()
}

fn meta(mode: u16, uid: u32, gid: u32, mtime: i64) -> Meta {
    Meta::new(mode, uid, gid, mtime)
}

#[test]
fn digits_after_the_point_are_nanoseconds() {
    let text = b"#mtree\n/set type=fifo\na time=5.000000025\nb time=5.25\nc time=-7.500000000\nd time=5.9999999999\n";
    let found = entries(text);
    let times = [(5, 25), (5, 25), (-7, 500_000_000), (5, 999_999_999)].map(|(at, after)| Time::new(at, after));
    assert!(found.iter().map(|entry| entry.meta.mtime).eq(times), "{found:?}");
}

#[test]
fn every_type_and_keyword() {
    let text = b"#mtree\n# comment\n/set type=file uid=1 gid=2 mode=0640 time=5.0\n. type=dir mode=755\n\
        a size=0 uname=ann gname=staff\nb type=block device=native,8,1\nc type=char device=linux,0x103,3 uid=4294967295\n\
        d type=char device=259 time=-7\nf type=fifo optional\ns type=socket ignore nochange=\n";
    let refused = Mtree::read("list", Path::new("x"), &text[..], &mut Fake).err().unwrap().to_string();
    assert!(refused.starts_with("list: line 10: 'nochange=' (expected type=, mode="), "{refused}");
    let text = String::from_utf8_lossy(text)
        .replace(" nochange=", " sha256=00 flags=none cksum=1 md5digest=x tags=a,b sha512=1");
    let text = text + "l type=link \\\n  link=a\\040b\\s\\M-i\n/unset uid mode\nm type=dir\n/unset all\n";
    let (file, device) = (Kind::File { size: 0 }, |major, minor| Device { major, minor });
    let expected = [
        ("", Kind::Dir, meta(0o755, 1, 2, 5)),
        ("a", file, meta(0o640, 1000, 50, 5)),
        ("b", Kind::BlockDevice(device(8, 1)), meta(0o640, 1, 2, 5)),
        ("c", Kind::CharDevice(device(0x103, 3)), meta(0o640, u32::MAX, 2, 5)),
        ("d", Kind::CharDevice(device(1, 3)), meta(0o640, 1, 2, -7)),
        ("f", Kind::Fifo, meta(0o640, 1, 2, 5)),
        ("l", Kind::Symlink(b"a b \xe9".to_vec()), meta(0o640, 1, 2, 5)),
        ("m", Kind::Dir, meta(0o755, 0, 2, 5)),
        ("s", Kind::Socket, meta(0o640, 1, 2, 5)),
    ];
    let expected = expected.map(|(path, kind, meta)| Entry { path: path.into(), kind, meta, xattrs: Vec::new() });
    assert_eq!(entries(text.as_bytes()), expected);
}

#[test]
fn names_are_relative_to_the_current_directory_and_paths_to_the_root() {
    let text =
        b". type=dir\nusr type=dir\nbin type=dir\n..\n./etc/x type=fifo\nlib type=dir\n..\n..\nvar type=dir\n..\n..\n";
    assert_eq!(paths(text), ["", "etc/x", "usr", "usr/bin", "usr/lib", "var"]);
    assert_eq!(
        paths(b"a\\057b type=fifo\nA\\134\\n\\\\\\$x type=fifo\n\\[x\\] type=fifo\n"),
        ["A\\\n\\x", "[x]", "a/b"]
    );
}

#[test]
fn a_later_line_adds_to_an_earlier_one() {
    let text = b"./a type=char mode=600 uid=7\n./a device=native,1,2 mode=644\n";
    let device = Kind::CharDevice(Device { major: 1, minor: 2 });
    assert_eq!(
        entries(text),
        [Entry { path: b"a".to_vec(), kind: device, meta: meta(0o644, 7, 0, 9), xattrs: Vec::new() }]
    );
}

#[test]
fn reads_contents_and_missing_attributes_from_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("one"), "content").unwrap();
    fs::set_permissions(at("one"), fs::Permissions::from_mode(0o4711)).unwrap();
    symlink("one", at("link")).unwrap();
    let text = "#mtree\none\nlink\nfollowed type=file contents=link size=7 mode=1\nkept nochange mode=1 content=one\n\
                gone optional\ntop type=link contents=link\n";
    let found = read_below(folder.path(), text.as_bytes()).unwrap();
    let host = fs::metadata(at("one")).unwrap();
    let own = |mode| Meta { mtime: Time::of_metadata(&host), ..meta(mode, host.uid(), host.gid(), 0) };
    let found: Vec<_> =
        found.iter().map(|(entry, content)| (&entry.path[..], &entry.kind, entry.meta, &content[..])).collect();
    let file = Kind::File { size: 7 };
    let link = Kind::Symlink(b"one".to_vec());
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(found[0], (&b"followed"[..], &file, own(1), &b"content"[..]));
    assert_eq!(found[1], (&b"kept"[..], &file, own(0o4711), &b"content"[..]));
    assert_eq!((found[2].0, found[2].1, found[2].3), (&b"link"[..], &link, &b""[..]));
    assert_eq!(found[3], (&b"one"[..], &file, own(0o4711), &b"content"[..]));
    assert_eq!((found[4].0, found[4].1), (&b"top"[..], &link));
    for (line, part) in [
        (
            "one type=file size=6",
            "line 1: 'PLACE/one' has 7 bytes, but size=6 is given (expected a content of this size)",
        ),
        (
            "gone type=file",
            "line 1: 'PLACE/gone' does not exist (expected contents= and the path of a file, or size=0)",
        ),
        ("gone", "line 1: 'PLACE/gone' does not exist (expected type= where there is no file)"),
        ("x nochange contents=gone", "line 1: 'PLACE/gone' does not exist (expected a file for 'nochange')"),
        ("x type=file contents=.", "is not a regular file"),
        ("one/x type=file size=1", "'PLACE/one/x' does not exist"),
    ] {
        let found = error_below(folder.path(), line).replace(folder.path().to_str().unwrap(), "PLACE");
        assert!(found.contains(part), "{line}: {found}");
    }
}

#[test]
fn names_of_one_inode_are_hard_links() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("one"), "1").unwrap();
    let text = "/set type=file mode=644 uid=0 gid=0 time=1 nlink=3\na contents=one\nb contents=one\nc contents=one mode=600\n\
                d contents=one nlink=1\ne type=fifo inode=5\nf type=fifo inode=5\ng type=fifo inode=5 resdevice=2\n\
                h type=link link=x inode=6\ni type=link link=x inode=6\nj type=link link=y inode=6\n";
    let found = read_below(folder.path(), text.as_bytes()).unwrap();
    let links = found.iter().filter_map(|(entry, _)| match &entry.kind {
        Kind::HardLink(first) => Some((entry.path[0], first[0])),
        _ => None,
    });
    assert_eq!(links.collect::<Vec<_>>(), [(b'b', b'a'), (b'f', b'e'), (b'i', b'h')]);
}

#[test]
fn rejects_malformed_lines_with_their_number() {
    let base = Path::new("/does-not-exist");
    for (line, part) in [
        ("a type=door", "line 2: 'type=door' (expected type=block,"),
        ("a mode=8", "'mode=8' (expected mode= and an octal number"),
        ("a mode=u+x", "'mode=u+x'"),
        ("a mode=10000", "'mode=10000'"),
        ("a uid=-1", "'uid=-1' (expected a number from 0 to 4294967295;"),
        ("a gid=4294967296", "'gid=4294967296'"),
        ("a uname=nobody-here", "uname 'nobody-here' (expected a name that this system has, or uid=)"),
        ("a gname=", "gname '' (expected a name that this system has, or gid=)"),
        ("a time=1.x", "'time=1.x' (expected time= and seconds"),
        ("a time=", "'time='"),
        ("a size=", "'size=' (expected a number"),
        ("a link=", "'link=' (expected link= and a target"),
        ("a link=\\q", "an unknown escape in '\\q'"),
        ("a contents=", "'contents=' (expected the path of a file)"),
        ("a contents=\\000", "(expected the path of a file)"),
        ("a device=native,1", "'device=native,1' (expected device=FORMAT,MAJOR,MINOR"),
        ("a device=native,4096,0", "'device=native,4096,0'"),
        ("a device=native,1,2,3,4", "(expected device=FORMAT"),
        ("a colour=red", "'colour=red' (expected type=,"),
        ("a optional=1", "'optional=1' (expected type=,"),
        ("a type", "'type' (expected type=,"),
        ("/set colour=red", "'colour=red'"),
        ("/unset colour", "'colour' (expected 'all', or one of these"),
        ("/reset type", "'/reset' (expected '/set', '/unset', or a name"),
        ("/etc type=dir", "'/etc' (expected"),
        ("..", "one '..' too many"),
        (".. type=dir", "'type=dir' after '..' (expected the end of the line)"),
        ("a/../../b type=dir", "is not a path in an image"),
        ("a\\000b type=dir", "is not a path in an image"),
        ("a\\q type=dir", "an unknown escape in 'a\\q' (expected escapes of vis(3)"),
        ("a\\777 type=dir", "an unknown escape"),
        ("a type=link", "type=link without a target (expected link= and the target)"),
        ("a type=char", "a device without a number (expected device="),
        (". type=fifo", "'' is not a directory (expected type=dir for the root"),
        ("a type=fifo\na/b type=fifo", "'a' is not a directory"),
    ] {
        let found = error_below(base, &format!("#mtree\n{line}\n"));
        assert!(found.starts_with("list: line 2: ") && found.contains(part), "{line}: {found}");
    }
    let long = format!("#mtree\n{}x type=dir\n", "directory/".repeat(8000));
    assert!(error_below(base, &long).contains("line 2: "));
}

#[test]
fn manifests_and_pseudo_files_are_distinguished() {
    for text in [
        "#mtree",
        "#mtree v2.0\n",
        "# user: x\n\n/set type=file\n",
        ". type=dir",
        "a\tmode=1",
        "/unset all",
        "a ignore\n",
    ] {
        assert!(Mtree::is_manifest(text.as_bytes()), "{text}");
    }
    for text in ["", "# mtree\n", "/ d 755 0 0", "a x user.k=v", "a m 1 0 0", "type=dir", "a type", "/set"] {
        assert!(!Mtree::is_manifest(text.as_bytes()), "{text}");
    }
}

#[test]
fn lines_share_the_values_of_set() {
    let mut text = format!("/set type=link mode=1 uid=1 gid=1 time=1 contents={}\n", "c".repeat(1 << 19));
    (0..20_000).for_each(|number| text += &format!("{number} link=x\n"));
    // Copies would take 10 GB.
    assert_eq!(entries(text.as_bytes()).len(), 20_000);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused_on_one_line(text in "([a/.\\\\ \n=,0-9]|type=(file|dir|link|char)|/set |/unset |mode=|link=|size=|\\.\\.){0,40}") {
        let error = error_below(Path::new("/does-not-exist"), &text);
        proptest::prop_assert!(!error.contains('\n'));
    }
}
