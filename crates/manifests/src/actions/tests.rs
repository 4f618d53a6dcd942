//! Actions on a small tree: their tests, stages, logs and faults.

use std::io;
use std::path::{Path, PathBuf};

use packline_tree::{Entry, Kind, Meta, Xattr};

use super::*;

/// A machine with one user and one group.
struct Nowhere;

impl ActionHost for Nowhere {
    fn user(&mut self, name: &[u8]) -> Option<u32> {
        (name == b"ann").then_some(7)
    }

    fn group(&mut self, name: &[u8]) -> Option<u32> {
        (name == b"staff").then_some(50)
    }

    fn regex(&mut self, text: &[u8]) -> Result<BytesMatcher, String> {
        let text = text.to_vec();
        Ok(Box::new(move |name| name.starts_with(&text)))
    }

    fn xattr(&mut self, text: &[u8]) -> Result<Xattr, String> {
        let at = text.iter().position(|&byte| byte == b'=').ok_or("no value")?;
        Ok(Xattr { name: text[..at].to_vec(), value: text[at + 1..].to_vec() })
    }

    fn describe(&mut self, place: &Path) -> io::Result<Vec<u8>> {
        Ok(place.as_os_str().as_encoded_bytes().to_vec())
    }

    fn succeeds(&mut self, command: &[u8], file: TestedFile<'_>) -> io::Result<bool> {
        Ok(command == file.name)
    }
}

fn entry(path: &str, kind: Kind) -> ActionEntry {
    let meta = Meta::new(0o644, 1, 2, 3);
    let entry =
        Entry { path: path.into(), kind, meta, xattrs: vec![Xattr { name: b"user.a".to_vec(), value: Vec::new() }] };
    ActionEntry { entry, file: None, place: Some(PathBuf::from("/nonexistent")).filter(|_| path.ends_with(".txt")) }
}

fn entries() -> Vec<ActionEntry> {
    let link = |to: &str| Kind::Symlink(to.into());
    vec![
        entry("", Kind::Dir),
        entry("a.c", Kind::File { size: 3 }),
        entry("d", Kind::Dir),
        entry("d/b.h", Kind::File { size: 3000 }),
        entry("d/e", Kind::Dir),
        entry("d/hard", Kind::HardLink(b"a.c".to_vec())),
        entry("d/loop", link("loop")),
        entry("d/up", link("../a.c")),
        entry("d/x.txt", Kind::Fifo),
        entry("root", link("/d")),
    ]
}

/// The reports of actions, then the entries that result.
fn acted(actions: &[(&str, ActionLog)]) -> (Vec<String>, Vec<(ActionEntry, FileStorage)>) {
    let mut all = Actions::default();
    for (text, log) in actions {
        all.add(text.as_bytes(), *log, &mut Nowhere).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    }
    let mut reports = Vec::new();
    let mut report = |report| match report {
        ActionReport::Log(line) => reports.push(String::from_utf8(line).unwrap()),
        ActionReport::Warning(line) => reports.push(line),
    };
    let settings = ActionSettings { block_size: 131_072, reading: &|_| DirectoryOptions::default() };
    let made = all.apply(entries(), &settings, &mut Nowhere, &mut report).unwrap();
    (reports, made)
}

fn paths(actions: &[&str]) -> Vec<String> {
    let actions: Vec<_> = actions.iter().map(|action| (*action, ActionLog::Never)).collect();
    acted(&actions).1.into_iter().map(|(one, _)| String::from_utf8(one.entry.path).unwrap()).collect()
}

/// The entries for which an expression is true.
fn matching(expression: &str) -> Vec<String> {
    let (_, made) = acted(&[(&format!("uid(99)@!name(hard) && ({expression})"), ActionLog::Never)]);
    let changed =
        made.into_iter().filter(|(one, _)| one.entry.meta.uid == 99 && !matches!(one.entry.kind, Kind::HardLink(_)));
    changed.map(|(one, _)| String::from_utf8(one.entry.path).unwrap()).collect()
}

