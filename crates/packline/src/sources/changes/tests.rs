//! Tests of what is changed in entries.

use packline_tree::{Meta, Time};

use super::*;

fn entry(path: &str, kind: Kind) -> Entry {
    let meta = Meta::new(0o644, 1, 2, 1000);
    Entry { path: path.into(), kind, meta, xattrs: Vec::new() }
}

fn xattr(name: &str) -> Xattr {
    Xattr { name: name.into(), value: b"v".to_vec() }
}

fn apply(changes: &Changes, entry: Entry) -> Option<Entry> {
    changes.apply(entry, &EntryLimits::SQUASHFS, &mut |_, _| {}).unwrap()
}

fn rooted(path: &str, retarget: bool) -> Changes {
    Changes { root: Some(NewRoot::new(path.as_bytes(), retarget).unwrap()), ..Changes::default() }
}

#[test]
fn the_default_changes_nothing() {
    let given = Entry { xattrs: vec![xattr("user.a")], ..entry("a/b", Kind::Fifo) };
    assert_eq!(apply(&Changes::default(), given.clone()), Some(given));
}

#[test]
fn owners_and_times() {
    let changes = Changes { uid: Some(7), gid: Some(8), mtime_most: Some(900), ..Changes::default() };
    let changed = apply(&changes, entry("a", Kind::Dir)).unwrap();
    assert_eq!(changed.meta, Meta::new(0o644, 7, 8, 900));
    let later = Changes { mtime_most: Some(1001), ..Changes::default() };
    assert_eq!(apply(&later, entry("a", Kind::Dir)).unwrap().meta.mtime.seconds(), 1000);
    let most = Changes { mtime_most: Some(1000), ..Changes::default() };
    let mut after = entry("a", Kind::Dir);
    after.meta.mtime = Time::new(1000, 1);
    assert_eq!(apply(&most, after).unwrap().meta.mtime, Time::from_seconds(1000));
    let fixed = Changes { mtime: Some(5), ..Changes::default() };
    assert_eq!(apply(&fixed, entry("a", Kind::Dir)).unwrap().meta.mtime, Time::from_seconds(5));
}

#[test]
fn keeps_only_entries_below_the_new_root() {
    let changes = rooted("./usr//lib/", true);
    let place = |path: &str| apply(&changes, entry(path, Kind::Dir)).map(|entry| entry.path);
    assert_eq!(place("usr/lib"), Some(b"".to_vec()));
    assert_eq!(place("usr/lib/x/y"), Some(b"x/y".to_vec()));
    for outside in ["", "usr", "usr/lib64", "usr/lib64/x", "lib"] {
        assert_eq!(place(outside), None, "{outside}");
    }
}

#[test]
fn links_follow_the_new_root() {
    let target = |changes: &Changes, kind| apply(changes, entry("usr/lib/l", kind)).unwrap().kind;
    let moved = rooted("usr/lib", true);
    for (old, new) in [
        ("/usr/lib/x", "/x"),
        ("usr/lib/x", "/x"),
        ("/usr/lib", "/usr/lib"),
        ("../lib/x", "../lib/x"),
        ("/etc/x", "/etc/x"),
    ] {
        assert_eq!(target(&moved, Kind::Symlink(old.into())), Kind::Symlink(new.into()), "{old}");
    }
    let kept = rooted("usr/lib", false);
    assert_eq!(target(&kept, Kind::Symlink(b"/usr/lib/x".to_vec())), Kind::Symlink(b"/usr/lib/x".to_vec()));
    assert_eq!(target(&kept, Kind::HardLink(b"usr/lib/x".to_vec())), Kind::HardLink(b"x".to_vec()));
    let outside = kept
        .apply(entry("usr/lib/l", Kind::HardLink(b"usr/x".to_vec())), &EntryLimits::SQUASHFS, &mut |_, _| {})
        .unwrap_err();
    assert!(outside.to_string().contains("hard link to usr/x, which is outside"), "{outside}");
}

