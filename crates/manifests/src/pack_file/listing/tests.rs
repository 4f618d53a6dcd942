//! Tests of the entries of pack files.

use super::*;
use crate::parse_pack_file;

const DEFAULTS: Meta = Meta::new(0o711, 5, 6, 99);

type Listed = (Entry, Option<HostFile>);

/// A directory of the host: `a` with another name `z`, `sub/f.so`, `sub/g`, a symbolic link `l`.
fn host() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("a"), "hello").unwrap();
    fs::hard_link(at("a"), at("z")).unwrap();
    fs::write(at("sub/f.so"), "so").unwrap();
    fs::write(at("sub/g"), "").unwrap();
    std::os::unix::fs::symlink("a", at("l")).unwrap();
    folder
}

fn listing(text: &str, base: &Path) -> Result<Vec<Listed>, String> {
    let lines = parse_pack_file("list", text.as_bytes()).unwrap();
    list_pack_file("list", &lines, base, DEFAULTS).map_err(|error| error.to_string())
}

fn entries(text: &str, base: &Path) -> Vec<Listed> {
    listing(text, base).unwrap()
}

fn host_of(listed: &Listed) -> Option<&Path> {
    listed.1.as_ref().map(HostFile::path)
}

fn paths(listed: &[Listed]) -> Vec<String> {
    listed.iter().map(|listed| String::from_utf8(listed.0.path.clone()).unwrap()).collect()
}

fn find<'a>(listed: &'a [Listed], path: &str) -> &'a Listed {
    listed.iter().find(|listed| listed.0.path == path.as_bytes()).unwrap()
}

#[test]
fn an_implied_directory_may_have_a_later_line() {
    let host = host();
    let found = entries("file /x/y/f 0644 1 2 a\ndir /x 0700 3 4\nslink /s 0644 7 8 to", host.path());
    assert_eq!(paths(&found), ["", "s", "x", "x/y", "x/y/f"]);
    assert_eq!(find(&found, "").0.meta, DEFAULTS);
    assert_eq!(find(&found, "x").0.meta, Meta::new(0o700, 3, 4, 99));
    assert_eq!(find(&found, "x/y").0.meta, DEFAULTS);
    assert_eq!(find(&found, "s").0.meta.mode, 0o777);
    let file = find(&found, "x/y/f");
    assert_eq!(file.0.kind, Kind::File { size: 5 });
    assert_eq!(file.0.meta, Meta::new(0o644, 1, 2, 99));
    assert_eq!(host_of(file), Some(&*host.path().join("a")));
}

#[test]
fn sorts_entries_in_the_order_of_a_walk() {
    let text = "dir /a.b 0 0 0\ndir /a/c 0 0 0\nfile /z 0 0 0 a\nfile /a/b 0 0 0 a\nfile /a-b 0 0 0 a\ndir / 0 1 1";
    let found = entries(text, host().path());
    assert_eq!(paths(&found), ["", "a", "a/b", "a/c", "a-b", "a.b", "z"]);
}

#[test]
fn resolves_hard_links() {
    let found = entries("link /1 0 0 0 /2\nlink /2 0 0 0 /f\nfile /f 0 0 0 a\nlink /3 0 0 0 1", host().path());
    for path in ["1", "2", "3"] {
        assert_eq!(find(&found, path).0.kind, Kind::HardLink(b"f".into()), "{path}");
    }
}

/// If each link were followed to the end separately, this would take minutes.
#[test]
fn resolves_long_chains_in_one_pass() {
    const LINKS: usize = 50_000;
    let chain = |step: &dyn Fn(usize) -> usize| {
        let mut text = String::from("file /f 0 0 0 a\n");
        for at in 0..LINKS {
            let from = step(at);
            let to = step(at + 1);
            let to = if at + 1 == LINKS { "f".to_owned() } else { format!("l/{to:06}") };
            text += &format!("link /l/{from:06} 0 0 0 {to}\n");
        }
        text
    };
    let host = host();
    for text in [chain(&|at| at), chain(&|at| LINKS - at)] {
        let found = entries(&text, host.path());
        let links = found.iter().filter(|(entry, _)| entry.kind == Kind::HardLink(b"f".into()));
        assert_eq!(links.count(), LINKS);
    }
}