#[test]
fn tests_are_true_for_their_entries() {
    for (expression, expected) in [
        ("name(*.[ch])", &["a.c", "d/b.h"][..]),
        ("name(\"@(a|b).?\")", &["a.c", "d/b.h"]),
        ("pathname(d/*)", &["d/b.h", "d/e", "d/loop", "d/up", "d/x.txt"]),
        ("pathname(*)", &["", "a.c", "d", "root"]),
        ("subpathname(d) && type(d)", &["d", "d/e"]),
        ("depth(<=1)&&type(d)", &["", "d"]),
        ("depth_range(1,1)", &["a.c", "d", "root"]),
        ("type(l) && exists", &["d/up"]),
        ("absolute", &["root"]),
        ("readlink(\"name(a.c)\")", &["d/up"]),
        ("eval(.., \"name(d)\")", &["d/b.h", "d/e", "d/loop", "d/up", "d/x.txt"]),
        ("eval(e, \"type(d)\")", &["d"]),
        ("eval(/d/up, \"name(a.c)\") && type(p)", &["d/x.txt"]),
        ("eval(/, true) && name(a.c)", &["a.c"]),
        ("dircount(6)", &["d"]),
        ("dircount(0)", &["d/e"]),
        ("!uid(1) || gid(>2) || user(ann) || group(staff)", &[]),
        ("perm(-u=r,g=r) && name(a.c)", &["a.c"]),
        ("perm(/111) || perm(644) && perm(u=rw,go=r) && type(p)", &["d/x.txt"]),
        ("true || false && false", &[]),
        ("name(a.c) || (true && false)", &["a.c"]),
        ("type(p) && file(/nonex)", &["d/x.txt"]),
        ("exec(e)", &["d/e"]),
        ("type(d) && dirsize(<1k) && name(e) && !filesize(0)", &["d/e"]),
    ] {
        assert_eq!(matching(expression), expected, "{expression}");
    }
}

#[test]
fn removes_entries_in_stages() {
    let all = ["", "a.c", "d", "d/b.h", "d/e", "d/hard", "d/loop", "d/up", "d/x.txt", "root"];
    assert_eq!(paths(&["noop@true"]), all);
    assert_eq!(paths(&["exclude@name(d)"]), ["", "a.c", "root"]);
    assert_eq!(paths(&["exclude@name(a.c)"]), ["", "d", "d/b.h", "d/e", "d/hard", "d/loop", "d/up", "d/x.txt", "root"]);
    assert_eq!(paths(&["prune@type(l) && !exists()"]), ["", "a.c", "d", "d/b.h", "d/e", "d/hard", "d/up", "d/x.txt"]);
    assert_eq!(paths(&["empty@true", "exclude@!type(d)"]), [""]);
    assert_eq!(paths(&["empty(source)@true", "exclude@!type(d)"]), ["", "d"]);
    assert_eq!(paths(&["empty(excluded)@true", "exclude@!type(d)"]), ["", "d", "d/e"]);
}

#[test]
fn a_file_without_its_first_name_keeps_the_others() {
    let (_, made) = acted(&[("exclude@name(a.c)", ActionLog::Never), ("guid(ann,staff)@name(hard)", ActionLog::Never)]);
    let (hard, _) = made.iter().find(|(one, _)| one.entry.path == b"d/hard").unwrap();
    assert_eq!((hard.entry.kind.clone(), hard.entry.meta.uid, hard.entry.meta.gid), (Kind::File { size: 3 }, 7, 50));
}

#[test]
fn entries_move_as_mv_moves_them() {
    let moved = |action: &str| {
        let (reports, made) = acted(&[(action, ActionLog::Never)]);
        let paths: Vec<_> = made.into_iter().map(|(one, _)| String::from_utf8(one.entry.path).unwrap()).collect();
        let new: Vec<_> =
            paths.into_iter().filter(|path| !entries().iter().any(|one| one.entry.path == path.as_bytes())).collect();
        (new, reports)
    };
    assert_eq!(moved("move(d)@name(a.c)"), (vec!["d/a.c".to_string()], vec![]));
    assert_eq!(moved("move(/)@name(e)"), (vec!["e".to_string()], vec![]));
    assert_eq!(moved("move(../d/e/new)@name(b.h)"), (vec!["d/e/new".to_string()], vec![]));
    assert_eq!(moved("move(z)@name(d)").0, ["z", "z/b.h", "z/e", "z/hard", "z/loop", "z/up", "z/x.txt"]);
    for (action, why) in [
        ("move(a.c)@name(b.h)", ""),
        ("move(/a.c)@name(b.h)", "an entry with this name exists"),
        ("move(/d/e)@name(d)", "the target is inside the directory itself"),
        ("move(/q/r)@name(a.c)", "'q' is not a directory"),
    ] {
        let (new, reports) = moved(action);
        assert_eq!((new.is_empty(), reports.len()), (!why.is_empty(), usize::from(!why.is_empty())), "{action}");
        assert!(reports.iter().all(|report| report.contains(why)), "{reports:?}");
    }
}