#[test]
fn a_new_root_is_a_directory_below_the_old() {
    for path in ["", "/", "./", "a/..", ".."] {
        assert!(NewRoot::new(path.as_bytes(), true).is_err(), "{path:?}");
    }
    let refusal = rooted("a", true).apply(entry("a", Kind::Fifo), &EntryLimits::SQUASHFS, &mut |_, _| {}).unwrap_err();
    assert!(refusal.to_string().contains("is not a directory"));
}

#[test]
fn attributes_that_cannot_be_stored_are_dropped_or_refused() {
    let given = Entry { xattrs: vec![xattr("system.posix_acl_access"), xattr("user.a")], ..entry("a", Kind::Dir) };
    let mut warned = Vec::new();
    let mut warn = |_: &Entry, xattr: &Xattr| warned.push(xattr.name.clone());
    let kept = Changes::default().apply(given.clone(), &EntryLimits::SQUASHFS, &mut warn).unwrap().unwrap();
    let all = Changes::default().apply(given.clone(), &EntryLimits::EROFS, &mut warn).unwrap().unwrap();
    assert_eq!((kept.xattrs, all.xattrs), (vec![xattr("user.a")], given.xattrs.clone()));
    assert_eq!(warned, vec![b"system.posix_acl_access".to_vec()]);
    let strict = Changes { unsupported: Unsupported::Refuse, ..Changes::default() };
    let refusal = strict.apply(given, &EntryLimits::SQUASHFS, &mut |_, _| {}).unwrap_err().to_string();
    assert!(refusal.contains("system.posix_acl_access"), "{refusal}");
}

#[test]
fn leaves_the_output_out_of_its_source() {
    let changes = Changes { without: vec![b"out.sqfs".to_vec()], ..Changes::default() };
    assert_eq!(apply(&changes, entry("out.sqfs", Kind::Fifo)), None);
    assert!(apply(&changes, entry("out.sqfs2", Kind::Fifo)).is_some());
}

#[test]
fn excludes_whole_directories_but_drops_single_entries() {
    let mut changes = Changes::default();
    changes.exclude.add(b"/a/b").unwrap();
    changes.drop.push(Glob::new(b"x*", packline_tree::Slash::Plain));
    let stays = |path: &str| apply(&changes, entry(path, Kind::Fifo)).is_some();
    assert!(stays("a") && stays("a/bb") && stays("b") && stays("a/x"));
    assert!(!stays("a/b") && !stays("a/b/c/d"));
    assert!(!stays("x") && !stays("x/y"));
    let entry_only = Changes { drop: vec![Glob::new(b"d", packline_tree::Slash::Plain)], ..Changes::default() };
    assert!(apply(&entry_only, entry("d", Kind::Dir)).is_none());
    assert!(apply(&entry_only, entry("d/f", Kind::Fifo)).is_some());
}

#[test]
fn exclusions_become_the_rule_of_an_image() {
    let mut changes = rooted("usr/lib", true);
    changes.exclude.add(b"*.a").unwrap();
    changes.without.push(b"usr/lib/out".to_vec());
    changes.drop.push(Glob::new(b"usr/lib/d", packline_tree::Slash::Plain));
    changes.filter = Some(PathFilter::new(|path| path == b"usr/lib/f"));
    let rule = changes.take_rule();
    for (path, keep) in [
        ("", Keep::No),
        ("usr", Keep::No),
        ("usr/lib", Keep::Yes),
        ("usr/lib64", Keep::Prune),
        ("us", Keep::Prune),
        ("usr/lib/x", Keep::Yes),
        ("usr/lib/x.a", Keep::Prune),
        ("usr/lib/out", Keep::Prune),
        ("usr/lib/f", Keep::Prune),
        ("usr/lib/d", Keep::No),
        ("usr/lib/d/x", Keep::Yes),
    ] {
        assert_eq!(rule(path.as_bytes(), false), keep, "{path}");
    }
    assert!(changes.exclude.is_empty() && changes.filter.is_none(), "they are not compared again");
    assert_eq!(apply(&changes, entry("usr/lib/x.a", Kind::Fifo)).unwrap().path, b"x.a");
}
