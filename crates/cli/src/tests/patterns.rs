//! Tests of patterns: one language in all commands, and what matches nothing is said.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use packline_testkit::{snapshot, tar};

use super::harness::{Place, assert_misuse, run, run_on};
use packline_testkit::model::Node;

/// Directories end in a slash.
const TREE: &[&str] = &[
    "a,b",
    "bin/",
    "bin/tool",
    "build/",
    "build/keep/",
    "build/keep/y.gz",
    "build/o.gz",
    "e/",
    "etc/",
    "etc/a.conf",
    "etc/b/",
    "etc/b/c.conf",
    "lib1",
    "lib2/",
    "lib2/bin",
    "usr/",
    "usr/bin/",
    "usr/bin/ls",
    "usr/build",
    "x.gz",
    "x.xz",
    "{odd}",
];

/// A pattern, and the entries of the tree that it selects or leaves out.
const TABLE: &[(&str, &str)] = &[
    ("bin", "bin bin/tool lib2/bin usr/bin usr/bin/ls"),
    ("/bin", "bin bin/tool"),
    ("./bin", "bin bin/tool"),
    ("/./bin/", "bin bin/tool"),
    ("bin/", "bin bin/tool usr/bin usr/bin/ls"),
    ("bin/tool", "bin/tool"),
    ("tool/", ""),
    ("*.gz", "build/keep/y.gz build/o.gz x.gz"),
    ("/*.gz", "x.gz"),
    ("*/*.gz", "build/o.gz"),
    ("**/*.gz", "build/keep/y.gz build/o.gz x.gz"),
    ("build/**/*.gz", "build/keep/y.gz build/o.gz"),
    ("build/**", "build/keep build/keep/y.gz build/o.gz"),
    ("build", "build build/keep build/keep/y.gz build/o.gz usr/build"),
    ("*/build", "usr/build"),
    ("*.{gz,xz}", "build/keep/y.gz build/o.gz x.gz x.xz"),
    ("{/etc,/usr}/{b,bin}", "etc/b etc/b/c.conf usr/bin usr/bin/ls"),
    ("etc/*.conf", "etc/a.conf"),
    ("lib[0-9]", "lib1 lib2 lib2/bin"),
    ("lib[![:digit:]]", ""),
    ("lib?/", "lib2 lib2/bin"),
    ("a,b", "a,b"),
    ("\\{odd\\}", "{odd}"),
    ("{odd}", ""),
    ("?", "e etc/b etc/b/c.conf"),
];

fn names(text: &str) -> BTreeSet<String> {
    text.split([' ', '\n']).filter(|name| !matches!(*name, "" | ".")).map(str::to_string).collect()
}

fn all() -> BTreeSet<String> {
    TREE.iter().map(|name| name.trim_end_matches('/').to_string()).collect()
}

/// Entries with the directories that lead to them.
fn with_leading(entries: &BTreeSet<String>) -> BTreeSet<String> {
    let above = |name: &String| Path::new(name).ancestors().map(|path| path.to_str().unwrap().to_string()).collect();
    entries.iter().flat_map::<Vec<String>, _>(above).filter(|name| !name.is_empty()).collect()
}

/// The tree as a directory, a tar and an image.
fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.at("source")).unwrap();
    let mut nodes = vec![Node::dir("")];
    for name in TREE {
        match name.strip_suffix('/') {
            Some(name) => nodes.push(Node::dir(name)),
            None => nodes.push(Node::file(*name, "content")),
        }
        match name.strip_suffix('/') {
            Some(name) => fs::create_dir(place.at("source").join(name)).unwrap(),
            None => fs::write(place.at("source").join(name), "content").unwrap(),
        }
    }
    fs::write(place.at("source.tar"), tar::to_bytes(&nodes)).unwrap();
    assert_eq!(run(&["pack", "-q", &place.text("source"), &place.text("image")]).status, 0);
    place
}