#[test]
fn changes_attributes_and_storage() {
    let actions = ["chmod(u+x,go=)@type(f)", "no-fragments@name(b.h)", "tailend@name(b.h)", "uncompressed@name(a.c)"];
    let actions: Vec<_> = actions.into_iter().map(|action| (action, ActionLog::Never)).collect();
    let (_, made) = acted(&actions);
    let of = |path: &str| made.iter().find(|(one, _)| one.entry.path == path.as_bytes()).unwrap();
    assert_eq!((of("a.c").0.entry.meta.mode, of("d").0.entry.meta.mode), (0o700, 0o644));
    let stored = FileStorage { fragments: Some(false), tail_ends: Some(true), ..FileStorage::default() };
    assert_eq!((of("d/b.h").1, of("a.c").1.compressed), (stored, Some(false)));
}

#[test]
fn changes_extended_attributes() {
    let names = |actions: &[&str]| {
        let actions: Vec<_> = actions.iter().map(|action| (*action, ActionLog::Never)).collect();
        let (_, made) = acted(&actions);
        let (one, _) = made.into_iter().find(|(one, _)| one.entry.path == b"a.c").unwrap();
        one.entry.xattrs.into_iter().map(|xattr| String::from_utf8(xattr.name).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["xattrs-exclude(user)@true"]), [""; 0]);
    assert_eq!(names(&["xattrs-exclude(user)@name(b)"]), ["user.a"]);
    assert_eq!(names(&["xattrs-include(trusted)@true", "xattrs-add(\"user.b=1\")@true"]), ["user.b"]);
}

#[test]
fn evaluations_are_logged() {
    let (reports, _) = acted(&[
        ("uid(5) @ name(*.c) && !(depth(>1) || true)", ActionLog::Always),
        ("prune@readlink(\"name(b.h)\") || eval(..,\"name(d)\") || false", ActionLog::False),
        ("exclude@name(e)", ActionLog::True),
    ]);
    let has = |line: &str| assert!(reports.iter().any(|known| known == line), "{line}: {reports:#?}");
    assert_eq!(reports[0], "/d/e=exclude@name(e)=True");
    has("/a.c=uid(5)@(name(*.c)=True&&!(depth(>1)=False||true=True))");
    has("/d=uid(5)@(name(*.c)=False)");
    has("/=uid(5)@(name(*.c)=False)");
    has("/d=prune@((readlink(=False)=False||eval(/,name(d)=False)=False)||false=False)");
}

#[test]
fn rejects_malformed_actions() {
    let deep = format!("noop@{}true", "!".repeat(1000));
    for (text, what) in [
        ("", "unexpected end (expected the name of an action)"),
        ("noop", "unexpected end (expected '@'"),
        ("nothing@true", "there is no action 'nothing' with 0 arguments"),
        ("uid@true", "there is no action 'uid' with 0 arguments"),
        ("uid(nobody)@true", "there is no user 'nobody'"),
        ("uid(4294967296)@true", "there is no user"),
        ("noop@", "unexpected end (expected a test"),
        ("noop@true true", "unexpected 'true' (expected '&&', '||' or the end"),
        ("noop@(true", "(expected '&&', '||' or ')'"),
        ("noop@true)", "unexpected ')'"),
        ("noop@name()", "there is no test 'name' with 0 arguments"),
        ("noop@name(a b)", "expected ',' or ')'"),
        ("noop@name(\"a)", "a '\"' is not closed"),
        ("noop@name(a\\", "it ends in '\\'"),
        ("noop@size(1T)", "'1T' is not a number"),
        ("noop@size_range(<1,2)", "'<1' is not a number"),
        ("noop@size(9999999999999G)", "is not a number"),
        ("noop@type(x)", "unknown type 'x'"),
        ("noop@perm(u)", "'u' is not a mode"),
        ("noop@stat(nothing)", "there is no test 'nothing'"),
        ("exclude@exists", "the test 'exists' cannot be used with exclude (expected the action prune)"),
        ("exclude@stat(\"dircount(1)\")", "cannot be used with exclude"),
        ("empty(never)@true", "unknown reason 'never'"),
        ("fragment@true", "there is no action 'fragment' with 0 arguments"),
        ("align(0)@true", "0 is not an alignment (expected a power of two, in bytes, of at most 64M)"),
        ("align(<4K)@true", "'<4K' is not a number"),
        ("dereference(none)@true", "unknown argument 'none' (expected keep or delete)"),
        ("chmod(u+q)@true", "is not a mode"),
        ("xattrs-add(x)@true", "no value"),
        (&deep, "it is nested too deeply"),
    ] {
        let fault = Actions::default().add(text.as_bytes(), ActionLog::Never, &mut Nowhere).unwrap_err().to_string();
        assert!(fault.contains(what) && !fault.contains('\n'), "{text}: {fault}");
    }
}