#[test]
fn rejects_impossible_lists_with_their_line() {
    let host = host();
    for (text, part) in [
        ("dir /a 0 0 0\n\ndir /a 0 0 0", "list: line 3: 'a' was already added by line 1 (expected each path once)"),
        ("file /a 0 0 0\ndir /a 0 0 0", "line 2: 'a' was already added"),
        ("file /x 0 0 0 a\ndir /x/y/z 0 0 0", "line 2: 'x/y/z' is below 'x', which is not a directory"),
        ("file /x 0 0 0 a\nglob /x 0 0 0 sub", "line 2: 'x' is below 'x', which is not a directory"),
        ("file /x 0 0 0", "line 1: '"),
        ("dir / 0 0 0\ndir / 0 0 0", "line 2: '' was already added"),
        ("file /x 0 0 0 sub", "sub' is not a regular file"),
        ("file /x 0 0 0 /dev/zero", "is not a regular file (expected a regular file, or /dev/null"),
        ("glob / 0 0 0 none", "none' is not a directory"),
        ("glob / 0 0 0 a", "a' is not a directory"),
        ("link /x 0 0 0 /y", "line 1: 'x' is a hard link to 'y', which does not exist"),
        ("dir /y 0 0 0\nlink /x 0 0 0 /y", "line 2: 'x' is a hard link to the directory 'y'"),
        ("link /x 0 0 0 /y\nlink /y 0 0 0 /x", "line 1: 'x' is a hard link that leads back to itself"),
        ("link /x 0 0 0 /x", "line 1: 'x' is a hard link that leads back to itself"),
    ] {
        let found = listing(text, host.path()).unwrap_err();
        assert!(found.contains(part), "{text}: {found}");
    }
}

#[test]
fn dev_null_is_an_empty_file() {
    let found = entries("file /x 0644 0 0 /dev/null", host().path());
    assert_eq!((&found[1].0.kind, &found[1].1), (&Kind::File { size: 0 }, &None));
}

#[test]
fn globs_add_the_matching_entries() {
    let host = host();
    let all = ["", "g", "g/a", "g/l", "g/sub", "g/sub/f.so", "g/sub/g", "g/z"];
    for (text, expected) in [
        ("glob /g * * * .", &all[..]),
        ("glob /g * * * -nonrecursive", &["", "g", "g/a", "g/l", "g/sub", "g/z"]),
        ("glob /g * * * -type d -- .", &["", "g", "g/sub"]),
        ("glob /g * * * -type f .", &["", "g", "g/a", "g/z"]),
        ("glob /g * * * -type d .\nglob /g * * * -type f -name *.so .", &["", "g", "g/sub", "g/sub/f.so"]),
        ("glob /g * * * -name 'f*' .", &["", "g"]),
        ("glob /g * * * -path g/s* .", &["", "g", "g/sub"]),
        ("glob /g * * * -type l -type d .", &["", "g", "g/l", "g/sub"]),
        ("glob / * * * -name *.so sub", &["", "f.so"]),
        ("glob / * * * ./sub/../sub", &["", "f.so", "g"]),
    ] {
        assert_eq!(paths(&entries(text, host.path())), expected, "{text}");
    }
}

#[test]
fn globs_set_the_attributes_of_the_line() {
    let host = host();
    let found = entries("glob /g 0640 7 * .", host.path());
    let owner = fs::metadata(host.path()).unwrap();
    assert_eq!(find(&found, "g").0.meta, DEFAULTS);
    assert_eq!(find(&found, "g/a").0.meta, Meta::new(0o640, 7, owner.gid(), 99));
    assert_eq!(find(&found, "g/l").0.meta.mode, 0o777);
    assert_eq!(find(&found, "g/z").0.kind, Kind::HardLink(b"g/a".into()));
    assert_eq!(host_of(find(&found, "g/sub/g")), Some(&*host.path().join("./sub/g")));
    let found = entries("glob /g * * * -keeptime -nohardlinks .", host.path());
    assert_eq!(find(&found, "g/a").0.meta.mtime, Time::of_metadata(&fs::metadata(host.path().join("a")).unwrap()));
    assert_eq!(find(&found, "g/z").0.kind, Kind::File { size: 5 });
}