/// Runs a command that makes `made`, and lists it; the status and messages are those of a success with `warnings`.
fn made(place: &Place, arguments: &[&str], made: &str, warnings: &[&str]) -> BTreeSet<String> {
    let ran = run(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {ran:?}");
    assert_eq!(ran.err.lines().collect::<Vec<_>>(), warnings, "{arguments:?}");
    let path = place.at(made);
    if path.is_dir() {
        let found = snapshot::of_directory(&path).unwrap().into_keys().map(|name| String::from_utf8(name).unwrap());
        let found = found.filter(|name| !name.is_empty()).collect();
        fs::remove_dir_all(path).unwrap();
        return found;
    }
    if made.ends_with(".lrz") {
        let unpacked = self::made(place, &["unpack", "-q", &place.text(made), &place.text("of-lrz")], "of-lrz", &[]);
        fs::remove_file(path).unwrap();
        return unpacked;
    }
    let image = if made.ends_with(".tar") { "of-tar" } else { made };
    if image != made {
        assert_eq!(run(&["pack", "-q", "-f", &place.text(made), &place.text(image)]).status, 0);
    }
    names(&run(&["list", &place.text(image)]).out)
}

#[test]
fn a_pattern_leaves_out_the_same_everywhere() {
    let place = place();
    let [image, source, tar] = ["image", "source", "source.tar"].map(|name| place.text(name));
    let [out, lrz, dir, out_tar] = ["out", "x.lrz", "dir", "x.tar"].map(|name| place.text(name));
    for (pattern, left_out) in TABLE {
        let left_out = names(left_out);
        let rest: BTreeSet<String> = all().difference(&left_out).cloned().collect();
        let idle = |place: &str| match left_out.is_empty() {
            true => vec![format!("packline: warning: exclude pattern '{pattern}' matches nothing in {place}")],
            false => Vec::new(),
        };
        let made = |arguments: &[&str], name: &str, input: &str| {
            let (arguments, idle) = ([arguments, &["-x", pattern]].concat(), idle(input));
            let found = made(&place, &arguments, name, &idle.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found, rest, "{arguments:?}");
        };
        made(&["pack", "-q", "-f", &source, &out], "out", &source);
        made(&["pack", "-q", "-f", &tar, &out], "out", &tar);
        made(&["pack", "-q", &source, &lrz], "x.lrz", &source);
        made(&["unpack", "-q", &image, &dir], "dir", &image);
        made(&["unpack", "-q", "-f", &image, &out_tar], "x.tar", &image);
        for input in [&image, &tar] {
            let listed = run(&["list", input, "-x", pattern]);
            assert_eq!((listed.status, names(&listed.out)), (0, rest.clone()), "{pattern}");
            assert_eq!(listed.err.lines().collect::<Vec<_>>(), idle(input), "{pattern}");
        }
    }
}

#[test]
fn a_pattern_selects_the_same_everywhere() {
    let place = place();
    let [image, dir, tar] = ["image", "dir", "x.tar"].map(|name| place.text(name));
    for (pattern, selected) in TABLE {
        let selected = names(selected);
        if selected.is_empty() {
            let in_tar = ["list", &place.text("source.tar"), pattern];
            for arguments in [&["list", &image, pattern][..], &in_tar, &["unpack", &image, &dir, pattern]] {
                let ran = run(arguments);
                assert!(ran.status == 1 && ran.err.contains("matches nothing"), "{arguments:?}: {ran:?}");
            }
            continue;
        }
        for input in [&image, &place.text("source.tar")] {
            let listed = run(&["list", input, pattern]);
            assert_eq!(
                (listed.status, listed.err.as_str(), names(&listed.out)),
                (0, "", selected.clone()),
                "{pattern}"
            );
        }
        let with_leading = with_leading(&selected);
        assert_eq!(made(&place, &["unpack", "-q", &image, &dir, pattern], "dir", &[]), with_leading, "{pattern}");
        let into_tar = ["unpack", "-q", "-f", &image, &tar, pattern];
        assert_eq!(made(&place, &into_tar, "x.tar", &[]), with_leading, "{pattern}");
    }
    assert_eq!(names(&run(&["list", &image, "/"]).out), all());
    assert_eq!(names(&run(&["list", &image, "/", "-x", "/"]).out), all());
}

#[test]
fn patterns_of_a_subdirectory_begin_there() {
    let place = place();
    let [image, dir] = ["image", "dir"].map(|name| place.text(name));
    let below = |patterns: &[&str]| {
        made(&place, &[&["unpack", "-q", "--subdir", "etc", &image, &dir], patterns].concat(), "dir", &[])
    };
    assert_eq!(below(&["-x", "*.conf"]), names("b"));
    assert_eq!(below(&["/b"]), names("b b/c.conf"));
    let ran = run(&["unpack", "--subdir", "etc", &image, &dir, "etc/b"]);
    assert!(ran.status == 1 && ran.err.contains(&format!("'etc/b' matches nothing in {image}: etc ")), "{ran:?}");
}

#[test]
fn a_pattern_that_matches_nothing_leaves_nothing() {
    let place = place();
    let image = place.text("image");
    let before = place.names();
    let message = format!("packline: pattern 'TYPO' matches nothing in {image} (");
    for (destination, options) in
        [("new", &[][..]), ("x.tar", &[]), ("x.tar.gz", &[]), ("-", &[]), ("new", &["-x", "e"]), ("new", &["-j0"])]
    {
        let destination = if destination == "-" { "-" } else { &place.text(destination) };
        for patterns in [&["TYPO"][..], &["etc", "TYPO"], &["TYPO", "/"]] {
            let ran = run(&[&["unpack", &image, destination], patterns, options].concat());
            assert!(ran.status == 1 && ran.out.is_empty() && ran.err.starts_with(&message), "{ran:?}");
            assert_eq!(place.names(), before);
        }
    }
    let several = run(&["unpack", &image, "-", "TYPO", "etc", "x*y"]);
    assert!(several.err.contains("patterns 'TYPO', 'x*y' match nothing"), "{several:?}");
    let excluded = run(&["unpack", &image, &place.text("new"), "etc/a.conf", "-x", "etc"]);
    assert!(excluded.status == 1 && excluded.err.contains("'etc/a.conf' matches nothing"), "{excluded:?}");
    for subdirectory in ["TYPO", "x.gz"] {
        for destination in ["new", "x.tar"] {
            let ran = run(&["unpack", "--subdir", subdirectory, &image, &place.text(destination)]);
            assert!(ran.status == 1 && ran.err.contains(&format!("{image}: {subdirectory} is no")), "{ran:?}");
        }
    }
    assert_eq!(place.names(), before);
    let listed = run(&["list", &image, "TYPO", "lib1"]);
    assert!(listed.status == 1 && listed.out == "lib1\n" && listed.err.starts_with(&message), "{listed:?}");
    assert_eq!(run(&["cat", &image, "TYPO"]).status, 1);
}

#[test]
fn a_new_root_that_is_not_in_the_source_is_an_error() {
    let place = place();
    let out = place.text("out");
    for source in ["source", "source.tar"].map(|name| place.text(name)) {
        let ran = run(&["pack", &source, &out, "--root-becomes", "TYPO"]);
        let message = "packline: new root: TYPO: is not in the source (";
        assert!(ran.status == 1 && ran.err.starts_with(message) && !place.at("out").exists(), "{ran:?}");
    }
    let tar = fs::read(place.at("source.tar")).unwrap();
    let ran = run_on(&["tar2sqfs", "-q", "-r", "TYPO", &out], &tar, super::harness::host());
    assert!(ran.status == 0 && ran.err.contains("warning") && place.at("out").exists(), "{ran:?}");
}

#[test]
fn a_directory_that_is_there_stays_as_it_is_unless_the_rest_is_wanted() {
    let place = place();
    let (image, dir) = (place.text("image"), place.text("dir"));
    fs::create_dir(&dir).unwrap();
    let inside = || fs::read_dir(&dir).unwrap().count();
    assert_eq!((run(&["unpack", &image, &dir, "lib1", "TYPO"]).status, inside()), (1, 0));
    fs::write(place.at("dir/mine"), "").unwrap();
    assert_eq!((run(&["unpack", "-f", &image, &dir, "lib1", "TYPO"]).status, inside()), (1, 1));
    let ran = run(&["unpack", "-f", "--continue", "--json", &image, &dir, "lib1", "TYPO"]);
    assert!(ran.status == 2 && ran.err.contains("pattern 'TYPO' matches nothing"), "{ran:?}");
    assert!(
        place.at("dir/lib1").exists() && place.at("dir/mine").exists() && ran.out.contains("\"errors\":1"),
        "{ran:?}"
    );
    let ran = run(&["unpack", "--continue", &image, &place.text("x.tar"), "lib1", "TYPO"]);
    assert!(ran.status == 2 && ran.err.contains("pattern 'TYPO' matches nothing"), "{ran:?}");
    assert_eq!(made(&place, &["list", &place.text("image")], "x.tar", &[]), names("lib1"));
}

#[test]
fn a_text_that_is_no_pattern_is_wrong_usage() {
    let place = place();
    let [image, source, out] = ["image", "source", "out"].map(|name| place.text(name));
    let cases = [("a[b", "'[b' is not closed"), ("{a,b", "'{a,b' is not closed"), ("../x", "'..'"), ("", "is empty")];
    for (pattern, what) in cases {
        let begins = &format!("pattern '{pattern}': ");
        assert_misuse(&[
            (&["pack", &source, &out, "-x", pattern], begins),
            (&["list", &image, pattern], begins),
            (&["list", &image, "-x", pattern], begins),
            (&["unpack", &image, &out, pattern], begins),
            (&["unpack", &image, "-", "-x", pattern], what),
        ]);
    }
    assert!(!place.at("out").exists());
}

#[test]
fn the_help_of_each_command_describes_patterns() {
    for command in ["pack", "unpack", "list"] {
        assert!(run(&[command, "--help"]).out.contains(crate::args::patterns::LANGUAGE), "{command}");
    }
}

#[test]
fn drop_ins_keep_their_own_patterns() {
    let place = place();
    let (image, out) = (place.text("image"), place.text("out"));
    let ran = run_on(
        &["tar2sqfs", "-q", "-E", "*.gz", "-E", "TYPO", &out],
        &fs::read(place.at("source.tar")).unwrap(),
        super::harness::host(),
    );
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(!run(&["list", &out]).out.contains(".gz"));
    let ran = run(&["sqfs2tar", "-d", "TYPO", "-d", "etc", &image]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(run(&["rdsquashfs", "-q", "-u", "/{odd}", "-p", &place.text("odd"), &image]).status, 0);
    assert!(place.at("odd/{odd}").exists());
}
